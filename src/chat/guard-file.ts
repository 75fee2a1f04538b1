// Files that stand in a request: a text in base64 or in a data URI is a text all the same, whatever type it is said to have. Pictures, sounds and PDF are not looked into.

/** https://www.rfc-editor.org/rfc/rfc2397 */
const DATA_URI = /^data:([^,]{0,200}),/i;
/** Characters of base64 by which bytes are told from text. */
const HEAD = 684;
const BASE64 = /^[A-Za-z0-9+/_=\r\n-]*$/;
// control characters are what is looked for
// oxlint-disable-next-line no-control-regex
const BYTES = /[\x00-\x08\x0e-\x1f\x7f]/;

/** The file with what was replaced in its text; an address, and what is no text, as it is. */
export function guardedFile(value: string, guard: (text: string) => string): string {
  const head = DATA_URI.exec(value.slice(0, 256));
  // words in the place of an address or of bytes
  if (head === null && value.includes(" ")) return guard(value);
  if (head === null) return BASE64.test(value.slice(0, HEAD)) ? guardedBase64(value, guard) : value;
  const [before, type] = [head[0], head[1]!];
  const body = value.slice(before.length);
  if (/;\s*base64$/i.test(type)) return before + guardedBase64(body, guard);
  const text = percentDecoded(body);
  const guarded = guard(text);
  return guarded === text ? value : before + encodeURIComponent(guarded);
}

function guardedBase64(base64: string, guard: (text: string) => string): string {
  if (textOf(base64.slice(0, HEAD), true) === null) return base64;
  const text = textOf(base64, false);
  if (text === null || text === "") return base64;
  const guarded = guard(text);
  return guarded === text ? base64 : Buffer.from(guarded).toString("base64");
}

/** Null: bytes that are no text. The end of a part may stand in the middle of a character. */
function textOf(base64: string, isPart: boolean): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"), { stream: isPart });
    return BYTES.test(text) || text.startsWith("%PDF-") ? null : text;
  } catch {
    return null;
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
