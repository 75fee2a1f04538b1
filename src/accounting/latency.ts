// How long calls took, estimated from their numbers by duration.
import { LATENCY_BOUNDS_MS } from "../store/calls/calls.ts";

/** Estimates a latency quantile in milliseconds from the counts of the buckets; `null` when there are no calls. */
export function latencyAt(share: number, latency: readonly bigint[]): number | null {
  const counts = latency.map(Number);
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = all * share;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      const upper = LATENCY_BOUNDS_MS[index];
      // the last bucket has no upper bound
      return upper === undefined ? lower : Math.round(lower + (upper - lower) * (left / count));
    }
    left -= count;
  }
  return LATENCY_BOUNDS_MS.at(-1)!;
}
