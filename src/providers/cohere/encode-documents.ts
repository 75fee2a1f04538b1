// Encodes document blocks as documents that an answer can cite: https://docs.cohere.com/v2/docs/rag-citations. A block
// in the vendor's own form, with `document` in place of `source`, is sent unchanged.
import type { ContentPart } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { documentText } from "../document-text.ts";

/** Throws GatewayError `unsupported_content_block` at `path` when the document is not text. */
export function encodeDocument(part: ContentPart, path: string): JsonObject {
  if (part["source"] === undefined && isObject(part["document"])) return part["document"];
  const { id, title } = part;
  return {
    data: { text: documentText(part["source"] as JsonObject, path), ...(typeof title === "string" && { title }) },
    ...(typeof id === "string" && { id }),
  };
}
