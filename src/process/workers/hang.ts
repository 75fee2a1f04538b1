// Whether a worker hangs: it sends no beats although it computes. One that gets no CPU, because the machine is busy or the
// process is stopped, is left alone; it only gets no new connections.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";

export const BEAT_MS = 500;
/** No beat for this long is silence. */
const SILENT_MS = 2000;
/** A silent worker whose main thread has computed for this long since its last beat hangs. */
const HUNG_CPU_MS = 1000;

export type Liveness = "alive" | "silent" | "hung";

export function livenessOf({
  sinceBeatMs,
  cpuSinceBeatMs,
}: {
  readonly sinceBeatMs: number;
  readonly cpuSinceBeatMs: number;
}): Liveness {
  if (sinceBeatMs < SILENT_MS) return "alive";
  return cpuSinceBeatMs >= HUNG_CPU_MS ? "hung" : "silent";
}

/** A worker that lived for this long was no failed start. */
const SETTLED_MS = 10_000;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;
/** For a worker that has served, and while no other one does, the next try is never further away. */
const MAX_WAIT_TO_SERVE_MS = 1000;

/** How long the replacement of a worker waits when the workers of its slot end again and again. */
export class BackOff {
  #failures = 0;

  /** `hasServed`: it has listened. `isLast`: no other worker listens. */
  waitMs({
    livedMs,
    hasServed,
    isLast,
  }: {
    readonly livedMs: number;
    readonly hasServed: boolean;
    readonly isLast: boolean;
  }): number {
    this.#failures = livedMs >= SETTLED_MS ? 0 : this.#failures + 1;
    // The first replacement starts at once: most ends have nothing to do with the start.
    const wait = growingWaitMs(this.#failures - 1, FIRST_WAIT_MS, MAX_WAIT_MS);
    return hasServed || isLast ? Math.min(wait, MAX_WAIT_TO_SERVE_MS) : wait;
  }
}
