// JSON objects as texts, and members of any name.
import { isObject, type Json } from "./json.ts";

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
