// Caches tokens by the fingerprint of the credential for which they were exchanged. All waiting calls share one
// exchange, and a token is renewed before it expires while the old one is still valid. The size is bounded: beyond it
// the least recently used token is dropped.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { Clock } from "../core/clock.ts";
import type { Credential } from "../core/target.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import type { Issued } from "./token-exchange.ts";
import { untilOver } from "../core/concurrency/timeout.ts";

interface Entry {
  issued: Issued | null;
  /** Monotonic time at which the exchange began. */
  issuedMs: number;
  credential: Credential | null;
  pending: Promise<Credential> | null;
  fault: unknown;
  /** Monotonic time before which no other exchange is started. */
  notBeforeMs: number;
}

export interface TokenMaker {
  issue(): Promise<Issued>;
  toCredential(issued: Issued): Credential;
  /** Called when an exchange has failed, unless the one before it failed too. */
  failing?(fault: unknown): void;
}

const AHEAD_MS = 300_000;
const AHEAD_SHARE = 0.1;
/** A token has to stay valid until the provider has read it. */
const MARGIN_MS = 10_000;
const MARGIN_SHARE = 0.05;
/**
 * After a failure the service is not called for a moment: calls in that time fail with the same error, or use the old
 * token.
 */
const PAUSE_MS = 1000;
const PAUSE_AHEAD_MS = 30_000;

export function openTokenCache(clock: Clock, max: number) {
  const entries = new BoundedCache<string, Entry>(max);

  const entryOf = (key: string): Entry => {
    const entry = entries.get(key) ?? {
      issued: null,
      issuedMs: 0,
      credential: null,
      pending: null,
      fault: null,
      notBeforeMs: Number.NEGATIVE_INFINITY,
    };
    entries.set(key, entry);
    return entry;
  };

  const start = (entry: Entry, make: TokenMaker): Promise<Credential> => {
    const beganMs = clock.monotonic();
    const pending = make.issue().then(
      (issued) => {
        entry.issued = issued;
        entry.issuedMs = beganMs;
        entry.fault = null;
        entry.pending = null;
        return (entry.credential = make.toCredential(issued));
      },
      (fault: unknown) => {
        if (entry.fault === null) make.failing?.(fault);
        entry.fault = fault;
        entry.pending = null;
        entry.notBeforeMs = clock.monotonic() + (entry.credential === null ? PAUSE_MS : PAUSE_AHEAD_MS);
        throw fault;
      },
    );
    // Waiting calls get the error; if none waits, the old token is still valid.
    pending.catch(() => undefined);
    return (entry.pending = pending);
  };

  return {
    /**
     * Synchronous while there is a valid token. Otherwise it waits for the one exchange in flight, or throws the signal's
     * reason.
     */
    take(key: string, make: TokenMaker, signal: CancelSignal): MaybePromise<Credential> {
      const entry = entryOf(key);
      const { issued, credential } = entry;
      if (issued !== null && credential !== null) {
        const lifeMs = issued.expiresAtMs - issued.issuedAtMs;
        // the clock may have been set back, and the monotonic one may stand still while the machine sleeps
        const leftMs = Math.min(issued.expiresAtMs - clock.now(), entry.issuedMs + lifeMs - clock.monotonic());
        if (leftMs > Math.min(MARGIN_MS, lifeMs * MARGIN_SHARE)) {
          if (
            leftMs < Math.min(AHEAD_MS, lifeMs * AHEAD_SHARE) &&
            entry.pending === null &&
            clock.monotonic() >= entry.notBeforeMs
          )
            void start(entry, make);
          return credential;
        }
        entry.issued = entry.credential = null;
        entry.notBeforeMs = Number.NEGATIVE_INFINITY;
      }
      if (entry.pending === null && clock.monotonic() < entry.notBeforeMs) throw entry.fault;
      return untilOver(entry.pending ?? start(entry, make), signal);
    },
    /** Drops a refused token, so that it is not used again. */
    forget(key: string, credential: Credential): void {
      const entry = entries.get(key);
      if (entry?.credential !== credential) return;
      entry.issued = entry.credential = null;
      // that it could not be renewed ahead keeps no call from asking for another
      entry.notBeforeMs = Number.NEGATIVE_INFINITY;
    },
  };
}
