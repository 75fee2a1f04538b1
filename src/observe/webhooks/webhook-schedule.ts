// When a delivery is tried again: the schedule that the operators of Standard Webhooks recommend
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability), with jitter, so that what failed together does not come together.
const S = 1000;
const MIN = 60 * S;
const H = 60 * MIN;

/** After the first attempt, the second, and so on; the last one repeats. */
const WAITS_MS = [5 * S, 5 * MIN, 30 * MIN, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H] as const;
/** A receiver that says when to come back is listened to this far. */
const LONGEST_ASKED_MS = 24 * H;

/** `attempts`: made so far, at least 1. `random`: 0 to below 1. `askedMs`: the receiver's `retry-after`; null: none. */
export function waitAfter(attempts: number, random: number, askedMs: number | null): number {
  const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1]!;
  return Math.max(wait * (0.9 + 0.2 * random), Math.min(askedMs ?? 0, LONGEST_ASKED_MS));
}
