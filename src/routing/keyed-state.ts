// State by key that cannot grow without bound: keys come from configurations and from requests that bring credentials of their own. What was not used for
// a while goes when new ones come, and at the bound one goes that was not used since it was last looked at (second chance). What is busy is kept.

export interface Kept {
  usedMs: number;
  /** `usedMs` as it was at the last look. */
  lookedMs: number;
}

export interface KeyedState<T extends Kept> {
  find(key: string): T | undefined;
  /** Made where it is missing. */
  of(key: string, nowMs: number): T;
  entries(): IterableIterator<[string, T]>;
}

export interface KeyedStateOptions<T extends Kept> {
  readonly create: (nowMs: number) => T;
  /** Has calls under way, whose end must find it. */
  readonly isBusy: (kept: T) => boolean;
  readonly max?: number;
  readonly idleMs?: number;
}

const MAX_KEYS = 10_000;
const IDLE_MS = 15 * 60_000;
/** Looked at for each new key: more than one, so that idle ones go faster than new ones come. */
const LOOKS = 4;
/** Looked at most where the bound is reached; when all of these are busy, the bound holds all the same. */
const LOOKS_WHEN_FULL = 1_000;

export function openKeyedState<T extends Kept>({
  create,
  isBusy,
  max = MAX_KEYS,
  idleMs = IDLE_MS,
}: KeyedStateOptions<T>): KeyedState<T> {
  const kept = new Map<string, T>();
  // One that goes round: to begin anew each time would step over all that was deleted before.
  let hand = kept.entries();

  const nextLookedAt = (): [string, T] => {
    let next = hand.next();
    if (next.done === true) {
      hand = kept.entries();
      next = hand.next();
    }
    return next.value!;
  };

  const makeRoom = (nowMs: number): void => {
    const most = kept.size >= max ? LOOKS_WHEN_FULL : LOOKS;
    for (let looks = 0; looks < most && kept.size > 0 && (looks < LOOKS || kept.size >= max); looks++) {
      const [key, one] = nextLookedAt();
      const isUnused = nowMs - one.usedMs >= idleMs || (kept.size >= max && one.usedMs === one.lookedMs);
      if (isUnused && !isBusy(one)) kept.delete(key);
      else one.lookedMs = one.usedMs;
    }
    if (kept.size >= max) kept.delete(nextLookedAt()[0]);
  };

  return {
    find: (key) => kept.get(key),
    of(key, nowMs) {
      let found = kept.get(key);
      if (found === undefined) {
        makeRoom(nowMs);
        found = create(nowMs);
        kept.set(key, found);
      }
      found.usedMs = nowMs;
      return found;
    },
    entries: () => kept.entries(),
  };
}
