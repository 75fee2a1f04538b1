// The time of one call since its request arrived, and how much of it was spent waiting for a provider, a tool server or
// the client. The rest is the gateway's own time.
import type { Clock } from "../../core/clock.ts";

export class CallClock {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #startedMs: number;
  #waitedMs = 0;
  /** The number of waits in progress: several choices of one answer wait at the same time. */
  #waits = 0;
  #waitingSinceMs = 0;

  /** Created when the call has just arrived. */
  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
  }

  /** Milliseconds since the call arrived, in whole microseconds: more digits would only make records longer. */
  elapsedMs(): number {
    return Math.round((this.#clock.monotonic() - this.#startedMs) * 1000) / 1000;
  }

  /**
   * The part of `elapsedMs` without waiting. It is also right during a wait, because the head of a stream may be sent
   * in one.
   */
  ownMs(): number {
    const waitingMs = this.#waits === 0 ? 0 : this.#clock.monotonic() - this.#waitingSinceMs;
    return Math.max(0, Math.round((this.elapsedMs() - this.#waitedMs - waitingMs) * 1000) / 1000);
  }

  /** Counts the time until `answer` settles as waiting. */
  async waiting<T>(answer: Promise<T>): Promise<T> {
    this.waitBegins();
    try {
      return await answer;
    } finally {
      this.waitEnds();
    }
  }

  /** Begins a wait without the promise of `waiting`, for loops that wait often. */
  waitBegins(): void {
    if (this.#waits++ === 0) this.#waitingSinceMs = this.#clock.monotonic();
  }

  /** Ends a wait; it has no effect when there is none. */
  waitEnds(): void {
    if (this.#waits === 0) return;
    this.#waits -= 1;
    if (this.#waits === 0) this.#waitedMs += this.#clock.monotonic() - this.#waitingSinceMs;
  }
}
