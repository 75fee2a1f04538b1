// Chooses the next of several credentials of a provider: by weight, smoothly (the algorithm of nginx's upstream
// module) or by a sticky key, and avoiding recently refused ones as long as there is another. This state outlives snapshots, because it is
// kept by fingerprint.

// Decides (targets and attempts): When is a provider's key avoided? By: `setAside`, `rest`. Also: reported by
// `engine/attempt/resolve-credential.ts` (`reportRefused`), by `routing/plan/verdict.ts` (`REFUSALS`). Rule: 10 min after 401, doubling up to 320; 5
// min after a quota error; after 429 for one model, as long as the provider says. A caller's own key and a single key
// are used on.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { RefusalReason, ResolveContext, StoredCredential } from "../core/configured/credential.ts";
import { growingWaitMs } from "../core/concurrency/growing-wait.ts";
import { hashText, rendezvousScore } from "../core/rendezvous.ts";
import { fingerprint } from "./fingerprint.ts";

interface CredentialState {
  /** The current weight in the smooth order. */
  current: number;
  /** Monotonic time until which the credential is set aside. */
  asideUntilMs: number;
  /** How often in a row it became available and was refused again. */
  strikes: number;
  /** Monotonic times until which it is not used for a model; `null` where no provider has ever asked it to wait. */
  rests: BoundedCache<string, number> | null;
}

const MINUTE_MS = 60_000;
const QUOTA_MS = 5 * MINUTE_MS;
const AUTHENTICATION_MS = 10 * MINUTE_MS;
const LONGEST_AUTHENTICATION_MS = 320 * MINUTE_MS;
/** A credential that was available for this long before it is refused starts again without strikes. */
const FORGIVEN_MS = 60 * MINUTE_MS;
/** Credentials that were once in a configuration; beyond this the oldest are forgotten. */
const MAX_STATES = 10_000;
/** Models for which one credential has to wait; callers may choose their names. Beyond this the oldest are forgotten. */
const MAX_RESTS = 1_000;
/** The longest time for which a credential waits, whatever the provider asked for. */
const MAX_REST_MS = 24 * 60 * MINUTE_MS;

/** A credential that a provider has refused, for other processes: without the credential. */
export interface RefusalNews {
  /** The server of the provider, and the fingerprint of the credential. */
  readonly key: string;
  /** For how long it is set aside from now on, in milliseconds. */
  readonly forMs: number;
  /** How often in a row it has been refused since. */
  readonly strikes: number;
  /** The model for which it waits; `null` where it is set aside for all. */
  readonly model: string | null;
}

