// Credentials as they are configured or brought, before any exchange: what credentials/ makes a `Credential` of. Pure data, so that a snapshot can hold it.

import type { CancelSignal } from "./cancellation.ts";
import type { JsonObject } from "./json.ts";
import type { Credential } from "./target.ts";

/** What a provider can be called with. `ibm_iam`: its `api_key` is exchanged for a token. */
export type CredentialForm = "key" | "aws" | "google" | "entra" | "ibm_iam";

interface Common {
  /** Share of the calls among several credentials of one provider; at least 1. */
  readonly weight: number;
  readonly fromCaller: boolean;
}

export type StoredCredential = Common &
  (
    | { readonly kind: "key"; readonly secret: string }
    /** A bearer token that somebody else made. */
    | { readonly kind: "token"; readonly secret: string }
    | {
        readonly kind: "aws_keys";
        readonly accessKeyId: string;
        readonly secretAccessKey: string;
        readonly sessionToken: string | null;
      }
    /** Whatever AWS's own chain finds: environment, shared files, container, instance. */
    | { readonly kind: "aws_chain"; readonly profile: string | null }
    /** `tokenUrl` is the operator's or Google's own, never the one that stands in the file. */
    | {
        readonly kind: "google_service_account";
        readonly clientEmail: string;
        readonly privateKey: string;
        readonly privateKeyId: string | null;
        readonly tokenUrl: string;
      }
    /** A credentials file by its path, read when it is needed. */
    | { readonly kind: "google_file"; readonly path: string; readonly tokenUrl: string }
    /** Application default credentials: metadata server, workload identity, the developer's own login. */
    | { readonly kind: "google_default" }
    | {
        readonly kind: "entra_client";
        readonly tenantId: string;
        readonly clientId: string;
        readonly clientSecret: string;
        readonly scope: string;
        readonly tokenUrl: string;
      }
    /** Workload identity: a file holds the assertion in place of a secret. */
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
/** `{tenant}` is the directory's id. */
export const ENTRA_TOKEN_URL = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token";

/** The longest that anybody issues, 4096 bits, has 3.3 KB. */
const MAX_PRIVATE_KEY = 16_384;
const PRIVATE_KEY = /^-----BEGIN (?:RSA )?PRIVATE KEY-----\s/;

/**
 * A service account's key file (https://cloud.google.com/iam/docs/keys-create-delete), or what was expected. The addresses in the file are not read: a file
 * that somebody hands in must not choose where a signed assertion goes, and `external_account` could name any address or program.
 */
export function googleServiceAccount(
  file: JsonObject,
): Omit<Extract<StoredCredential, { readonly kind: "google_service_account" }>, keyof Common> | string {
  const { type, client_email: clientEmail, private_key: privateKey, private_key_id: keyId } = file;
  if (type !== "service_account") return 'the JSON of a service account\'s key file, whose type is "service_account"';
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

/** Makes credentials ready for the wire; src/credentials holds the only implementation. */
export interface CredentialLender {
  /** One of them, by weight; not one that was refused a while ago, as long as there is another. At once where nothing has to be exchanged. Throws GatewayError. */
  lend(stored: readonly StoredCredential[], context: LendContext): Credential | Promise<Credential>;
  /** The provider refused it: it is set aside for a while, and a token is not used again. */
  refused(credential: Credential, reason: RefusalReason, context: LendContext): void;
}

/** `quota`: its account is exhausted, which passes; `authentication`: it is not valid, which hardly does. */
export type RefusalReason = "authentication" | "quota";

export interface LendContext {
  /** The provider's id in the configuration, and its name for messages. */
  readonly providerId: string;
  readonly label: string;
  readonly signal: CancelSignal;
}
