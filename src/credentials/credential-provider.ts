// Resolves stored credentials for the wire: chooses among several, exchanges them for tokens where necessary, and sets
// them aside when a provider refuses them.
import type {
  CredentialProvider,
  ResolveContext,
  RefusalReason,
  StoredCredential,
} from "../core/configured/credential.ts";
import { GatewayError } from "../core/errors.ts";
import type { Credential } from "../core/target.ts";
import { isPending, type MaybePromise } from "../core/maybe-promise.ts";
import { fingerprint, lastFour } from "./fingerprint.ts";
import { GOOGLE_AUTH_MISSING } from "./google.ts";
import { openRotation, type RefusalNews } from "./rotation.ts";
import { openCredentialMaker, type CredentialMakerOptions } from "./credential-maker.ts";
import { ExchangeFault } from "./token-exchange.ts";

/** What may be logged about a credential of the operator that was set aside. */
export interface RefusedCredential {
  readonly providerId: string;
  readonly kind: StoredCredential["kind"];
  readonly lastFour: string | null;
  readonly reason: RefusalReason;
  readonly forMs: number;
}

export interface CredentialProviderOptions extends CredentialMakerOptions {
  /** Called each time a credential is set aside. */
  readonly onRefused: (refused: RefusedCredential, news: RefusalNews) => void;
  /** Called each time a provider has asked a credential to wait. */
  readonly onLimited: (news: RefusalNews) => void;
}

export interface OpenCredentialProvider extends CredentialProvider {
  /** A provider has refused a credential that another process of the machine used. */
  learn(news: RefusalNews): void;
}

const NOTHING_TRIED: ReadonlySet<StoredCredential> = new Set();
/** For how long a credential waits when the provider names no time. */
const DEFAULT_REST_MS = 1_000;

export function openCredentialProvider(options: CredentialProviderOptions): OpenCredentialProvider {
  const rotation = openRotation(() => options.clock.monotonic());
  const maker = openCredentialMaker(options);

  const setAside = (stored: StoredCredential, reason: RefusalReason, { providerId, server }: ResolveContext): void => {
    if (stored.fromCaller) return;
    const news = rotation.setAside(server, stored, reason);
    if (news === null) return;
    const { forMs } = news;
    options.onRefused({ providerId, kind: stored.kind, lastFour: lastFour(stored), reason, forMs }, news);
  };

  /**
   * Continues with the next credential when this one could not be exchanged. Throws GatewayError, or the signal's
   * reason.
   */
  const afterFault = (
    thrown: unknown,
    stored: StoredCredential,
    all: readonly StoredCredential[],
    context: ResolveContext,
    tried: ReadonlySet<StoredCredential>,
  ): MaybePromise<Credential> => {
    if (!(thrown instanceof ExchangeFault)) throw thrown;
    if (thrown.kind === "refused") setAside(stored, "authentication", context);
    const without = new Set([...tried, stored]);
    const next = thrown.kind === "refused" || thrown.kind === "unusable" ? rotation.next(context, all, without) : null;
    if (next === null) throw exchangeError(thrown, stored, context);
    return resolveFirst(next, all, context, without);
  };

  const resolveFirst = (
    stored: StoredCredential,
    all: readonly StoredCredential[],
    context: ResolveContext,
    tried: ReadonlySet<StoredCredential> = NOTHING_TRIED,
  ): MaybePromise<Credential> => {
    try {
      const resolved = maker.take(stored, context);
      return isPending(resolved)
        ? resolved.catch((thrown: unknown) => afterFault(thrown, stored, all, context, tried))
        : resolved;
    } catch (thrown) {
      return afterFault(thrown, stored, all, context, tried);
    }
  };

  /** One that was not tried comes first, even if it is set aside. */
  const nextOf = (all: readonly StoredCredential[], context: ResolveContext): StoredCredential | null => {
    const { tried } = context;
    if (tried.size === 0) return rotation.next(context, all);
    return (
      rotation.next(context, all, new Set(all.filter((one) => tried.has(fingerprint(one))))) ??
      rotation.next(context, all)
    );
  };

  return {
    learn: (news) => rotation.learn(news),
    resolve(all, context) {
      const stored = all.length === 1 ? all[0]! : nextOf(all, context);
      if (stored === null) throw new GatewayError("internal_error", "There is no credential to resolve.");
      return resolveFirst(stored, all, context);
    },
    identityOf(credential) {
      const stored = maker.originOf(credential);
      return stored === undefined ? null : fingerprint(stored);
    },
    refused(credential, reason, context) {
      const stored = maker.originOf(credential);
      if (stored === undefined) return;
      maker.forget(credential);
      if (reason !== null) setAside(stored, reason, context);
    },
    limited(credential, forMs, { server, model }) {
      const stored = maker.originOf(credential);
      if (stored === undefined || stored.fromCaller) return;
      options.onLimited(rotation.rest(server, stored, model, forMs ?? DEFAULT_REST_MS));
    },
    isAnotherAble: (all, { server, model, tried }) =>
      all.some((one) => !one.fromCaller && !tried.has(fingerprint(one)) && rotation.freeInMs(server, one, model) === 0),
    freeInMs: (all, { server, model }) => Math.min(...all.map((one) => rotation.freeInMs(server, one, model))),
    isFirstWaiting(all, { server, model }) {
      const freeMs = (one: StoredCredential): number => rotation.freeInMs(server, one, model);
      const first = all.reduce((best, one) => (freeMs(one) < freeMs(best) ? one : best));
      return freeMs(first) > 0 && !rotation.isSetAside(server, first);
    },
  };
}

function exchangeError(fault: ExchangeFault, stored: StoredCredential, { label }: ResolveContext): GatewayError {
  if (stored.fromCaller) return callersError(fault, label);
  const cure = fault.message === GOOGLE_AUTH_MISSING ? ` ${GOOGLE_AUTH_MISSING}.` : "";
  return new GatewayError(
    "upstream_authentication",
    `${label} cannot be called with the gateway's own credential, because no token could be obtained for it.${cure} The reason is in the gateway's log under the trace id.`,
    { detail: fault.message, cause: fault },
  );
}

/** A service that does not answer says nothing about the credential. */
function callersError(fault: ExchangeFault, label: string): GatewayError {
  if (fault.kind === "timeout")
    return new GatewayError("upstream_timeout", `${label}: ${fault.message}.`, { cause: fault });
  if (fault.kind === "failed")
    return new GatewayError(
      "upstream_connection",
      `${label}: no token could be obtained for the credential of the request: ${fault.message}.`,
      { cause: fault },
    );
  return new GatewayError(
    "credential_rejected",
    `${label}: no token could be obtained for the credential of the request: ${fault.message}.`,
    { cause: fault },
  );
}
