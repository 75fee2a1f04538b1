// Whether and when a second attempt goes out beside one whose first content is late ("The Tail at Scale", Dean and Barroso, 2013): after a time of its own or
// the target's 95th percentile, for a bounded share of a route's calls, and within the retry budget of the upstream that it would go to.
import type { Hedge } from "../core/route.ts";
import type { Health } from "./health.ts";
import { openKeyedState, type Kept } from "./keyed-state.ts";
import { addTo, slidingCount, sumOf, type SlidingCount } from "./sliding-count.ts";

export interface Hedging {
  /** A call of this route begins: what the share is of. */
  called(route: string, nowMs: number): void;
  /** From the beginning of the attempt at this target to the second one; null: too little is known of its times. */
  delayMs(hedge: Hedge, key: string): number | null;
  /** The time has come: true, and takes one, where the share and the retry budget have room. */
  take(route: string, hedge: Hedge, upstream: string, nowMs: number): boolean;
}

interface RouteHedges extends Kept {
  readonly calls: SlidingCount;
  readonly extra: SlidingCount;
}

/** Long enough that a share of 5 % is one call at all where calls are few. */
const WINDOW_MS = 5 * 60_000;
const BUCKETS = 30;

export function openHedging(health: Pick<Health, "p95Ms" | "takeRetry">): Hedging {
  const routes = openKeyedState<RouteHedges>({
    create: (nowMs) => ({
      usedMs: nowMs,
      lookedMs: nowMs,
      calls: slidingCount(WINDOW_MS, BUCKETS),
      extra: slidingCount(WINDOW_MS, BUCKETS),
    }),
    isBusy: () => false,
  });
  return {
    called: (route, nowMs) => addTo(routes.of(route, nowMs).calls, nowMs),
    delayMs: (hedge, key) => (hedge.after === "p95" ? health.p95Ms(key) : hedge.after),
    take(route, hedge, upstream, nowMs) {
      const { calls, extra } = routes.of(route, nowMs);
      if (sumOf(extra, nowMs) + 1 > hedge.maxExtra * sumOf(calls, nowMs) || !health.takeRetry(upstream, nowMs))
        return false;
      addTo(extra, nowMs);
      return true;
    },
  };
}
