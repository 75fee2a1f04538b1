// A clock that a test sets: the wall clock and the monotonic clock, separately.
import type { Clock } from "../../src/core/clock.ts";

export interface TurnedClock extends Clock {
  /** Both go on. */
  pass(ms: number): void;
  /** Somebody sets the time. */
  set(wallMs: number): void;
  /** The machine sleeps: the monotonic clock stands still. */
  sleep(ms: number): void;
}

export function turnedClock(startMs = Date.UTC(2026, 0, 1)): TurnedClock {
  let wallMs = startMs;
  let monotonicMs = 5_000;
  return {
    now: () => wallMs,
    monotonic: () => monotonicMs,
    pass(ms) {
      wallMs += ms;
      monotonicMs += ms;
    },
    set(ms) {
      wallMs = ms;
    },
    sleep(ms) {
      wallMs += ms;
    },
  };
}
