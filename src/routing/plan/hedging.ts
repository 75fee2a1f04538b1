// Whether and when a second attempt starts beside one whose first content is late ("The Tail at Scale", Dean and
// Barroso, 2013): after a configured time or the target's 95th percentile, for a bounded share of a route's calls, and
// within the retry budget of the upstream that it would use.

// Decides (targets and attempts): When is a hedge sent, and when is there no retry left? By: `openHedging`. Also:
// `routing/health/retry-budget.ts` (`openRetryBudget`). Rule: A hedge after the configured time, or the 95th percentile
// of the target, for a bounded share of the calls of the route in five minutes. Hedges and retries at one upstream are
// together at most a tenth of its calls in ten seconds, or thirty where that is more.
import type { Hedge } from "../../core/configured/route.ts";
import type { Health } from "../health/health.ts";
import { openCallCounts } from "../health/retry-budget.ts";
import { addTo, sumOf } from "../health/sliding-count.ts";

export type Hedging = ReturnType<typeof openHedging>;

/** Long enough that even a share of 5 % amounts to one call on a quiet route. */
const WINDOW_MS = 5 * 60_000;
const BUCKETS = 30;

export function openHedging(health: Pick<Health, "p95Ms" | "takeRetry">) {
  const routes = openCallCounts(WINDOW_MS, BUCKETS);
  return {
    /** A call of this route begins. The share of hedges refers to these calls. */
    called: (route: string, nowMs: number) => addTo(routes.of(route, nowMs).calls, nowMs),
    /**
     * Returns the time from the beginning of the attempt at this target to the second one; `null` when too few latencies
     * are known.
     */
    delayMs: (hedge: Hedge, key: string) => (hedge.after === "p95" ? health.p95Ms(key) : hedge.after),
    /** Takes one hedge and returns true when the share and the retry budget have room. */
    take(route: string, hedge: Hedge, upstream: string, nowMs: number): boolean {
      const { calls, extra } = routes.of(route, nowMs);
      if (sumOf(extra, nowMs) + 1 > hedge.maxExtra * sumOf(calls, nowMs) || !health.takeRetry(upstream, nowMs))
        return false;
      addTo(extra, nowMs);
      return true;
    },
  };
}
