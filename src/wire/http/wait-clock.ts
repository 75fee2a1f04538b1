// The clock for the waits of one upstream request. A single timer serves all waits, because setting and clearing one
// for each chunk would cost more than the chunk itself: when the timer fires too early, it is set again.
import { MAX_TIMER_MS } from "../../core/clock.ts";
import { afterSocketsRead } from "../../core/concurrency/event-loop.ts";

/** The owner of the wait. */
export interface WaitOwner {
  /** Called when the current wait has lasted too long. */
  expired(): void;
}

export class WaitClock {
  readonly #owner: WaitOwner;
  readonly #shortestMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Infinity while there is no wait. */
  #deadlineMs = Infinity;

  /**
   * No wait that begins while the timer is set may be shorter than `shortestMs`, so that the timer always fires early
   * enough.
   */
  constructor(owner: WaitOwner, shortestMs: number) {
    this.#owner = owner;
    this.#shortestMs = Math.min(shortestMs, MAX_TIMER_MS);
  }

  /** Begins a wait of at most `ms`; returns the current time. */
  start(ms: number): number {
    const nowMs = performance.now();
    this.#deadlineMs = nowMs + ms;
    if (this.#timer === undefined) this.#setTimer(nowMs);
    return nowMs;
  }

  /** Ends the current wait; another wait may begin. */
  pause(): void {
    this.#deadlineMs = Infinity;
  }

  /** Ends the clock: no other wait will begin. */
  close(): void {
    this.pause();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #setTimer(nowMs: number): void {
    const ms = Math.min(Math.ceil(this.#deadlineMs - nowMs), this.#shortestMs);
    this.#timer = setTimeout(() => this.#tick(), ms);
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#deadlineMs === Infinity) return;
    const nowMs = performance.now();
    if (nowMs < this.#deadlineMs) return this.#setTimer(nowMs);
    const deadlineMs = this.#deadlineMs;
    // The response may have arrived in time while this process was too busy to read it.
    afterSocketsRead(() => {
      if (this.#deadlineMs === deadlineMs) this.#owner.expired();
    });
  }
}
