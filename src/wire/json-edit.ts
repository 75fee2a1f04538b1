// Changes members and items of a JSON text and leaves all other text as it was written: spaces, order, spelling of
// numbers and of escapes.
import type { JsonEdit } from "../core/json-edit.ts";
import { JsonError } from "./json-error.ts";
import { scanItems, scanObject } from "./json-scan.ts";

const MAX_DEPTH = 512;

/**
 * Returns the text, which is the JSON of an object, with all edits. A member that is not there is added at the end of
 * its object, and the objects around it as well; an item that is not there is left alone. Throws JsonError when an
 * object on the path of an edit has two members of one name.
 */
export function editedJson(text: string, edits: readonly JsonEdit[]): string {
  return edits.length === 0 ? text : editedObject(text, edits);
}

/** The edits of one member or item, with the paths inside it; `[]` is the value itself. */
type EditsBelow<Key> = Map<Key, JsonEdit[]>;

function editsBelow(edits: readonly JsonEdit[]): EditsBelow<string | number> {
  const below: EditsBelow<string | number> = new Map();
  for (const { path, value } of edits) {
    const [key, ...rest] = path;
    if (key === undefined) continue;
    const inside = below.get(key) ?? [];
    inside.push({ path: rest, value });
    below.set(key, inside);
  }
  return below;
}

function editedObject(text: string, edits: readonly JsonEdit[]): string {
  const { members } = scanObject(text, { maxDepth: MAX_DEPTH }, (quoted) => JSON.parse(quoted) as string);
  // the value at an outer name of a path is no object, so that it is replaced
  if (members === null) return editedObject("{}", edits);
  const below = editsBelow(edits);
  const added: string[] = [];
  for (const [name, inside] of below)
    if (!members.has(String(name))) {
      const value = editedValue(null, inside);
      if (value !== undefined) added.push(`${JSON.stringify(String(name))}:${value}`);
    }
  const spans = [...members].map(([name, { keyStart, valueStart, valueEnd }]) => ({
    start: keyStart,
    end: valueEnd,
    edited: editedAt(text, valueStart, valueEnd, below.get(name), keyStart),
  }));
  return joined(text, spans, added);
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
