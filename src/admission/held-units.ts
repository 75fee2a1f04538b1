// What workers hold of an account that their supervisor counts, and what becomes of it when both were killed: a call that
// had ended is charged what it used, one that had not what it reserved, and one that is not in the journal of its worker
// had sent nothing. Each worker numbers its settlements, and states the number in the journal before the settlement
// leaves; the supervisor stores how far it has applied them. So each settlement counts once.
import type { LimitRule } from "../core/configured/limit.ts";
import type { JournalledHold } from "../store/journal/limit-counts.ts";
import type { KeptHold, KeptHolds, KeptState, Part } from "./kept-state.ts";
import { chargedAt, type Count, isInWindow, partDate, type Times } from "./windows.ts";

/** In place of the number of a settlement: none, and for what a worker held, all. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The units that each worker holds, by the bucket to which they were charged. */
export class HeldUnits {
  readonly #ofHolder = new Map<string, Map<number, number>>();

  add(holder: string, bucket: number, units: number): void {
    const buckets = this.#ofHolder.getOrInsertComputed(holder, () => new Map<number, number>());
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + units);
  }

  remove(holder: string, bucket: number, units: number): void {
    const buckets = this.#ofHolder.get(holder);
    if (buckets === undefined) return;
    const left = (buckets.get(bucket) ?? 0) - units;
    if (left > 0) buckets.set(bucket, left);
    else buckets.delete(bucket);
    if (buckets.size === 0) this.#ofHolder.delete(holder);
  }

  /** What is to be stored of it; a bucket that has left the window no longer counts. */
  kept(count: Count, times: Times, throughOf: (holder: string) => number): KeptHolds {
    const all: Record<string, KeptHold> = {};
    for (const [holder, buckets] of this.#ofHolder)
      all[holder] = {
        through: throughOf(holder),
        parts: [...buckets]
          .filter(([bucket]) => isInWindow(count, bucket))
          .map(([bucket, units]) => [partDate(count, bucket, times), units] as const),
      };
    return all;
  }
}

/**
 * What is to be stored of workers of earlier processes that still run, where nothing is known of them: of what they were
 * granted after `since`, they may yet begin a call.
 */
export function unknownHolds(holders: readonly string[], since: number): KeptHolds {
  return Object.fromEntries(holders.map((holder) => [holder, { through: NEVER, since, parts: [], later: [] }]));
}

/**
 * Replaces what workers held by what the journals say of it, for workers that have ended. Of one that still runs, what it
 * holds stays, with what it reserved after the count was stored. Returns `null` when nothing changes.
 */
export function withoutHolds(
  kept: KeptState,
  rule: Pick<LimitRule, "kind" | "window">,
  holds: readonly JournalledHold[],
  isRunning: (holder: string) => boolean,
  times: Times,
): KeptState | null {
  const { stamp = 0, held = {} } = kept;
  const left: Record<string, KeptHold> = {};
  let { parts } = kept;
  let latest = stamp;
  let hasChanged = false;
  const add = (more: readonly JournalledHold[]): readonly Part[] => {
    const dated = more.map((each): Part => [dateOf(each, rule, times), each.units]);
    latest = Math.max(latest, ...more.map((each) => each.stamp));
    parts = [...parts, ...dated];
    hasChanged ||= dated.length > 0;
    return dated;
  };
  for (const holder of new Set([...Object.keys(held), ...holds.map((each) => each.holder)])) {
    const hold = held[holder];
    const since = hold?.since ?? stamp;
    const through = hold?.through ?? NEVER;
    const own = holds.filter((each) => each.holder === holder);
    if (isRunning(holder)) {
      // Its journal may have more by now of what was reserved after `since`.
      const { parts: known = [], later: earlier = [] } = hold ?? {};
      parts = earlier.reduce(without, parts);
      const later = add(own.filter((each) => each.stamp > since));
      if (hold === undefined && later.length === 0) continue;
      hasChanged = true;
      left[holder] = { through, since, parts: [...earlier.reduce(without, known), ...later], later };
      continue;
    }
    if (hold !== undefined) {
      parts = hold.parts.reduce(without, parts);
      hasChanged = true;
    }
    add(own.filter((each) => each.stamp > since || (each.settlement ?? NEVER) > through));
  }
  if (!hasChanged) return null;
  const { held: _, ...rest } = kept;
  return { ...rest, stamp: latest, parts, ...(Object.keys(left).length > 0 && { held: left }) };
}

/** When the units of a reservation leave the window, if they were charged when it was made. */
function dateOf({ stamp }: JournalledHold, rule: Pick<LimitRule, "kind" | "window">, times: Times): number {
  return chargedAt(rule, Math.min(stamp / 1000, times.wallMs));
}

/** Takes units from the parts whose dates are nearest to theirs. */
function without(parts: readonly Part[], [ms, units]: Part): readonly Part[] {
  let left = units;
  const nearest = parts.toSorted(([one], [other]) => Math.abs(one - ms) - Math.abs(other - ms));
  return nearest.flatMap(([of, there]): Part[] => {
    const taken = Math.min(left, there);
    left -= taken;
    return there > taken ? [[of, there - taken]] : [];
  });
}
