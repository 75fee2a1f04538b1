// Encodes content parts as content blocks: https://platform.claude.com/docs/en/api/messages, and the vendor's pages on
// vision, PDF support and the Files API. What a part carries beyond OpenAI's form (`cache_control`, `citations`,
// `context`, `title`) stays on its block.
import { isTextType } from "../../core/text/text-media.ts";
import { isWebAddress } from "../../core/text/web-address.ts";
import type { ContentPart } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { type InlineData, readDataUri } from "../conversation/data-uri.ts";
import { BLOCKS_AS_THEY_ARE } from "./dialect.ts";

/** The beta feature that a request needs in order to name an uploaded file. */
export const FILES_BETA = "files-api-2025-04-14";

const IMAGE_NAME = /\.(?:png|jpe?g|gif|webp)$/i;

/** `path` names the list. Empty text parts are left out, because the vendor refuses them. */
export function encodeParts(parts: readonly ContentPart[], path: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (let index = 0; index < parts.length; index++) {
    const block = encodePart(parts[index]!, `${path}[${index}]`);
    if (block !== null) blocks.push(block);
  }
  return blocks;
}

function encodePart(part: ContentPart, path: string): JsonObject | null {
  switch (part.type) {
    case "text": {
      const { annotations: _annotations, ...block } = part;
      return part["text"] === "" ? null : block;
    }
    case "refusal":
      return part["refusal"] === "" ? null : { type: "text", text: part["refusal"] };
    case "image_url": {
      const { type: _type, image_url: image, ...more } = part;
      return { ...encodeImage((image as { readonly url: string }).url), ...more };
    }
    case "file": {
      const { type: _type, file, ...more } = part;
      return { ...encodeFile(file as FileReference), ...more };
    }
    case "document": {
      const { source, ...more } = part;
      return { ...more, ...encodeDocument(source as JsonObject) };
    }
    default:
      if (BLOCKS_AS_THEY_ARE.includes(part.type)) return part;
      throw unsupportedBlock(
        path,
        `${path}: this provider does not support content blocks of type ${JSON.stringify(part.type)}.`,
      );
  }
}

function encodeImage(url: string): JsonObject {
  const inline = readDataUri(url);
  return inline === null ? { type: "image", source: { type: "url", url } } : inlineBlock(inline);
}

function inlineBlock(inline: InlineData): JsonObject {
  return inline.mediaType.startsWith("image/") ? { type: "image", source: base64Source(inline) } : documentOf(inline);
}

interface FileReference {
  readonly file_id?: string | null;
  readonly file_data?: string | null;
  readonly filename?: string | null;
}

function encodeFile({ file_id: id, file_data: data, filename }: FileReference): JsonObject {
  const title = typeof filename === "string" && filename !== "" ? { title: filename } : {};
  const inline = readDataUri(data ?? "") ?? readDataUri(id ?? "");
  if (inline !== null) {
    const block = inlineBlock(inline);
    return block["type"] === "image" ? block : { ...block, ...title };
  }
  if (typeof data === "string") return { ...documentOf({ mediaType: "application/pdf", base64: data }), ...title };
  const address = id ?? "";
  const source = isWebAddress(address) ? { type: "url", url: address } : { type: "file", file_id: address };
  if (IMAGE_NAME.test(filename ?? (source.type === "url" ? address : ""))) return { type: "image", source };
  return { type: "document", source, ...title };
}

function encodeDocument(source: JsonObject): JsonObject {
  const { type, media_type: mediaType, data } = source;
  if (typeof mediaType !== "string" || typeof data !== "string") return { type: "document", source };
  if (type === "base64")
    return mediaType.startsWith("image/") ? { type: "image", source } : documentOf({ mediaType, base64: data }, source);
  if (type !== "text") return { type: "document", source };
  // A media type other than text means that the data is base64, even when the source's type is `text`.
  return {
    type: "document",
    source: isTextType(mediaType) ? { ...source, media_type: "text/plain" } : { ...source, type: "base64" },
  };
}

/** Text is decoded, because the vendor accepts only PDF in base64. */
function documentOf({ mediaType, base64 }: InlineData, source: JsonObject = {}): JsonObject {
  if (!isTextType(mediaType))
    return { type: "document", source: { ...source, type: "base64", media_type: mediaType, data: base64 } };
  return {
    type: "document",
    source: { ...source, type: "text", media_type: "text/plain", data: Buffer.from(base64, "base64").toString("utf8") },
  };
}

function base64Source({ mediaType, base64 }: InlineData): JsonObject {
  return { type: "base64", media_type: mediaType, data: base64 };
}

/** True when a block names an uploaded file. */
export function namesUploadedFile(blocks: readonly JsonObject[]): boolean {
  // Blocks that are sent unchanged may hold values of any type.
  return blocks.some((block) => {
    if (!isObject(block)) return false;
    const { source, content } = block;
    return (
      (isObject(source) && source["type"] === "file") ||
      (Array.isArray(content) && namesUploadedFile(content as readonly JsonObject[]))
    );
  });
}
