// Bounds the retries at one upstream, so that retries do not multiply an outage: to a share of the calls of the last
// ten seconds, with a minimum for quiet times. The minimum refers to the same window: thirty within ten seconds,
// possibly in one burst.
import { openKeyedState, type Kept } from "./keyed-state.ts";
import { addTo, slidingCount, sumOf, type SlidingCount } from "./sliding-count.ts";

export interface RetryBudget {
  called(upstream: string, nowMs: number): void;
  /** Takes one retry and returns true while there is room. */
  take(upstream: string, nowMs: number): boolean;
  /** Counts calls and retries of another process. */
  spentElsewhere(upstream: string, spent: { readonly calls: number; readonly retries: number }, nowMs: number): void;
}

interface Spending extends Kept {
  readonly calls: SlidingCount;
  readonly retries: SlidingCount;
}

const WINDOW_MS = 10_000;
const SHARE = 0.1;
const FLOOR = 3 * (WINDOW_MS / 1_000);

export function openRetryBudget(): RetryBudget {
  const spendings = openKeyedState<Spending>({
    create: (nowMs) => ({
      usedMs: nowMs,
      lookedMs: nowMs,
      calls: slidingCount(WINDOW_MS),
      retries: slidingCount(WINDOW_MS),
    }),
    isBusy: () => false,
  });
  return {
    called: (upstream, nowMs) => addTo(spendings.of(upstream, nowMs).calls, nowMs),
    take(upstream, nowMs) {
      const { calls, retries } = spendings.of(upstream, nowMs);
      if (sumOf(retries, nowMs) + 1 > Math.max(FLOOR, SHARE * sumOf(calls, nowMs))) return false;
      addTo(retries, nowMs);
      return true;
    },
    spentElsewhere(upstream, spent, nowMs) {
      const { calls, retries } = spendings.of(upstream, nowMs);
      addTo(calls, nowMs, spent.calls);
      addTo(retries, nowMs, spent.retries);
    },
  };
}
