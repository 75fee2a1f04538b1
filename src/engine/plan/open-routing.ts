// Assembles what one process knows of its upstreams.
import type { TargetStatus } from "../../observe/metrics/metrics.ts";
import { openConcurrency } from "../../routing/concurrency.ts";
import { KeptPrompts } from "../../routing/kept-prompts.ts";
import { type BreakerChange, openHealth } from "../../routing/health/health.ts";
import { openHedging } from "../../routing/plan/hedging.ts";
import type { Routing } from "../call/context.ts";

export function openRouting(random: () => number, onBreaker?: (change: BreakerChange) => void): Routing {
  const health = openHealth(onBreaker);
  return { health, hedging: openHedging(health), concurrency: openConcurrency(), prompts: new KeptPrompts(), random };
}

/** Returns the status of the operator's own targets, without those that callers bring with a request. */
export function targetStandings({ health, concurrency }: Routing, nowMs: number): readonly TargetStatus[] {
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
