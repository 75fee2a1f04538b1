// Searches files in a request. Data that decodes to text is searched as text, whatever its declared type, and data that
// is declared as text is searched whatever bytes it has. Images, audio and PDF files are not searched.
import { isObject, type JsonObject } from "../../core/json.ts";
import { dataUriHead } from "../../core/text/data-uri-head.ts";
import { percentDecoded } from "../../core/text/percent-encoding.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import { isTextName, isTextType } from "../../core/text/text-media.ts";
import type { Searched, TextGuard } from "./text-guard.ts";

/** The number of base64 characters by which text is distinguished from binary data. */
const HEAD = 684;
const HEAD_BYTES = (HEAD / 4) * 3;
/** What is longer behind `data:` says more than the type of a file: it is searched. Characters. */
const MOST_OF_TYPE = 200;
const BASE64 = /^[A-Za-z0-9+/_=\s-]*$/;
// the expression is meant to match control characters
// oxlint-disable-next-line no-control-regex
const BYTES = /[\x00-\x08\x0e-\x1f\x7f]/;

export interface FileGuard {
  /** Returns the text after masking. */
  readonly text: (text: string) => string;
  /** Searches a text that cannot be replaced, such as an address or the id of a file. */
  readonly fixed: (text: string) => void;
}

/**
 * Returns the file with its text masked, or unchanged if it is not text. `owner` is the object that contains the file,
 * which may declare its type.
 */
export function guardedFile(value: string, owner: JsonObject, guard: FileGuard): string {
  const head = dataUriHead(value);
  if (head === null) return guardedBare(value, owner, guard);
  const { text: before, type } = head;
  if (type.length > MOST_OF_TYPE) guard.fixed(percentDecoded(type));
  const body = value.slice(before.length);
  if (/;\s*base64/i.test(type)) {
    // where the word does not end the head, some readers decode base64 and others do not
    if (!/;\s*base64$/i.test(type)) guard.fixed(percentDecoded(body));
    return before + guardedBase64(body, isTextType(type) || isDeclaredText(owner), guard);
  }
  const text = percentDecoded(body);
  const guarded = guard.text(text);
  return guarded === text ? value : before + encodeURIComponent(guarded);
}

/** A file without a head, the address of one, or its id. */
function guardedBare(value: string, owner: JsonObject, guard: FileGuard): string {
  // Text with spaces is not an address, but it may be base64, because decoders skip characters that are not part of it.
  const hasSpaces = value.includes(" ");
  const shown = hasSpaces ? guard.text(value) : value;
  if (shown !== value) return shown;
  const isText = isDeclaredText(owner);
  const isBase64 = BASE64.test(value.slice(0, HEAD));
  const isData = owner["data"] === value || owner["file_data"] === value;
  const guarded = isBase64 || (isText && isData) ? guardedBase64(value, isText, guard) : value;
  // the id of a file may look like base64
  if (guarded === value && !hasSpaces && (value.length < HEAD || !isBase64)) guard.fixed(value);
  return guarded;
}

function isDeclaredText({ media_type: mediaType, mime_type: mimeType, format, filename, file }: JsonObject): boolean {
  return (
    [mediaType, mimeType, format].some((type) => typeof type === "string" && isTextType(type)) ||
    (typeof filename === "string" && isTextName(filename)) ||
    (isObject(file) && isDeclaredText(file))
  );
}

function guardedBase64(base64: string, isText: boolean, guard: FileGuard): string {
  if (!mayBeText(Buffer.from(base64.slice(0, HEAD), "base64"), isText)) return base64;
  const bytes = Buffer.from(base64, "base64");
  const shown = guardedBytes(bytes, isText, guard);
  return shown === bytes ? base64 : shown.toString("base64");
}

/** Whether a file that begins so is searched. `isText`: it is declared to be text. */
function mayBeText(bytes: Buffer, isText: boolean): boolean {
  return isText || textOf(bytes.subarray(0, HEAD_BYTES), true) !== null;
}

interface FileOfBytes {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Files that the gateway has fetched; `null` if none of them is searched. */
export function searchedFiles<T extends FileOfBytes>(files: readonly T[]): Searched<readonly T[]> | null {
  const texts = files.filter((file) => mayBeText(bufferOf(file), isTextType(file.mediaType)));
  if (texts.length === 0) return null;
  return {
    given: files,
    characters: () => texts.reduce((sum, { bytes }) => sum + bytes.length, 0),
    walk: (guard) => mappedList(files, (file) => (texts.includes(file) ? guardedBinary(file, guard) : file)),
  };
}

/** Returns the same file if nothing was replaced. */
function guardedBinary<T extends FileOfBytes>(file: T, guard: TextGuard): T {
  const bytes = bufferOf(file);
  const shown = guardedBytes(bytes, isTextType(file.mediaType), {
    text: (text) => guard(text, "plain"),
    fixed: (text) => guard.fixed?.(text),
  });
  return shown === bytes ? file : { ...file, bytes: shown };
}

function bufferOf({ bytes }: FileOfBytes): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Returns the bytes with their text masked; the same bytes where nothing is masked, or they are no text. */
function guardedBytes(bytes: Buffer, isText: boolean, guard: FileGuard): Buffer {
  const found = isText ? readAsText(bytes) : textOf(bytes, false);
  if (found === null || found.text === "") return bytes;
  const guarded = guard.text(found.text);
  const shown = guarded === found.text ? bytes : bytesOf(guarded, found.encoding);
  requireWithoutZeros(shown, guard);
  return shown;
}

/**
 * NUL bytes may be half of the characters in UTF-16, or may hide a text from the search although readers ignore them.
 * Therefore the text without them must not contain a match either.
 */
function requireWithoutZeros(bytes: Buffer, guard: FileGuard): void {
  if (bytes.includes(0)) guard.fixed(bytes.toString("latin1").replaceAll("\0", ""));
}

/** In `latin1` each byte is a character, so that bytes that are not valid UTF-8 are preserved. */
type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "latin1";

interface EncodedText {
  readonly text: string;
  readonly encoding: Encoding;
}

function readAsText(bytes: Buffer): EncodedText {
  const encoding = encodingOf(bytes);
  try {
    return { text: new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes), encoding };
  } catch {
    return { text: bytes.toString("latin1"), encoding: "latin1" };
  }
}

/** Returns null for binary data. The end of a part may split a character. */
function textOf(bytes: Buffer, isPart: boolean): EncodedText | null {
  const encoding = encodingOf(bytes);
  try {
    // the byte order mark is kept, so that encoding the text again gives the same bytes
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isPart });
    return BYTES.test(text) || text.startsWith("%PDF-") ? null : { text, encoding };
  } catch {
    return null;
  }
}

/**
 * Uses the byte order mark, or else the position of zeros: in UTF-16, the zeros of ASCII letters and digits are all at
 * even or all at odd positions (https://www.rfc-editor.org/rfc/rfc2781#section-4.3).
 */
function encodingOf(bytes: Uint8Array): Exclude<Encoding, "latin1"> {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const zeros = [0, 0];
  const searched = Math.min(bytes.length, HEAD);
  for (let index = 0; index < searched; index++) if (bytes[index] === 0) zeros[index % 2]! += 1;
  if (zeros[0] === 0 && zeros[1]! > 0) return "utf-16le";
  return zeros[1] === 0 && zeros[0]! > 0 ? "utf-16be" : "utf-8";
}

function bytesOf(text: string, encoding: Encoding): Buffer {
  if (encoding === "utf-8" || encoding === "latin1") return Buffer.from(text, encoding);
  const bytes = Buffer.from(text, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}
