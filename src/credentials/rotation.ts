// Which of several credentials of a provider is next: by weight, smoothly (the algorithm of nginx's upstream module), and not one that was refused a while
// ago as long as there is another. What is known of a credential outlives snapshots, because it goes by fingerprint.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { RefusalReason, StoredCredential } from "../core/credential.ts";
import { fingerprint } from "./fingerprint.ts";

interface Standing {
  /** What the smooth order counts with. */
  current: number;
  /** Monotonic; set aside up to then. */
  asideUntilMs: number;
  /** How often in a row it came back and was refused again. */
  strikes: number;
}

const MINUTE_MS = 60_000;
const QUOTA_MS = 5 * MINUTE_MS;
const AUTHENTICATION_MS = 10 * MINUTE_MS;
/** 10 minutes become 320. */
const MAX_DOUBLINGS = 5;
/** One that was free for so long and is refused now begins anew. */
const FORGIVEN_MS = 60 * MINUTE_MS;
/** Credentials that were once in a configuration; the oldest are forgotten. */
const MAX_STANDINGS = 10_000;

export interface Rotation {
  /** One of at least one; of those that are all set aside the one that is free first. Null: all of them are excluded. */
  next(
    providerId: string,
    stored: readonly StoredCredential[],
    excluded?: ReadonlySet<StoredCredential>,
  ): StoredCredential | null;
  /** For how long it is set aside now; null: it was already. */
  setAside(providerId: string, stored: StoredCredential, reason: RefusalReason): number | null;
}

export function openRotation(monotonicMs: () => number): Rotation {
  const standings = new BoundedCache<string, Standing>(MAX_STANDINGS);
  const known = new WeakMap<StoredCredential, { readonly providerId: string; readonly standing: Standing }>();

  const standingOf = (providerId: string, stored: StoredCredential): Standing => {
    const found = known.get(stored);
    if (found?.providerId === providerId) return found.standing;
    const key = `${providerId}:${fingerprint(stored)}`;
    const standing = standings.get(key) ?? { current: 0, asideUntilMs: Number.NEGATIVE_INFINITY, strikes: 0 };
    standings.set(key, standing);
    known.set(stored, { providerId, standing });
    return standing;
  };

  return {
    next(providerId, stored, excluded) {
      const nowMs = monotonicMs();
      let total = 0;
      let chosen: { readonly stored: StoredCredential; readonly standing: Standing } | null = null;
      let soonest: { readonly stored: StoredCredential; readonly standing: Standing } | null = null;
      for (const one of stored) {
        if (excluded?.has(one) === true) continue;
        const standing = standingOf(providerId, one);
        if (standing.asideUntilMs > nowMs) {
          if (soonest === null || standing.asideUntilMs < soonest.standing.asideUntilMs)
            soonest = { stored: one, standing };
          continue;
        }
        total += one.weight;
        standing.current += one.weight;
        if (chosen === null || standing.current > chosen.standing.current) chosen = { stored: one, standing };
      }
      if (chosen === null) return soonest?.stored ?? null;
      chosen.standing.current -= total;
      return chosen.stored;
    },
    setAside(providerId, stored, reason) {
      const standing = standingOf(providerId, stored);
      const nowMs = monotonicMs();
      if (standing.asideUntilMs > nowMs) return null;
      if (nowMs - standing.asideUntilMs > FORGIVEN_MS) standing.strikes = 0;
      const forMs = reason === "quota" ? QUOTA_MS : AUTHENTICATION_MS * 2 ** Math.min(standing.strikes, MAX_DOUBLINGS);
      if (reason === "authentication") standing.strikes += 1;
      standing.asideUntilMs = nowMs + forMs;
      return forMs;
    },
  };
}
