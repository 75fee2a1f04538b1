// Time zones by their IANA names: local time, offsets from UTC, and the moments at which a local day begins.
// https://www.iana.org/time-zones
import { memoizeBounded } from "../memoization.ts";

const DAY_MS = 86_400_000;
export const UTC = "UTC";

/** From this moment on, local time is ahead of UTC by this much, until the next one. */
export interface ZoneOffset {
  readonly fromMs: number;
  readonly offsetMs: number;
}

const MAX_REMEMBERED = 100;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  /** The last second that was asked for: callers read several fields of one moment, and `Intl` is slow. */
  secondMs: number;
  localMs: number;
}

/** `null` for a name that is no time zone. */
const zoneOf = memoizeBounded(MAX_REMEMBERED, (zone: string): Zone | null => {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    return { format, secondMs: Number.NaN, localMs: Number.NaN };
  } catch {
    return null;
  }
});

export const isTimeZone = (zone: string): boolean => /^[A-Za-z][\w+/-]{0,60}$/.test(zone) && isZoneOrOffset(zone);

/** Whether it is the name of a time zone, or an offset such as `+01:00`. */
export const isZoneOrOffset = (zone: string): boolean => zoneOf(zone) !== null;

/** Local time as a number whose UTC date and time are those of the zone. */
export function localTime(zone: string, timeMs: number): number {
  if (zone === UTC) return timeMs;
  const of = zoneOf(zone)!;
  const secondMs = Math.floor(timeMs / 1000) * 1000;
  if (of.secondMs !== secondMs) {
    of.localMs = localSecond(of.format, secondMs);
    of.secondMs = secondMs;
  }
  return of.localMs + (timeMs - secondMs);
}

function localSecond(format: Intl.DateTimeFormat, secondMs: number): number {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of format.formatToParts(secondMs)) parts[type] = value;
  const at = (name: Intl.DateTimeFormatPartTypes): number => Number(parts[name]);
  // Date.UTC takes years below 100 for those of the twentieth century.
  const local = new Date(0);
  local.setUTCFullYear(parts.era === "BC" ? 1 - at("year") : at("year"), at("month") - 1, at("day"));
  return local.setUTCHours(at("hour"), at("minute"), at("second"));
}

/** How far local time is ahead of UTC. */
const offsetAt = (zone: string, timeMs: number): number => localTime(zone, timeMs) - timeMs;

/** The offsets that hold between two times, the first of them from `fromMs` on. */
export function offsetsBetween(zone: string, fromMs: number, toMs: number): readonly ZoneOffset[] {
  const offsets: ZoneOffset[] = [{ fromMs, offsetMs: offsetAt(zone, fromMs) }];
  if (zone === UTC) return offsets;
  for (let atMs = fromMs; atMs < toMs; atMs += DAY_MS) {
    const nextMs = Math.min(atMs + DAY_MS, toMs);
    const before = offsets.at(-1)!.offsetMs;
    const after = offsetAt(zone, nextMs);
    if (after !== before) offsets.push({ fromMs: changeBetween(zone, atMs, nextMs), offsetMs: after });
  }
  return offsets;
}

/** The moment between two times at which the offset changes. */
function changeBetween(zone: string, fromMs: number, toMs: number): number {
  const before = offsetAt(zone, fromMs);
  let low = fromMs;
  let high = toMs;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** The moments between two times, both exclusive, at which the date changes. */
export function midnightsBetween(offsets: readonly ZoneOffset[], fromMs: number, toMs: number): readonly number[] {
  const midnights: number[] = [];
  for (const [index, { fromMs: beganMs, offsetMs }] of offsets.entries()) {
    const endMs = offsets[index + 1]?.fromMs ?? toMs;
    const before = offsets[index - 1];
    if (before !== undefined && dayOf(beganMs - 1 + before.offsetMs) !== dayOf(beganMs + offsetMs))
      midnights.push(beganMs);
    for (let atMs = dayOf(beganMs + offsetMs) + DAY_MS - offsetMs; atMs < endMs; atMs += DAY_MS) midnights.push(atMs);
  }
  return midnights.filter((atMs) => atMs > fromMs && atMs < toMs);
}

const dayOf = (localMs: number): number => Math.floor(localMs / DAY_MS) * DAY_MS;
