// Counts how often something happened within a window of milliseconds: a ring of buckets with a running sum, of fixed
// size however much happens. Counts expire bucket by bucket, so that the window is up to one bucket shorter than its
// name says, and never longer.

export interface SlidingCount {
  readonly bucketMs: number;
  readonly buckets: number[];
  /** The number of the newest bucket since time 0. */
  newest: number;
  sum: number;
}

export function slidingCount(windowMs: number, buckets = 10): SlidingCount {
  return {
    bucketMs: windowMs / buckets,
    buckets: Array.from({ length: buckets }, () => 0),
    newest: Number.NEGATIVE_INFINITY,
    sum: 0,
  };
}

/** A time before the newest one counts as the newest, which does not occur as long as callers use one clock. */
export function addTo(count: SlidingCount, nowMs: number, times = 1): void {
  advance(count, nowMs);
  const at = count.newest % count.buckets.length;
  count.buckets[at] = count.buckets[at]! + times;
  count.sum += times;
}

export function sumOf(count: SlidingCount, nowMs: number): number {
  if (count.sum > 0) advance(count, nowMs);
  return count.sum;
}

export function clearCount(count: SlidingCount): void {
  count.buckets.fill(0);
  count.sum = 0;
}

function advance(count: SlidingCount, nowMs: number): void {
  const bucket = Math.max(0, Math.floor(nowMs / count.bucketMs));
  const passed = bucket - count.newest;
  if (passed <= 0) return;
  const { length } = count.buckets;
  if (passed >= length) clearCount(count);
  else
    for (let each = count.newest + 1; each <= bucket; each++) {
      count.sum -= count.buckets[each % length]!;
      count.buckets[each % length] = 0;
    }
  count.newest = bucket;
}
