// Changes members and items of a JSON text and leaves all other text as it was written: spaces, order, spelling of
// numbers and of escapes. It takes one pass, which makes no value and no list of members.
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { decodedName, repeatsName } from "./json-names.ts";
import { beginScan, endOfString, endOfValue, repeatedName, type Scan, skipSpace } from "./json-scan.ts";

const MAX_DEPTH = 512;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;

/** The edits of one member, whose name is at their `depth`. */
interface Edited {
  readonly name: string;
  readonly edits: readonly JsonEdit[];
}

/** The text up to `copied` is in `out`, with its changes. */
interface Writing {
  readonly scan: Scan;
  out: string;
  copied: number;
}

/**
 * Returns the text, which is the JSON of an object, with all edits. A member that is not there is added at the end of
 * its object, and the objects around it as well; an item that is not there is left alone. An outer place of a path that
 * is no object becomes one, unless something is only removed. Throws JsonError when an object on the path of an edit has
 * two members of one name.
 */
export function editedJson(text: string, edits: readonly JsonEdit[]): string {
  if (edits.length === 0) return text;
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) !== OPEN_BRACE) return newObject(edits, 0);
  const writing: Writing = { scan: beginScan(text, { maxDepth: MAX_DEPTH }), out: "", copied: 0 };
  writeObject(writing, start, edits, 0);
  return writing.out + text.slice(writing.copied);
}

/** Returns the position after the last member of the object that begins at `open`. */
function writeObject(writing: Writing, open: number, edits: readonly JsonEdit[], depth: number): number {
  const { scan } = writing;
  const { text } = scan;
  const missing = byMember(edits, depth);
  const entries = new Entries(writing, open + 1);
  let keyStart = skipSpace(text, open + 1);
  for (let index = 0; text.charCodeAt(keyStart) === QUOTE; index++) {
    const keyEnd = endOfString(text, keyStart);
    if (repeatsName(text, keyStart + 1, keyEnd - 1, depth, index, scan.largeObjects))
      throw repeatedName(text, keyStart, decodedName(text, keyStart + 1, keyEnd - 1));
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const at = memberAt(missing, text, keyStart + 1, keyEnd - 1);
    entries.take(keyStart, start, at === -1 ? undefined : missing.splice(at, 1)[0]!.edits, depth);
    const comma = skipSpace(text, entries.end);
    if (text.charCodeAt(comma) !== COMMA) break;
    keyStart = skipSpace(text, comma + 1);
  }
  for (const member of missing) {
    const added = addedMember(member, depth);
    if (added !== undefined) entries.add(added);
  }
  return entries.end;
}

/** Returns the position after the last item of the array that begins at `open`. */
function writeArray(writing: Writing, open: number, edits: readonly JsonEdit[], depth: number): number {
  const { text } = writing.scan;
  const byItem = Map.groupBy(edits, ({ path }) => path[depth]);
  const entries = new Entries(writing, open + 1);
  let start = skipSpace(text, open + 1);
  if (text.charCodeAt(start) === CLOSE_BRACKET) return entries.end;
  for (let index = 0; ; index++) {
    entries.take(start, start, byItem.get(index), depth);
    const comma = skipSpace(text, entries.end);
    if (text.charCodeAt(comma) !== COMMA) return entries.end;
    start = skipSpace(text, comma + 1);
  }
}

/** The members of an object or the items of an array, one after the other, of which some are removed or added. */
class Entries {
  readonly #writing: Writing;
  /** Whether one of them stays, so that a comma stands before the next one. */
  #areThere = false;
  /** Whether all of them so far are removed, so that what separates them from the next one is removed as well. */
  #areRemoved = false;
  /** Where the last one ends, as it was written. */
  end: number;

  constructor(writing: Writing, end: number) {
    this.#writing = writing;
    this.end = end;
  }

