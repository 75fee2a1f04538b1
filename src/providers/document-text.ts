// The text of a document block, for providers that take documents as text alone.
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

const TEXT_MEDIA = /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|x-ndjson|[\w.-]+\+(?:json|xml))$)/i;

/** Throws GatewayError `unsupported_content_block` at `path`, the block's, for what is no text. */
export function documentText({ type, media_type: mediaType, data }: JsonObject, path: string): string {
  if (typeof data === "string" && type === "text" && (typeof mediaType !== "string" || TEXT_MEDIA.test(mediaType)))
    return data;
  if (typeof data === "string" && type === "base64" && typeof mediaType === "string" && TEXT_MEDIA.test(mediaType))
    return Buffer.from(data, "base64").toString("utf8");
  throw new GatewayError("unsupported_content_block", `${path}: this provider takes documents as text only.`, {
    param: path,
  });
}
