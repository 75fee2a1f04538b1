// Time zones by their IANA names: offsets from UTC, and the moments at which a local day begins.
// https://www.iana.org/time-zones
import { memoizeBounded } from "./memoization.ts";

const DAY_MS = 86_400_000;
export const UTC = "UTC";

/** From this moment on, local time is ahead of UTC by this much, until the next one. */
export interface ZoneOffset {
  readonly fromMs: number;
  readonly offsetMs: number;
}

const MAX_REMEMBERED = 100;

/** `null` for a name that is no time zone. */
const formatOf = memoizeBounded(MAX_REMEMBERED, (zone: string): Intl.DateTimeFormat | null => {
  try {
    return new Intl.DateTimeFormat("en-US", {
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
  } catch {
    return null;
  }
});

export const isTimeZone = (zone: string): boolean => /^[A-Za-z][\w+/-]{0,60}$/.test(zone) && formatOf(zone) !== null;

/** How far local time is ahead of UTC. */
function offsetAt(zone: string, timeMs: number): number {
  if (zone === UTC) return 0;
  const second = Math.floor(timeMs / 1000) * 1000;
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatOf(zone)!.formatToParts(second)) parts[type] = value;
  const at = (name: Intl.DateTimeFormatPartTypes): number => Number(parts[name]);
  return Date.UTC(at("year"), at("month") - 1, at("day"), at("hour"), at("minute"), at("second")) - second;
}

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
