// How much a server may say that it was not asked for: messages, or bytes of a stream that stays open. A bucket that leaks.
import type { Clock } from "../core/clock.ts";

export interface MeterBounds {
  /** At once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Most that may have been asked for and not have come; 0 when left out. */
  readonly maxExpected?: number;
}

export interface Meter {
  /** False: it was too much. */
  passes(amount: number): boolean;
  /** So much was asked for, and is not counted when it comes. */
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
