// The calendar of a time zone, for rules. The language's time zone tables are expensive, so they are read once for each
// moment and zone, however often rules ask.
import { memoizeBounded } from "../core/memoization.ts";

const FIELDS = {
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
  hourCycle: "h23",
} as const;
const DAY_MS = 86_400_000;
const MAX_ZONES = 1000;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  atMs: number;
  /** A date whose UTC fields are those of the zone. */
  local: Date;
}
const zoneOf = memoizeBounded(MAX_ZONES, (name: string): Zone => ({
  format: new Intl.DateTimeFormat("en-US", { timeZone: name, era: "short", ...FIELDS }),
  atMs: Number.NaN,
  local: new Date(Number.NaN),
}));

function localTime(at: Date, name: string): Date {
  const zone = zoneOf(name);
  const atMs = at.getTime();
  if (zone.atMs === atMs) return zone.local;
  const parts = new Map(zone.format.formatToParts(at).map(({ type, value }) => [type, value]));
  const field = (type: keyof typeof FIELDS): number => Number(parts.get(type as Intl.DateTimeFormatPartTypes));
  const local = new Date(0);
  local.setUTCFullYear(parts.get("era") === "BC" ? 1 - field("year") : field("year"), field("month") - 1, field("day"));
  local.setUTCHours(field("hour"), field("minute"), field("second"), at.getUTCMilliseconds());
  zone.atMs = atMs;
  return (zone.local = local);
}

/**
 * By the names that CEL defines; months and days count from 0 where CEL does.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#datetime-functions
 */
const CALENDAR = {
  getFullYear: (time: Date) => time.getUTCFullYear(),
  getMonth: (time: Date) => time.getUTCMonth(),
  getDate: (time: Date) => time.getUTCDate(),
  getDayOfMonth: (time: Date) => time.getUTCDate() - 1,
  getDayOfWeek: (time: Date) => time.getUTCDay(),
  getDayOfYear: (time: Date) =>
    Math.floor(
      (Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()) - Date.UTC(time.getUTCFullYear(), 0, 1)) /
        DAY_MS,
    ),
  getHours: (time: Date) => time.getUTCHours(),
  getMinutes: (time: Date) => time.getUTCMinutes(),
  getSeconds: (time: Date) => time.getUTCSeconds(),
  getMilliseconds: (time: Date) => time.getUTCMilliseconds(),
} as const;

export type CalendarField = keyof typeof CALENDAR;
export const CALENDAR_FIELDS = Object.keys(CALENDAR) as readonly CalendarField[];

export function zonedField(field: CalendarField, at: Date, zone: string): bigint {
  return BigInt(CALENDAR[field](localTime(at, zone)));
}
