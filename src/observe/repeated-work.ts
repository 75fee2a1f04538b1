// Repeats work on an outside system that may be unavailable: one turn at a time, the next one at once if it was
// requested meanwhile, else after a pause that grows while the system is unavailable.
import { growingWaitMs } from "../core/concurrency/growing-wait.ts";
import { within } from "../core/concurrency/timeout.ts";

export interface RepeatedWorkOptions {
  /** Returns whether there is more to do. Throws the error that means that the system is unavailable. */
  readonly turn: () => Promise<boolean>;
  /** Milliseconds between two turns; without it, a turn has to be asked for. */
  readonly restMs?: () => number;
  /** Milliseconds before the next turn when there is more to do; by default it begins at once. */
  readonly moreMs?: number;
  /** The first pause while the system is unavailable; it doubles up to the longest. */
  readonly awayMs: number;
  readonly longestAwayMs: number;
  /** Called at the first failure, and when the system responds again. */
  readonly onState: (state: "away" | "back", error: unknown) => void;
}

const MOST_LAST_FAILURES = 2;

/** No turn begins before the first `wake`. */
export function openRepeatedWork({ turn, restMs, moreMs = 0, awayMs, longestAwayMs, onState }: RepeatedWorkOptions) {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let turning: Promise<void> | null = null;
  let isMore = false;
  let isWokenAgain = false;
  /** Milliseconds to the next turn, as asked for while one is under way, which may not see what is new; else `null`. */
  let plannedMs: number | null = null;
  let isClosed = false;
  let isAway = false;
  /** Turns that failed since the last one that succeeded. */
  let failures = 0;

  const away = (error: unknown): void => {
    if (!isAway) onState("away", error);
    isAway = true;
  };
  const take = async (): Promise<void> => {
    try {
      isMore = await turn();
      if (isAway) onState("back", null);
      isAway = false;
      failures = 0;
    } catch (error) {
      isMore = true;
      away(error);
      failures += 1;
    }
  };
  const stop = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const rest = (ms: number): void => {
    if (isClosed) return;
    stop();
    timer = setTimeout(wake, ms).unref();
  };
  const wake = (): void => {
    if (isClosed) return;
    if (turning !== null) {
      isWokenAgain = true;
      return;
    }
    stop();
    turning = take().finally(() => {
      turning = null;
      const isAgain = isWokenAgain;
      isWokenAgain = false;
      const inMs = plannedMs;
      plannedMs = null;
      if (failures > 0) rest(growingWaitMs(failures, awayMs, longestAwayMs));
      else if (isAgain || (isMore && moreMs === 0)) wake();
      else if (isMore) rest(moreMs);
      else if (inMs !== null) rest(inMs);
      else if (restMs !== undefined) rest(restMs());
    });
  };
  return {
    /** Begins the next turn at once, because something may be new. */
    wake,
    /** Begins the next turn in so many milliseconds, or so long after the one that is under way, unless one is planned. */
    wakeIn(ms: number): void {
      if (turning !== null) plannedMs ??= ms;
      else if (timer === null) rest(ms);
    },
    /** Called when the system did not respond. */
    away,
    /** Resolves when the current turn has ended. */
    settled: async () => void (await turning),
    /** Begins no more turns; resolves when the current turn has ended. */
    async close(): Promise<void> {
      isClosed = true;
      stop();
      await turning;
    },
    /** Takes turns within that time until nothing is left to do, or the system did not respond twice, and then no more. */
    async finish(timeoutMs: number): Promise<void> {
      isClosed = true;
      stop();
      let isLate = false;
      const lastTurns = async (): Promise<void> => {
        await turning;
        isMore = true;
        for (let failed = 0; isMore && failed < MOST_LAST_FAILURES && !isLate; failed += failures > 0 ? 1 : 0)
          await take();
      };
      await within(lastTurns(), timeoutMs);
      isLate = true;
    },
  };
}
