// What one account counts in its window (promise 4.1): limits slide over sixty sub-buckets, budgets follow the calendar
// in UTC, concurrency has no window. Pure: the times are passed in. docs/design/sliding-windows.md proves that no window
// of its length ever holds more than the limit.

// Decides (money and limits): When is there room again, and what is `retry-after`? By: `fitsAtMs`. Also:
// `limit-errors.ts` (`refusalError`). Rule: When enough of what counts has left the window: the sixtieths of a sliding
// window one after the other, a calendar period at its end. For a place under `concurrency`, a second is suggested.
// Decides (money and limits): When does a window begin? By: `slidingLengthMs`. Rule: A window of a limit, a day too, slides
// and has no time zone. One of a budget is a calendar period in UTC.
import type { LimitRule, LimitWindow } from "../core/configured/limit.ts";

/** Sub-buckets of a sliding window. */
export const BUCKETS = 60;
/** A window overlaps one more bucket, because its oldest bucket counts in full. */
const RING = BUCKETS + 1;
const DAY_MS = 86_400_000;
/** 1 January 1970 was a Thursday. */
const DAYS_BEFORE_MONDAY = 3;
/** It is unknown when a slot of a concurrency limit is freed, so a retry is suggested after this time. */
const SLOT_WAIT_MS = 1_000;

export interface Times {
  /** Milliseconds that never go back, for sliding windows. */
  readonly slidingMs: number;
  /** Milliseconds since 1970, for calendar periods and for what clients see. */
  readonly wallMs: number;
}

const SLIDES_MS: Readonly<Record<LimitWindow, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
};

/** The length of a window that slides; 0 for any other. A day slides for a limit and is a calendar day for a budget. */
export function slidingLengthMs({ kind, window }: Pick<LimitRule, "kind" | "window">): number {
  return kind === "budget" || window === null ? 0 : SLIDES_MS[window as LimitWindow];
}

/**
 * A sliding window has a ring of buckets; all others have one count. All have the same members, so that the hot path
 * sees one object shape.
 */
export type Count = ReturnType<typeof newCount>;

export function newCount(rule: Pick<LimitRule, "kind" | "window">) {
  const slidesMs = slidingLengthMs(rule);
  return {
    window: rule.window,
    /** Length of the whole window; 0 when it does not slide. */
    slidesMs,
    ring: slidesMs === 0 ? null : new Float64Array(RING),
    /** The number of the newest bucket, or the beginning of the calendar period; 0 where there is neither. */
    head: Number.NEGATIVE_INFINITY,
    /** When the calendar period ends; infinite for a window without end. */
    endsMs: Number.NEGATIVE_INFINITY,
    total: 0,
    /** The newest bucket in which something counts, unless nothing does. */
    newest: 0,
    /** Needs that have not ended, and the units that they were charged. */
    open: 0,
    reserved: 0,
    /** Marks of the present calendar period that `first` has already seen; `null` when there are none. */
    marks: null as Set<string> | null,
  };
}

/**
 * Removes what has left the window by now, and where a new calendar period began, the marks of the earlier one. A clock
 * that goes back does not reopen a period.
 */
export function advance(count: Count, times: Times): void {
  if (count.ring !== null) {
    const bucket = Math.floor((times.slidingMs * BUCKETS) / count.slidesMs);
    if (bucket > count.head) slide(count, count.ring, bucket);
    return;
  }
  if (times.wallMs < count.endsMs) return;
  [count.head, count.endsMs] = periodAt(count.window, times.wallMs);
  count.total = 0;
  count.marks = null;
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

/** Counts in the newest bucket and returns the number of that bucket. The count has to be advanced before. */
export function charge(count: Count, units: number): number {
  if (count.ring !== null && units > 0) {
    count.ring[placeOf(count.head)]! += units;
    count.newest = count.head;
  }
  count.total += units;
  return count.head;
}

/**
 * Removes units from the bucket to which they were charged. If that bucket has left the window, they no longer count
 * anyway.
 */
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

/** Removes units from the whole window, the oldest first, so that the rest leaves no sooner than it would have. */
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

/**
 * When `units` will fit, by what counts now, in milliseconds since 1970; `null` for never. `limit` must be at least
 * `units`.
 */
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

/** When everything that counts now will have left; `null` when that never happens or nothing counts. */
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

/** The beginning and the end of the period. */
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
  /**
   * The parts of the count. Each has a time in milliseconds since 1970, when it leaves a sliding window or when its
   * calendar period begins, and its units.
   */
  readonly parts: readonly (readonly [number, number])[];
}

/** The date of a part whose units were charged at this time. */
export function chargedAt(rule: Pick<LimitRule, "kind" | "window">, ms: number): number {
  const slidesMs = slidingLengthMs(rule);
  return slidesMs === 0 ? periodAt(rule.window, ms)[0] : ms + (slidesMs * RING) / BUCKETS;
}

/** Whether what was charged to the bucket still counts. */
export function isInWindow({ ring, head }: Count, bucket: number): boolean {
  return ring === null ? bucket === head : bucket > head - RING;
}

/** The date of the part that this bucket becomes. */
export function partDate(count: Count, bucket: number, times: Times): number {
  return count.ring === null ? bucket : leavesAtMs(count, bucket, times);
}

/**
 * Adjusts what was kept to the total that the account is known to have counted later. The oldest units are taken to
 * have left meanwhile; additional units count from that later time.
 */
export function corrected(
  { parts }: KeptWindow,
  rule: Pick<LimitRule, "kind" | "window">,
  atMs: number,
  total: number,
): KeptWindow {
  if (slidingLengthMs(rule) === 0) {
    const begins = chargedAt(rule, atMs);
    return parts.some(([of]) => of > begins) ? { parts } : { parts: [[begins, total]] };
  }
  const there = parts.filter(([leavesMs]) => leavesMs > atMs).toSorted(([one], [other]) => one - other);
  let surplus = there.reduce((sum, [, units]) => sum + units, 0) - total;
  if (surplus < 0) there.push([chargedAt(rule, atMs), -surplus]);
  return {
    parts: there.map(([leavesMs, units]) => {
      const taken = Math.max(0, Math.min(units, surplus));
      surplus -= taken;
      return [leavesMs, units - taken] as const;
    }),
  };
}

/** `null` when nothing counts. */
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

/**
 * Adds what was kept to a new count. Nothing leaves earlier than it would have; after the clock was set back it stays
 * for at most one more window.
 */
export function restore(count: Count, { parts }: KeptWindow, times: Times): void {
  advance(count, times);
  for (const [atMs, units] of parts) {
    if (count.ring === null) {
      // A period in the future was begun by a clock that ran ahead; it is not begun twice.
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
