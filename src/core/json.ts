// JSON values as they are on the wire. A number that a double cannot hold exactly is a RawNumber, which JSON.stringify
// writes back digit by digit.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject | RawNumber;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}
/** What `JSON.rawJSON("12345678901234567890")` returns: an opaque object that `JSON.stringify` prints verbatim. */
export interface RawNumber {
  readonly rawJSON: string;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Whether a member stands in a body and is not null. */
export function isSet(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}

/** A RawNumber is the only object in a parsed body without a prototype. */
export function isRawNumber(value: unknown): value is RawNumber {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === null &&
    typeof (value as { rawJSON?: unknown }).rawJSON === "string"
  );
}

/** Describes a value in an error message by its JSON type, and quotes it when it is short. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (isRawNumber(value)) return `the number ${value.rawJSON.slice(0, 40)}`;
  if (typeof value === "object") return "an object";
  if (typeof value === "string")
    return value.length <= 40 ? `the string ${JSON.stringify(value)}` : `a string of ${value.length} characters`;
  return `the ${typeof value} ${JSON.stringify(value)}`;
}

/**
 * Adds members; objects are merged key by key. Where both sides have a value and not both are objects, `conflict`
 * returns the one to use, or throws. Any name is an ordinary member, even `__proto__`.
 */
export function mergeObjects(
  base: JsonObject,
  added: JsonObject,
  conflict: (path: string, there: Json, added: Json) => Json,
  path = "",
): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(added)) {
    if (value === undefined) continue;
    const there = merged.get(name);
    const at = path === "" ? name : `${path}.${name}`;
    if (there === undefined) merged.set(name, value);
    else
      merged.set(
        name,
        isObject(there) && isObject(value) ? mergeObjects(there, value, conflict, at) : conflict(at, there, value),
      );
  }
  return Object.fromEntries(merged);
}
