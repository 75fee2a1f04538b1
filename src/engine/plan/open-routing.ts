// Assembles what one process knows of its upstreams.
import type { Clock } from "../../core/clock.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { TargetStatus } from "../../observe/metrics/metrics.ts";
import { openConcurrency } from "../../core/concurrency/slots.ts";
import { KeptPrompts } from "../../routing/kept-prompts.ts";
import { type BreakerChange, openHealth } from "../../routing/health/health.ts";
import { replacedAccounts } from "../../routing/health/replaced-accounts.ts";
import { targetOfKey } from "../../routing/health/target-key.ts";
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

/** Returns the status of all targets that are called as they are configured, without what callers bring. */
export function targetStandings({ health, concurrency }: Routing, nowMs: number): readonly TargetStatus[] {
  return health.snapshot(nowMs).flatMap(({ key, state, inFlight, latencyMs, openUntilMs }) => {
    const target = targetOfKey(key);
    if (target === null || target.brought !== null) return [];
    return {
      target: `${target.providerId}:${target.model}`,
      owner: target.owner,
      state,
      inFlight,
      waiting: concurrency.waiting(key),
      firstContentMs: latencyMs,
      openForMs: openUntilMs === null ? null : openUntilMs - nowMs,
    };
  });
}
