// The calendar of a time zone, for rules.
import { localTime } from "../core/configured/time-zone.ts";

const DAY_MS = 86_400_000;

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
  return BigInt(CALENDAR[field](new Date(localTime(zone, at.getTime()))));
}
