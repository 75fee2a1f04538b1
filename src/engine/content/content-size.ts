// Bounds the size of what is kept of a call: notes replace files, and of lists the last members that fit are kept. What
// is cut before redaction keeps a margin, which is cut off afterwards, so that no part of a secret remains at a cut.
import { isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";

/** The length of the longest secret that is searched for. */
export const MARGIN = 16_384;
/** The most tool calls of one answer that are kept. */
export const MAX_KEPT_CALLS = 1000;
/** Marks the end of a text that was cut with its margin. */
export const CUT = "\uFFFE\uFFFF";

/** The number of characters that are left. */
export interface Room {
  left: number;
  /** True if something did not fit. */
  isCut: boolean;
}

export interface Fitting {
  readonly kept: readonly Json[];
  /** The number of values before these that did not fit. */
  readonly leftOut: number;
  /** True if the first value that is kept is cut. */
  readonly isCut: boolean;
}

/**
 * Returns what is kept of a text, of which at most `most` characters are examined. `name` is the member that contains
 * it, `owner` the object of that member.
 */
type Form = (text: string, most: number, name: string, owner: JsonObject) => string;

/** Before redaction: returns the last values without their files, with a margin. */
export function cutWithMargin(values: readonly Json[], characters: number): Fitting {
  return lastThatFit(values, { left: characters + MARGIN, isCut: false }, notedText);
}

/** After redaction: returns what fits, without the margin. */
export function cutToSize({ kept, leftOut, isCut }: Fitting, room: Room): Fitting {
  if (!isCut) return lastThatFit(kept, room, asItIs, leftOut);
  const [first, ...others] = kept as readonly [Json, ...(readonly Json[])];
  const fitting = lastThatFit(others, room, asItIs, leftOut + 1);
  const left = Math.min(room.left, sizeOf(first) - MARGIN);
  room.isCut = true;
  if (fitting.leftOut > leftOut + 1 || fitting.isCut || left <= 0) return fitting;
  room.left -= left;
  return { kept: [fitted(first, { left, isCut: false }, asItIs), ...fitting.kept], leftOut, isCut: true };
}

/** Replaces files by notes. */
export function withoutFiles(value: Json): Json {
  return fitted(value, { left: Number.POSITIVE_INFINITY, isCut: false }, notedText);
}

/** Cuts the margin off texts of a stream. */
export function withoutMargin(value: Json, room: Room): Json {
  return fitted(value, room, (text) =>
    text.endsWith(CUT) ? `${text.slice(0, Math.max(0, text.length - CUT.length - MARGIN))}…` : text,
  );
}

const asItIs: Form = (text) => text;

function lastThatFit(values: readonly Json[], room: Room, form: Form, leftOut = 0): Fitting {
  const kept: Json[] = [];
  let index = values.length - 1;
  for (; index >= 0 && room.left > 0 && !room.isCut; index--) kept.push(fitted(values[index]!, room, form));
  return { kept: kept.toReversed(), leftOut: leftOut + index + 1, isCut: room.isCut && kept.length > 0 };
}

/** Each member counts beside its text, because a million empty members are large as well. */
const MEMBER_SIZE = 2;

function fitted(value: Json, room: Room, form: Form, name = "", owner: JsonObject = {}): Json {
  if (typeof value === "string") return fittedText(form(value, room.left + 1, name, owner), room);
  if (Array.isArray(value)) {
    const kept: Json[] = [];
    for (const one of value as readonly Json[]) {
      if (!takeRoom(room, MEMBER_SIZE)) break;
      kept.push(fitted(one, room, form, name, owner));
    }
    return kept;
  }
  if (!isObject(value) || isRawNumber(value)) return value;
  const kept: (readonly [string, Json])[] = [];
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    if (!takeRoom(room, key.length + MEMBER_SIZE)) break;
    kept.push([key, fitted(member, room, form, key, value)]);
  }
  // the role and the type are kept even of what is cut
  if (room.isCut) for (const key of ["role", "type"]) if (isWord(value[key])) kept.push([key, value[key]]);
  return Object.fromEntries(kept);
}

