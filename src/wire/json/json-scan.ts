// One pass over a JSON text before its values are made: it finds where the members of the outermost object are, which
// numbers a double would change, and whether the text keeps its bounds. It is linear in the length of the text,
// allocates only the spans, and assumes that the text is JSON: where it is not, the scan ends early or reads too far,
// and JSON.parse, which always follows, rejects the text.

// Decides (the request): What if two members of a body have the same name? By: `findMembers`. Also:
// `engine/request/parse.ts` (`parsedBody`). Rule: 400 `invalid_json`, at
// any depth of a request.
import type { MemberSpan } from "../../core/request/request-source.ts";
import { JsonError } from "./json-error.ts";
import { decodedName, type LargeObjects, repeatsName } from "./json-names.ts";

export interface JsonBounds {
  /** Nesting depth of arrays and objects, the outermost included; less than 1024. */
  readonly maxDepth: number;
  /** Strings, numbers, literals, arrays and objects, the outermost object included, member names excluded. */
  readonly maxValues: number;
  /** Members of any one object. */
  readonly maxMembers: number;
  /** Digits of a number. */
  readonly maxDigits: number;
  /** UTF-16 units of a member name of the outermost object, as it is written. */
  readonly maxName: number;
  /** Items of the array that is a member of the outermost object, and of each array inside that member. */
  maxItems(member: string): { readonly own: number; readonly inside: number };
}
/** Bounds of which only the nesting depth is required. */
export type SomeBounds = Partial<JsonBounds> &
  Pick<JsonBounds, "maxDepth"> & {
    /** A member name that occurs twice in any object is refused, not only in the outermost one. */
    readonly distinctNames?: boolean;
    /** Numbers that a double would change. */
    readonly maxChangedNumbers?: number;
    /** From this length on a string that is a value is noted, in UTF-16 units as it is written. */
    readonly longString?: number;
  };

export interface Scan {
  readonly text: string;
  readonly bounds: SomeBounds;
  values: number;
  /** Bounds of array items for the member that is being read. */
  own: number;
  inside: number;
  /** The smallest of all bounds of items and members: below it no exact check is necessary. */
  least: number;
  /** Start and end of each number that a double would change, one after the other. */
  readonly changedNumbers: number[];
  /** Start and end of each long string, one after the other, with its quotes. */
  readonly longStrings: number[];
  readonly largeObjects: LargeObjects;
}

/**
 * For the value that is being read, by depth: how many items or members there were so far, and whether it is an object.
 * Scans can share the arrays because a scan is synchronous.
 */
const MAX_LEVELS = 1024;
const COUNTS = new Uint32Array(MAX_LEVELS);
const OBJECTS = new Uint8Array(MAX_LEVELS);
const NO_BOUND = Number.POSITIVE_INFINITY;

export function beginScan(text: string, bounds: SomeBounds): Scan {
  return {
    text,
    bounds,
    values: 1,
    own: NO_BOUND,
    inside: NO_BOUND,
    least: bounds.maxMembers ?? NO_BOUND,
    changedNumbers: [],
    longStrings: [],
    largeObjects: [],
  };
}

/** What has to be read in another way than the rest of the text: each list has starts and ends in turns. */
export type ScannedSpans = Pick<Scan, "changedNumbers" | "longStrings">;

/** Throws JsonError. */
export function scanValue(text: string, bounds: SomeBounds): ScannedSpans {
  const scan = beginScan(text, bounds);
  endOfValue(scan, skipSpace(text, 0), 0);
  return scan;
}

/**
 * `members` is null when the text is not an object. `keyOf` decodes a quoted key that has escapes. Throws JsonError.
 */
export function scanObject(
  text: string,
  bounds: SomeBounds,
  keyOf: (quoted: string) => string,
): { readonly members: ReadonlyMap<string, MemberSpan> | null; readonly changedNumbers: readonly number[] } {
  const scan = beginScan(text, bounds);
  return { members: findMembers(scan, keyOf), changedNumbers: scan.changedNumbers };
}

