// A change of a JSON text at one place. What is not changed keeps its text byte for byte (wire/json/json-edit.ts). The same
// changes can be made to its value.
import { isObject, type Json, type JsonObject } from "../json.ts";

export interface JsonEdit {
  /** Names of members and indexes of items, from the outermost value on. */
  readonly path: readonly (string | number)[];
  /** The value that the place gets; undefined removes the member or item, if it is there. */
  readonly value: Json | undefined;
}

/** Returns the edits that set members of the outermost object; one whose value is undefined is removed. */
export function memberEdits(members: JsonObject): readonly JsonEdit[] {
  return Object.entries(members).map(([name, value]) => ({ path: [name], value }));
}

/** Returns the value with all edits, as the text would have them. The value itself is not changed. */
export function withEdits(value: JsonObject, edits: readonly JsonEdit[]): JsonObject {
  let edited = value;
  // most edits set members of the outermost object, which is copied once for them
  let copy: Record<string, Json | undefined> | null = null;
  for (const { path, value: next } of edits) {
    const [key] = path;
    if (path.length === 1 && typeof key === "string" && key !== "__proto__" && next !== undefined) {
      const own: Record<string, Json | undefined> = copy ?? { ...edited };
      own[key] = next;
      edited = copy = own;
    } else {
      edited = withEdit(edited, path, next) as JsonObject;
      copy = null;
    }
  }
  return edited;
}

function withEdit(value: Json | undefined, path: JsonEdit["path"], next: Json | undefined): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return next;
  if (Array.isArray(value)) {
    if (typeof key !== "number" || key >= value.length) return value as Json;
    const edited = withEdit(value[key] as Json, rest, next);
    return edited === undefined ? (value.toSpliced(key, 1) as Json) : (value.with(key, edited) as Json);
  }
  const holder = isObject(value) ? value : {};
  const edited = withEdit(holder[key], rest, next);
  if (edited !== undefined) return { ...holder, [key]: edited };
  const { [String(key)]: _removed, ...others } = holder;
  return others;
}
