// Computes which bucket a moment falls into, and when a bucket has left the window; the store's script computes the
// same. Windows slide over 60 buckets; calendar periods are UTC days, weeks from Monday, and months.
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
  if (kind === "month") return new Date(nowMs).getUTCFullYear() * MONTHS + new Date(nowMs).getUTCMonth();
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
  if (kind === "month") return Date.UTC(Math.floor(bucket / MONTHS), (bucket % MONTHS) + 1);
  return null;
}
