// Assembles what one process knows of its upstreams.
import type { Clock } from "../../core/clock.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { TargetStatus } from "../../observe/metrics/metrics.ts";
import { openConcurrency } from "../../core/concurrency/slots.ts";
import { KeptPrompts } from "../../routing/kept-prompts.ts";
import { type BreakerChange, openHealth } from "../../routing/health/health.ts";
import { replacedAccounts } from "../../routing/health/replaced-accounts.ts";
import { openHedging } from "../../routing/plan/hedging.ts";
import type { Routing } from "../call/context.ts";

export function openRouting(random: () => number, onBreaker?: (change: BreakerChange) => void): Routing {
  const health = openHealth(onBreaker);
  return { health, hedging: openHedging(health), concurrency: openConcurrency(), prompts: new KeptPrompts(), random };
}

/** Returns what forgets, with each later snapshot, the health of targets whose provider it replaces. */
export function renewedTargets(
  first: Snapshot,
  { health }: Pick<Routing, "health">,
  clock: Pick<Clock, "monotonic">,
): (snapshot: Snapshot) => void {
  let before = first;
  return (snapshot) => {
    const isReplaced = replacedAccounts(before, snapshot);
    before = snapshot;
    if (isReplaced !== null) health.renew(isReplaced, clock.monotonic());
  };
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
