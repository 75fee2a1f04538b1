// Files that stand in a request: a text in base64 or in a data URI is a text all the same, whatever type it is said to have. Pictures, sounds and PDF are not looked into.

/** https://www.rfc-editor.org/rfc/rfc2397 */
const DATA_URI = /^data:([^,]{0,200}),/i;
/** Characters of base64 by which bytes are told from text. */
const HEAD = 684;
const BASE64 = /^[A-Za-z0-9+/_=\r\n-]*$/;
// control characters are what is looked for
// oxlint-disable-next-line no-control-regex
const BYTES = /[\x00-\x08\x0e-\x1f\x7f]/;

/** The file with what was replaced in its text; what is no text as it is. `address` looks at an address, or the id of a file, in which nothing can be replaced. */
export function guardedFile(
  value: string,
  guard: (text: string) => string,
  address: (text: string) => void = () => {},
): string {
  const head = DATA_URI.exec(value.slice(0, 256));
  // words in the place of an address or of bytes
  if (head === null && value.includes(" ")) return guard(value);
  if (head === null) {
    const guarded = BASE64.test(value.slice(0, HEAD)) ? guardedBase64(value, guard) : value;
    // an id may look like bytes
    if (guarded === value && (value.length < HEAD || !BASE64.test(value.slice(0, HEAD)))) address(value);
    return guarded;
  }
  const [before, type] = [head[0], head[1]!];
  const body = value.slice(before.length);
  if (/;\s*base64$/i.test(type)) return before + guardedBase64(body, guard);
  const text = percentDecoded(body);
  const guarded = guard(text);
  return guarded === text ? value : before + encodeURIComponent(guarded);
}

function guardedBase64(base64: string, guard: (text: string) => string): string {
  if (textOf(base64.slice(0, HEAD), true) === null) return base64;
  const found = textOf(base64, false);
  if (found === null || found.text === "") return base64;
  const guarded = guard(found.text);
  return guarded === found.text ? base64 : bytesOf(guarded, found.encoding).toString("base64");
}

type Encoding = "utf-8" | "utf-16le" | "utf-16be";

/** Null: bytes that are no text. The end of a part may stand in the middle of a character. */
function textOf(base64: string, isPart: boolean): { readonly text: string; readonly encoding: Encoding } | null {
  const bytes = Buffer.from(base64, "base64");
  const encoding = encodingOf(bytes);
  try {
    // a mark of the order of bytes stays where it is, so that the bytes are the same again
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isPart });
    return BYTES.test(text) || text.startsWith("%PDF-") ? null : { text, encoding };
  } catch {
    return null;
  }
}

/** By the mark of the order of bytes, else by where zeros stand: in UTF-16 those of letters and digits of ASCII are all on one side (https://www.rfc-editor.org/rfc/rfc2781#section-4.3). */
function encodingOf(bytes: Uint8Array): Encoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const zeros = [0, 0];
  const looked = Math.min(bytes.length, HEAD);
  for (let index = 0; index < looked; index++) if (bytes[index] === 0) zeros[index % 2]! += 1;
  if (zeros[0] === 0 && zeros[1]! > 0) return "utf-16le";
  return zeros[1] === 0 && zeros[0]! > 0 ? "utf-16be" : "utf-8";
}

function bytesOf(text: string, encoding: Encoding): Buffer {
  if (encoding === "utf-8") return Buffer.from(text);
  const bytes = Buffer.from(text, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
