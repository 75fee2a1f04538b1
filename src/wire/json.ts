// JSON text into values, with no digit lost. JSON.parse makes the values; one scan of our own over the text finds what it does not tell: where the
// top-level members stand, a key that stands twice, nesting without end, and numbers that a double cannot hold (RFC 8259, sections 4, 6 and 9).
import type { MemberSpan } from "../core/chat.ts";
import { describe, isObject, type Json, type JsonObject, type RawNumber } from "../core/json.ts";
import { findJsonFault } from "./json-fault.ts";

export class JsonError extends Error {
  /** In UTF-16 units from the start of the text; null where no one place is at fault. */
  readonly offset: number | null;
  constructor(message: string, offset: number | null) {
    super(message);
    this.name = "JsonError";
    this.offset = offset;
  }
}

export interface JsonLimits {
  /** Arrays and objects inside one another, the outermost counted. */
  readonly maxDepth: number;
}
const LIMITS: JsonLimits = { maxDepth: 512 };

/** Any JSON value. A number that a double would change is a RawNumber. Throws JsonError; also for nesting deeper than 512. */
export function parseJson(text: string): Json {
  // Events of a stream are too short to nest too deep, and one regular expression tells that nearly all of them hold no long number.
  if (text.length <= LIMITS.maxDepth && !MAY_HOLD_LONG_NUMBER.test(text)) return parseNatively(text);
  const scan: Scan = { text, maxDepth: LIMITS.maxDepth, changesNumbers: false };
  endOfValue(scan, skipSpace(text, 0), 0);
  return scan.changesNumbers ? parseExactly(text) : parseNatively(text);
}

/**
 * One JSON object, and where its members stand in the text, by unescaped key. A number that a double would change is a RawNumber.
 * Throws JsonError: for what is no JSON or no object, a top-level key that stands twice, and nesting deeper than `limits.maxDepth`, 512 if absent.
 */
export function parseJsonObject(text: string, limits: JsonLimits = LIMITS): { readonly value: JsonObject; readonly members: ReadonlyMap<string, MemberSpan> } {
  const scan: Scan = { text, maxDepth: limits.maxDepth, changesNumbers: false };
  const members = findMembers(scan);
  const value = scan.changesNumbers ? parseExactly(text) : parseNatively(text);
  if (members === null || !isObject(value)) throw new JsonError(`Expected a JSON object, got ${describe(value)}.`, 0);
  return { value, members };
}

/** The scan believes the text to be JSON. Where it is not, it ends early or runs past, and JSON.parse, which always follows, refuses the text. */
interface Scan {
  readonly text: string;
  readonly maxDepth: number;
  /** Set when a number was passed that a double would change. */
  changesNumbers: boolean;
}

/** Null when the text is no object. */
function findMembers(scan: Scan): Map<string, MemberSpan> | null {
  const { text } = scan;
  const open = skipSpace(text, 0);
  if (text.charCodeAt(open) !== OPEN_BRACE) {
    endOfValue(scan, open, 0);
    return null;
  }
  const members = new Map<string, MemberSpan>();
  let keyStart = skipSpace(text, open + 1);
  while (text.charCodeAt(keyStart) === QUOTE) {
    const keyEnd = endOfString(text, keyStart);
    const colon = skipSpace(text, keyEnd);
    if (text.charCodeAt(colon) !== COLON) return null;
    const valueStart = skipSpace(text, colon + 1);
    const valueEnd = endOfValue(scan, valueStart, 1);
    const key = unescapedKey(text, keyStart, keyEnd);
    // Two readers of the same body could disagree on which of the two counts, and one of them may be the provider.
    if (members.has(key)) throw new JsonError(`The key ${JSON.stringify(key.slice(0, 64))} stands twice in the object, again at offset ${keyStart}.`, keyStart);
    members.set(key, { keyStart, valueStart, valueEnd });
    const comma = skipSpace(text, valueEnd);
    if (text.charCodeAt(comma) !== COMMA) return members;
    keyStart = skipSpace(text, comma + 1);
  }
  return members;
}

