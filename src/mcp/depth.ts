// How deep a value is that a server has made: what is deeper than the stack costs a second of everybody's time to find out (JSON.stringify of Bun 1.4.4).
import type { Json } from "../core/json.ts";

/** Without recursion: depth is what is in question. */
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
