// A credential provider on a token service of the test, with a clock that the test sets, and credentials of every kind
// for it.
import { generateKeyPairSync } from "node:crypto";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import {
  type CredentialProvider,
  NONE_TRIED,
  type ResolveContext,
  type StoredCredential,
} from "../../src/core/configured/credential.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { Credential } from "../../src/core/target.ts";
import {
  type CredentialProviderOptions,
  openCredentialProvider,
  type RefusedCredential,
} from "../../src/credentials/credential-provider.ts";
import type { FailingCredential } from "../../src/credentials/credential-maker.ts";
import { createSocketUpstream } from "../../src/wire/http/upstream-socket.ts";

export const START_MS = 1_790_000_000_000;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

export class TurnedClock {
  #passedMs = 0;
  #setBackMs = 0;
  now(): number {
    return START_MS + this.#passedMs - this.#setBackMs;
  }
  monotonic(): number {
    return this.#passedMs;
  }
  pass(ms: number): void {
    this.#passedMs += ms;
  }
  /** Sets the time of the day back. */
  setBack(ms: number): void {
    this.#setBackMs += ms;
  }
}

export const OPERATORS = { weight: 1, fromCaller: false } as const;
export const CALLERS = { weight: 1, fromCaller: true } as const;

const pair = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
export const PUBLIC_KEY = pair.publicKey;
export const PRIVATE_KEY = pair.privateKey;
export const PRIVATE_KEY_ID = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

export const iamKey = (tokenUrl: string, apiKey = "iam-key-0123456789"): StoredCredential => ({
  kind: "ibm_iam",
  apiKey,
  tokenUrl,
  ...OPERATORS,
});
export const serviceAccount = (
  tokenUrl: string,
): Extract<StoredCredential, { readonly kind: "google_service_account" }> => ({
  kind: "google_service_account",
  clientEmail: "robot@project.iam.example",
  privateKey: PRIVATE_KEY,
  privateKeyId: PRIVATE_KEY_ID,
  tokenUrl,
  ...OPERATORS,
});
export const entraClient = (tokenUrl: string): StoredCredential => ({
  kind: "entra_client",
  tenantId: "t-1",
  clientId: "c-1",
  clientSecret: "client~secret_0123456789",
  scope: "https://scope.example/.default",
  tokenUrl,
  ...OPERATORS,
});
export const plainKey = (secret: string, weight = 1): StoredCredential => ({
  kind: "key",
  secret,
  weight,
  fromCaller: false,
});

export interface Lending {
  readonly clock: TurnedClock;
  readonly refused: readonly RefusedCredential[];
  readonly failing: readonly FailingCredential[];
  readonly lender: CredentialProvider;
  readonly lend: (...stored: readonly StoredCredential[]) => Promise<Credential>;
  /** What it failed with. */
  readonly fault: (...stored: readonly StoredCredential[]) => Promise<GatewayError>;
}

export function lending(options: Partial<CredentialProviderOptions> = {}): Lending {
  const clock = new TurnedClock();
  const refused: RefusedCredential[] = [];
  const failing: FailingCredential[] = [];
  const lender = openCredentialProvider({
    upstream: createSocketUpstream(),
    clock,
    onRefused: (one) => refused.push(one),
    onFailing: (one) => failing.push(one),
    onLimited: () => {},
    ...options,
  });
  const lend = async (...stored: readonly StoredCredential[]): Promise<Credential> => lender.resolve(stored, context());
  return {
    clock,
    refused,
    failing,
    lender,
    lend,
    fault: async (...stored) => {
      const thrown: unknown = await lend(...stored).then(
        () => null,
        (error: unknown) => error,
      );
      if (!(thrown instanceof GatewayError)) throw new Error(`expected a GatewayError, got ${String(thrown)}`);
      return thrown;
    },
  };
}

export function context(signal = new Cancellation()): ResolveContext {
  return {
    providerId: "cloud",
    server: "cloud",
    model: "m",
    label: "Cloud",
    signal,
    stickyKey: null,
    tried: NONE_TRIED,
  };
}

/** Everything that an error contains, for client and operator. */
export function wordsOf(error: GatewayError): string {
  return [error.message, error.detail, JSON.stringify(error.metadata), JSON.stringify(error.headers), error.param].join(
    "\n",
  );
}
