// Time as a value that is passed in, so that tests can control it. Rules never read a clock themselves.

export interface Clock {
  /** Milliseconds since 1970, for time stamps and lifetimes. */
  now(): number;
  /** Milliseconds of a monotonic clock, with fractions, for durations. */
  monotonic(): number;
}

/** The longest delay of a timer: it has 31 bits, and a longer delay makes the timer fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
