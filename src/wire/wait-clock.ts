// The clock of one call's waits. One timer serves them all, because setting and clearing one for each chunk would cost more than the chunk: it looks
// again when it has come too early.
import { MAX_TIMER_MS } from "../core/clock.ts";
import { afterSocketsRead } from "./turn.ts";

/** Whose wait it is. */
export interface Waiting {
  /** The wait that began last has lasted too long. */
  expired(): void;
}

export class WaitClock {
  readonly #owner: Waiting;
  readonly #shortestMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Infinity while nothing is waited for. */
  #deadlineMs = Infinity;

  /** `shortestMs`: no wait that begins while the timer is set may be shorter, so that a timer that is set is always early enough. */
  constructor(owner: Waiting, shortestMs: number) {
    this.#owner = owner;
    this.#shortestMs = Math.min(shortestMs, MAX_TIMER_MS);
  }

  /** A wait of at most `ms` begins; gives the time. */
  start(ms: number): number {
    const nowMs = performance.now();
    this.#deadlineMs = nowMs + ms;
    if (this.#timer === undefined) this.#arm(nowMs);
    return nowMs;
  }

  /** What was waited for has come; another wait may begin. */
  pause(): void {
    this.#deadlineMs = Infinity;
  }

  /** Nothing will be waited for any more. */
  close(): void {
    this.pause();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(nowMs: number): void {
    const ms = Math.min(Math.ceil(this.#deadlineMs - nowMs), this.#shortestMs);
    this.#timer = setTimeout(() => this.#tick(), ms);
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#deadlineMs === Infinity) return;
    const nowMs = performance.now();
    if (nowMs < this.#deadlineMs) return this.#arm(nowMs);
    const deadlineMs = this.#deadlineMs;
    // the answer may have arrived in time while this process had no time to read it
    afterSocketsRead(() => {
      if (this.#deadlineMs === deadlineMs) this.#owner.expired();
    });
  }
}
