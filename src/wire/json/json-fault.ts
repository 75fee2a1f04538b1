// Finds where a text stops being JSON, and why, in a message that helps its author; the runtime's JSON.parse names no
// place. It runs only on a text that JSON.parse has rejected. The grammar is that of RFC 8259, sections 2 to 7.

export interface JsonFault {
  /** A sentence that gives the place by offset, line and column. */
  readonly message: string;
  /** In UTF-16 units from the start of the text. */
  readonly offset: number;
}

/**
 * Returns the first fault, or null when the text is one JSON value. The caller has bounded the nesting, because each
 * level is one function call.
 */
export function findJsonFault(text: string): JsonFault | null {
  const cursor = { text, at: 0 };
  skipSpace(cursor);
  const fault = readValue(cursor);
  if (fault !== null) return fault;
  skipSpace(cursor);
  return cursor.at === text.length ? null : expected(cursor, "the end of the text after the value");
}

interface Cursor {
  readonly text: string;
  at: number;
}

function readValue(cursor: Cursor): JsonFault | null {
  const first = cursor.text[cursor.at];
  if (first === '"') return readString(cursor);
  if (first === "{") return readList(cursor, "}", readMember);
  if (first === "[") return readList(cursor, "]", readValue);
  if (first === "-" || isDigit(first)) return readNumber(cursor);
  const word = wordAt(cursor);
  if (word !== "true" && word !== "false" && word !== "null") return expected(cursor, "a value");
  cursor.at += word.length;
  return null;
}

function readList(cursor: Cursor, close: "}" | "]", readItem: (cursor: Cursor) => JsonFault | null): JsonFault | null {
  cursor.at += 1;
  skipSpace(cursor);
  if (cursor.text[cursor.at] === close) {
    cursor.at += 1;
    return null;
  }
  for (;;) {
    const fault = readItem(cursor);
    if (fault !== null) return fault;
    skipSpace(cursor);
    const separator = cursor.text[cursor.at];
    if (separator !== "," && separator !== close) return expected(cursor, `"," or "${close}"`);
    const comma = cursor.at;
    cursor.at += 1;
    if (separator === close) return null;
    skipSpace(cursor);
    if (cursor.text[cursor.at] === close)
      return faultAt(cursor.text, comma, `There is a comma before the closing "${close}"`);
  }
}

function readMember(cursor: Cursor): JsonFault | null {
  if (cursor.text[cursor.at] !== '"') return expected(cursor, "a key in double quotes");
  const keyFault = readString(cursor);
  if (keyFault !== null) return keyFault;
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== ":") return expected(cursor, '":" after the key');
  cursor.at += 1;
  skipSpace(cursor);
  return readValue(cursor);
}

function readString(cursor: Cursor): JsonFault | null {
  const { text } = cursor;
  const start = cursor.at;
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) {
      cursor.at = at + 1;
      return null;
    }
    if (unit < 0x20) return faultAt(text, at, `The control character ${found(text, at)} must be escaped in a string`);
    if (unit !== 0x5c) continue;
    at += 1;
    if (at === text.length) break;
    if (text[at] === "u" ? !FOUR_HEX_DIGITS.test(text.slice(at + 1, at + 5)) : !'"\\/bfnrt'.includes(text[at] ?? "")) {
      return faultAt(text, at - 1, "A string contains a backslash that does not begin a JSON escape");
    }
  }
  return faultAt(text, start, "A string has no closing quote");
}

function readNumber(cursor: Cursor): JsonFault | null {
  if (cursor.text[cursor.at] === "-") cursor.at += 1;
  const start = cursor.at;
  const fault = readDigits(cursor, "a digit");
  if (fault !== null) return fault;
  if (cursor.text[start] === "0" && cursor.at > start + 1)
    return faultAt(cursor.text, start, "A number has a leading zero");
  if (cursor.text[cursor.at] === ".") {
    cursor.at += 1;
    const fractionFault = readDigits(cursor, "a digit after the decimal point");
    if (fractionFault !== null) return fractionFault;
  }
  if (cursor.text[cursor.at] === "e" || cursor.text[cursor.at] === "E") {
    cursor.at += 1;
    if (cursor.text[cursor.at] === "+" || cursor.text[cursor.at] === "-") cursor.at += 1;
    return readDigits(cursor, "a digit of the exponent");
  }
  return null;
}

function readDigits(cursor: Cursor, needed: string): JsonFault | null {
  if (!isDigit(cursor.text[cursor.at])) return expected(cursor, needed);
  while (isDigit(cursor.text[cursor.at])) cursor.at += 1;
  return null;
}

const FOUR_HEX_DIGITS = /^[0-9a-f]{4}$/i;

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function skipSpace(cursor: Cursor): void {
  while (cursor.at < cursor.text.length && " \t\n\r".includes(cursor.text[cursor.at] ?? "")) cursor.at += 1;
}

/**
 * The word at the cursor, such as the `None` or `NaN` that other languages print. It is bounded because it appears in
 * messages.
 */
function wordAt(cursor: Cursor): string {
  return /^\w*/.exec(cursor.text.slice(cursor.at, cursor.at + 20))?.[0] ?? "";
}

function expected(cursor: Cursor, needed: string): JsonFault {
  const word = wordAt(cursor);
  const got = word.length > 1 ? `"${word}"` : found(cursor.text, cursor.at);
  return faultAt(cursor.text, cursor.at, `Expected ${needed}, got ${got}`);
}

function found(text: string, at: number): string {
  const point = text.codePointAt(at);
  if (point === undefined) return "the end of the text";
  return point === 0xfeff ? "a byte order mark" : JSON.stringify(String.fromCodePoint(point));
}

function faultAt(text: string, offset: number, what: string): JsonFault {
  let line = 1;
  let lineStart = 0;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", lineStart)) {
    line += 1;
    lineStart = end + 1;
  }
  return { message: `${what} at offset ${offset} (line ${line}, column ${offset - lineStart + 1}).`, offset };
}
