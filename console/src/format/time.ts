// Times in the chosen zone, ages and durations.
export type Zone = "local" | "utc";

const zoneOf = (zone: Zone): { readonly timeZone?: string } => (zone === "utc" ? { timeZone: "UTC" } : {});

/** What heads of columns say. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function clockTime(timeMs: number, zone: Zone): string {
  return new Intl.DateTimeFormat("en-GB", {
    ...zoneOf(zone),
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(timeMs);
}

export function dayAndTime(timeMs: number, zone: Zone): string {
  return new Intl.DateTimeFormat("en-GB", {
    ...zoneOf(zone),
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(timeMs);
}

export function dayOf(timeMs: number, zone: Zone): string {
  return new Intl.DateTimeFormat("en-GB", { ...zoneOf(zone), day: "numeric", month: "short", year: "numeric" }).format(
    timeMs,
  );
}

const DAY_MS = 86_400_000;

/** A moment of the coming days, such as `Thu 14:00`, or `3 Dec 14:00` where it is further away. */
export function dayAndClock(timeMs: number, nowMs: number, zone: Zone): string {
  const isNear = Math.abs(timeMs - nowMs) < 6 * DAY_MS;
  return new Intl.DateTimeFormat("en-GB", {
    ...zoneOf(zone),
    ...(isNear ? { weekday: "short" } : { day: "numeric", month: "short" }),
    ...(Math.abs(timeMs - nowMs) > 300 * DAY_MS && { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
  })
    .format(timeMs)
    .replaceAll(",", "");
}

/** A moment that the gateway sets in UTC, such as `1 Dec 00:00 UTC (01:00 yours)`. */
export function utcAndOwn(timeMs: number): string {
  const part = (zone: Zone, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat("en-GB", { ...zoneOf(zone), ...options }).format(timeMs);
  const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  const clock: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const utc = `${part("utc", day)} ${part("utc", clock)} UTC`;
  const [ownDay, ownClock] = [part("local", day), part("local", clock)];
  if (ownDay === part("utc", day)) return ownClock === part("utc", clock) ? utc : `${utc} (${ownClock} yours)`;
  return `${utc} (${ownDay} ${ownClock} yours)`;
}

/** The same moment in both zones, with its date. */
export function bothZones(timeMs: number): string {
  const utc = `${dayOf(timeMs, "utc")} ${clockTime(timeMs, "utc")} UTC`;
  const local = `${dayOf(timeMs, "local")} ${clockTime(timeMs, "local")} ${zoneName("local")}`;
  return local.replace(zoneName("local"), "UTC") === utc ? utc : `${local}\n${utc}`;
}

const STEPS = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"],
] as const;

/** Such as `3 minutes ago`, or `in 2 days`. */
export function ageOf(timeMs: number, nowMs: number): string {
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const difference = timeMs - nowMs;
  const [size, unit] = STEPS.find(([step]) => Math.abs(difference) >= step) ?? STEPS[3];
  return format.format(Math.trunc(difference / size), unit);
}

/** Such as `340 ms`, `1.42 s` or `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** As a field for a date and time has it, to the minute. */
export function localTime(timeMs: number, zone: Zone): string {
  const date = new Date(timeMs);
  if (zone === "utc") return date.toISOString().slice(0, 16);
  const part = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${part(date.getMonth() + 1)}-${part(date.getDate())}T${part(date.getHours())}:${part(date.getMinutes())}`;
}

/** The time of such a field; null where it is incomplete. */
export function timeInZone(text: string, zone: Zone): string | null {
  const timeMs = Date.parse(zone === "utc" ? `${text}Z` : text);
  return text === "" || Number.isNaN(timeMs) ? null : new Date(timeMs).toISOString();
}
