// Times in the chosen zone, ages and durations.
import { dateFormat } from "./date-format.ts";
import { localMs, momentOf } from "./local-time.ts";

/** The name of a time zone in the IANA database. */
export type Zone = string;

export const UTC: Zone = "UTC";

const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone of the browser when it loaded the page. */
export function ownZone(): Zone {
  return OWN_ZONE;
}

export function clockTime(timeMs: number, zone: Zone): string {
  return dateFormat(zone, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(timeMs);
}

export function dayAndTime(timeMs: number, zone: Zone): string {
  return inShort(timeMs, zone, { second: "2-digit" });
}

/** Such as `14 Oct, 15:32`. */
export function dayAndMinute(timeMs: number, zone: Zone): string {
  return inShort(timeMs, zone, {});
}

/** Such as `4 Sept 2027, 15:32`. */
export function yearAndMinute(timeMs: number, zone: Zone): string {
  return inShort(timeMs, zone, { year: "numeric" });
}

function inShort(timeMs: number, zone: Zone, further: Intl.DateTimeFormatOptions): string {
  return dateFormat(zone, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    ...further,
  }).format(timeMs);
}

/** From so far away on, a day without its year could be that of another year. */
export const FAR_MS = 300 * 86_400_000;

export function dayOf(timeMs: number, zone: Zone): string {
  return dateFormat(zone, { day: "numeric", month: "short", year: "numeric" }).format(timeMs);
}

const DAY_MS = 86_400_000;

/** A moment of the coming days, such as `Thu 14:00`, or `3 Dec 14:00` where it is further away. */
export function dayAndClock(timeMs: number, nowMs: number, zone: Zone): string {
  const isNear = Math.abs(timeMs - nowMs) < 6 * DAY_MS;
  return dateFormat(zone, {
    ...(isNear ? { weekday: "short" } : { day: "numeric", month: "short" }),
    ...(Math.abs(timeMs - nowMs) > FAR_MS && { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
  })
    .format(timeMs)
    .replaceAll(",", "");
}

/** A moment that the gateway sets in UTC, such as `1 Dec 00:00 UTC (01:00 yours)`. */
export function utcAndOwn(timeMs: number): string {
  const part = (zone: Zone, options: Intl.DateTimeFormatOptions): string => dateFormat(zone, options).format(timeMs);
  const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  const clock: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const utc = `${part(UTC, day)} ${part(UTC, clock)} UTC`;
  const own = ownZone();
  const [ownDay, ownClock] = [part(own, day), part(own, clock)];
  if (ownDay === part(UTC, day)) return ownClock === part(UTC, clock) ? utc : `${utc} (${ownClock} yours)`;
  return `${utc} (${ownDay} ${ownClock} yours)`;
}

/** The same moment in the zone of the page, the browser's and UTC, with its date. */
export function inAllZones(timeMs: number, zone: Zone): string {
  return [...new Set([zone, ownZone(), UTC])]
    .map((one) => `${dayOf(timeMs, one)} ${clockTime(timeMs, one)} ${one}`)
    .join("\n");
}

const STEPS = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"],
] as const;

const AGES = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Such as `3 minutes ago`, or `in 2 days`. */
export function ageOf(timeMs: number, nowMs: number): string {
  const difference = timeMs - nowMs;
  const [size, unit] = STEPS.find(([step]) => Math.abs(difference) >= step) ?? STEPS[3];
  return AGES.format(Math.trunc(difference / size), unit);
}

/** Such as `340 ms`, `1.42 s` or `2 min 5 s`. */
export function duration(ms: number): string {
  // 999.5 ms would be shown as 1000 ms, and 59.95 s as 60.0 s: both are shown in the next larger unit
  if (ms < 999.5) return `${ms < 9.95 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** As a field for a date and time has it, to the minute. */
export function localTime(timeMs: number, zone: Zone): string {
  return new Date(localMs(timeMs, zone)).toISOString().slice(0, 16);
}

/** The time of such a field; null where it is incomplete. */
export function timeInZone(text: string, zone: Zone): string | null {
  const local = Date.parse(`${text}Z`);
  return text === "" || Number.isNaN(local) ? null : new Date(momentOf(local, zone)).toISOString();
}
