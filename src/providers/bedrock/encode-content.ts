// Encodes content parts as content blocks:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html. A part's `cache_control`
// becomes a cache point behind its block.
import type { ContentPart } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { isTextType } from "../../core/text/text-media.ts";
import { BLOCKS_AS_THEY_ARE } from "./dialect.ts";
import { requireBytes, mediaBlock, readAddress, typeOfName, type DocumentLabel } from "./media.ts";

/** Gives each document of a conversation its name. */
export type DocumentNaming = (wished: string | null | undefined) => string;

/** `path` names the list. Empty text parts are left out, because the vendor refuses them. */
export function encodeParts(parts: readonly ContentPart[], path: string, naming: DocumentNaming): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const block = encodePart(part, `${path}[${index}]`, naming);
    if (block === null) continue;
    blocks.push(block, ...cachePoint(part["cache_control"]));
  }
  return blocks;
}

export function cachePoint(mark: Json | undefined): JsonObject[] {
  if (!isObject(mark)) return [];
  const { ttl } = mark;
  return [{ cachePoint: { type: "default", ...(typeof ttl === "string" && { ttl }) } }];
}

function encodePart(part: ContentPart, path: string, naming: DocumentNaming): JsonObject | null {
  switch (part.type) {
    case "text":
      return part["text"] === "" ? null : { text: part["text"] };
    case "refusal":
      return part["refusal"] === "" ? null : { text: part["refusal"] };
    case "guarded_text":
      return { guardContent: { text: { text: part["text"] } } };
    case "image_url":
      return pictureOf((part["image_url"] as { readonly url: string }).url, "image/jpeg", part, path, naming);
    case "video_url":
      return pictureOf((part["video_url"] as { readonly url: string }).url, "video/mp4", part, path, naming);
    case "input_audio": {
      const { data, format } = part["input_audio"] as JsonObject;
      return { audio: { format, source: { bytes: data } } };
    }
    case "file":
      return encodeFile(part, path, naming);
    case "document":
      return encodeDocument(part, path, naming);
    default:
      if (BLOCKS_AS_THEY_ARE.includes(part.type) && part[part.type] !== undefined)
        return { [part.type]: part[part.type] };
      throw unsupportedBlock(
        path,
        `${path}: this provider does not support content blocks of type ${JSON.stringify(part.type)} in this form.`,
      );
  }
}

/** `usual` is the media type of an S3 object whose name does not reveal one. */
function pictureOf(url: string, usual: string, part: ContentPart, path: string, naming: DocumentNaming): JsonObject {
  const media = requireBytes(url, part, path);
  const known = media.mediaType === "" ? { ...media, mediaType: usual } : media;
  return mediaBlock(known, labelOf(part, null, known.mediaType, naming), part, path);
}

/** Only what becomes a document takes a name from `naming`. */
function labelOf(part: ContentPart, name: Json | undefined, mediaType: string, naming: DocumentNaming): DocumentLabel {
  if (/^(?:image|video)\//.test(mediaType)) return { name: "" };
  const { title, context, citations } = part;
  return {
    name: naming(typeof title === "string" ? title : typeof name === "string" ? name : null),
    more: { ...(typeof context === "string" && { context }), ...(isObject(citations) && { citations }) },
  };
}

function encodeFile(part: ContentPart, path: string, naming: DocumentNaming): JsonObject {
  const {
    file_id: id,
    file_data: data,
    filename,
  } = part["file"] as {
    readonly file_id?: string | null;
    readonly file_data?: string | null;
    readonly filename?: string | null;
  };
  const inline = readAddress(data ?? "");
  const named = typeOfName(filename);
  const media =
    inline ??
    (typeof data === "string"
      ? { mediaType: named || "application/pdf", source: { bytes: data } }
      : requireBytes(id ?? "", part, path));
  // A general media type is less precise than the file name.
  const mediaType =
    media.mediaType === "" || media.mediaType === "application/octet-stream"
      ? named || media.mediaType
      : media.mediaType;
  return mediaBlock({ ...media, mediaType }, labelOf(part, filename, mediaType, naming), part, path);
}

function encodeDocument(part: ContentPart, path: string, naming: DocumentNaming): JsonObject {
  const { type, media_type: mediaType, data, url } = part["source"] as JsonObject;
  if (typeof data === "string" && type === "text" && (typeof mediaType !== "string" || isTextType(mediaType)))
    return mediaBlock(
      { mediaType: typeof mediaType === "string" ? mediaType : "text/plain", source: { text: data } },
      labelOf(part, null, "", naming),
      part,
      path,
    );
  const media =
    typeof data === "string"
      ? {
          mediaType: typeof mediaType === "string" ? mediaType.toLowerCase() : "application/pdf",
          source: { bytes: data },
        }
      : typeof url === "string"
        ? requireBytes(url, part, path)
        : null;
  if (media === null)
    throw unsupportedBlock(
      path,
      `${path}: this provider does not support content blocks of type document with a source of type ${JSON.stringify(type)}.`,
    );
  return mediaBlock(media, labelOf(part, null, media.mediaType, naming), part, path);
}
