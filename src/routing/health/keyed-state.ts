// State by key with a bounded size, because keys come from configurations and from requests with their own credentials.
// New keys evict entries that were not used for a while. At the bound, an entry is evicted that was not used since the
// last scan (the second-chance algorithm). Busy entries are kept. Only those lose entries then who have their share of
// all, so that nobody's keys make the gateway forget what it knows of the keys of others.

export interface Kept {
  usedMs: number;
  /** The value of `usedMs` at the last scan. */
  lookedMs: number;
  /** Set by `KeyedState`: whose entry it is. */
  owner?: string | null;
}

export interface KeyedState<T extends Kept> {
  find(key: string): T | undefined;
  /** Returns the entry, which is created when it is missing. */
  of(key: string, nowMs: number): T;
  entries(): IterableIterator<[string, T]>;
}

export interface KeyedStateOptions<T extends Kept> {
  readonly create: (nowMs: number) => T;
  /** Whether the entry is needed although it is not used: its attempts are in flight, or its target rests. */
  readonly isBusy: (kept: T, nowMs: number) => boolean;
  /** Whose key it is; `null`, as without the function, for what all share, which loses nothing below half of the room. */
  readonly ownerOf?: (key: string) => string | null;
  readonly max?: number;
  readonly idleMs?: number;
}

const MAX_KEYS = 10_000;
/** How long an entry is kept that is neither used nor busy, where a new key needs room. */
export const IDLE_MS = 15 * 60_000;
/**
 * The entries that are scanned for each new key. With more than one, idle entries are removed faster than new ones
 * arrive.
 */
const LOOKS = 4;
/** The most entries that are scanned at the bound. When all of them are busy, a busy one is evicted nevertheless. */
const LOOKS_WHEN_FULL = 1_000;

export function openKeyedState<T extends Kept>({
  create,
  isBusy,
  ownerOf = () => null,
  max = MAX_KEYS,
  idleMs = IDLE_MS,
}: KeyedStateOptions<T>): KeyedState<T> {
  const kept = new Map<string, T>();
  // The iterator continues where it stopped: a new one would step over all entries that were deleted before.
  let hand = kept.entries();
  const counts = new Map<string | null, number>();

  const count = (owner: string | null, by: 1 | -1): void => {
    const now = (counts.get(owner) ?? 0) + by;
    if (now === 0) counts.delete(owner);
    else counts.set(owner, now);
  };

  const remove = (key: string, { owner = null }: Kept): void => {
    kept.delete(key);
    count(owner, -1);
  };

  /** Whether the owner has at least its share. At the bound, somebody has. */
  const hasItsShare = ({ owner = null }: Kept): boolean => {
    const shared = counts.get(null) ?? 0;
    if (owner === null) return shared >= max / 2;
    const owners = counts.size - (shared === 0 ? 0 : 1);
    return counts.get(owner)! >= (max - Math.min(shared, max / 2)) / owners;
  };

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
      const isUnused =
        nowMs - one.usedMs >= idleMs || (kept.size >= max && one.usedMs === one.lookedMs && hasItsShare(one));
      if (isUnused && !isBusy(one, nowMs)) remove(key, one);
      else one.lookedMs = one.usedMs;
    }
    while (kept.size >= max) {
      const [key, one] = nextLookedAt();
      if (hasItsShare(one)) remove(key, one);
    }
  };

  return {
    find: (key) => kept.get(key),
    of(key, nowMs) {
      const found = kept.getOrInsertComputed(key, () => {
        makeRoom(nowMs);
        const created = create(nowMs);
        const owner = ownerOf(key);
        created.owner = owner;
        count(owner, 1);
        return created;
      });
      found.usedMs = nowMs;
      return found;
    },
    entries: () => kept.entries(),
  };
}
