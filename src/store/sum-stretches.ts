// Which tables of sums cover a period of whole hours with the fewest rows: days in UTC within which nothing is cut, and
// hours for the rest; hours of projects, where nothing but tenants and projects is asked for.
import type { DividedPeriod } from "./usage-periods.ts";

/** Rows of one table of sums from one time to another. An end of infinity is open. */
export interface Stretch {
  readonly table: "call_hour" | "call_day" | "call_project_hour" | "call_user_day";
  readonly time: "hour_ms" | "day_ms";
  readonly fromMs: number;
  readonly toMs: number;
}

export interface StretchQuery {
  readonly period: DividedPeriod;
  /** Moments within the period at which sums must not run on. */
  readonly cuts: readonly number[];
  /** Whether tenant and project are all that is asked for. */
  readonly ofProjects: boolean;
  /** The time from which on the roll-ups have everything. */
  readonly rolledFromMs: number;
}

const DAY_MS = 86_400_000;
/** Each run of days is an arm of a query. */
const MOST_RUNS = 8;

/** In the order of time, without gaps. */
export function stretchesOf({ period, cuts, ofProjects, rolledFromMs }: StretchQuery): readonly Stretch[] {
  const fromMs = period.wholeFromMs ?? -Infinity;
  const toMs = period.wholeToMs ?? Infinity;
  const rolledMs = rolledFromMs === 0 ? -Infinity : rolledFromMs;
  if (ofProjects) {
    const betweenMs = Math.min(Math.max(fromMs, rolledMs), toMs);
    return [hours(fromMs, betweenMs), { ...hours(betweenMs, toMs), table: "call_project_hour" } as const].filter(isAny);
  }
  const days = runsOf(dayFrom(Math.max(fromMs, rolledMs)), dayTo(toMs), [
    ...cuts,
    ...period.inPieces.map((ms) => ms + 1),
  ]);
  const stretches: Stretch[] = [];
  let reachedMs = fromMs;
  for (const [first, last] of days) {
    stretches.push(hours(reachedMs, first), { table: "call_day", time: "day_ms", fromMs: first, toMs: last });
    reachedMs = last;
  }
  return [...stretches, hours(reachedMs, toMs)].filter(isAny);
}

const hours = (fromMs: number, toMs: number): Stretch => ({ table: "call_hour", time: "hour_ms", fromMs, toMs });
const isAny = ({ fromMs, toMs }: Stretch): boolean => fromMs < toMs;

const dayTo = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
const dayFrom = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

/** The longest runs of days between two of them within which there is no cut, in the order of time. */
function runsOf(
  fromMs: number,
  toMs: number,
  cuts: readonly number[],
): readonly (readonly [fromMs: number, toMs: number])[] {
  const cutDays = [...new Set(cuts.filter((cut) => cut % DAY_MS !== 0).map(dayTo))]
    .filter((day) => day >= fromMs && day < toMs)
    .toSorted((a, b) => a - b);
  const starts = [fromMs, ...cutDays.map((day) => day + DAY_MS)];
  const ends = [...cutDays, toMs];
  return starts
    .map((start, index) => [start, ends[index]!] as const)
    .filter(([start, end]) => start < end)
    .toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))
    .slice(0, MOST_RUNS)
    .toSorted((a, b) => a[0] - b[0]);
}
