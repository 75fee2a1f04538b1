// Replaces members of objects in a JSON text, and adds members, in one pass that makes no value and no list of members:
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
 * Returns the text with all edits; `null` where an edit removes something that is there, changes an array, or adds an
 * object around what it adds, and where a name has escapes or might stand twice in an object.
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
    last = member === undefined ? endOfValue(scan, start, depth + 1) : writeMember(writing, member, start, depth);
    if (last === LEFT) return LEFT;
    const comma = skipSpace(text, last);
    if (text.charCodeAt(comma) !== COMMA) break;
    keyStart = skipSpace(text, comma + 1);
  }
  return hashes.length > 0 && addMembers(writing, wanted, last, depth) ? last : LEFT;
}

/** Returns the position after the value that begins at `start`. */
function writeMember(writing: Writing, member: Edited, start: number, depth: number): number {
  const { scan } = writing;
  member.isThere = true;
  const whole = wholeOf(member, depth);
  if (whole === undefined) {
    const last = writeObject(writing, start, member.edits, depth + 1);
    // what follows the last member is the end of the object
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
    if (member.isThere || member.edits.every(({ value }) => value === undefined)) continue;
    const whole = wholeOf(member, depth);
    if (whole === undefined) return false;
    if (whole.value === undefined) continue;
    writing.out += `${writing.scan.text.slice(writing.copied, last)},${JSON.stringify(member.name)}:${JSON.stringify(whole.value)}`;
    writing.copied = last;
  }
  return true;
}

/** Returns the edit that makes a member as a whole. The last one counts. */
function wholeOf({ edits }: Edited, depth: number): JsonEdit | undefined {
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
