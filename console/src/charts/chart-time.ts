// The time of a chart: where the bars of buckets stand, which bucket is at a moment, and what stands below the axis.
import { dateFormat } from "../format/date-format.ts";
import type { Zone } from "../format/time.ts";

export interface ChartTime {
  /** When each bucket begins, in order. The first and the last one may be cut. */
  readonly startsMs: readonly number[];
  readonly endMs: number;
}

export interface DrawnTime {
  /** Where bars begin, in seconds. */
  readonly starts: readonly number[];
  readonly end: number;
}

/** Buckets that are cut are drawn as wide as the others, because the narrowest one decides how wide bars are. */
export function drawnTime({ startsMs, endMs }: ChartTime): DrawnTime {
  const [first = endMs, second = endMs, third] = startsMs;
  const stepMs = third === undefined ? Math.max(second - first, endMs - second) : third - second;
  const begins = startsMs.length < 2 ? startsMs : [second - stepMs, ...startsMs.slice(1)];
  const last = begins.at(-1) ?? first;
  return {
    starts: begins.map((ms) => ms / 1000),
    end: (startsMs.length < 2 ? endMs : Math.max(endMs, last + stepMs)) / 1000,
  };
}

/** The index of the bucket at a moment of the drawn time; the first one before them all. */
export function bucketAt({ starts }: DrawnTime, seconds: number): number {
  return Math.max(
    0,
    starts.findLastIndex((start) => start <= seconds),
  );
}

const DAY_S = 86_400;

/** A mark of the axis: the time of the day, or the day at midnight and where marks are days apart. */
export function markText(seconds: number, apart: number, zone: Zone): string {
  const clock = dateFormat(zone, { hour: "2-digit", minute: "2-digit" }).format(seconds * 1000);
  if (apart < DAY_S && !/^(?:00|24)\D00$/.test(clock)) return clock;
  return dateFormat(zone, { day: "numeric", month: "short" }).format(seconds * 1000);
}

/** Distances between the marks of counts, which are whole. */
export const WHOLE_STEPS: readonly number[] = Array.from({ length: 15 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** What a bucket of each width is called behind "per". */
export const BUCKET_WORDS = {
  "1m": "minute",
  "5m": "5 minutes",
  "15m": "15 minutes",
  "1h": "hour",
  "6h": "6 hours",
  "1d": "day",
} as const;