export function openRotation(monotonicMs: () => number) {
  const states = new BoundedCache<string, CredentialState>(MAX_STATES);
  const known = new WeakMap<StoredCredential, { readonly server: string; readonly state: CredentialState }>();

  const stateAt = (key: string): CredentialState => {
    const state = states.get(key) ?? { current: 0, asideUntilMs: Number.NEGATIVE_INFINITY, strikes: 0, rests: null };
    states.set(key, state);
    return state;
  };
  const keyOf = (server: string, stored: StoredCredential): string => `${server}:${fingerprint(stored)}`;
  const stateOf = (server: string, stored: StoredCredential): CredentialState => {
    const found = known.get(stored);
    if (found?.server === server) return found.state;
    const state = stateAt(keyOf(server, stored));
    known.set(stored, { server, state });
    return state;
  };

  /** The credential that a key has among those that may be used; another one takes over only its share of the keys. */
  const keptFor = (
    stickyKey: string,
    server: string,
    stored: readonly StoredCredential[],
    mayUse: (one: StoredCredential, state: CredentialState) => boolean,
  ): StoredCredential | null => {
    const keyHash = hashText(stickyKey);
    let best: StoredCredential | null = null;
    let bestScore = 0;
    for (const one of stored) {
      if (!mayUse(one, stateOf(server, one))) continue;
      const score = rendezvousScore(keyHash, fingerprint(one), one.weight);
      if (best !== null && score <= bestScore) continue;
      best = one;
      bestScore = score;
    }
    return best;
  };

  return {
    /**
     * Expects at least one credential. With a sticky key, the same one is returned each time while it is not set aside,
     * and the order of the others does not change. If all are set aside, it returns the one that becomes available first.
     * Returns `null` when all of them are excluded.
     */
    next(
      { server, model, stickyKey }: Pick<ResolveContext, "server" | "model" | "stickyKey">,
      stored: readonly StoredCredential[],
      excluded?: ReadonlySet<StoredCredential>,
    ): StoredCredential | null {
      const nowMs = monotonicMs();
      if (stickyKey !== null) {
        const kept = keptFor(
          stickyKey,
          server,
          stored,
          (one, state) => excluded?.has(one) !== true && freeAtMs(state, model) <= nowMs,
        );
        if (kept !== null) return kept;
      }
      let total = 0;
      let chosen: { readonly stored: StoredCredential; readonly state: CredentialState } | null = null;
      let soonest: { readonly stored: StoredCredential; readonly atMs: number } | null = null;
      for (const one of stored) {
        if (excluded?.has(one) === true) continue;
        const state = stateOf(server, one);
        const atMs = freeAtMs(state, model);
        if (atMs > nowMs) {
          if (soonest === null || atMs < soonest.atMs) soonest = { stored: one, atMs };
          continue;
        }
        total += one.weight;
        state.current += one.weight;
        if (chosen === null || state.current > chosen.state.current) chosen = { stored: one, state };
      }
      if (chosen === null) return soonest?.stored ?? null;
      chosen.state.current -= total;
      return chosen.stored;
    },
    /** Returns how the credential is set aside now; `null` when it already was. */
    setAside(server: string, stored: StoredCredential, reason: RefusalReason): RefusalNews | null {
      const state = stateOf(server, stored);
      const nowMs = monotonicMs();
      if (state.asideUntilMs > nowMs) return null;
      if (nowMs - state.asideUntilMs > FORGIVEN_MS) state.strikes = 0;
      if (reason === "authentication") state.strikes += 1;
      const forMs =
        reason === "quota" ? QUOTA_MS : growingWaitMs(state.strikes, AUTHENTICATION_MS, LONGEST_AUTHENTICATION_MS);
      state.asideUntilMs = nowMs + forMs;
      return { key: keyOf(server, stored), forMs, strikes: state.strikes, model: null };
    },
    /** The provider has asked the credential to wait with further calls of the model. */
    rest(server: string, stored: StoredCredential, model: string, askedMs: number): RefusalNews {
      const state = stateOf(server, stored);
      const forMs = Math.min(askedMs, MAX_REST_MS);
      restUntil(state, model, monotonicMs() + forMs);
      return { key: keyOf(server, stored), forMs, strikes: state.strikes, model };
    },
    /** Returns in how many milliseconds the credential is able to call the model; 0 when it is now. */
    freeInMs: (server: string, stored: StoredCredential, model: string) =>
      Math.max(0, freeAtMs(stateOf(server, stored), model) - monotonicMs()),
    /** Whether the credential is refused, and not only asked to wait. */
    isSetAside: (server: string, stored: StoredCredential) => stateOf(server, stored).asideUntilMs > monotonicMs(),
    /** Takes over what another process of the machine has found. */
    learn({ key, forMs, strikes, model }: RefusalNews): void {
      const state = stateAt(key);
      if (model !== null) return restUntil(state, model, monotonicMs() + forMs);
      state.asideUntilMs = Math.max(state.asideUntilMs, monotonicMs() + forMs);
      state.strikes = strikes;
    },
  };
}

function freeAtMs({ asideUntilMs, rests }: CredentialState, model: string): number {
  return rests === null ? asideUntilMs : Math.max(asideUntilMs, rests.get(model) ?? asideUntilMs);
}

function restUntil(state: CredentialState, model: string, untilMs: number): void {
  state.rests ??= new BoundedCache(MAX_RESTS);
  state.rests.set(model, Math.max(untilMs, state.rests.get(model) ?? untilMs));
}
