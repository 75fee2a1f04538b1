// Chooses the next of several credentials of a provider: by weight, smoothly (the algorithm of nginx's upstream
// module) or by a sticky key, and avoiding recently refused ones as long as there is another. This state outlives snapshots, because it is
// kept by fingerprint.

// Decides (targets and attempts): When is a provider's key avoided? By: `setAside`. Also: reported by
// `engine/attempt/upstream-requests.ts` (`reportRefusedCredential`). Rule: 10 min after 401, doubling up to 320; 5
// min after a quota error. A caller's own key and a single key are used on.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { RefusalReason, StoredCredential } from "../core/configured/credential.ts";
import { hashText, rendezvousScore } from "../core/rendezvous.ts";
import { fingerprint } from "./fingerprint.ts";

interface CredentialState {
  /** The current weight in the smooth order. */
  current: number;
  /** Monotonic time until which the credential is set aside. */
  asideUntilMs: number;
  /** How often in a row it became available and was refused again. */
  strikes: number;
}

const MINUTE_MS = 60_000;
const QUOTA_MS = 5 * MINUTE_MS;
const AUTHENTICATION_MS = 10 * MINUTE_MS;
/** 10 minutes grow to 320. */
const MAX_DOUBLINGS = 5;
/** A credential that was available for this long before it is refused starts again without strikes. */
const FORGIVEN_MS = 60 * MINUTE_MS;
/** Credentials that were once in a configuration; beyond this the oldest are forgotten. */
const MAX_STATES = 10_000;

export interface Rotation {
  /**
   * Expects at least one credential. With a sticky key, the same one is returned each time while it is not set aside,
   * and the order of the others does not change. If all are set aside, it returns the one that becomes available first. `null` when
   * all of them are excluded.
   */
  next(
    providerId: string,
    stored: readonly StoredCredential[],
    stickyKey: string | null,
    excluded?: ReadonlySet<StoredCredential>,
  ): StoredCredential | null;
  /** Returns how the credential is set aside now; `null` when it already was. */
  setAside(providerId: string, stored: StoredCredential, reason: RefusalReason): RefusalNews | null;
  /** Takes over what another process of the machine has found. */
  learn(news: RefusalNews): void;
}

/** A credential that a provider has refused, for other processes: without the credential. */
export interface RefusalNews {
  /** The provider, and the fingerprint of the credential. */
  readonly key: string;
  /** For how long it is set aside from now on, in milliseconds. */
  readonly forMs: number;
  /** How often in a row it has been refused since. */
  readonly strikes: number;
}

export function openRotation(monotonicMs: () => number): Rotation {
  const states = new CredentialStates();
  return {
    next(providerId, stored, stickyKey, excluded) {
      const nowMs = monotonicMs();
      const candidates = stored
        .filter((one) => excluded?.has(one) !== true)
        .map((one): Candidate => ({ stored: one, state: states.of(providerId, one) }));
      const free = candidates.filter(({ state }) => state.asideUntilMs <= nowMs);
      const chosen =
        free.length === 0
          ? soonestFree(candidates)
          : stickyKey === null
            ? nextInSmoothOrder(free)
            : keptFor(stickyKey, free);
      return chosen?.stored ?? null;
    },
    setAside(providerId, stored, reason) {
      const state = states.of(providerId, stored);
      const nowMs = monotonicMs();
      if (state.asideUntilMs > nowMs) return null;
      if (nowMs - state.asideUntilMs > FORGIVEN_MS) state.strikes = 0;
      const forMs = reason === "quota" ? QUOTA_MS : AUTHENTICATION_MS * 2 ** Math.min(state.strikes, MAX_DOUBLINGS);
      if (reason === "authentication") state.strikes += 1;
      state.asideUntilMs = nowMs + forMs;
      return { key: keyOf(providerId, stored), forMs, strikes: state.strikes };
    },
    learn({ key, forMs, strikes }) {
      const state = states.at(key);
      state.asideUntilMs = Math.max(state.asideUntilMs, monotonicMs() + forMs);
      state.strikes = strikes;
    },
  };
}

const keyOf = (providerId: string, stored: StoredCredential): string => `${providerId}:${fingerprint(stored)}`;

class CredentialStates {
  readonly #states = new BoundedCache<string, CredentialState>(MAX_STATES);
  readonly #known = new WeakMap<StoredCredential, { readonly providerId: string; readonly state: CredentialState }>();

  at(key: string): CredentialState {
    const state = this.#states.get(key) ?? { current: 0, asideUntilMs: Number.NEGATIVE_INFINITY, strikes: 0 };
    this.#states.set(key, state);
    return state;
  }

  of(providerId: string, stored: StoredCredential): CredentialState {
    const found = this.#known.get(stored);
    if (found?.providerId === providerId) return found.state;
    const state = this.at(keyOf(providerId, stored));
    this.#known.set(stored, { providerId, state });
    return state;
  }
}

interface Candidate {
  readonly stored: StoredCredential;
  readonly state: CredentialState;
}

/** The credential that a key has among those that may be used; another one takes over only its share of the keys. */
function keptFor(stickyKey: string, free: readonly Candidate[]): Candidate | null {
  const keyHash = hashText(stickyKey);
  let best: Candidate | null = null;
  let bestScore = 0;
  for (const one of free) {
    const score = rendezvousScore(keyHash, fingerprint(one.stored), one.stored.weight);
    if (best !== null && score <= bestScore) continue;
    best = one;
    bestScore = score;
  }
  return best;
}

function nextInSmoothOrder(free: readonly Candidate[]): Candidate | null {
  let total = 0;
  let chosen: Candidate | null = null;
  for (const one of free) {
    total += one.stored.weight;
    one.state.current += one.stored.weight;
    if (chosen === null || one.state.current > chosen.state.current) chosen = one;
  }
  if (chosen !== null) chosen.state.current -= total;
  return chosen;
}

function soonestFree(candidates: readonly Candidate[]): Candidate | null {
  let soonest: Candidate | null = null;
  for (const one of candidates)
    if (soonest === null || one.state.asideUntilMs < soonest.state.asideUntilMs) soonest = one;
  return soonest;
}
