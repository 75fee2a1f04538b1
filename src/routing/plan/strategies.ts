// Chooses one of several targets for an attempt. Orders are tiers for every strategy: only the lowest order with an
// available target is considered. The choice takes one pass without sorting; a draw among several targets is a
// reservoir sample, in which each new target replaces the current one with the probability of its share.

// Decides (targets and attempts): Which target does a strategy choose, and which one a sticky session? By:
// `CHOOSERS`, `chooseSticky`. Also: the session: `engine/plan/candidate.ts` (`stickyKeyOf`). Rule: One of the lowest
// order. `priority` takes the greatest weight, then the first of the list.
import type { StrategyType } from "../../core/configured/route.ts";
import type { Health } from "../health/health.ts";
import { hashText, rendezvousScore } from "../../core/rendezvous.ts";

export interface Choosable {
  readonly key: string;
  readonly weight: number;
  readonly order: number;
  readonly costNanoUsd: number | null;
}

export interface Choosing<T extends Choosable> {
  readonly strategy: StrategyType;
  readonly stickyKey: string | null;
  readonly candidates: readonly T[];
  readonly isFree: (candidate: T) => boolean;
  readonly health: Pick<Health, "inFlight" | "latencyMs" | "latencyAgeMs">;
  readonly nowMs: number;
  readonly random: () => number;
}

export interface Choice<T> {
  readonly candidate: T;
  readonly why: string;
}

type Chooser = <T extends Choosable>(choosing: Choosing<T>) => Choice<T> | null;

/** A measurement older than this may be outdated. */
const STALE_MS = 10_000;
/**
 * With this probability, the slower of two targets is measured again when its measurement is outdated. It is half of the
 * share of calls that may ever go to a slow target.
 */
const REMEASURE_CHANCE = 0.025;

const CHOOSERS: Readonly<Record<StrategyType, Chooser>> = {
  priority: chooseFirst,
  weighted: chooseByWeight,
  least_latency: chooseFaster,
  least_cost: chooseCheapest,
  least_busy: chooseIdlest,
};

/** Returns `null` when no candidate is available. */
export function choose<T extends Choosable>(choosing: Choosing<T>): Choice<T> | null {
  return choosing.stickyKey === null
    ? CHOOSERS[choosing.strategy](choosing)
    : chooseSticky(choosing, choosing.stickyKey);
}

function chooseFirst<T extends Choosable>({ candidates, isFree }: Choosing<T>): Choice<T> | null {
  let best: T | null = null;
  for (const each of candidates) {
    if (best !== null && (each.order > best.order || (each.order === best.order && each.weight <= best.weight)))
      continue;
    if (isFree(each)) best = each;
  }
  return best === null ? null : { candidate: best, why: "first by order" };
}

function chooseByWeight<T extends Choosable>({ candidates, isFree, random }: Choosing<T>): Choice<T> | null {
  let drawn: T | null = null;
  let total = 0;
  for (const each of candidates) {
    if ((drawn !== null && each.order > drawn.order) || !isFree(each)) continue;
    if (drawn === null || each.order < drawn.order) {
      drawn = each;
      total = each.weight;
      continue;
    }
    total += each.weight;
    if (random() * total < each.weight) drawn = each;
  }
  return drawn === null ? null : { candidate: drawn, why: `weight ${drawn.weight} of ${total}` };
}

function chooseFaster<T extends Choosable>({
  candidates,
  isFree,
  random,
  health,
  nowMs,
}: Choosing<T>): Choice<T> | null {
  let one: T | null = null;
  let other: T | null = null;
  let seen = 0;
  for (const each of candidates) {
    if ((one !== null && each.order > one.order) || !isFree(each)) continue;
    if (one === null || each.order < one.order) {
      one = each;
      other = null;
      seen = 1;
      continue;
    }
    seen += 1;
    if (other === null) other = each;
    else {
      const place = random() * seen;
      if (place < 1) one = each;
      else if (place < 2) other = each;
    }
  }
  if (one === null) return null;
  return other === null
    ? { candidate: one, why: "the only available target" }
    : fasterOf(one, other, { random, health, nowMs });
}