function findMembers(scan: Scan, keyOf: (quoted: string) => string): Map<string, MemberSpan> | null {
  const {
    text,
    bounds: { maxMembers = NO_BOUND, maxName = NO_BOUND, maxValues = NO_BOUND, maxItems },
  } = scan;
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
    if (keyEnd - keyStart - 2 > maxName)
      throw new JsonError(`A key may have at most ${maxName} characters.`, keyStart, {
        beyond: shortened(text.slice(keyStart + 1, keyStart + 1 + MAX_SHOWN + 1)),
      });
    const written = text.slice(keyStart + 1, keyEnd - 1);
    const key = written.includes("\\") ? keyOf(text.slice(keyStart, keyEnd)) : written;
    if (members.has(key)) throw repeatedName(text, keyStart, key);
    if (members.size === maxMembers)
      throw new JsonError(`The body may have at most ${maxMembers} members.`, keyStart, {
        beyond: shortened(key),
      });
    if (++scan.values > maxValues) throw tooManyValues(scan, keyStart);
    if (maxItems !== undefined) {
      ({ own: scan.own, inside: scan.inside } = maxItems(key));
      scan.least = Math.min(maxMembers, scan.own, scan.inside);
    }
    const valueStart = skipSpace(text, colon + 1);
    const valueEnd = endOfValue(scan, valueStart, 1);
    members.set(key, { keyStart, valueStart, valueEnd });
    const comma = skipSpace(text, valueEnd);
    if (text.charCodeAt(comma) !== COMMA) return members;
    keyStart = skipSpace(text, comma + 1);
  }
  return members;
}

/** Returns the position after the value that begins at `start`, inside `outerDepth` arrays and objects. */
export function endOfValue(scan: Scan, start: number, outerDepth: number): number {
  const {
    text,
    bounds: { maxDepth, maxValues = NO_BOUND, distinctNames = false, longString = NO_BOUND },
    least,
  } = scan;
  const { length } = text;
  let depth = outerDepth;
  let isName = false;
  let at = start;
  if (isLowerCase(text.charCodeAt(at))) {
    while (isLowerCase(text.charCodeAt(at))) at += 1;
    return at;
  }
  do {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = endOfString(text, at);
      if (isName) {
        isName = false;
        if (repeatsName(text, at + 1, end - 1, depth, COUNTS[depth]! - 1, scan.largeObjects))
          throw repeatedName(text, at, decodedName(text, at + 1, end - 1));
      }
      if (end - at >= longString && text.charCodeAt(skipSpace(text, end)) !== COLON) scan.longStrings.push(at, end);
      at = end;
    } else if ((unit >= ZERO && unit <= NINE) || unit === MINUS) {
      at = endOfNumber(scan, at);
    } else if (unit === COMMA) {
      if (++scan.values > maxValues) throw tooManyValues(scan, at);
      if (++COUNTS[depth]! > least) requireRoom(scan, depth, outerDepth, at);
      isName = distinctNames && OBJECTS[depth] === 1;
      at += 1;
    } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxDepth)
        throw new JsonError(`The JSON is nested deeper than ${maxDepth} levels at offset ${at}.`, at, {
          beyond: firstOf(pathAt(text, at, true)),
        });
      const first = text.charCodeAt(skipSpace(text, at + 1));
      const isEmpty = first === CLOSE_BRACE || first === CLOSE_BRACKET;
      COUNTS[depth] = isEmpty ? 0 : 1;
      OBJECTS[depth] = unit === OPEN_BRACE ? 1 : 0;
      isName = distinctNames && unit === OPEN_BRACE;
      if (!isEmpty && ++scan.values > maxValues) throw tooManyValues(scan, at);
      at += 1;
    } else {
      if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth -= 1;
      at += 1;
    }
  } while (depth > outerDepth && at < length);
  return at;
}

/** Throws JsonError when an array or object has more items or members than allowed. */
function requireRoom(scan: Scan, depth: number, outerDepth: number, at: number): void {
  const isObject = OBJECTS[depth] === 1;
  const bound = isObject ? (scan.bounds.maxMembers ?? NO_BOUND) : depth === outerDepth + 1 ? scan.own : scan.inside;
  if (COUNTS[depth]! <= bound) return;
  const path = pathAt(scan.text, at, false);
  throw new JsonError(`${path} may have at most ${bound} ${isObject ? "members" : "items"}.`, at, { beyond: path });
}

/**
 * Two readers of the same body, such as the gateway and the provider, could disagree about which of the two members
 * counts.
 */
export function repeatedName(text: string, at: number, name: string): JsonError {
  const path = pathAt(text, at, false);
  const shown = shortened(name);
  return new JsonError(
    `The key ${JSON.stringify(shown)} occurs twice in ${path === "" ? "the object" : path}, the second time at offset ${at}.`,
    at,
    { repeated: path === "" ? shown : `${path}.${shown}` },
  );
}

