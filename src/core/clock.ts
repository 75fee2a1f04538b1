// Time as a value that is handed in, so that tests can turn it. Rules never read a clock themselves.

export interface Clock {
  /** Milliseconds since 1970, for time stamps and lifetimes. */
  now(): number;
  /** Milliseconds of a clock that never goes back, with fractions, for durations. */
  monotonic(): number;
}

/** The longest time that a timer takes: it has 31 bits, and is due at once when given more. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
