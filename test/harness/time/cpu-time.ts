// What work costs in CPU time of this process, all of its threads together, compared with what other work costs on the same machine. No test bounds a time
// itself: how long something takes says more about the machine than about the code. Absolute times belong to the benches.

/** Work in proportion to its size costs 4 times as much for 4 times the size, work of the second order 16 times as much. */
export const MOST_GROWTH = 10;
/** Less than this is too close to the noise of the clock and of the engine's own threads. */
const LEAST_MS = 5;
const TRIES = 12;

/** How many times as much the work costs for what is made of 4n as for what is made of n. The making is not measured. */
export function growth<T>(make: (n: number) => T, work: (made: T) => unknown, n: number): Promise<number> {
  const [small, large] = [make(n), make(4 * n)];
  return timesAsMuch(
    () => work(large),
    () => work(small),
    MOST_GROWTH,
  );
}

/**
 * How many times as much one piece of work costs as another. Each is repeated until it can be measured. What disturbs a measurement only adds to it, so that
 * the least of several counts; there are no more of them once the result is below `enough`.
 */
export async function timesAsMuch(much: () => unknown, little: () => unknown, enough: number): Promise<number> {
  const [ofLittle, ofMuch] = [await measurable(little), await measurable(much)];
  let littleMs = Math.min(ofLittle.firstMs, await ofLittle.again());
  let muchMs = ofMuch.firstMs;
  for (let tries = 1; tries < TRIES && muchMs >= enough * littleMs; tries++) {
    littleMs = Math.min(littleMs, await ofLittle.again());
    muchMs = Math.min(muchMs, await ofMuch.again());
  }
  return muchMs / littleMs;
}

/** Measures what the work costs once, by doing it so often that it can be measured. */
async function measurable(
  work: () => unknown,
): Promise<{ readonly firstMs: number; readonly again: () => Promise<number> }> {
  let times = 1;
  const repeated = async (): Promise<void> => {
    for (let time = 0; time < times; time++) await work();
  };
  let ms = await cpuMsOf(repeated);
  for (; ms < LEAST_MS; ms = await cpuMsOf(repeated)) times *= 2;
  return { firstMs: ms / times, again: async () => (await cpuMsOf(repeated)) / times };
}

/** Remembers for which of all that it is given the work cost the most. */
export interface Costliest<T> {
  of(given: T, work: () => unknown): Promise<void>;
  /** `null` before anything was given. */
  readonly given: T | null;
}

export function costliest<T>(): Costliest<T> {
  let [found, mostMs]: [T | null, number] = [null, 0];
  return {
    async of(given, work) {
      const ms = await cpuMsOf(work);
      if (ms > mostMs) [found, mostMs] = [given, ms];
    },
    get given() {
      return found;
    },
  };
}

async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Which part of the CPU time that this thread spent on the work passed at most between two turns of its loop, in which all other work waits. */
export async function longestTurnShare(work: () => unknown): Promise<number> {
  const beganMs = threadMs();
  let [longestMs, lastMs] = [0, beganMs];
  const look = (): void => {
    const nowMs = threadMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const looking = setInterval(look, 1);
  await work();
  clearInterval(looking);
  look();
  return longestMs / (lastMs - beganMs);
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