function tooManyValues({ text, bounds: { maxValues } }: Scan, at: number): JsonError {
  const path = pathAt(text, at, true);
  return new JsonError(
    `The body may have at most ${maxValues} JSON values; there are more at ${path} (offset ${at}).`,
    at,
    { beyond: path, bound: "maxValues" },
  );
}

/**
 * Returns the position after the closing quote. Most strings are short; for the rest of a long one, the runtime's
 * search is many times faster than this loop.
 */
export function endOfString(text: string, quote: number): number {
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
  const {
    text,
    bounds: { maxDigits = NO_BOUND },
  } = scan;
  let at = start + 1;
  let exponent = false;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === LOWER_E || unit === UPPER_E) exponent = true;
    else if (!((unit >= ZERO && unit <= NINE) || unit === POINT || unit === MINUS || unit === PLUS)) break;
    at += 1;
  }
  if (at - start > maxDigits && text.slice(start, at).replaceAll(/\D/g, "").length > maxDigits) {
    const path = pathAt(text, start, true);
    throw new JsonError(`${path} is a number with more than ${maxDigits} digits.`, start, {
      beyond: path,
    });
  }
  // A double represents every decimal of 15 digits exactly.
  if ((exponent || at - start > 15) && !survivesDouble(text.slice(start, at))) noteChanged(scan, start, at);
  return at;
}

function noteChanged(
  { text, bounds: { maxChangedNumbers = NO_BOUND }, changedNumbers }: Scan,
  start: number,
  end: number,
): void {
  if (changedNumbers.length >= 2 * maxChangedNumbers) {
    const path = pathAt(text, start, true);
    throw new JsonError(`The body may have at most ${maxChangedNumbers} numbers that a double would change.`, start, {
      beyond: path,
      bound: "maxChangedNumbers",
    });
  }
  changedNumbers.push(start, end);
}

/**
 * The member of the outermost object that contains a place. For nesting that is too deep, the rest of the path would
 * tell nothing more.
 */
function firstOf(path: string): string {
  return /^[^.[]*/.exec(path)![0];
}

const MAX_SHOWN = 64;

function shortened(name: string): string {
  return name.length <= MAX_SHOWN ? name : `${name.slice(0, MAX_SHOWN)}…`;
}

/** An array or object on the path to a place, and the position inside it. */
interface Level {
  readonly isObject: boolean;
  /** Start and end of the current key in the text; unused in an array. */
  keyStart: number;
  keyEnd: number;
  index: number;
}

/** Returns the path of the value at an offset, or of the array or object around it. Only errors need it. */
function pathAt(text: string, offset: number, ofValue: boolean): string {
  const levels: Level[] = [];
  let level: Level | undefined;
  let at = skipSpace(text, 0);
  while (at < offset) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = endOfString(text, at);
      if (level?.isObject === true && text.charCodeAt(skipSpace(text, end)) === COLON) {
        level.keyStart = at + 1;
        level.keyEnd = end - 1;
      }
      at = end;
      continue;
    }
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET)
      levels.push((level = { isObject: unit === OPEN_BRACE, keyStart: 0, keyEnd: 0, index: 0 }));
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
      levels.pop();
      level = levels.at(-1);
    } else if (unit === COMMA && level !== undefined) level.index += 1;
    at += 1;
  }
  const path = (ofValue ? levels : levels.slice(0, -1))
    .map(({ isObject, keyStart, keyEnd, index }) =>
      isObject ? `.${shortened(text.slice(keyStart, Math.min(keyEnd, keyStart + MAX_SHOWN + 1)))}` : `[${index}]`,
    )
    .join("");
  return path.startsWith(".") ? path.slice(1) : path;
}

export function skipSpace(text: string, start: number): number {
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

/**
 * Returns true when a double prints the number that was written, whatever the spelling: 1.0, 1e3, -0. Linear in the
 * number of digits.
 */
function survivesDouble(source: string): boolean {
  const value = Number(source);
  const printed = String(value);
  return printed === source || (Number.isFinite(value) && decimalOf(source) === decimalOf(printed));
}

/**
 * A canonical spelling of a decimal value without its sign: its digits without leading and trailing zeros, and the
 * power of ten.
 */
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
