// Bounds the retries at one upstream, so that retries do not multiply an outage: to a share of the calls of the last
// ten seconds, with a minimum for quiet times. The minimum refers to the same window: thirty within ten seconds,
// possibly in one burst.
import { openKeyedState, type Kept, type KeyedState } from "./keyed-state.ts";
import { addTo, slidingCount, sumOf, type SlidingCount } from "./sliding-count.ts";

/** Calls, and the attempts beyond the first that are bounded by a share of them. */
interface CallCounts extends Kept {
  readonly calls: SlidingCount;
  readonly extra: SlidingCount;
}

export function openCallCounts(windowMs: number, buckets?: number): KeyedState<CallCounts> {
  return openKeyedState<CallCounts>({
    create: (nowMs) => ({
      usedMs: nowMs,
      lookedMs: nowMs,
      calls: slidingCount(windowMs, buckets),
      extra: slidingCount(windowMs, buckets),
    }),
    isBusy: () => false,
  });
}

const WINDOW_MS = 10_000;
const SHARE = 0.1;
const FLOOR = 3 * (WINDOW_MS / 1_000);

export function openRetryBudget() {
  const spendings = openCallCounts(WINDOW_MS);
  return {
    called: (upstream: string, nowMs: number) => addTo(spendings.of(upstream, nowMs).calls, nowMs),
    /** Takes one retry and returns true while there is room. */
    take(upstream: string, nowMs: number): boolean {
      const { calls, extra } = spendings.of(upstream, nowMs);
      if (sumOf(extra, nowMs) + 1 > Math.max(FLOOR, SHARE * sumOf(calls, nowMs))) return false;
      addTo(extra, nowMs);
      return true;
    },
    /** Counts calls and retries of another process. */
    spentElsewhere(upstream: string, spent: { readonly calls: number; readonly retries: number }, nowMs: number): void {
      const { calls, extra } = spendings.of(upstream, nowMs);
      addTo(calls, nowMs, spent.calls);
      addTo(extra, nowMs, spent.retries);
    },
  };
}
