// What removes rows that are too old: some at a time, so that others get to write, and once an hour.

/** Between two removals. */
const PAUSE_MS = 50;
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Until a round removes nothing. Gives how many rows went. */
export async function pruneInRounds(round: () => Promise<number>, isEnding: () => boolean): Promise<number> {
  let removed = 0;
  for (;;) {
    const now = isEnding() ? 0 : await round();
    if (now === 0) return removed;
    removed += now;
    await Bun.sleep(PAUSE_MS);
  }
}

/** The first time a minute after the start. Gives what ends it; that waits for a removal that is under way. */
export function everyHour(
  prune: (isEnding: () => boolean) => Promise<unknown>,
  onFault: (words: string) => void,
): () => Promise<void> {
  let isEnding = false;
  let running: Promise<unknown> = Promise.resolve();
  const run = (): void => {
    running = prune(() => isEnding).catch((error: unknown) =>
      onFault(error instanceof Error ? error.message : String(error)),
    );
  };
  const first = setTimeout(run, FIRST_MS);
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