  /** `edits` are those of its value, which begins at `valueStart`, inside `depth` arrays and objects. */
  take(start: number, valueStart: number, edits: readonly JsonEdit[] | undefined, depth: number): void {
    const writing = this.#writing;
    const { scan } = writing;
    const whole = edits === undefined ? undefined : wholeOf(edits, depth);
    if (whole !== undefined && isRemoving(whole)) {
      const end = endOfValue(scan, valueStart, depth + 1);
      if (!this.#areRemoved) copyTo(writing, this.#areThere ? this.end : start);
      this.#areRemoved = !this.#areThere;
      writing.copied = end;
      this.end = end;
      return;
    }
    if (this.#areRemoved) writing.copied = start;
    this.#areRemoved = false;
    this.#areThere = true;
    this.end =
      edits === undefined
        ? endOfValue(scan, valueStart, depth + 1)
        : writeValue(writing, edits, whole, valueStart, depth);
  }

  add(member: string): void {
    copyTo(this.#writing, this.end);
    this.#writing.out += this.#areThere ? `,${member}` : member;
    this.#areThere = true;
  }
}

function copyTo(writing: Writing, end: number): void {
  writing.out += writing.scan.text.slice(writing.copied, end);
  writing.copied = end;
}

/**
 * Returns the position after the value that begins at `start`. `edits` are those of the value; `whole`, which is one of
 * them, makes all of it, and does not remove it.
 */
function writeValue(
  writing: Writing,
  edits: readonly JsonEdit[],
  whole: JsonEdit | undefined,
  start: number,
  depth: number,
): number {
  const { scan } = writing;
  const first = scan.text.charCodeAt(start);
  if (whole === undefined && (first === OPEN_BRACE || first === OPEN_BRACKET)) {
    const last = (first === OPEN_BRACE ? writeObject : writeArray)(writing, start, edits, depth + 1);
    // what follows the last member or item is the end of the value
    return skipSpace(scan.text, last) + 1;
  }
  const end = endOfValue(scan, start, depth + 1);
  if (whole === undefined && edits.every(isRemoving)) return end;
  copyTo(writing, start);
  writing.out += whole === undefined ? newObject(edits, depth + 1) : JSON.stringify(whole.value);
  writing.copied = end;
  return end;
}

/** Returns the text of a new member, with the objects inside it; undefined where its edits only remove something. */
function addedMember({ name, edits }: Edited, depth: number): string | undefined {
  const whole = wholeOf(edits, depth);
  if (whole === undefined ? edits.every(isRemoving) : isRemoving(whole)) return undefined;
  return `${JSON.stringify(name)}:${whole === undefined ? newObject(edits, depth + 1) : JSON.stringify(whole.value)}`;
}

function newObject(edits: readonly JsonEdit[], depth: number): string {
  const members = byMember(edits, depth).map((member) => addedMember(member, depth));
  return `{${members.filter((member) => member !== undefined).join(",")}}`;
}

function isRemoving({ value }: JsonEdit): boolean {
  return value === undefined;
}

/** Returns the edit that makes or removes a value as a whole. The last one counts. */
function wholeOf(edits: readonly JsonEdit[], depth: number): JsonEdit | undefined {
  return edits.findLast(({ path }) => path.length === depth + 1);
}

/** Returns the edits by member, in their order. */
function byMember(edits: readonly JsonEdit[], depth: number): Edited[] {
  const members: { readonly name: string; readonly edits: JsonEdit[] }[] = [];
  for (const edit of edits) {
    const name = String(edit.path[depth]);
    const known = members.find((member) => member.name === name);
    if (known === undefined) members.push({ name, edits: [edit] });
    else known.edits.push(edit);
  }
  return members;
}

/** Returns the index of the member whose name stands between its quotes from `start` to `end`, or -1. */
function memberAt(members: readonly Edited[], text: string, start: number, end: number): number {
  if (members.length === 0) return -1;
  for (let at = start; at < end; at++) {
    if (text.charCodeAt(at) !== BACKSLASH) continue;
    const decoded = decodedName(text, start, end);
    return members.findIndex(({ name }) => name === decoded);
  }
  return members.findIndex(({ name }) => name.length === end - start && text.startsWith(name, start));
}
