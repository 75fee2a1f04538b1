// Images, videos, audio and documents in Converse's form: bytes in base64 with the name of their format, or an object
// in S3. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html,
// API_runtime_ImageBlock.html, API_runtime_VideoBlock.html
import type { ContentPart } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { isTextType } from "../../core/text/text-media.ts";
import { MEDIA_TYPES } from "../../core/text/media-types.ts";
import { readDataUri } from "../conversation/data-uri.ts";

const IMAGES: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const VIDEOS: Readonly<Record<string, string>> = {
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "video/mov": "mov",
  "video/x-matroska": "mkv",
  "video/mkv": "mkv",
  "video/webm": "webm",
  "video/x-flv": "flv",
  "video/flv": "flv",
  "video/mpeg": "mpeg",
  "video/mpg": "mpg",
  "video/x-ms-wmv": "wmv",
  "video/wmv": "wmv",
  "video/3gpp": "three_gp",
};
const DOCUMENTS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
};
const EXTENSIONS: Readonly<Record<string, string>> = {
  ...MEDIA_TYPES,
  flv: "video/x-flv",
  mpeg: "video/mpeg",
  mpg: "video/mpg",
  wmv: "video/x-ms-wmv",
  "3gp": "video/3gpp",
};
const S3_ADDRESS = /^s3:\/\//i;

/** Bytes with what is known about them. */
export interface Media {
  readonly mediaType: string;
  readonly source: JsonObject;
}

/** `null` when the address is neither a data URI nor an object in S3, so that it would have to be fetched. */
export function readAddress(address: string): Media | null {
  if (S3_ADDRESS.test(address)) return { mediaType: typeOfName(address), source: { s3Location: { uri: address } } };
  const data = readDataUri(address);
  return data === null ? null : { mediaType: data.mediaType, source: { bytes: data.base64 } };
}

/** Throws GatewayError `unsupported_content_block` when the gateway has not fetched the address. */
export function requireBytes(address: string, { type }: ContentPart, path: string): Media {
  const media = readAddress(address);
  if (media === null)
    throw unsupportedBlock(
      path,
      `${path}: this provider accepts content of type ${JSON.stringify(type)} as bytes and S3 URLs only.`,
    );
  return media;
}

/** The media type for the name's extension. Empty when the extension is unknown or missing. */
export function typeOfName(name: string | null | undefined): string {
  return EXTENSIONS[/\.(\w{1,5})$/.exec(name ?? "")?.[1]?.toLowerCase() ?? ""] ?? "";
}

/** What a document carries beside its bytes. */
export interface DocumentLabel {
  readonly name: string;
  readonly more?: JsonObject;
}

/**
 * The block for this media type, whichever type of content part it came in. Throws GatewayError
 * `unsupported_content_block`.
 */
export function mediaBlock(
  { mediaType, source }: Media,
  label: DocumentLabel,
  { type }: ContentPart,
  path: string,
): JsonObject {
  const image = wordFor(mediaType, IMAGES);
  if (image !== undefined) return { image: { format: image, source } };
  const video = wordFor(mediaType, VIDEOS);
  if (video !== undefined) return { video: { format: video, source } };
  // an image that is a text has no name, which a document must have
  const isText = isTextType(mediaType) && !mediaType.startsWith("image/");
  const format = wordFor(mediaType, DOCUMENTS) ?? (isText ? "txt" : undefined);
  if (format === undefined)
    throw unsupportedBlock(
      path,
      `${path}: this provider has no format for content of type ${JSON.stringify(type)} with ${mediaType === "" ? "no media type" : `the media type ${JSON.stringify(mediaType.slice(0, 100))}`}.`,
    );
  return { document: { format, name: label.name, source, ...label.more } };
}

/** Looks at own properties only, because a caller's media type may be `constructor`. */
function wordFor(mediaType: string, words: Readonly<Record<string, string>>): string | undefined {
  return Object.hasOwn(words, mediaType) ? words[mediaType] : undefined;
}

/**
 * Makes names of documents that are unique in a conversation. The vendor accepts letters, digits, single spaces,
 * hyphens, parentheses and brackets. The extension is dropped, because the format already states it.
 */
export function documentNames(): (wished: string | null | undefined) => string {
  const inUse = new Set<string>();
  /** The next number to try for each name. Counting from the start every time would take quadratic time. */
  const counts = new Map<string, number>();
  return (wished) => {
    const plain = (wished ?? "")
      .slice(0, 1024)
      .replace(/\.\w{1,5}$/, "")
      .replaceAll(/[^A-Za-z0-9\s()[\]-]/g, "-")
      .replaceAll(/\s+/g, " ")
      .trim()
      .slice(0, 180);
    const base = plain === "" ? "document" : plain;
    let name = base;
    let count = counts.get(base) ?? 2;
    while (inUse.has(name)) name = `${base} ${count++}`;
    counts.set(base, count);
    inUse.add(name);
    return name;
  };
}
