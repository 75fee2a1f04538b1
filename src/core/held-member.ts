// What stands in the place of a long member of a body that another thread holds (decisions 5.8). It tells which one it is, whatever name it goes by in the end. What a
// caller sends is not this but by intent, and then stands for the caller's own.
import type { Json } from "./json.ts";

const STAND_IN = "held 0b1f6a52-6a3f-4c55-9e57-0d9f3f6f6f0e ";

/** `place` is that in the list of all that are held. */
export function heldMember(place: number): string {
  return STAND_IN + String(place);
}

/** Null: it is a value like any other. */
export function heldPlace(value: Json | undefined): number | null {
  if (typeof value !== "string" || !value.startsWith(STAND_IN)) return null;
  const place = Number(value.slice(STAND_IN.length));
  return Number.isSafeInteger(place) ? place : null;
}
