// Parses JSON text into values without losing digits. JSON.parse makes the values; a scan over the text before it
// (json-scan.ts) finds what JSON.parse does not report: the spans of top-level members, duplicate keys, exceeded
// bounds, and numbers that a double cannot hold (RFC 8259, sections 4, 6 and 9).

// Decides (the request): Does a number keep all of its digits? By: `parseJson`. Also: `core/json.ts` (`RawNumber`).
// Rule: One that a double cannot hold is kept as its text, and written as it came.
import type { MemberSpan } from "../../core/request/request-source.ts";
import { describe, isObject, type Json, type JsonObject, type RawNumber } from "../../core/json.ts";
import { findJsonFault } from "./json-fault.ts";
import { JsonError } from "./json-error.ts";
import { type JsonBounds, type SomeBounds, scanObject, scanValue } from "./json-scan.ts";

const MAX_DEPTH = 512;
/** What the gateway writes holds values of others, which are nested as deep as they may be, inside its own. */
const MAX_OWN_DEPTH = 1000;
/**
 * Bounds for what providers and tool servers send. An object with more members than any protocol has takes seconds to
 * parse; the longest valid answers, with the probabilities of all their tokens, hold some hundred thousand values.
 */
const SENT_BOUNDS: SomeBounds = { maxDepth: MAX_DEPTH, maxMembers: 10_000, maxValues: 1_000_000 };

/**
 * Parses any JSON value. A number that a double would change becomes a RawNumber. Throws JsonError, also for nesting
 * deeper than 512, more than 10,000 members or more than 1,000,000 values.
 */
export function parseJson(text: string): Json {
  // Events of a stream are too short to nest too deep, and one regular expression shows that nearly all of them hold no
  // long number.
  if (text.length <= MAX_DEPTH && !mayHoldLongNumber(text)) return parseNatively(text);
  return parseScanned(text, scanValue(text, SENT_BOUNDS).changedNumbers);
}

/** Like parseJson, for a text that was bounded before: only the nesting is bounded. */
export function parseBoundedJson(text: string): Json {
  return parseScanned(text, scanValue(text, { maxDepth: MAX_DEPTH }).changedNumbers);
}

/** Parses a text that the gateway has written. A number that a double would change becomes a RawNumber. Throws JsonError. */
export function parseOwnJson(text: string): Json {
  if (!mayHoldLongNumber(text)) return parseNatively(text);
  return parseScanned(text, scanValue(text, { maxDepth: MAX_OWN_DEPTH }).changedNumbers);
}

/**
 * Parses one JSON object and returns the spans of its members, by unescaped key. A number that a double would change
 * becomes a RawNumber. Throws JsonError for a text that is not a JSON object and for nesting deeper than 512; and, before
 * any value is made, for a name that occurs twice in an object at any depth, and for a text that exceeds a bound.
 */
export function parseJsonObject(
  text: string,
  bounds: Partial<JsonBounds> = {},
): { readonly value: JsonObject; readonly members: ReadonlyMap<string, MemberSpan> } {
  const { members, changedNumbers } = scanObject(
    text,
    { maxDepth: MAX_DEPTH, distinctNames: true, ...bounds },
    (quoted) => keyOf(text, quoted),
  );
  const value = parseScanned(text, changedNumbers);
  if (members === null || !isObject(value)) throw new JsonError(`Expected a JSON object, got ${describe(value)}.`, 0);
  return { value, members };
}

function keyOf(text: string, quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch (cause) {
    throw explained(text, cause);
  }
}

/**
 * Matches every text with a number that a double would change: more than 15 digits, or an exponent of three digits or
 * more.
 */
const MAY_HOLD_LONG_NUMBER = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/** Returns true for every text with a number that a double would change. */
export function mayHoldLongNumber(text: string): boolean {
  return MAY_HOLD_LONG_NUMBER.test(text);
}

// From "JSON.parse source text access" (https://tc39.es/proposal-json-parse-with-source/), which the runtime has and
// the type library does not yet have.
const native = JSON as unknown as { rawJSON(source: string): RawNumber };

/**
 * Precedes the digits of a number that is read as a string, or the index of a string that was read before. It is random,
 * so that a caller's text cannot contain it.
 */
const MARK = `marked ${crypto.randomUUID()} `;
const STRING = `${MARK}string `;

/** Strings of a text that were read before, in their order; `spans` has their starts and ends in turns. */
export interface ReadStrings {
  readonly spans: readonly number[];
  readonly values: readonly string[];
}
const NO_STRINGS: ReadStrings = { spans: [], values: [] };

/** Parses a text that scanValue has scanned, which returned `changed`. Throws JsonError. */
export function parseScanned(text: string, changed: readonly number[], read: ReadStrings = NO_STRINGS): Json {
  if (changed.length + read.spans.length === 0) return parseNatively(text);
  let marked = "";
  let copied = 0;
  const mark = (start: number, end: number, by: string): void => {
    marked += `${text.slice(copied, start)}"${by}"`;
    copied = end;
  };
  let string = 0;
  const markStringsBefore = (place: number): void => {
    for (; string < read.values.length && read.spans[2 * string]! < place; string++)
      mark(read.spans[2 * string]!, read.spans[2 * string + 1]!, `${STRING}${string}`);
  };
  for (let index = 0; index < changed.length; index += 2) {
    const [start, end] = [changed[index]!, changed[index + 1]!];
    const digits = text.slice(start, end);
    // An invalid number is reported by its place in the caller's text, which the marks would shift.
    if (!NUMBER.test(digits)) return parseNatively(text);
    markStringsBefore(start);
    mark(start, end, `${MARK}${digits}`);
  }
  markStringsBefore(text.length);
  try {
    return withMarked(JSON.parse(marked + text.slice(copied)) as Json, read.values);
  } catch (cause) {
    throw explained(text, cause);
  }
}
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns the same value after replacing its marked strings by numbers, and by strings that were read before. */
function withMarked(value: Json, strings: readonly string[]): Json {
  if (typeof value === "string") {
    if (!value.startsWith(MARK)) return value;
    return value.startsWith(STRING)
      ? strings[Number(value.slice(STRING.length))]!
      : native.rawJSON(value.slice(MARK.length));
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as Json[];
    for (let index = 0; index < items.length; index++) {
      const item = items[index]!;
      if (typeof item === "string" || typeof item === "object") items[index] = withMarked(item, strings);
    }
    return items;
  }
  const members = value as Record<string, Json>;
  for (const name of Object.keys(members)) {
    const member = members[name]!;
    if (typeof member !== "string" && typeof member !== "object") continue;
    const read = withMarked(member, strings);
    if (read !== member)
      Object.defineProperty(members, name, { value: read, enumerable: true, configurable: true, writable: true });
  }
  return value;
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
  return fault === null
    ? new JsonError(`The text could not be read as JSON: ${String(thrown)}`, null)
    : new JsonError(fault.message, fault.offset);
}
