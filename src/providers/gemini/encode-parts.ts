// Encodes content blocks as parts: text, bytes as inlineData, addresses as fileData.
// https://ai.google.dev/gemini-api/docs/file-input-methods
import type {
  AudioPart,
  ContentPart,
  DocumentPart,
  FilePart,
  ImagePart,
  TextPart,
  VideoPart,
} from "../../core/chat.ts";
import { describe, isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalid, invalidRequest, unsupportedBlock, unsupportedValue } from "../../core/refusals.ts";
import type { GeminiPlatform } from "./platform.ts";

const YOUTUBE = /^https?:\/\/((www|m)\.)?(youtube\.com|youtu\.be)\//i;

/**
 * Follows the vendor's lists of input formats: .../docs/image-understanding, .../audio, .../video-understanding,
 * .../document-processing. A map, because a file's extension may be a name that every object has.
 */
const TYPE_OF_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    webp: "image/webp",
    heic: "image/heic",
    heif: "image/heif",
    gif: "image/gif",
    mp4: "video/mp4",
    mpeg: "video/mpeg",
    mpg: "video/mpg",
    mov: "video/mov",
    avi: "video/avi",
    flv: "video/x-flv",
    webm: "video/webm",
    wmv: "video/wmv",
    "3gp": "video/3gpp",
    "3gpp": "video/3gpp",
    wav: "audio/wav",
    mp3: "audio/mp3",
    aiff: "audio/aiff",
    aac: "audio/aac",
    ogg: "audio/ogg",
    flac: "audio/flac",
    m4a: "audio/m4a",
    pdf: "application/pdf",
    txt: "text/plain",
    md: "text/md",
    html: "text/html",
    htm: "text/html",
    css: "text/css",
    csv: "text/csv",
    xml: "text/xml",
    rtf: "text/rtf",
    json: "application/json",
    js: "text/javascript",
    py: "text/x-python",
  }),
);
/** OpenAI's raw audio is 16-bit at 24 kHz. */
const TYPE_OF_AUDIO: ReadonlyMap<string, string> = new Map([
  ["pcm16", "audio/pcm;rate=24000"],
  ["mpeg", "audio/mp3"],
]);

/** Encodes one block as a part. `null` when the block is an empty text. Throws GatewayError with the block's path. */
export function encodePart(block: ContentPart, path: string, platform: GeminiPlatform): JsonObject | null {
  switch (block.type) {
    case "text":
      return (block as TextPart).text === "" ? null : { text: (block as TextPart).text };
    case "image_url": {
      const image = (block as ImagePart).image_url;
      return mediaPart(
        image.url,
        `${path}.image_url.url`,
        { given: typeHint(image), otherwise: "image/jpeg" },
        platform,
      );
    }
    case "input_audio": {
      const { data, format } = (block as AudioPart).input_audio;
      if (data.startsWith("data:")) return dataPart(data, `${path}.input_audio.data`);
      if (!/^[a-z0-9.+-]{1,32}$/i.test(format))
        throw invalid(`${path}.input_audio.format`, "the name of an audio format", format);
      return inline(TYPE_OF_AUDIO.get(format) ?? `audio/${format.toLowerCase()}`, data);
    }
    case "video_url": {
      const video = (block as VideoPart).video_url;
      return mediaPart(
        video.url,
        `${path}.video_url.url`,
        { given: typeHint(video), otherwise: "video/mp4" },
        platform,
      );
    }
    case "file":
      return filePart((block as FilePart).file, `${path}.file`, platform);
    case "document":
      return documentPart((block as DocumentPart).source, `${path}.source`, platform);
    default:
      throw unsupportedBlock(
        `${path}.type`,
        `${path} is of type ${JSON.stringify(block.type)}, which this provider does not support.`,
      );
  }
}

function inline(mimeType: string, data: string): JsonObject {
  return { inlineData: { mimeType, data } };
}

/** The media type that the caller gives beside the address, under one of the names in use for it. */
function typeHint(holder: object): string | null {
  for (const name of ["mime_type", "format", "media_type"]) {
    const value = (holder as JsonObject)[name];
    if (typeof value === "string" && value.includes("/")) return value;
  }
  return null;
}

interface MediaType {
  /** The media type that the caller gives. */
  readonly given: string | null;
  /**
   * The type to use when nothing else reveals it. `null` leaves it to the server, which knows it for its own files.
   */
  readonly otherwise: string | null;
  /** The field in which a caller can give the type, for errors. */
  readonly field?: string;
}

