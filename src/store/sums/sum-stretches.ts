// Which tables of sums cover a period with the fewest rows: the longest spans within which nothing is cut, such as days
// in UTC, and shorter ones for the rest; and of each the table with no more dimensions than are asked for.

// Decides (records and configuration): Which sums does a report read: of hours, of projects' hours, or of days? By:
// `stretchesOf`. Also: kept by `roll-up-triggers.ts` (`createRollUps`). Rule: Those of days in UTC where nothing is cut
// within; those of projects where nothing else is asked for.
import {
  DAYS,
  PROJECT_HOURS,
  type SumsTable,
  TARGET_DAYS,
  TARGET_HOURS,
  type TimedTable,
  USER_PROJECT_DAYS,
  USER_WEEKS,
} from "./roll-up-triggers.ts";
import type { UsageDimension } from "../calls/calls.ts";
import { cutHours, type DividedPeriod, roundedDown, roundedUp } from "./usage-periods.ts";

/** Rows of one table of sums from one time to another. An end of infinity is open. */
export interface Stretch {
  readonly from: TimedTable;
  /** Whether it is a roll-up, whose amounts stand in two halves. */
  readonly isRolledUp: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

/** In place of the sums themselves: a roll-up of the same spans, and one of longer spans. */
export interface Choices {
  readonly same: TimedTable | null;
  readonly longer: TimedTable | null;
}

/** The dimensions that a query asks for, or by which it is narrowed. */
export type AskedDimension = Exclude<UsageDimension, "day">;

const PROJECT: ReadonlySet<AskedDimension> = new Set(["tenant", "project"]);
const TARGET: ReadonlySet<AskedDimension> = new Set([...PROJECT, "route", "provider", "model", "operation"]);
const END_USER: ReadonlySet<AskedDimension> = new Set([...PROJECT, "end_user"]);

/** With `isByDay` no row may cover more than a day in UTC: midnights in UTC are no cuts. */
export function choicesFor(sums: SumsTable["table"], asked: readonly AskedDimension[], isByDay: boolean): Choices {
  const isWithin = (dimensions: ReadonlySet<AskedDimension>): boolean => asked.every((one) => dimensions.has(one));
  if (sums === "call_user_day")
    return {
      same: isWithin(PROJECT) ? USER_PROJECT_DAYS : null,
      longer: isWithin(END_USER) && !isWithin(PROJECT) && !isByDay ? USER_WEEKS : null,
    };
  if (isWithin(PROJECT)) return { same: PROJECT_HOURS, longer: null };
  if (isWithin(TARGET)) return { same: TARGET_HOURS, longer: TARGET_DAYS };
  return { same: null, longer: DAYS };
}

export interface StretchQuery {
  /** What the roll-ups are made of. */
  readonly sums: TimedTable;
  readonly period: DividedPeriod;
  /** Moments within the period at which sums must not run on. */
  readonly cuts: readonly number[];
  readonly choices: Choices;
}

/** Each run is an arm of a query. */
const MOST_RUNS = 8;

/** In the order of time, without gaps; at least one, which may have no time in it. */
export function stretchesOf(query: StretchQuery): readonly Stretch[] {
  const [first, ...others] = allStretches(query);
  const filled = [first!, ...others].filter(isAny);
  return filled.length > 0 ? filled : [first!];
}

function allStretches({ sums, period, cuts, choices }: StretchQuery): readonly Stretch[] {
  const fromMs = period.wholeFromMs ?? -Infinity;
  const toMs = period.wholeToMs ?? Infinity;
  const { same, longer } = choices;
  const shortSpan = (first: number, last: number): Stretch => ({
    from: same ?? sums,
    isRolledUp: same !== null,
    fromMs: first,
    toMs: last,
  });
  if (longer === null) return [shortSpan(fromMs, toMs)];
  const { spanMs } = longer;
  const runs = runsOf(roundedUp(fromMs, spanMs), roundedDown(toMs, spanMs), spanMs, cuts);
  const stretches: Stretch[] = [];
  let reachedMs = fromMs;
  for (const [first, last] of runs) {
    stretches.push(shortSpan(reachedMs, first), { from: longer, isRolledUp: true, fromMs: first, toMs: last });
    reachedMs = last;
  }
  return [...stretches, shortSpan(reachedMs, toMs)];
}

const isAny = ({ fromMs, toMs }: Stretch): boolean => fromMs < toMs;

/** The longest runs of spans between two of them within which there is no cut, in the order of time. */
function runsOf(
  fromMs: number,
  toMs: number,
  spanMs: number,
  cuts: readonly number[],
): readonly (readonly [fromMs: number, toMs: number])[] {
  const cutSpans = cutHours(cuts, spanMs)
    .filter((ms) => ms >= fromMs && ms < toMs)
    .toSorted((a, b) => a - b);
  const starts = [fromMs, ...cutSpans.map((ms) => ms + spanMs)];
  const ends = [...cutSpans, toMs];
  return starts
    .map((start, index) => [start, ends[index]!] as const)
    .filter(([start, end]) => start < end)
    .toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))
    .slice(0, MOST_RUNS)
    .toSorted((a, b) => a[0] - b[0]);
}
