// JSON objects as texts, and members of any name.
import { isObject, type Json, type JsonObject } from "./json.ts";

/** Whether a text is the JSON of an object. */
export function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text) as Json);
  } catch {
    return false;
  }
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
