// What one process knows of its upstreams, put together.
import type { TargetStanding } from "../observe/metrics/metrics.ts";
import { openConcurrency } from "../routing/concurrency.ts";
import { type BreakerChange, openHealth } from "../routing/health.ts";
import { openHedging } from "../routing/hedging.ts";
import type { Routing } from "./context.ts";

export function openRouting(random: () => number, onBreaker?: (change: BreakerChange) => void): Routing {
  const health = openHealth(onBreaker);
  return { health, hedging: openHedging(health), concurrency: openConcurrency(), random };
}

/** Of the operator's own targets: what callers bring with them is theirs. */
export function targetStandings({ health, concurrency }: Routing, nowMs: number): readonly TargetStanding[] {
  return health
    .snapshot(nowMs)
    .filter(({ key }) => !key.includes(" "))
    .map(({ key, state, inFlight, latencyMs, openUntilMs }) => ({
      target: key,
      state,
      inFlight,
      waiting: concurrency.waiting(key),
      firstContentMs: latencyMs,
      openForMs: openUntilMs === null ? null : openUntilMs - nowMs,
    }));
}
