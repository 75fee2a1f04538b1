// Replaces members and items in a JSON text, and adds members, in one pass that makes no value and no list of members:
// nearly all changes of an answer are of this kind. Whatever else an edit asks for is left to json-edit.ts.
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { beginScan, endOfValue, type Scan, skipSpace } from "./json-scan.ts";

const MAX_DEPTH = 512;
/** Objects with more members are left to json-edit.ts. */
const MAX_MEMBERS = 256;
const LEFT = -1;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;

/** The edits of one member. */
interface Edited {
  readonly name: string;
  readonly hash: number;
  readonly edits: JsonEdit[];
  isThere: boolean;
}

interface Writing {
  readonly scan: Scan;
  /** What is written so far, which is the text up to `copied` with its changes. */
  out: string;
  copied: number;
}

/**
 * Returns the text with all edits; `null` where an edit removes something that is there, or names an item of a list that
 * is not there, and where a name has escapes or might stand twice in an object.
 */
export function editedInOnePass(text: string, edits: readonly JsonEdit[]): string | null {
  const writing: Writing = { scan: beginScan(text, { maxDepth: MAX_DEPTH }), out: "", copied: 0 };
  return writeObject(writing, skipSpace(text, 0), edits, 0) === LEFT ? null : writing.out + text.slice(writing.copied);
}

/** Returns the position after the last member of the object; LEFT where the object is left to json-edit.ts. */
function writeObject(writing: Writing, open: number, edits: readonly JsonEdit[], depth: number): number {
  const { scan } = writing;
  const { text } = scan;
  const wanted = byMember(edits, depth);
  if (wanted === null || text.charCodeAt(open) !== OPEN_BRACE) return LEFT;
  const hashes: number[] = [];
  let last = open + 1;
  let keyStart = skipSpace(text, last);
  while (text.charCodeAt(keyStart) === QUOTE) {
    let hash = FIRST_HASH;
    let keyEnd = keyStart + 1;
    for (let unit = text.charCodeAt(keyEnd); unit !== QUOTE; unit = text.charCodeAt(++keyEnd)) {
      if (unit === BACKSLASH || keyEnd >= text.length) return LEFT;
      hash = nextHash(hash, unit);
    }
    const colon = skipSpace(text, keyEnd + 1);
    if (text.charCodeAt(colon) !== COLON || hashes.includes(hash) || hashes.push(hash) > MAX_MEMBERS) return LEFT;
    const start = skipSpace(text, colon + 1);
    const member = memberAt(wanted, hash, text, keyStart + 1, keyEnd);
    if (member === undefined) last = endOfValue(scan, start, depth + 1);
    else {
      member.isThere = true;
      last = writeValue(writing, member.edits, start, depth);
    }
    if (last === LEFT) return LEFT;
    const comma = skipSpace(text, last);
    if (text.charCodeAt(comma) !== COMMA) break;
    keyStart = skipSpace(text, comma + 1);
  }
  return hashes.length > 0 && addMembers(writing, wanted, last, depth) ? last : LEFT;
}

/** Returns the position after the last item of the array; LEFT where the array is left to json-edit.ts. */
function writeArray(writing: Writing, open: number, edits: readonly JsonEdit[], depth: number): number {
  const { scan } = writing;
  const { text } = scan;
  const wanted = byItem(edits, depth);
  if (wanted === null) return LEFT;
  let last = open + 1;
  let start = skipSpace(text, last);
  if (text.charCodeAt(start) === CLOSE_BRACKET) return last;
  for (let index = 0; ; index++) {
    const inside = wanted.get(index);
    last = inside === undefined ? endOfValue(scan, start, depth + 1) : writeValue(writing, inside, start, depth);
    if (last === LEFT) return LEFT;
    const comma = skipSpace(text, last);
    if (text.charCodeAt(comma) !== COMMA) return last;
    start = skipSpace(text, comma + 1);
  }
}