function fittedText(text: string, room: Room): string {
  const isFirst = !room.isCut;
  if (takeRoom(room, text.length)) return text;
  if (!isFirst) return "";
  const fitting = text.slice(0, room.left).replace(/[\uD800-\uDBFF]$/, "");
  room.left = 0;
  return `${fitting}…`;
}

function takeRoom(room: Room, characters: number): boolean {
  room.isCut ||= characters > room.left;
  if (!room.isCut) room.left -= characters;
  return !room.isCut;
}

/** A type or a role, and no text of a caller. */
export function isWord(value: Json | undefined): value is string {
  return typeof value === "string" && /^[a-z_]{1,32}$/.test(value);
}

function sizeOf(value: Json): number {
  if (typeof value === "string") return value.length;
  if (Array.isArray(value))
    return (value as readonly Json[]).reduce<number>((sum, one) => sum + MEMBER_SIZE + sizeOf(one), 0);
  if (!isObject(value) || isRawNumber(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, member]) => sum + key.length + MEMBER_SIZE + (member === undefined ? 0 : sizeOf(member)),
    0,
  );
}

const ADDRESS = /(?:^|_)ur[il]$/;
const BYTES_OF: ReadonlySet<string> = new Set(["file_data", "data"]);
/** Shorter data is kept as it is. */
const FEW_BYTES = 64;
const DATA_ADDRESS = /^data:([\w.+-]{1,100}\/[\w.+-]{1,100})?[^,]{0,500},/;

function notedText(text: string, most: number, name: string, owner: JsonObject): string {
  const isBytes = BYTES_OF.has(name) && owner["type"] !== "text";
  if (isBytes || ADDRESS.test(name)) {
    const head = DATA_ADDRESS.exec(text.slice(0, 1000));
    if (head !== null) return note(head[1] ?? "", text.length - head[0].length);
    if (isBytes && text.length > FEW_BYTES) return note(formatOf(owner), text.length);
    // the query of an address and the user before its host often grant access
    if (!isBytes)
      return text.replace(/[?#].*$/s, "?[left out]").replace(/^([a-z][a-z0-9+.-]{0,30}:\/\/)[^/@]*@/i, "$1[left out]@");
  }
  return text.includes(BASE64) ? withoutDataAddresses(text, most) : text;
}

const BASE64 = ";base64,";
const DATA_HEAD = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[^;,\s"']*)*$/;
/** The length of `data:`, a type and its parameters. */
const MAX_DATA_HEAD = 300;
const FEWEST_CHARACTERS = 16;

/**
 * Searches backward and forward from `;base64,`: a regular expression for the whole would scan the same text again and
 * again.
 */
function withoutDataAddresses(text: string, most: number): string {
  const characters = /[A-Za-z0-9+/=_-]*/y;
  let out = "";
  let at = 0;
  for (
    let mark = text.indexOf(BASE64);
    mark >= 0 && out.length < most;
    mark = text.indexOf(BASE64, mark + BASE64.length)
  ) {
    const before = text.slice(Math.max(at, mark - MAX_DATA_HEAD), mark);
    const head = DATA_HEAD.exec(before.slice(Math.max(0, before.lastIndexOf("data:"))));
    characters.lastIndex = mark + BASE64.length;
    const length = head === null ? 0 : characters.exec(text)![0].length;
    if (length < FEWEST_CHARACTERS) {
      if (mark - at < most) continue;
      break;
    }
    out += text.slice(at, mark - head![0].length) + note(head![1] ?? "", length);
    at = mark + BASE64.length + length;
  }
  return out + text.slice(at);
}

function formatOf({ format }: JsonObject): string {
  return typeof format === "string" && /^[\w.+-]{1,32}$/.test(format) ? format : "";
}

function note(type: string, base64Length: number): string {
  return `[${type === "" ? "file" : type}, ${Math.floor((base64Length * 3) / 4)} bytes]`;
}
