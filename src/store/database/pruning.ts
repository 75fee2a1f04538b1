// Removes rows that are too old: in batches, so that others can write in between, and once an hour. Sections of the
// configuration say with `keptDays` how old that is.
import { z } from "zod";
import { messageOf } from "../../core/thrown.ts";

/** The pause between two batches. */
const PAUSE_MS = 50;
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;
export const DAY_MS = 86_400_000;
const FOREVER = "forever";

/** A field of a section: for how many days rows are kept. It is read as `null` for `forever`. */
export const keptDays = (fallback: number | typeof FOREVER, description: string) =>
  z
    .union([z.int().min(1).max(36_500), z.enum([FOREVER])])
    .default(fallback)
    .transform((given) => (given === FOREVER ? null : given))
    .meta({ title: "Days", description });

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

/**
 * Runs first a minute after the start, and never beside itself. Returns a function that ends it, which waits for a
 * removal in progress.
 */
export function everyHour(
  prune: (isEnding: () => boolean) => Promise<unknown>,
  onFault: (message: string) => void,
): () => Promise<void> {
  let isEnding = false;
  let running: Promise<unknown> | null = null;
  const run = (): void => {
    running ??= prune(() => isEnding)
      .catch((error: unknown) => onFault(messageOf(error)))
      .finally(() => (running = null));
  };
  const first = setTimeout(run, FIRST_MS).unref();
  const timer = setInterval(run, EVERY_MS).unref();
  return async () => {
    isEnding = true;
    clearTimeout(first);
    clearInterval(timer);
    await running;
  };
}
