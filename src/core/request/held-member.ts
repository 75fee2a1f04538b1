// The placeholder for a long member of a body that another thread holds (promise 5.8). It says which member it
// replaces, even where that is later renamed. A caller can only send such a text on purpose, and it then refers to
// members of that caller's own body.
import type { Json } from "../json.ts";

const STAND_IN = "held 0b1f6a52-6a3f-4c55-9e57-0d9f3f6f6f0e ";

/** `place` is the index in the list of all held members. */
export function heldMember(place: number): string {
  return STAND_IN + String(place);
}

/** Returns `null` for any other value. */
export function heldPlace(value: Json | undefined): number | null {
  if (typeof value !== "string" || !value.startsWith(STAND_IN)) return null;
  const place = Number(value.slice(STAND_IN.length));
  return Number.isSafeInteger(place) ? place : null;
}
