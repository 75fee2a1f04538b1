// The text of a document block, for providers that accept documents only as text.
import type { JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { isTextType } from "../../core/text/text-media.ts";

/** Throws GatewayError `unsupported_content_block` at `path`, the path of the block, when the document is not text. */
export function documentText({ type, media_type: mediaType, data }: JsonObject, path: string): string {
  if (typeof data === "string" && type === "text" && (typeof mediaType !== "string" || isTextType(mediaType)))
    return data;
  if (typeof data === "string" && type === "base64" && typeof mediaType === "string" && isTextType(mediaType))
    return Buffer.from(data, "base64").toString("utf8");
  throw unsupportedBlock(path, `${path}: this provider takes content blocks of type document as text only.`);
}
