// Changes the items of a list, or the members of an object, without copying what stays as it is.
import type { Json, JsonObject } from "../json.ts";

/** Returns the same list when `change` returns every item unchanged. */
export function mappedList<T>(list: readonly T[], change: (item: T, index: number) => T): readonly T[] {
  let changed: T[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = list[index]!;
    const other = change(item, index);
    if (other !== item) (changed ??= [...list])[index] = other;
  }
  return changed ?? list;
}

/** Returns the same object when `change` returns every member unchanged. */
export function mappedMembers(
  object: JsonObject,
  change: (member: Json | undefined, name: string) => Json | undefined,
): JsonObject {
  let changed: Record<string, Json | undefined> | null = null;
  for (const name in object) {
    const member = object[name];
    const other = change(member, name);
    if (other !== member) (changed ??= { ...object })[name] = other;
  }
  return changed ?? object;
}
