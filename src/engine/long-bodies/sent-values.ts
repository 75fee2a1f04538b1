// Values on their way from one thread to another. A number that a double cannot hold is an object that the runtime does
// not copy: it goes as a text object, which no other value of a message is.
import { isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import { mappedMembers } from "../../core/request/mapped-list.ts";
import { parseJson } from "../../wire/json/json.ts";

/** Returns the value as it can be sent; the same one where it has no such number. */
export function sendable<T>(value: T): T {
  return swapped(value, (one) => (isRawNumber(one) ? (Object(one.rawJSON) as object) : one)) as T;
}

/** Returns what the other thread has sent, with its numbers. */
export function received<T>(value: T): T {
  // a text object is no text, by which the type of a value could be told
  // oxlint-disable-next-line unicorn/no-instanceof-builtins
  return swapped(value, (one) => (one instanceof String ? (parseJson(String(one)) as object) : one)) as T;
}

/** Bytes, expressions and sets, of which none has numbers inside, stay as they are. */
function swapped(value: unknown, swap: (value: object) => object): unknown {
  if (typeof value !== "object" || value === null) return value;
  const other = swap(value);
  if (other !== value) return other;
  if (Array.isArray(value)) return swappedList(value, swap);
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, swapped(one, swap)] as const));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return mappedMembers(value as JsonObject, (member) => swapped(member, swap) as Json | undefined);
}

/** A list may have millions of numbers. */
function swappedList(list: readonly unknown[], swap: (value: object) => object): readonly unknown[] {
  let changed: unknown[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    if (typeof item !== "object" || item === null) continue;
    const other = swapped(item, swap);
    if (other !== item) (changed ??= [...list])[index] = other;
  }
  return changed ?? list;
}
