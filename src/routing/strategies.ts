// Which of several targets one call goes to. Orders are tiers for every strategy: only the lowest one that has a free target is looked at. One pass without
// sorting; a draw among several is a reservoir, in which each newcomer takes the place with its share of what was seen.
import type { StrategyType } from "../core/route.ts";
import type { Health } from "./health.ts";
import { hashText, rendezvousScore } from "./rendezvous.ts";

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

/** A latency that is older may have changed... */
const STALE_MS = 10_000;
/** ...and the slower of two targets is measured anew at this chance. Half as much as may ever go to a slow one. */
const REMEASURE_CHANCE = 0.025;

const CHOOSERS: Readonly<Record<StrategyType, Chooser>> = {
  priority: chooseFirst,
  weighted: chooseByWeight,
  least_latency: chooseFaster,
  least_cost: chooseCheapest,
  least_busy: chooseIdlest,
};

/** Null: none is free. */
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
    ? { candidate: one, why: "the only free one" }
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
  // One call at a time measures: an unknown target that stalls must not draw everything to itself.
  if (oneMs === null)
    return health.inFlight(one.key) === 0
      ? { candidate: one, why: "not measured yet" }
      : { candidate: other, why: `${shown(otherMs)} against one not measured yet` };
  if (otherMs === null)
    return health.inFlight(other.key) === 0
      ? { candidate: other, why: "not measured yet" }
      : { candidate: one, why: `${shown(oneMs)} against one not measured yet` };
  const [faster, slower] = oneMs <= otherMs ? [one, other] : [other, one];
  if ((health.latencyAgeMs(slower.key, nowMs) ?? 0) >= STALE_MS && random() < REMEASURE_CHANCE)
    return { candidate: slower, why: "measured anew" };
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

/** By what its load would be with this call, so that of two idle ones the one of more weight comes first. */
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
  return best === null ? null : { candidate: best, why: `least busy: ${health.inFlight(best.key)} under way` };
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
