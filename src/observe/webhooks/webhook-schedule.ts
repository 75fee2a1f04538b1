// When a delivery is attempted again: the schedule that Standard Webhooks recommends
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability),
// with jitter, so that deliveries that failed together are not retried together.
const S = 1000;
const MIN = 60 * S;
const H = 60 * MIN;

/** Waits after the first attempt, the second, and so on; the last one repeats. */
const WAITS_MS = [5 * S, 5 * MIN, 30 * MIN, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H] as const;
/** The longest wait that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 24 * H;

/**
 * `attempts` is the number made so far, at least 1. `random` is a number from 0 to below 1. `askedMs` is the receiver's
 * `retry-after`, or null when it sent none.
 */
export function waitAfter(attempts: number, random: number, askedMs: number | null): number {
  const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1]!;
  return Math.max(wait * (0.9 + 0.2 * random), Math.min(askedMs ?? 0, MAX_RETRY_AFTER_MS));
}
