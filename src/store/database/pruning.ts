// Removes rows that are too old: in batches, so that others can write in between, and once an hour.

import { messageOf } from "../../core/thrown.ts";
/** The pause between two batches. */
const PAUSE_MS = 50;
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Repeats rounds until one removes nothing. Returns how many rows were removed. */
export async function pruneInRounds(round: () => Promise<number>, isEnding: () => boolean): Promise<number> {
  let removed = 0;
  for (;;) {
    const now = isEnding() ? 0 : await round();
    if (now === 0) return removed;
    removed += now;
    await Bun.sleep(PAUSE_MS);
  }
}

/** Runs first `firstMs` after the start, by default a minute. Returns a function that ends it, which waits for a removal in progress. */
export function everyHour(
  prune: (isEnding: () => boolean) => Promise<unknown>,
  onFault: (message: string) => void,
  firstMs = FIRST_MS,
): () => Promise<void> {
  let isEnding = false;
  let running: Promise<unknown> = Promise.resolve();
  const run = (): void => {
    running = prune(() => isEnding).catch((error: unknown) => onFault(messageOf(error)));
  };
  const first = setTimeout(run, firstMs);
  const timer = setInterval(run, EVERY_MS);
  first.unref();
  timer.unref();
  return async () => {
    isEnding = true;
    clearTimeout(first);
    clearInterval(timer);
    await running;
  };
}
