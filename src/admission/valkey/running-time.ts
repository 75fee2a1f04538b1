// How long this process has really run. A process without CPU receives every answer late, and must not blame the other
// side for that.

export interface Clocks {
  /** Never goes back. It may stand still while the machine sleeps. */
  readonly monoMs: number;
  /** May be set forward and back. */
  readonly wallMs: number;
}

/**
 * At most this much counts of the time between two ticks: in a longer gap the process had no CPU or was busy, and
 * received no answers.
 */
const MOST_BETWEEN_TICKS_MS = 50;
/** After a gap of this length between two ticks, by either clock, the process counts as having stood still. */
const STOOD_STILL_MS = 500;

export class RunningTime {
  ms = 0;
  #last: Clocks | null = null;

  /**
   * To be called every few milliseconds. Returns true when the process or the machine stood still since the last call,
   * or the clock was set.
   */
  tick(now: Clocks): boolean {
    const last = this.#last;
    this.#last = now;
    if (last === null) return false;
    const passedMs = now.monoMs - last.monoMs;
    this.ms += Math.min(passedMs, MOST_BETWEEN_TICKS_MS);
    return Math.max(passedMs, now.wallMs - last.wallMs) > STOOD_STILL_MS;
  }
}