/** The part states the media type because some endpoints require it. */
function mediaPart(
  address: string,
  path: string,
  type: MediaType,
  { filesApi, demandsMediaType }: GeminiPlatform,
): JsonObject {
  if (address.startsWith("data:")) return dataPart(address, path);
  const fileUri = filesApi !== null && /^files\/[\w-]+$/.test(address) ? filesApi + address : address;
  if (!/^(https?|gs):\/\//i.test(fileUri))
    throw invalid(
      path,
      `a data URI, an http(s) or gs:// address${filesApi === null ? "" : ", or a name such as files/abc"}`,
      address,
    );
  if (filesApi === null && isFilesApi(fileUri))
    throw unsupportedValue(
      path,
      `${path} names a file of the Gemini API, which this provider cannot read; send its bytes, or a gs:// address.`,
    );
  const known = type.given ?? typeOfExtension(fileUri) ?? (YOUTUBE.test(fileUri) ? "video/mp4" : null);
  const mimeType = known ?? (isFilesApi(fileUri) ? null : type.otherwise);
  if (mimeType === null && demandsMediaType)
    throw invalidRequest(
      path,
      `${path}: this provider needs the media type of a URL that has no known file extension; send it beside the URL (${type.field}).`,
    );
  return { fileData: { ...(mimeType !== null && { mimeType }), fileUri } };
}

function isFilesApi(uri: string): boolean {
  return /^https:\/\/generativelanguage\.googleapis\.com\/[^/]+\/files\//.test(uri);
}

function typeOfExtension(uri: string): string | null {
  const extension = /\.([a-z0-9]+)$/i.exec(uri.replace(/[?#].*$/s, ""))?.[1];
  // The last label of a bare host is not an extension.
  return extension === undefined || /^[a-z]+:\/\/[^/]*$/i.test(uri)
    ? null
    : (TYPE_OF_EXTENSION.get(extension.toLowerCase()) ?? null);
}

function dataPart(uri: string, path: string): JsonObject {
  const comma = uri.indexOf(",");
  if (comma < 0) throw invalid(path, "a data URI with a comma before its data", uri);
  const head = uri.slice("data:".length, comma);
  const base64 = /;base64$/i.test(head);
  const mimeType = head.replace(/;base64$/i, "") || "text/plain";
  if (base64) return inline(mimeType, uri.slice(comma + 1));
  try {
    return inline(mimeType, Buffer.from(decodeURIComponent(uri.slice(comma + 1)), "utf8").toString("base64"));
  } catch {
    throw invalid(path, "a data URI in base64 or percent encoding", uri);
  }
}

function filePart(file: FilePart["file"], path: string, platform: GeminiPlatform): JsonObject {
  const type = {
    given: typeHint(file) ?? (file.filename === undefined ? null : typeOfExtension(`file:///${file.filename}`)),
    otherwise: null,
    field: "file.filename or file.format",
  };
  if (typeof file.file_data === "string") {
    if (file.file_data.startsWith("data:")) return dataPart(file.file_data, `${path}.file_data`);
    return inline(type.given ?? "application/pdf", file.file_data);
  }
  return mediaPart(file.file_id ?? "", `${path}.file_id`, type, platform);
}

function documentPart(source: DocumentPart["source"], path: string, platform: GeminiPlatform): JsonObject {
  switch (source.type) {
    case "base64":
      return inline(text(source.media_type, `${path}.media_type`), text(source.data, `${path}.data`));
    case "text":
      return { text: text(source.data, `${path}.data`) };
    case "url":
      return mediaPart(
        text(source.url, `${path}.url`),
        `${path}.url`,
        { given: source.media_type ?? null, otherwise: null, field: "source.media_type" },
        platform,
      );
    default:
      throw unsupportedValue(
        `${path}.type`,
        `${path}.type must be "base64", "text" or "url" for this provider; got ${describe(source.type)}.`,
      );
  }
}

function text(value: Json | undefined, path: string): string {
  if (typeof value !== "string") throw invalid(path, "a string", value);
  return value;
}

/** An image of an earlier answer (`message.images`) that a client sends back. */
export function answeredImagePart(image: Json, path: string, platform: GeminiPlatform): JsonObject {
  const address = isObject(image) && isObject(image["image_url"]) ? image["image_url"]["url"] : undefined;
  return mediaPart(
    text(address, `${path}.image_url.url`),
    `${path}.image_url.url`,
    { given: null, otherwise: "image/jpeg" },
    platform,
  );
}
