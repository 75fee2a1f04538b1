// Figures of tokens, as vendors report them or leave them out.
import type { Json } from "../core/json.ts";

/** Sums of what is larger would not be whole numbers any more. */
function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** A part of a sum: what is absent or impossible (negative, too large, no number) counts nothing. */
export function tokenCount(value: Json | undefined): number {
  return isCount(value) ? value : 0;
}

/** A sum that everything else depends on. NaN where it is impossible: the usage is then not believed, and an estimate takes its place. */
export function mainTokenCount(value: Json | undefined): number {
  return value === undefined || value === null || isCount(value) ? (value ?? 0) : Number.NaN;
}
