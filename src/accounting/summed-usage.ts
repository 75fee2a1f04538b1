// The usage of several answers as one: every figure that they have, added up.
import type { Usage } from "../core/chat.ts";
import { isObject, type JsonObject } from "../core/json.ts";

/** Null where one of them told nothing. */
export function summedUsage(parts: readonly (Usage | null)[]): Usage | null {
  const told = parts.filter((part) => part !== null);
  return told.length < parts.length ? null : told.reduce((sum, part) => sumOf(sum, part) as Usage);
}

function sumOf(one: JsonObject, other: JsonObject): JsonObject {
  const sum: Record<string, JsonObject[string]> = { ...one };
  for (const name in other) {
    const [mine, theirs] = [one[name], other[name]];
    if (typeof mine === "number" && typeof theirs === "number") sum[name] = mine + theirs;
    else if (isObject(mine) && isObject(theirs)) sum[name] = sumOf(mine, theirs);
    else if (mine === undefined || mine === null) sum[name] = theirs!;
  }
  return sum;
}
