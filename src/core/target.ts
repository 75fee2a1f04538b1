// Where an attempt goes: one provider, one model, one address, one credential.

// Decides (targets and attempts): Which calls may use a connection to a provider one after another? By:
// `connectionPartition`. Also: `wire/http/connection-pool.ts` (`ConnectionPool`); docs/design/upstream-connections.md. Rule:
// Those of one tenant with one credential; with `shared_connections`, those with one credential.

import { compileGlob, type Glob } from "./text/glob.ts";

/** A credential as it goes on the wire. */
export interface Credential {
  /**
   * `key`: the provider's own key, in the provider's header for keys. `token`: a bearer token, exchanged or sent by the
   * caller. `aws`: a key pair that signs requests.
   */
  readonly kind: "key" | "token" | "aws";
  /** The key, the token, or the secret half of the pair. */
  readonly secret: string;
  /** Set only for kind `aws`. */
  readonly accessKeyId?: string;
  /** Set only for temporary pairs of kind `aws`. */
  readonly sessionToken?: string;
  /** What it was exchanged for, and other secrets that must not leave the gateway, like those above. */
  readonly origin?: readonly string[];
  /** Set when the caller sent it: an error about it is then reported to the caller (promise 7.8). */
  readonly fromCaller: boolean;
}

/** Facts about a model that an encoder needs; `null` when a fact is not known. */
export interface ModelFacts {
  /** The tokens that prompt and answer may have together. */
  readonly contextTokens: number | null;
  /** The tokens that an answer may have. */
  readonly maxOutputTokens: number | null;
}

export interface Target {
  /** The id in the configuration: `openai`, or the operator's own `mine`. The answer's `model` contains it. */
  readonly providerId: string;
  /** The provider's implementation or row, such as `openai`, `custom` or `anthropic`. */
  readonly family: string;
  /** The provider's own name of the model, without a prefix. */
  readonly model: string;
  /**
   * What the vendor's client library calls its base URL, with the settings filled in and without a slash at the end.
   */
  readonly baseUrl: string;
  readonly credential: Credential | null;
  /**
   * Values of the provider's own settings (`region`, `project`, `api_version`), each of which matches `ADDRESS_WORD`. A
   * setting without a value is absent.
   */
  readonly settings: Readonly<Record<string, string>>;
  readonly facts: ModelFacts;
  /** Extra headers of the caller, with lower-case names (promise 2.10). */
  readonly headers: Readonly<Record<string, string>>;
  /** Members of the query of the client's own request that its address takes over; absent where there are none. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * The field of the request that contains or chose the address, when the address guard has to check it (promise 2.12);
   * `null` when the operator configured the provider.
   */
  readonly guardedField: string | null;
  /** The request contains the whole address, so that the provider's known prices do not apply. */
  readonly isCallersAddress: boolean;
  /** Set where the model is asked by another operation because chat completions refuse the conversation. */
  readonly isAskedOtherwise?: true;
  /** The operator allows calls of several tenants to share connections. */
  readonly sharesConnections: boolean;
}

/** The field that chose the address of a provider that the operator has not configured. */
export const CHOSEN_BY = "model";

/**
 * What an address may contain as a region, project, resource, deployment or version (promise 1.8). A name of dots alone
 * would change the path.
 */
export const ADDRESS_WORD = /^(?!\.+$)[A-Za-z0-9._-]{1,128}$/;

/**
 * The calls that may use a connection one after another (UpstreamCall.partition): those of one tenant with one
 * credential or, without a tenant, those of all tenants with that credential.
 */
export function connectionPartition(tenantId: string | null, credential: Credential | null): string {
  const tenant = tenantId ?? "";
  if (credential === null) return tenant;
  const { secret, accessKeyId = "", sessionToken = "" } = credential;
  return `${tenant}\n${secret}\n${accessKeyId}\n${sessionToken}`;
}

/** `<provider>:<model_name>`, as in the answer's `model`. */
export function targetName(target: Target): string {
  return `${target.providerId}:${target.model}`;
}

/** The name of a model as `targetName` writes it. People may write a slash in place of the colon. */
export function normalizedName(name: string): string {
  return name.replace(/[:/]/, ":");
}

/** The same for a pattern of such names, in which `*` stands for any text (promise 1.3). */
export function normalizedPattern(pattern: string): string {
  return pattern.replace(/^([^*:/]+)\//, "$1:");
}

/**
 * Compiles a pattern of rules that forbid or limit models. Letter case does not count: some providers ignore it, and two
 * models whose names differ in it alone are not known.
 */
export function compileModelPattern(pattern: string): Glob {
  const matches = compileGlob(normalizedPattern(pattern).toLowerCase());
  return (name) => matches(name.toLowerCase());
}

/** All parts of a credential that may leave the gateway only in the provider's own request. */
export function secretsOf({ secret, accessKeyId, sessionToken, origin }: Credential): readonly string[] {
  return [secret, accessKeyId, sessionToken, ...(origin ?? [])].filter((text) => text !== undefined);
}
