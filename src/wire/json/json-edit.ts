// Changes members and items of a JSON text and leaves all other text as it was written: spaces, order, spelling of
// numbers and of escapes.
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { MemberSpan } from "../../core/request/request-source.ts";
import { JsonError } from "./json-error.ts";
import { editedInOnePass } from "./json-edit-in-one-pass.ts";
import { scanItems, scanObject } from "./json-scan.ts";

const MAX_DEPTH = 512;

/**
 * Returns the text, which is the JSON of an object, with all edits. A member that is not there is added at the end of
 * its object, and the objects around it as well; an item that is not there is left alone. Throws JsonError when an object
 * on the path of an edit has two members of one name.
 */
export function editedJson(text: string, edits: readonly JsonEdit[]): string {
  return edits.length === 0 ? text : (editedInOnePass(text, edits) ?? editedObject(text, edits));
}

/** The edits of one member or item, with the paths inside it; `[]` is the value itself. */
type EditsBelow<Key> = Map<Key, JsonEdit[]>;

function editsBelow(edits: readonly JsonEdit[]): EditsBelow<string | number> {
  const below: EditsBelow<string | number> = new Map();
  for (const { path, value } of edits) {
    const [key] = path;
    if (key === undefined) continue;
    below.getOrInsertComputed(key, () => []).push({ path: path.length === 1 ? WHOLE : path.slice(1), value });
  }
  return below;
}
const WHOLE: JsonEdit["path"] = [];

/** The same, for any edits: with a list of the members of each object on a path. */
export function editedObject(text: string, edits: readonly JsonEdit[]): string {
  const { members } = scanObject(text, { maxDepth: MAX_DEPTH }, (quoted) => JSON.parse(quoted) as string);
  // the value at an outer name of a path is no object, so that it is replaced
  if (members === null) return editedObject("{}", edits);
  const changes: Change[] = [];
  const added: string[] = [];
  let removes = false;
  const below = editsBelow(edits);
  for (const [key, inside] of below) {
    const name = String(key);
    const span = members.get(name);
    const value = editedValue(span === undefined ? null : text.slice(span.valueStart, span.valueEnd), inside);
    if (span !== undefined && value !== undefined)
      changes.push({ start: span.valueStart, end: span.valueEnd, text: value });
    else if (span !== undefined) removes = true;
    else if (value !== undefined) added.push(`${JSON.stringify(name)}:${value}`);
  }
  if (!removes) return withChanges(text, changes, added, members);
  const spans = [...members].map(([name, { keyStart, valueStart, valueEnd }]) => ({
    start: keyStart,
    end: valueEnd,
    edited: editedAt(text, valueStart, valueEnd, below.get(name), keyStart),
  }));
  return joined(text, spans, added);
}

/** A value in place of another one. */
interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Returns the text of an object with other values, and with members behind its own. */
function withChanges(
  text: string,
  changes: readonly Change[],
  added: readonly string[],
  members: ReadonlyMap<string, MemberSpan>,
): string {
  let out = "";
  let copied = 0;
  for (const { start, end, text: value } of changes.toSorted((one, other) => one.start - other.start)) {
    out += text.slice(copied, start) + value;
    copied = end;
  }
  if (added.length > 0) {
    let last = members.size === 0 ? text.indexOf("{") + 1 : 0;
    for (const { valueEnd } of members.values()) last = valueEnd;
    out += text.slice(copied, last);
    for (const [index, member] of added.entries()) out += index === 0 && members.size === 0 ? member : `,${member}`;
    copied = last;
  }
  return out + text.slice(copied);
}

function editedArray(text: string, edits: readonly JsonEdit[]): string {
  const below = editsBelow(edits);
  const spans = scanItems(text).map(({ start, end }, index) => ({
    start,
    end,
    edited: editedAt(text, start, end, below.get(index), start),
  }));
  return joined(text, spans, []);
}

/** Returns the text from `start` on with the value as `edits` change it; undefined where they remove it. */
function editedAt(
  text: string,
  valueStart: number,
  valueEnd: number,
  edits: readonly JsonEdit[] | undefined,
  start: number,
): string | undefined {
  if (edits === undefined) return text.slice(start, valueEnd);
  const value = editedValue(text.slice(valueStart, valueEnd), edits);
  return value === undefined ? undefined : text.slice(start, valueStart) + value;
}

/** `text` is null for a value that is not there. */
function editedValue(text: string | null, edits: readonly JsonEdit[]): string | undefined {
  const whole = edits.findLast(({ path }) => path.length === 0);
  if (whole !== undefined) return whole.value === undefined ? undefined : JSON.stringify(whole.value);
  // an edit that only removes something makes nothing where nothing is
  if (text === null) return edits.every(({ value }) => value === undefined) ? undefined : editedObject("{}", edits);
  if (text.startsWith("[")) return editedArray(text, edits);
  const removes = edits.every(({ value }) => value === undefined);
  return removes && !text.startsWith("{") ? text : editedObject(text, edits);
}

interface EditedSpan {
  readonly start: number;
  readonly end: number;
  /** Undefined for what is removed. */
  readonly edited: string | undefined;
}

/** Joins members or items with the text that stood between them. */
function joined(text: string, spans: readonly EditedSpan[], added: readonly string[]): string {
  const open = /[[{]/.exec(text);
  if (open === null) throw new JsonError("The text is neither an object nor an array.", 0);
  const first = spans[0]?.start ?? open.index + 1;
  const last = spans.at(-1)?.end ?? open.index + 1;
  let out = text.slice(0, first);
  let isFirst = true;
  for (const [index, { start, edited }] of spans.entries()) {
    if (edited === undefined) continue;
    if (!isFirst) out += text.slice(spans[index - 1]!.end, start);
    out += edited;
    isFirst = false;
  }
  for (const member of added) {
    out += `${isFirst ? "" : ","}${member}`;
    isFirst = false;
  }
  return out + text.slice(last);
}