function unescapedKey(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  if (!key.includes("\\")) return key;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch (cause) {
    throw explained(text, cause);
  }
}

/** One past the value that begins at `start`, inside `outerDepth` arrays and objects. */
function endOfValue(scan: Scan, start: number, outerDepth: number): number {
  const { text, maxDepth } = scan;
  const { length } = text;
  let depth = outerDepth;
  let at = start;
  if (isLowerCase(text.charCodeAt(at))) {
    while (isLowerCase(text.charCodeAt(at))) at += 1;
    return at;
  }
  do {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
    } else if ((unit >= ZERO && unit <= NINE) || unit === MINUS) {
      at = endOfNumber(scan, at);
    } else {
      if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
        depth += 1;
        if (depth > maxDepth) throw new JsonError(`The JSON is nested deeper than ${maxDepth} levels at offset ${at}.`, at);
      } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
        depth -= 1;
      }
      at += 1;
    }
  } while (depth > outerDepth && at < length);
  return at;
}

/** One past the closing quote. Most strings are short; from where one is not, the runtime's search is many times as fast as ours. */
function endOfString(text: string, quote: number): number {
  const { length } = text;
  const near = Math.min(quote + 24, length);
  let at = quote + 1;
  while (at < near) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    at += unit === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const end = text.indexOf('"', at);
    if (end === -1) return length;
    let backslash = end - 1;
    while (backslash >= at && text.charCodeAt(backslash) === BACKSLASH) backslash -= 1;
    if ((end - 1 - backslash) % 2 === 0) return end + 1;
    at = end + 1;
  }
}

function endOfNumber(scan: Scan, start: number): number {
  const { text } = scan;
  let at = start + 1;
  let exponent = false;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === LOWER_E || unit === UPPER_E) exponent = true;
    else if (!((unit >= ZERO && unit <= NINE) || unit === POINT || unit === MINUS || unit === PLUS)) break;
    at += 1;
  }
  // A double holds every decimal of 15 digits.
  if ((exponent || at - start > 15) && !scan.changesNumbers) scan.changesNumbers = !survivesDouble(text.slice(start, at));
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit !== SPACE && unit !== LF && unit !== CR && unit !== TAB) return at;
    at += 1;
  }
}

function isLowerCase(unit: number): boolean {
  return unit >= 0x61 && unit <= 0x7a;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** True of every text with a number that a double would change: more than 15 digits, or an exponent of three digits or more. */
const MAY_HOLD_LONG_NUMBER = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/** True when the number that a double prints is the one that was written, whatever the spelling: 1.0, 1e3, -0. Linear in the number of digits. */
function survivesDouble(source: string): boolean {
  const value = Number(source);
  const printed = String(value);
  return printed === source || (Number.isFinite(value) && decimalOf(source) === decimalOf(printed));
}

/** One spelling for one decimal value, sign left out: its digits without zeros at either end, and the power of ten. */
function decimalOf(literal: string): string {
  const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  let first = 0;
  while (first < digits.length && digits.charCodeAt(first) === ZERO) first += 1;
  let end = digits.length;
  while (end > first && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  return first === end ? "0" : `${digits.slice(first, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

// From "JSON.parse source text access" (https://tc39.es/proposal-json-parse-with-source/), which the runtime has and the type library does not yet.
const native = JSON as unknown as {
  rawJSON(source: string): RawNumber;
  parse(text: string, reviver: (key: string, value: Json, context: { readonly source?: string }) => Json): Json;
};

function parseExactly(text: string): Json {
  try {
    return native.parse(text, (_key, value, { source }) => (typeof value === "number" && source !== undefined && !survivesDouble(source) ? native.rawJSON(source) : value));
  } catch (cause) {
    throw explained(text, cause);
  }
}

function parseNatively(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw explained(text, cause);
  }
}

function explained(text: string, thrown: unknown): JsonError {
  const fault = findJsonFault(text);
  return fault === null ? new JsonError(`The text could not be read as JSON: ${String(thrown)}`, null) : new JsonError(fault.message, fault.offset);
}
