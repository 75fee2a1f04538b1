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
export function isSet<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** The members whose value is not undefined, of an object with names that the code gives. */
export function present(members: JsonObject): Record<string, Json> {
  const found: Record<string, Json> = {};
  for (const name in members) if (members[name] !== undefined) found[name] = members[name];
  return found;
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The text; an empty one for all else. */
export function textOrEmpty(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The entries of a list; none of all else. */
export function listIn(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The objects among the entries of a list; none of all else. */
export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return listIn(value).filter(isObject);
}

/** Both bounds are included. */
export function isWholeNumber(value: unknown, least: number, most = Number.POSITIVE_INFINITY): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}

/** Whether a member says anything: it is neither null, an empty text nor an empty list. */
export function isFilled(value: Json | undefined): boolean {
  return isSet(value) && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/** The value of a JSON text; undefined where the text is not JSON. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The value with each of its texts replaced. `path` is where a text stands, such as `a.b[0]`. */
export function withTexts(value: Json, replaced: (text: string, path: string) => string, path = ""): Json {
  if (typeof value === "string") return replaced(value, path);
  if (Array.isArray(value)) return value.map((item: Json, index) => withTexts(item, replaced, `${path}[${index}]`));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    member === undefined ? undefined : withTexts(member, replaced, path === "" ? name : `${path}.${name}`),
  ]);
  return Object.fromEntries(members) as JsonObject;
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

/** Whether a text is the JSON of an object. */
export function isJsonObject(text: string): boolean {
  return isObject(jsonIn(text));
}

/** Sets a member, even one named `__proto__`, which an assignment would treat as the prototype. */
export function setMember(members: Record<string, Json>, name: string, value: Json): void {
  Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Returns a number of characters that the JSON of a value has at least, without writing it; it stops to count where there
 * are more than `most`.
 */
export function leastJsonLength(value: Json | undefined, most: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  let length = 2;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    for (let index = 0; index < items.length && length <= most; index++)
      length += 1 + leastJsonLength(items[index], most);
    return length;
  }
  const object = value as JsonObject;
  for (const name in object) {
    length += name.length + leastJsonLength(object[name], most);
    if (length > most) break;
  }
  return length;
}
