// A leaky bucket that bounds what a server sends without being asked: messages, or bytes of a stream that stays open.
import type { Clock } from "../core/clock.ts";

export interface MeterBounds {
  /** The amount that may arrive at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Maximum of what has been requested and has not arrived; 0 by default. */
  readonly maxExpected?: number;
}

export interface Meter {
  /** Counts `amount`; returns false when it exceeds the bound. */
  passes(amount: number): boolean;
  /** Announces an amount that was requested and is not counted when it arrives. */
  expect(amount: number): void;
}

export function openMeter(clock: Pick<Clock, "monotonic">, { burst, perSecond, maxExpected = 0 }: MeterBounds): Meter {
  let level = 0;
  let expected = 0;
  let atMs = clock.monotonic();
  return {
    passes(amount) {
      const nowMs = clock.monotonic();
      const askedFor = Math.min(expected, amount);
      expected -= askedFor;
      level = Math.max(0, level - ((nowMs - atMs) * perSecond) / 1000) + amount - askedFor;
      atMs = nowMs;
      return level <= burst;
    },
    expect(amount) {
      expected = Math.min(maxExpected, expected + amount);
    },
  };
}
