// Local time in any zone. A local time is a number whose UTC date and time are those of the zone.
import { dateFormat } from "./date-format.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Without milliseconds. */
export function localMs(timeMs: number, zone: string): number {
  const format = dateFormat(zone, {
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = new Map(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const time = new Date(0);
  // unlike Date.UTC, it takes the years below 100 as they are
  time.setUTCFullYear(part("year"), part("month") - 1, part("day"));
  return time.setUTCHours(part("hour"), part("minute"), part("second"));
}

/** The first moment that has this local time; where clocks leave it out, the moment at which they do. */
export function momentOf(local: number, zone: string): number {
  const offsetAt = (timeMs: number): number => localMs(timeMs, zone) - Math.floor(timeMs / 1000) * 1000;
  const [before, after] = [offsetAt(local - DAY_MS), offsetAt(local + DAY_MS)];
  const found = [local - before, local - after].toSorted((one, other) => one - other);
  const first = found.find((timeMs) => localMs(timeMs, zone) === local);
  if (first !== undefined) return first;
  let [low, high] = [Math.min(...found) - HOUR_MS, Math.max(...found) + HOUR_MS];
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2000) * 1000;
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}
