// What one account counts in its window (decisions 4.1): limits slide over sixty sub-buckets, budgets follow the calendar in UTC, concurrency has no window.
// Pure: the times are handed in. docs/decisions/0016-windows-that-slide.md tells why no window of its length ever holds more than the limit.
import type { BudgetWindow, LimitRule, LimitWindow } from "../core/limit.ts";

export const BUCKETS = 60;
/** The window of a moment touches one more: the oldest is counted whole. */
const RING = BUCKETS + 1;
const DAY_MS = 86_400_000;
/** 1 January 1970 was a Thursday. */
const DAYS_BEFORE_MONDAY = 3;
/** When a slot of a concurrency limit comes back is not known; it is looked for again so soon. */
const SLOT_WAIT_MS = 1_000;

export interface Times {
  /** Milliseconds that never go back, for what slides. */
  readonly slidingMs: number;
  /** Milliseconds since 1970, for the calendar and for what is told. */
  readonly wallMs: number;
}

/** What slides has a ring of buckets; all others one count. The same members for all, so that one shape goes through the hot path. */
export interface Count {
  readonly window: LimitWindow | BudgetWindow | null;
  /** Of the whole window; 0: it does not slide. */
  readonly slidesMs: number;
  readonly ring: Float64Array | null;
  /** The newest bucket's number, or the beginning of the calendar's period; 0 of what has neither. */
  head: number;
  /** When the calendar's period ends; infinite where it never does. */
  endsMs: number;
  total: number;
  /** The newest bucket in which something counts, unless nothing does. */
  newest: number;
  /** Needs that have not ended. */
  open: number;
}

const SLIDES_MS: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000 };

/** A day slides under a limit and is a calendar day under a budget. */
export function newCount({ kind, window }: Pick<LimitRule, "kind" | "window">): Count {
  const slidesMs = kind === "budget" || window === null ? 0 : (SLIDES_MS[window] ?? DAY_MS);
  return {
    window,
    slidesMs,
    ring: slidesMs === 0 ? null : new Float64Array(RING),
    head: Number.NEGATIVE_INFINITY,
    endsMs: Number.NEGATIVE_INFINITY,
    total: 0,
    newest: 0,
    open: 0,
  };
}

/** Lets go of what has left the window by now; true: a period of the calendar began. A clock that goes back opens none again. */
export function advance(count: Count, times: Times): boolean {
  if (count.ring !== null) {
    const bucket = Math.floor((times.slidingMs * BUCKETS) / count.slidesMs);
    if (bucket > count.head) slide(count, count.ring, bucket);
    return false;
  }
  if (times.wallMs < count.endsMs) return false;
  [count.head, count.endsMs] = periodAt(count.window, times.wallMs);
  count.total = 0;
  return true;
}

function placeOf(bucket: number): number {
  const place = bucket % RING;
  return place < 0 ? place + RING : place;
}

function slide(count: Count, ring: Float64Array, bucket: number): void {
  const steps = Math.min(RING, bucket - count.head);
  for (let step = 0; step < steps; step++) {
    const place = placeOf(bucket - step);
    count.total -= ring[place]!;
    ring[place] = 0;
  }
  count.head = bucket;
}

/** Counts in the newest bucket, whose number is given back. The count has to be advanced. */
export function charge(count: Count, units: number): number {
  if (count.ring !== null && units > 0) {
    count.ring[placeOf(count.head)]! += units;
    count.newest = count.head;
  }
  count.total += units;
  return count.head;
}

/** Takes units out of the bucket that they were charged to; where that has left the window, they count no more as it is. */
export function giveBack(count: Count, bucket: number, units: number): void {
  if (count.ring === null) {
    if (bucket !== count.head) return;
  } else {
    if (bucket <= count.head - RING) return;
    count.ring[placeOf(bucket)]! -= units;
    while (count.newest > count.head - BUCKETS && count.ring[placeOf(count.newest)] === 0) count.newest -= 1;
  }
  count.total -= units;
}

/** Takes units out of the whole window, the oldest first: what is left leaves no sooner than it would have. */
export function lower(count: Count, units: number): void {
  let left = Math.min(units, count.total);
  count.total -= left;
  if (count.ring === null) return;
  for (let bucket = count.head - BUCKETS; bucket <= count.head && left > 0; bucket++) {
    const place = placeOf(bucket);
    const taken = Math.min(left, count.ring[place]!);
    count.ring[place]! -= taken;
    left -= taken;
  }
  while (count.newest > count.head - BUCKETS && count.ring[placeOf(count.newest)] === 0) count.newest -= 1;
}

