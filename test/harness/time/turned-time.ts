// Simulated time: the global timers and a clock of the same time, which goes on to the next timer once nothing else is
// left to do. Thousands of calls with waits of seconds take seconds together. Work that the runtime does by tasks of
// its own gets turns of the real event loop.
import type { Clock } from "../../../src/core/clock.ts";

export interface TurnedTime {
  readonly clock: Clock;
  nowMs(): number;
  /** Turns time until the promise is settled. Throws where it never would be. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Turns time until no timer is left, or this long. Gives how many are left. */
  drain(limitMs: number): Promise<number>;
  /** Gives the global timers back. */
  stop(): void;
}

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

const TURNS = 2;
const STUCK_TURNS = 300;
/** No call of a test lasts so long. */
const MAX_MS = 1_000_000;

export function turnTime(): TurnedTime {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const timers = new Map<number, Timer>();
  let nowMs = 0;
  let lastId = 0;
  const set = (run: (...args: unknown[]) => void, waitMs = 0, ...args: unknown[]): number => {
    timers.set(++lastId, { atMs: nowMs + Math.max(1, waitMs), run: () => run(...args) });
    return lastId;
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: (id: number | undefined) => void timers.delete(id ?? 0) });

  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resume) => setImmediate(resume));
  };
  const earliest = (): [number, Timer] | null => {
    let found: [number, Timer] | null = null;
    for (const each of timers) if (found === null || each[1].atMs < found[1].atMs) found = each;
    return found;
  };
  const step = (limitMs: number): boolean => {
    const next = earliest();
    if (next === null || next[1].atMs > limitMs) return false;
    timers.delete(next[0]);
    nowMs = Math.max(nowMs, next[1].atMs);
    next[1].run();
    return true;
  };

  return {
    clock: { now: () => 1_767_225_600_000 + nowMs, monotonic: () => nowMs },
    nowMs: () => nowMs,
    async until(promise) {
      let isOver = false;
      const over = (): void => void (isOver = true);
      promise.then(over, over);
      const endMs = nowMs + MAX_MS;
      for (let idle = 0; !isOver;) {
        await turns();
        if (isOver) break;
        if (step(endMs)) idle = 0;
        else if (++idle > STUCK_TURNS)
          throw new Error(`at ${nowMs} ms nothing is left to do but ${timers.size} timers, and it is not over`);
      }
      return promise;
    },
    async drain(limitMs) {
      const endMs = nowMs + limitMs;
      do await turns();
      while (step(endMs));
      return timers.size;
    },
    stop: () => void Object.assign(globalThis, real),
  };
}

/** What `open` opens, whose intervals run only when the test says so: `tick` runs each of them once, unless it has been cleared. */
export function withIntervals<T>(open: () => T): { readonly opened: T; readonly tick: () => void } {
  const real = globalThis.setInterval;
  const intervals: { readonly timer: ReturnType<typeof setInterval>; readonly run: () => void }[] = [];
  const set = (run: () => void): ReturnType<typeof setInterval> => {
    const timer = real(() => {}, MAX_MS);
    intervals.push({ timer, run });
    return timer;
  };
  Object.assign(globalThis, { setInterval: set });
  try {
    return { opened: open(), tick: () => intervals.forEach(({ run }) => run()) };
  } finally {
    Object.assign(globalThis, { setInterval: real });
  }
}
