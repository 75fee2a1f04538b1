// How many rows calls may leave that were refused before they were admitted. A flood of wrong tokens, or a client that repeats a refused call in a loop, is in
// metrics and log; its rows must not fill the disk and the database.
import type { Clock } from "../core/clock.ts";

interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** Of callers without a good token, and of those with one. */
const STRANGERS: Allowance = { perSecond: 2, burst: 200 };
const CALLERS: Allowance = { perSecond: 50, burst: 5000 };

export class RefusalAllowance {
  readonly #clock: Clock;
  readonly #strangers = new Tokens(STRANGERS);
  readonly #callers = new Tokens(CALLERS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False: one too many. */
  take(isKnown: boolean): boolean {
    return (isKnown ? this.#callers : this.#strangers).take(this.#clock.monotonic());
  }
}

class Tokens {
  readonly #allowance: Allowance;
  #left: number;
  #countedMs: number | null = null;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
    this.#left = allowance.burst;
  }

  take(nowMs: number): boolean {
    const { perSecond, burst } = this.#allowance;
    this.#left = Math.min(burst, this.#left + ((nowMs - (this.#countedMs ?? nowMs)) / 1000) * perSecond);
    this.#countedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
