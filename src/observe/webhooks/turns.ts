// Turns of work on something outside that may be away: one at a time, again at once where somebody asked meanwhile, else after a rest that grows while it is away.

export interface Turns {
  /** Something may be new: the next turn begins at once. */
  readonly nudge: () => void;
  /** It did not answer. */
  readonly away: (error: unknown) => void;
  /** Begins no more; resolves when the turn under way has ended. */
  close(): Promise<void>;
}

export interface TurnsOptions {
  /** Gives whether there is more to do at once. Throws what says that it is away. */
  readonly turn: () => Promise<boolean>;
  /** Milliseconds between two turns. */
  readonly restMs: () => number;
  /** The first rest while it is away, which doubles up to the longest. */
  readonly awayMs: number;
  readonly longestAwayMs: number;
  /** The first time that it does not answer, and when it does again. */
  readonly onState: (state: "away" | "back", error: unknown) => void;
}

/** Nothing begins before the first nudge. */
export function openTurns({ turn, restMs, awayMs, longestAwayMs, onState }: TurnsOptions): Turns {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let turning: Promise<void> | null = null;
  let isAskedAgain = false;
  let isClosed = false;
  let isAway = false;
  /** 0: the last turn came to its end. */
  let waitMs = 0;

  const away = (error: unknown): void => {
    if (!isAway) onState("away", error);
    isAway = true;
  };
  const take = async (): Promise<void> => {
    try {
      if (await turn()) isAskedAgain = true;
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
    timer = setTimeout(nudge, ms);
    timer.unref();
  };
  const nudge = (): void => {
    if (isClosed) return;
    if (turning !== null) {
      isAskedAgain = true;
      return;
    }
    turning = take().finally(() => {
      turning = null;
      const isAgain = isAskedAgain && waitMs === 0;
      isAskedAgain = false;
      if (isAgain) nudge();
      else rest(waitMs > 0 ? waitMs : restMs());
    });
  };
  return {
    nudge,
    away,
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await turning;
    },
  };
}
