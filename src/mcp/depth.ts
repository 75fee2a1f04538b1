// How deep a value from a server is nested: with a value deeper than the stack, JSON.stringify blocks the process for a
// second before it fails (Bun 1.4.4).
import type { Json } from "../core/json.ts";

/** Iterative, because a recursive check would itself exhaust the stack. */
export function isDeeperThan(value: Json, levels: number): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((one): readonly Json[] =>
      typeof one === "object" && one !== null ? (Object.values(one) as Json[]) : [],
    );
  }
  return false;
}
