// How long to wait before the same target is attempted again: exponential backoff with full jitter ("Exponential
// Backoff And Jitter", AWS Architecture Blog), so that calls which failed together do not retry together.

const BASE_MS = 250;
const CAP_MS = 8_000;

/** `repeat` is 0 for the first retry; `chance` is at least 0 and below 1. */
export function backoffMs(repeat: number, chance: number): number {
  return chance * Math.min(CAP_MS, BASE_MS * 2 ** repeat);
}
