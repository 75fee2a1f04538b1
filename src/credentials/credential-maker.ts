// Resolves one stored credential for the wire: at once, or by an exchange whose result is cached. Tokens of callers are
// kept apart from those of the operator.
import { withTimeout } from "../core/concurrency/timeout.ts";
import type { Clock } from "../core/clock.ts";
import {
  GOOGLE_TOKEN_URL,
  IBM_TOKEN_URL,
  type ResolveContext,
  type StoredCredential,
} from "../core/configured/credential.ts";
import { GatewayError } from "../core/errors.ts";
import type { Credential } from "../core/target.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import { messageOf } from "../core/thrown.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import { type AwsChain, chainKeys, nodeChain } from "./aws.ts";
import { clientRequest, federatedRequest } from "./entra.ts";
import { fingerprint, lastFour } from "./fingerprint.ts";
import {
  fileRequest,
  type GoogleAuthLibrary,
  importGoogleAuth,
  libraryToken,
  serviceAccountRequest,
} from "./google.ts";
import { apiKeyRequest } from "./ibm-iam.ts";
import { openTokenCache, type TokenMaker } from "./token-cache.ts";
import { exchange, EXCHANGE_TIMEOUT_MS, ExchangeFault, type Issued, type TokenRequest } from "./token-exchange.ts";

/** What may be logged about a credential of the operator for which no token can be obtained. */
export interface FailingCredential {
  readonly providerId: string;
  readonly kind: StoredCredential["kind"];
  readonly lastFour: string | null;
  /** Why, without secrets. */
  readonly detail: string;
}

export interface CredentialMakerOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  /** The timeout of one exchange; 10 s by default. */
  readonly exchangeTimeoutMs?: number;
  /** Called when a token can no longer be obtained for a credential of the operator; again only after one was. */
  readonly onFailing: (failing: FailingCredential) => void;
  readonly googleAuth?: () => Promise<GoogleAuthLibrary>;
  readonly awsChain?: AwsChain;
}

/** The most cached tokens; those of callers cannot displace those of the operator. */
const MAX_OPERATORS = 10_000;
const MAX_CALLERS = 1000;

export function openCredentialMaker(options: CredentialMakerOptions) {
  const operators = openTokenCache(options.clock, MAX_OPERATORS);
  const callers = openTokenCache(options.clock, MAX_CALLERS);
  const ready = new WeakMap<StoredCredential, Credential>();
  const origins = new WeakMap<Credential, StoredCredential>();
  const cacheOf = ({ fromCaller }: StoredCredential) => (fromCaller ? callers : operators);
  const maker = (stored: StoredCredential, providerId: string): TokenMaker => ({
    issue: () => issue(stored, options),
    toCredential(issued) {
      const made = bearer(issued, stored);
      origins.set(made, stored);
      return made;
    },
    failing(fault) {
      if (stored.fromCaller) return;
      options.onFailing({ providerId, kind: stored.kind, lastFour: lastFour(stored), detail: messageOf(fault) });
    },
  });
  return {
    /** Throws ExchangeFault, GatewayError, or the signal's reason. */
    take(
      stored: StoredCredential,
      { providerId, signal }: Pick<ResolveContext, "providerId" | "signal">,
    ): MaybePromise<Credential> {
      const known = ready.get(stored);
      if (known !== undefined) return known;
      const plain = readyForTheWire(stored);
      if (plain === null) return cacheOf(stored).take(fingerprint(stored), maker(stored, providerId), signal);
      ready.set(stored, plain);
      origins.set(plain, stored);
      return plain;
    },
    /** The stored credential from which it was made; undefined when it was made elsewhere. */
    originOf: (credential: Credential) => origins.get(credential),
    /** Removes a token from the cache, so that it is not used again. */
    forget(credential: Credential): void {
      const stored = origins.get(credential);
      if (stored !== undefined) cacheOf(stored).forget(fingerprint(stored), credential);
    },
  };
}

/** `null` when the credential has to be exchanged first. */
function readyForTheWire(stored: StoredCredential): Credential | null {
  const { fromCaller } = stored;
  switch (stored.kind) {
    case "key":
    case "token":
      return { kind: stored.kind, secret: stored.secret, fromCaller };
    case "aws_keys":
      return {
        kind: "aws",
        secret: stored.secretAccessKey,
        accessKeyId: stored.accessKeyId,
        ...(stored.sessionToken !== null && { sessionToken: stored.sessionToken }),
        fromCaller,
      };
    default:
      return null;
  }
}

function bearer({ kind, secret, accessKeyId, sessionToken }: Issued, stored: StoredCredential): Credential {
  const origin =
    stored.kind === "ibm_iam" ? [stored.apiKey] : stored.kind === "entra_client" ? [stored.clientSecret] : [];
  return {
    kind,
    secret,
    ...(accessKeyId !== undefined && { accessKeyId }),
    ...(sessionToken !== undefined && { sessionToken }),
    ...(origin.length > 0 && { origin }),
    fromCaller: stored.fromCaller,
  };
}

async function issue(stored: StoredCredential, options: CredentialMakerOptions): Promise<Issued> {
  const nowMs = options.clock.now();
  if (stored.fromCaller) allowedToCallers(stored);
  if (stored.kind === "aws_chain")
    return bounded(chainKeys(stored.profile, nowMs, options.awsChain ?? nodeChain), options);
  const request = await tokenRequest(stored, nowMs);
  if (request === "library")
    return bounded(
      libraryToken(stored.kind === "google_file" ? stored.path : null, nowMs, options.googleAuth ?? importGoogleAuth),
      options,
    );
  return exchange(request, options.upstream, () => options.clock.now(), options.exchangeTimeoutMs);
}

/**
 * A caller's credential is sent only to the vendors' own services, and is never a path, a chain, or input for a
 * library.
 */
function allowedToCallers(stored: StoredCredential): void {
  const allowed =
    (stored.kind === "google_service_account" && stored.tokenUrl === GOOGLE_TOKEN_URL) ||
    (stored.kind === "ibm_iam" && stored.tokenUrl === IBM_TOKEN_URL);
  if (!allowed)
    throw new GatewayError("internal_error", `A credential of the kind ${stored.kind} cannot come with a request.`);
}

async function tokenRequest(stored: StoredCredential, nowMs: number): Promise<TokenRequest | "library"> {
  switch (stored.kind) {
    case "google_service_account":
      return serviceAccountRequest(stored, nowMs);
    case "google_file":
      return fileRequest(stored, nowMs);
    case "google_default":
      return "library";
    case "entra_client":
      return clientRequest(stored);
    case "entra_federated":
      return federatedRequest(stored);
    case "ibm_iam":
      return apiKeyRequest(stored);
    default:
      throw new GatewayError(
        "internal_error",
        `A credential of the kind ${stored.kind} cannot be exchanged for a token.`,
      );
  }
}

/** Libraries have timeouts of their own, or none. */
async function bounded(
  work: Promise<Issued>,
  { exchangeTimeoutMs = EXCHANGE_TIMEOUT_MS }: CredentialMakerOptions,
): Promise<Issued> {
  const late = (): ExchangeFault =>
    new ExchangeFault("timeout", `no credential was obtained within ${exchangeTimeoutMs / 1000} s`);
  try {
    return await withTimeout(work, exchangeTimeoutMs, late);
  } catch (thrown) {
    if (thrown instanceof ExchangeFault) throw thrown;
    throw new ExchangeFault("failed", messageOf(thrown).slice(0, 500), thrown);
  }
}
