// How long the head of an answer is waited for while another target could answer (promise 7.10).
import type { RouteTimeouts } from "../core/configured/route.ts";

/** A provider sends the head of a stream as soon as it begins to work on the answer. */
const MAX_STREAM_HEAD_MS = 60_000;
/** With less time, no other target would answer. */
const MIN_HEAD_MS = 10;

/**
 * Returns for how many milliseconds an attempt waits that begins with `leftMs` of the call's time; `null` where the route
 * sets a limit of its own, or no time is left. The head of a non-streaming answer comes when the answer is complete, so
 * that only the share of the time bounds it.
 */
export function headLimitMs(
  { firstByteMs, firstTokenMs }: RouteTimeouts,
  isStream: boolean,
  leftMs: number,
): number | null {
  if (firstByteMs !== null || (isStream && firstTokenMs !== null) || leftMs / 2 < MIN_HEAD_MS) return null;
  return isStream ? Math.min(MAX_STREAM_HEAD_MS, leftMs / 2) : leftMs / 2;
}