/** When so many units fit, by what counts now; the bound is at least `units`. Milliseconds since 1970; null: never. */
export function fitsAtMs(count: Count, units: number, limit: number, times: Times): number | null {
  const { ring } = count;
  if (ring === null) return count.window === null ? times.wallMs + SLOT_WAIT_MS : endOf(count);
  let left = count.total;
  for (let bucket = count.head - BUCKETS; bucket <= count.head; bucket++) {
    left -= ring[placeOf(bucket)]!;
    if (left + units <= limit) return leavesAtMs(count, bucket, times);
  }
  return null;
}

/** When all that counts now has left; null: never, or nothing counts. */
export function emptyAtMs(count: Count, times: Times): number | null {
  if (count.total === 0) return null;
  return count.ring === null ? endOf(count) : leavesAtMs(count, count.newest, times);
}

function leavesAtMs({ slidesMs }: Count, bucket: number, { slidingMs, wallMs }: Times): number {
  return wallMs + Math.max(0, Math.ceil(((bucket + RING) * slidesMs) / BUCKETS) - slidingMs);
}

function endOf({ endsMs }: Count): number | null {
  return endsMs === Number.POSITIVE_INFINITY ? null : endsMs;
}

/** Its beginning and its end. */
export function periodAt(window: Count["window"], wallMs: number): readonly [number, number] {
  switch (window) {
    case "day": {
      const begins = Math.floor(wallMs / DAY_MS) * DAY_MS;
      return [begins, begins + DAY_MS];
    }
    case "week": {
      const begins =
        (Math.floor((Math.floor(wallMs / DAY_MS) + DAYS_BEFORE_MONDAY) / 7) * 7 - DAYS_BEFORE_MONDAY) * DAY_MS;
      return [begins, begins + 7 * DAY_MS];
    }
    case "month": {
      const date = new Date(wallMs);
      return [
        Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
        Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1),
      ];
    }
    default:
      return [0, Number.POSITIVE_INFINITY];
  }
}

/** What is kept of a count over a restart. */
export interface KeptWindow {
  /** When each part of it leaves a window that slides, or the period that it belongs to begins, in milliseconds since 1970; and its units. */
  readonly parts: readonly (readonly [number, number])[];
}

/** What was kept, brought to what the account is known to have counted at a later time. What left meanwhile is the oldest; what came counts as of then. */
export function corrected(
  { parts }: KeptWindow,
  rule: Pick<LimitRule, "kind" | "window">,
  atMs: number,
  total: number,
): KeptWindow {
  const { slidesMs, window } = newCount(rule);
  if (slidesMs === 0) {
    const [begins] = periodAt(window, atMs);
    return parts.some(([of]) => of > begins) ? { parts } : { parts: [[begins, total]] };
  }
  const there = parts.filter(([leavesMs]) => leavesMs > atMs).toSorted(([one], [other]) => one - other);
  let surplus = there.reduce((sum, [, units]) => sum + units, 0) - total;
  if (surplus < 0) there.push([atMs + (slidesMs * RING) / BUCKETS, -surplus]);
  return {
    parts: there.map(([leavesMs, units]) => {
      const taken = Math.max(0, Math.min(units, surplus));
      surplus -= taken;
      return [leavesMs, units - taken] as const;
    }),
  };
}

/** Null: nothing counts. */
export function keptWindow(count: Count, times: Times): KeptWindow | null {
  const { ring, head } = count;
  if (ring === null) return count.total === 0 ? null : { parts: [[head, count.total]] };
  const parts: [number, number][] = [];
  for (let bucket = head - BUCKETS; bucket <= head; bucket++) {
    const units = ring[placeOf(bucket)]!;
    if (units !== 0) parts.push([leavesAtMs(count, bucket, times), units]);
  }
  return parts.length === 0 ? null : { parts };
}

/** Counts what was kept, in a count that is new. Nothing leaves earlier than it would have; a clock that was set back keeps it for one window more at most. */
export function restore(count: Count, { parts }: KeptWindow, times: Times): void {
  advance(count, times);
  for (const [atMs, units] of parts) {
    if (count.ring === null) {
      // a period that is still to come was opened by a clock that ran ahead: it is not opened twice
      if (atMs > count.head) [count.head, count.endsMs] = periodAt(count.window, atMs);
      if (atMs === count.head) count.total += units;
      continue;
    }
    const leavesMs = Math.min(atMs - times.wallMs, (count.slidesMs * RING) / BUCKETS) + times.slidingMs;
    const bucket = Math.min(count.head, Math.ceil((leavesMs * BUCKETS) / count.slidesMs) - RING);
    if (bucket < count.head - BUCKETS) continue;
    count.ring[placeOf(bucket)]! += units;
    if (count.total === 0 || bucket > count.newest) count.newest = bucket;
    count.total += units;
  }
}
