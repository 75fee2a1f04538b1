// Computes which bucket a moment falls into, and when a bucket has left the window; the store's script computes the
// same. Windows slide over 60 buckets; calendar periods are UTC days, weeks from Monday, and months. Months:
// https://howardhinnant.github.io/date_algorithms.html
import { BUCKETS } from "../windows.ts";
import { type AccountKind, MIN_LEASED_WINDOW_MS } from "./protocol.ts";

const DAY_MS = 86_400_000;
const MONTHS = 12;

export interface WindowShape {
  readonly kind: AccountKind;
  /** 0 unless the window slides. */
  readonly windowMs: number;
}

export function bucketAt({ kind, windowMs }: WindowShape, nowMs: number): number {
  const day = Math.floor(nowMs / DAY_MS);
  if (kind === "slide") return Math.floor((nowMs * BUCKETS) / windowMs);
  if (kind === "day") return day;
  if (kind === "week") return Math.floor((day + 3) / 7);
  if (kind === "month") return monthOf(day);
  return 0;
}

/**
 * `null` when the bucket never leaves. A unit may be spent as late as one lease life after it was dated, so its bucket
 * stays for that much longer.
 */
export function leavesAtMs({ kind, windowMs }: WindowShape, bucket: number, leaseLifeMs: number): number | null {
  if (kind === "slide")
    return (
      Math.ceil(((bucket + 1) * windowMs) / BUCKETS) + windowMs + (windowMs >= MIN_LEASED_WINDOW_MS ? leaseLifeMs : 0)
    );
  if (kind === "day") return (bucket + 1) * DAY_MS;
  if (kind === "week") return ((bucket + 1) * 7 - 3) * DAY_MS;
  if (kind === "month") return firstDayOf(bucket + 1) * DAY_MS;
  return null;
}

/** Months since the year 0. */
function monthOf(day: number): number {
  const z = day + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 2 : fromMarch - 10;
  return (yearOfEra + era * 400 + (month <= 1 ? 1 : 0)) * MONTHS + month;
}

function firstDayOf(months: number): number {
  const month = months % MONTHS;
  const year = Math.floor(months / MONTHS) - (month <= 1 ? 1 : 0);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  return (
    era * 146_097 +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    Math.floor((153 * ((month + 10) % MONTHS) + 2) / 5) -
    719_468
  );
}
