// How much a server may say that it was not asked for: notifications and requests of its own. A bucket that leaks.
import type { Clock } from "../core/clock.ts";

const BURST = 2000;
const PER_SECOND = 200;

export interface MessageMeter {
  /** False: it has said too much. */
  passes(): boolean;
}

export function openMessageMeter(clock: Pick<Clock, "monotonic">): MessageMeter {
  let level = 0;
  let atMs = clock.monotonic();
  return {
    passes() {
      const nowMs = clock.monotonic();
      level = Math.max(0, level - ((nowMs - atMs) * PER_SECOND) / 1000) + 1;
      atMs = nowMs;
      return level <= BURST;
    },
  };
}
