// The time of one call since its request arrived, and how much of it was spent waiting for a provider, a tool server or the client. What is not waiting is the
// gateway's own time.
import type { Clock } from "../core/clock.ts";

export class CallClock {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #startedMs: number;
  #waitedMs = 0;
  /** Waits in progress: several choices of one answer wait side by side. */
  #waits = 0;
  #waitingSinceMs = 0;

  /** The call has just arrived. */
  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
  }

  /** Milliseconds since the call arrived. */
  elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedMs;
  }

  /** Milliseconds of `elapsedMs` in which nothing was waited for. It is right during a wait as well: the head of a stream may be sent in one. */
  ownMs(): number {
    const waitingMs = this.#waits === 0 ? 0 : this.#clock.monotonic() - this.#waitingSinceMs;
    return Math.max(0, this.elapsedMs() - this.#waitedMs - waitingMs);
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

  /** For loops that wait often: `waiting` without the promise around it. */
  waitBegins(): void {
    if (this.#waits++ === 0) this.#waitingSinceMs = this.#clock.monotonic();
  }

  /** Has no effect when nothing is waited for. */
  waitEnds(): void {
    if (this.#waits === 0) return;
    this.#waits -= 1;
    if (this.#waits === 0) this.#waitedMs += this.#clock.monotonic() - this.#waitingSinceMs;
  }
}
