// Repeats work on an outside system that may be unavailable: one turn at a time, the next one at once if it was
// requested meanwhile, else after a pause that grows while the system is unavailable.

export interface RepeatedWork {
  /** Begins the next turn at once, because something may be new. */
  readonly wake: () => void;
  /** Called when the system did not respond. */
  readonly away: (error: unknown) => void;
  /** Begins no more turns; resolves when the current turn has ended. */
  close(): Promise<void>;
}

export interface RepeatedWorkOptions {
  /** Returns whether there is more to do at once. Throws the error that means that the system is unavailable. */
  readonly turn: () => Promise<boolean>;
  /** Milliseconds between two turns. */
  readonly restMs: () => number;
  /** The first pause while the system is unavailable; it doubles up to the longest. */
  readonly awayMs: number;
  readonly longestAwayMs: number;
  /** Called at the first failure, and when the system responds again. */
  readonly onState: (state: "away" | "back", error: unknown) => void;
}

/** No turn begins before the first `wake`. */
export function openRepeatedWork({ turn, restMs, awayMs, longestAwayMs, onState }: RepeatedWorkOptions): RepeatedWork {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let turning: Promise<void> | null = null;
  let isWokenAgain = false;
  let isClosed = false;
  let isAway = false;
  /** 0 when the last turn succeeded. */
  let waitMs = 0;

  const away = (error: unknown): void => {
    if (!isAway) onState("away", error);
    isAway = true;
  };
  const take = async (): Promise<void> => {
    try {
      if (await turn()) isWokenAgain = true;
      if (isAway) onState("back", null);
      isAway = false;
      waitMs = 0;
    } catch (error) {
      away(error);
      waitMs = Math.min(Math.max(waitMs * 2, awayMs), longestAwayMs);
    }
  };
  const rest = (ms: number): void => {
    if (isClosed) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(wake, ms);
    timer.unref();
  };
  const wake = (): void => {
    if (isClosed) return;
    if (turning !== null) {
      isWokenAgain = true;
      return;
    }
    turning = take().finally(() => {
      turning = null;
      const isAgain = isWokenAgain && waitMs === 0;
      isWokenAgain = false;
      if (isAgain) wake();
      else rest(waitMs > 0 ? waitMs : restMs());
    });
  };
  return {
    wake,
    away,
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await turning;
    },
  };
}
