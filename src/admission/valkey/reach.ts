// Whether the store of the limits can be reached, and when that is told: what is lost for one tenant is told, though others still reach their node, and a store
// that comes and goes all the time does not fill the log.

export interface ReachOptions {
  readonly now: () => number;
  readonly onState: (state: "away" | "back", error: unknown) => void;
}

export interface Reach {
  heard(tag: string): void;
  lost(tag: string, error: unknown): void;
  /** Null while every message is answered. */
  away(): { readonly sinceMs: number; readonly error: unknown } | null;
}

/** Between two words that it is away; and as often it is told again while it stays so. */
const QUIET_MS = 5000;
const REMIND_MS = 60_000;

export function openReach({ now, onState }: ReachOptions): Reach {
  const lostTags = new Set<string>();
  let away: { readonly sinceMs: number; readonly error: unknown } | null = null;
  let isTold = false;
  let toldMs = Number.NEGATIVE_INFINITY;
  return {
    heard(tag) {
      if (away === null || !lostTags.delete(tag) || lostTags.size > 0) return;
      away = null;
      if (isTold) onState("back", null);
      isTold = false;
    },
    lost(tag, error) {
      const nowMs = now();
      lostTags.add(tag);
      away = { sinceMs: away?.sinceMs ?? nowMs, error };
      if (nowMs - toldMs < (isTold ? REMIND_MS : QUIET_MS)) return;
      isTold = true;
      toldMs = nowMs;
      onState("away", error);
    },
    away: () => away,
  };
}