function fasterOf<T extends Choosable>(
  one: T,
  other: T,
  { random, health, nowMs }: Pick<Choosing<T>, "random" | "health" | "nowMs">,
): Choice<T> {
  const oneMs = health.latencyMs(one.key, nowMs);
  const otherMs = health.latencyMs(other.key, nowMs);
  if (oneMs === null && otherMs === null) {
    const isOtherIdler =
      health.inFlight(other.key) < health.inFlight(one.key) ||
      (health.inFlight(other.key) === health.inFlight(one.key) && random() < 0.5);
    return { candidate: isOtherIdler ? other : one, why: "not measured yet" };
  }
  // Only one call at a time measures an unknown target, so that one that stalls does not attract all calls.
  if (oneMs === null)
    return health.inFlight(one.key) === 0
      ? { candidate: one, why: "not measured yet" }
      : { candidate: other, why: `${shown(otherMs)} against a target not measured yet` };
  if (otherMs === null)
    return health.inFlight(other.key) === 0
      ? { candidate: other, why: "not measured yet" }
      : { candidate: one, why: `${shown(oneMs)} against a target not measured yet` };
  const [faster, slower] = oneMs <= otherMs ? [one, other] : [other, one];
  if ((health.latencyAgeMs(slower.key, nowMs) ?? 0) >= STALE_MS && random() < REMEASURE_CHANCE)
    return { candidate: slower, why: "measured again" };
  return { candidate: faster, why: `${shown(Math.min(oneMs, otherMs))} against ${shown(Math.max(oneMs, otherMs))}` };
}

function shown(latencyMs: number | null): string {
  return `${Math.round(latencyMs ?? 0)} ms`;
}

function chooseCheapest<T extends Choosable>({ candidates, isFree }: Choosing<T>): Choice<T> | null {
  let best: T | null = null;
  for (const each of candidates) {
    if (best !== null && (each.order > best.order || (each.order === best.order && costOf(each) >= costOf(best))))
      continue;
    if (isFree(each)) best = each;
  }
  return best === null
    ? null
    : { candidate: best, why: best.costNanoUsd === null ? "first of those without a price" : "cheapest" };
}

function costOf({ costNanoUsd }: Choosable): number {
  return costNanoUsd ?? Number.POSITIVE_INFINITY;
}

/**
 * Compares the load that each target would have with this call, so that of two idle targets the one with the greater
 * weight comes first.
 */
function chooseIdlest<T extends Choosable>({ candidates, isFree, random, health }: Choosing<T>): Choice<T> | null {
  let best: T | null = null;
  let bestLoad = 0;
  let ties = 0;
  for (const each of candidates) {
    if ((best !== null && each.order > best.order) || !isFree(each)) continue;
    const load = (health.inFlight(each.key) + 1) / each.weight;
    if (best !== null && each.order === best.order && load > bestLoad) continue;
    ties = best !== null && each.order === best.order && load === bestLoad ? ties + 1 : 1;
    if (ties > 1 && random() * ties >= 1) continue;
    best = each;
    bestLoad = load;
  }
  return best === null ? null : { candidate: best, why: `least busy: ${health.inFlight(best.key)} in flight` };
}

function chooseSticky<T extends Choosable>({ candidates, isFree }: Choosing<T>, stickyKey: string): Choice<T> | null {
  const keyHash = hashText(stickyKey);
  let best: T | null = null;
  let bestScore = 0;
  for (const each of candidates) {
    if ((best !== null && each.order > best.order) || !isFree(each)) continue;
    const score = rendezvousScore(keyHash, each.key, each.weight);
    if (best !== null && each.order === best.order && score <= bestScore) continue;
    best = each;
    bestScore = score;
  }
  return best === null ? null : { candidate: best, why: "sticky" };
}
