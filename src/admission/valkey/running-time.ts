// How long this process has really run: a process that gets no CPU hears every answer late, and must not take that for the fault of whom it asked.

export interface Clocks {
  /** Never goes back. It may stand still while the machine sleeps. */
  readonly monoMs: number;
  /** May be set forward and back. */
  readonly wallMs: number;
}

/** Of the time between two ticks no more counts than this: with more of it the process had no CPU, or was busy, and heard nobody. */
const MOST_BETWEEN_TICKS_MS = 50;
/** By either clock: so long without a tick, and the process stood still. */
const STOOD_STILL_MS = 500;

export class RunningTime {
  ms = 0;
  #last: Clocks | null = null;

  /** To be called every few milliseconds. True: the process, or the machine, stood still since the last time, or somebody has set the clock. */
  tick(now: Clocks): boolean {
    const last = this.#last;
    this.#last = now;
    if (last === null) return false;
    const passedMs = now.monoMs - last.monoMs;
    this.ms += Math.min(passedMs, MOST_BETWEEN_TICKS_MS);
    return Math.max(passedMs, now.wallMs - last.wallMs) > STOOD_STILL_MS;
  }
}
