// Credentials as they are configured or sent with a request, before any exchange; credentials/ turns them into a
// `Credential`. They are pure data, so that a snapshot can hold them.

import type { CancelSignal } from "../concurrency/cancellation.ts";
import type { MaybePromise } from "../maybe-promise.ts";
import type { JsonObject } from "../json.ts";
import type { Credential } from "../target.ts";

/** The forms of credential that a provider may accept. With `ibm_iam`, an `api_key` is exchanged for a token. */
export type CredentialForm = "key" | "aws" | "google" | "entra" | "ibm_iam";

interface Common {
  /** Weight of this credential among several of one provider; at least 1. */
  readonly weight: number;
  readonly fromCaller: boolean;
}

export type StoredCredential = Common &
  (
    | { readonly kind: "key"; readonly secret: string }
    /** A bearer token that was made outside the gateway. */
    | { readonly kind: "token"; readonly secret: string }
    | {
        readonly kind: "aws_keys";
        readonly accessKeyId: string;
        readonly secretAccessKey: string;
        readonly sessionToken: string | null;
      }
    /** The credentials that AWS's own chain finds: in the environment, shared files, the container or the instance. */
    | { readonly kind: "aws_chain"; readonly profile: string | null }
    /** `tokenUrl` is the operator's or Google's own, never the one in the key file. */
    | {
        readonly kind: "google_service_account";
        readonly clientEmail: string;
        readonly privateKey: string;
        readonly privateKeyId: string | null;
        readonly tokenUrl: string;
      }
    /** The path of a credentials file, which is read when it is needed. */
    | { readonly kind: "google_file"; readonly path: string; readonly tokenUrl: string }
    /** Application default credentials: the metadata server, workload identity, or the developer's own login. */
    | { readonly kind: "google_default" }
    | {
        readonly kind: "entra_client";
        readonly tenantId: string;
        readonly clientId: string;
        readonly clientSecret: string;
        readonly scope: string;
        readonly tokenUrl: string;
      }
    /** Workload identity: a file holds an assertion instead of a secret. */
    | {
        readonly kind: "entra_federated";
        readonly tenantId: string;
        readonly clientId: string;
        readonly tokenFile: string;
        readonly scope: string;
        readonly tokenUrl: string;
      }
    | { readonly kind: "ibm_iam"; readonly apiKey: string; readonly tokenUrl: string }
  );

export const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";
export const IBM_TOKEN_URL = "https://iam.cloud.ibm.com/identity/token";
/** `{tenant}` is the id of the directory. */
export const ENTRA_TOKEN_URL = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token";

/** In characters. The longest keys in use, of 4096 bits, take 3.3 KB. */
const MAX_PRIVATE_KEY = 16_384;
const PRIVATE_KEY = /^-----BEGIN (?:RSA )?PRIVATE KEY-----\s/;

/**
 * Reads a service account's key file (https://cloud.google.com/iam/docs/keys-create-delete), or returns what was
 * expected instead. The addresses in the file are ignored: a file from a caller must not choose where a signed
 * assertion goes, and `external_account` could name any address or program.
 */
export function googleServiceAccount(
  file: JsonObject,
): Omit<Extract<StoredCredential, { readonly kind: "google_service_account" }>, keyof Common> | string {
  const { type, client_email: clientEmail, private_key: privateKey, private_key_id: keyId } = file;
  if (type !== "service_account") return 'the JSON of a service account\'s key file, with the type "service_account"';
  if (typeof clientEmail !== "string" || clientEmail === "") return "a key file with client_email";
  if (typeof privateKey !== "string" || privateKey.length > MAX_PRIVATE_KEY || !PRIVATE_KEY.test(privateKey))
    return "a key file with private_key, in PEM";
  return {
    kind: "google_service_account",
    clientEmail,
    privateKey,
    privateKeyId: typeof keyId === "string" ? keyId : null,
    tokenUrl: GOOGLE_TOKEN_URL,
  };
}

/** Resolves stored credentials to what goes on the wire. src/credentials has the only implementation. */
export interface CredentialProvider {
  /**
   * Chooses one of them by weight, and avoids those that were recently refused as long as there is another. Returns a
   * value instead of a promise where nothing has to be exchanged. Throws GatewayError.
   */
  resolve(stored: readonly StoredCredential[], context: ResolveContext): MaybePromise<Credential>;
  /**
   * Reports that the provider refused the credential. It is avoided for a while, and an exchanged token is not used
   * again. With `null` as the reason, something else may be why it was refused, and it is not avoided.
   */
  refused(credential: Credential, reason: RefusalReason | null, context: ResolveContext): void;
  /**
   * Reports that the provider asked the credential to wait, which is then avoided for calls of the model. `forMs` is
   * `null` where the provider names no time.
   */
  limited(credential: Credential, forMs: number | null, context: ResolveContext): void;
  /** Whether one of them that was not tried yet is able to call the model now. */
  isAnotherAble(stored: readonly StoredCredential[], context: ResolveContext): boolean;
  /** Returns in how many milliseconds the first of them is able to call the model; 0 when one is now. */
  freeInMs(stored: readonly StoredCredential[], context: ResolveContext): number;
  /** Whether the one that is able first has not been refused, but asked to wait. */
  isFirstWaiting(stored: readonly StoredCredential[], context: ResolveContext): boolean;
  /**
   * Identifies the stored credential behind a resolved one, which stays the same when its token is exchanged anew;
   * `null` when it was resolved elsewhere.
   */
  identityOf(credential: Credential): string | null;
}

/**
 * `quota`: the account is exhausted, which is temporary. `authentication`: the credential is invalid, which rarely is.
 */
export type RefusalReason = "authentication" | "quota";

export interface ResolveContext {
  /** The provider's id in the configuration; `label` is its name in messages. */
  readonly providerId: string;
  /** `serverOf` of the provider. */
  readonly server: string;
  /** The model that is called: a provider may ask a credential to wait with one of its models. */
  readonly model: string;
  readonly label: string;
  readonly signal: CancelSignal;
  /** Calls with the same key get the same credential, as long as it is not set aside; null for any other call. */
  readonly stickyKey: string | null;
  /** The identities of those that were tried for this call, which get it only when no other is left. */
  readonly tried: ReadonlySet<string>;
}

export const NONE_TRIED: ReadonlySet<string> = new Set();

/** With how many credentials of one provider a call, or a question to a guard service, is sent. */
export const MOST_TRIED = 10;