/** Returns the position after the value that begins at `start`. `edits` are those of the value. */
function writeValue(writing: Writing, edits: readonly JsonEdit[], start: number, depth: number): number {
  const { scan } = writing;
  const whole = wholeOf(edits, depth);
  if (whole === undefined) {
    const write = scan.text.charCodeAt(start) === OPEN_BRACKET ? writeArray : writeObject;
    const last = write(writing, start, edits, depth + 1);
    // what follows the last member or item is the end of the value
    return last === LEFT ? LEFT : skipSpace(scan.text, last) + 1;
  }
  if (whole.value === undefined) return LEFT;
  const end = endOfValue(scan, start, depth + 1);
  writing.out += scan.text.slice(writing.copied, start) + JSON.stringify(whole.value);
  writing.copied = end;
  return end;
}

function addMembers(writing: Writing, wanted: readonly Edited[], last: number, depth: number): boolean {
  for (const member of wanted) {
    if (member.isThere || addNothing(member.edits, depth)) continue;
    const added = addedMember(member, depth);
    if (added === null) return false;
    writing.out += `${writing.scan.text.slice(writing.copied, last)},${added}`;
    writing.copied = last;
  }
  return true;
}

/** Whether the edits of a value that is not there make none. */
function addNothing(edits: readonly JsonEdit[], depth: number): boolean {
  const whole = wholeOf(edits, depth);
  return whole === undefined ? edits.every(({ value }) => value === undefined) : whole.value === undefined;
}

/** Returns the text of a new member, with the objects inside it; `null` where an edit inside it is of an item. */
function addedMember({ name, edits }: Edited, depth: number): string | null {
  const key = JSON.stringify(name);
  const whole = wholeOf(edits, depth);
  if (whole !== undefined) return `${key}:${JSON.stringify(whole.value)}`;
  const members = byMember(edits, depth + 1)
    ?.filter((member) => !addNothing(member.edits, depth + 1))
    .map((member) => addedMember(member, depth + 1));
  return members === undefined || members.includes(null) ? null : `${key}:{${members.join(",")}}`;
}

/** Returns the edit that makes a value as a whole. The last one counts. */
function wholeOf(edits: readonly JsonEdit[], depth: number): JsonEdit | undefined {
  return edits.findLast(({ path }) => path.length === depth + 1);
}

/** Returns the edits by member, in their order; `null` where one is of an item. */
function byMember(edits: readonly JsonEdit[], depth: number): readonly Edited[] | null {
  const members: Edited[] = [];
  for (const edit of edits) {
    const name = edit.path[depth];
    if (typeof name !== "string") return null;
    const known = members.find((member) => member.name === name);
    if (known === undefined) members.push({ name, hash: hashOf(name), edits: [edit], isThere: false });
    else known.edits.push(edit);
  }
  return members;
}

/** Returns the edits by index, in their order; `null` where one is of a member. */
function byItem(edits: readonly JsonEdit[], depth: number): ReadonlyMap<number, readonly JsonEdit[]> | null {
  const items = new Map<number, JsonEdit[]>();
  for (const edit of edits) {
    const index = edit.path[depth];
    if (typeof index !== "number") return null;
    items.getOrInsertComputed(index, () => []).push(edit);
  }
  return items;
}

function memberAt(
  wanted: readonly Edited[],
  hash: number,
  text: string,
  start: number,
  end: number,
): Edited | undefined {
  for (const member of wanted)
    if (member.hash === hash && member.name.length === end - start && text.startsWith(member.name, start))
      return member;
  return undefined;
}

/** FNV-1a of the UTF-16 units: names of one object with the same hash might be the same name. */
const FIRST_HASH = 0x811c_9dc5 | 0;

function nextHash(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x0100_0193);
}

function hashOf(name: string): number {
  let hash = FIRST_HASH;
  for (let at = 0; at < name.length; at++) hash = nextHash(hash, name.charCodeAt(at));
  return hash;
}
