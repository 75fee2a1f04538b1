// A clock that stands still until a test advances it.
import type { Clock } from "../../../src/core/clock.ts";

export interface TurnedClock extends Clock {
  /** Milliseconds since 1970. */
  turnTo(nowMs: number): void;
}

export function turnedClock(startMs: number): TurnedClock {
  let nowMs = startMs;
  return { now: () => nowMs, monotonic: () => nowMs - startMs + 1_000_000, turnTo: (ms) => (nowMs = ms) };
}
