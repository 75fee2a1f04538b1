// One item of a stream that a provider speaks itself, and the changes that its events and the whole answer need.
import { isObject, isText, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../../core/json.ts";
import { type JsonEdit, withEdits } from "../../../core/request/json-edit.ts";
import type { ContentPlaces } from "../../../providers/responses/item-places.ts";
import { formOfCall, type PartForm } from "../../../providers/responses/stream-grammar.ts";
import { partJson, partPlace } from "../part-members.ts";
import { type PassedPart, wholeTexts } from "./passed-parts.ts";
import { itemEdits } from "./supplied-members.ts";

export interface PassedItem {
  readonly id: string;
  readonly type: string;
  /** Its place among the items that the client knows; `null` while what it begins with is not known yet. */
  index: number | null;
  /** The item as it began, and as it ended. */
  json: JsonObject;
  isDone: boolean;
  readonly parts: Map<string, PassedPart>;
}

type Path = JsonEdit["path"];

/** Whether the item can be announced: a call is nothing without a name. */
export function isNamed({ type, name }: JsonObject): boolean {
  return formOfCall(type) === null || isText(name);
}

export function indexIn(event: JsonObject, form: PartForm, contents: ContentPlaces): number {
  if (form.at === "content_index") return contents.within(event);
  const at = form.at === null ? 0 : event[form.at];
  return typeof at === "number" ? at : 0;
}

export function keyOf({ type }: PartForm, at: number): string {
  return `${type} ${at}`;
}

export function placeIn(item: PassedItem, { form, at }: PassedPart): JsonObject {
  return partPlace(form, item.id, item.index!, at);
}

/** The change of an event that names the place of its item. */
export function indexEdit({ output_index: index }: JsonObject, item: PassedItem): readonly JsonEdit[] {
  return index === item.index ? [] : [{ path: ["output_index"], value: item.index }];
}

/** The changes of an event of a part. */
export function placeEdits(event: JsonObject, item: PassedItem, form: PartForm, at: number): readonly JsonEdit[] {
  const edits = indexEdit(event, item).slice();
  if (event["item_id"] !== item.id) edits.push({ path: ["item_id"], value: item.id });
  if (form.at !== null && event[form.at] !== at) edits.push({ path: [form.at], value: at });
  return edits;
}

/** The changes of an event that brings a piece of a part, or its whole text. */
export function pieceEdits(event: JsonObject, item: PassedItem, { form, at }: PassedPart): JsonEdit[] {
  const edits = placeEdits(event, item, form, at).slice();
  if (form.isAnnotated && !Array.isArray(event["logprobs"])) edits.push({ path: ["logprobs"], value: [] });
  return edits;
}

/** The changes of an item that begins: its texts follow in events of their own, and would be there twice. */
export function begunEdits(source: JsonObject, id: string, path: Path): readonly JsonEdit[] {
  const emptied: JsonEdit[] = wholeTexts(source).some(({ form }) => form.at !== null)
    ? [{ path: [source["type"] === "reasoning" ? "summary" : "content"], value: [] }]
    : wholeTexts(source).map(({ form }) => ({ path: [form.whole], value: "" }));
  if (source["type"] === "reasoning" && wholeTexts(source).some(({ form }) => form.at === "content_index"))
    emptied.push({ path: ["content"], value: [] });
  const others = itemEdits(withEdits(source, emptied), id, "in_progress", []);
  return [...emptied, ...others].map((edit) => ({ ...edit, path: [...path, ...edit.path] }));
}

/** The change of a part that begins. */
export function emptiedEdits(part: JsonObject, form: PartForm): readonly JsonEdit[] {
  return part[form.whole] === "" ? [] : [{ path: ["part", form.whole], value: "" }];
}

/** The changes of an item that has ended: its id is the one that the client knows, and its texts are those it was sent. */
export function endedEdits(item: PassedItem, source: JsonObject, status: string, path: Path): readonly JsonEdit[] {
  const filled = filledEdits(item, source);
  const others = itemEdits(withEdits(source, filled), item.id, status, []);
  return [...filled, ...others].map((edit) => ({ ...edit, path: [...path, ...edit.path] }));
}

/** The texts that came in pieces and that the whole item lacks. */
function filledEdits({ parts, type }: PassedItem, source: JsonObject): readonly JsonEdit[] {
  const edits: JsonEdit[] = [];
  const listed = Map.groupBy(parts.values(), ({ form }) => form.list);
  for (const [name, found] of listed) {
    if (name === null) continue;
    const own = found.filter(({ text }) => text !== "");
    const there = source[name];
    if (own.length === 0 || typeof there === "string") continue;
    if (!Array.isArray(there) || there.length === 0) {
      const inOrder = own.toSorted((one, other) => one.at - other.at);
      edits.push({ path: [name], value: inOrder.map((part) => partJson(part.form, part)) });
      continue;
    }
    for (const { form, at, text } of own) {
      const part = objectsIn(there)[at];
      if (part?.["type"] === form.type && textOrEmpty(part[form.whole]) === "")
        edits.push({ path: [name, at, form.whole], value: text });
    }
  }
  for (const { form, text } of parts.values())
    if (form.at === null && form.item === type && text !== "" && textOrEmpty(source[form.whole]) === "")
      edits.push({ path: [form.whole], value: text });
  return edits;
}

/** The item with what has come of it before it broke off. */
export function composed(item: PassedItem): JsonObject {
  const { json } = item;
  const status = "incomplete";
  return withEdits({ ...json, ...(json["status"] !== undefined && { status }) }, endedEdits(item, json, status, []));
}

/** The output with the items that it lacks, at the places where they came. */
export function merged(
  output: readonly JsonObject[],
  edits: readonly JsonEdit[],
  missing: ReadonlySet<PassedItem>,
): readonly Json[] {
  const { output: edited } = withEdits({ output }, edits);
  const items = (edited as readonly Json[]).slice();
  for (const { index, json } of [...missing].toSorted((one, other) => one.index! - other.index!))
    items.splice(Math.min(index!, items.length), 0, json);
  return items;
}

/** The items of a whole answer; empty where it has no list of them. */
export function itemsIn(output: Json | undefined): readonly JsonObject[] {
  return Array.isArray(output) && (output as readonly Json[]).every(isObject) ? (output as readonly JsonObject[]) : [];
}
