// Where a call goes: one provider, one model, one address, one credential.

/** What a provider is called with, ready for the wire. */
export interface Credential {
  /** `key`: the provider's own key, in the header that it has for keys. `token`: a bearer token, made by an exchange or brought. `aws`: a pair that signs requests. */
  readonly kind: "key" | "token" | "aws";
  /** The key, the token, or the secret half of the pair. */
  readonly secret: string;
  /** Of kind `aws` only. */
  readonly accessKeyId?: string;
  /** Of kind `aws` only: temporary pairs come with one. */
  readonly sessionToken?: string;
  /** What it was exchanged for, and other secrets that never leave beside those above. */
  readonly origin?: readonly string[];
  /** True when the caller brought it: its refusal is the caller's to see (decisions 7.8). */
  readonly fromCaller: boolean;
}

/** Facts about a model that an encoder needs and that are data; null: not known. */
export interface ModelFacts {
  /** Tokens that prompt and answer may have together. */
  readonly contextTokens: number | null;
  /** Tokens that an answer may have. */
  readonly maxOutputTokens: number | null;
}
export const UNKNOWN_FACTS: ModelFacts = { contextTokens: null, maxOutputTokens: null };

export interface Target {
  /** The id in the configuration: `openai`, or the operator's own `mine`. Stands in `model` of the answer. */
  readonly providerId: string;
  /** The provider's implementation or row: `openai`, `custom`, `anthropic`. */
  readonly family: string;
  /** The provider's own name of the model, without prefix. */
  readonly model: string;
  /** What the vendor's client library calls its base URL, without a slash at the end and with its settings filled in. */
  readonly baseUrl: string;
  readonly credential: Credential | null;
  /** Values of the provider's own settings (`region`, `project`, `api_version`): each fits `ADDRESS_WORD`. What is not set is absent. */
  readonly settings: Readonly<Record<string, string>>;
  readonly facts: ModelFacts;
  /** Extra headers of the caller, lower-case names (decisions 2.10). */
  readonly headers: Readonly<Record<string, string>>;
  /** The request's field that brought the address, or chose it, where it has to pass the address guard (decisions 2.12); null: the operator configured the provider. */
  readonly guardedField: string | null;
  /** The request brought the address as a whole: what is there has prices of its own. */
  readonly isCallersAddress: boolean;
  /** The operator lets calls of several tenants use the same connections. */
  readonly sharesConnections: boolean;
}

/** The field that chose the address of a provider that the operator has not configured. */
export const CHOSEN_BY = "model";

/** What may stand in an address as a region, project, resource, deployment or version (decisions 1.8). Dots alone would be a step up a path. */
export const ADDRESS_WORD = /^(?!\.+$)[A-Za-z0-9._-]{1,128}$/;

/**
 * Whose calls may use a connection one after another (UpstreamCall.partition): those of one tenant with one credential. Without a tenant: those of all
 * tenants with that credential.
 */
export function connectionPartition(tenantId: string | null, credential: Credential | null): string {
  const tenant = tenantId ?? "";
  if (credential === null) return tenant;
  const { secret, accessKeyId = "", sessionToken = "" } = credential;
  return `${tenant}\n${secret}\n${accessKeyId}\n${sessionToken}`;
}

/** `<provider>:<model_name>`, as the answer's `model` says it. */
export function targetName(target: Target): string {
  return `${target.providerId}:${target.model}`;
}

/** Everything about a credential that may not leave the gateway but in the provider's own request. */
export function secretsOf({ secret, accessKeyId, sessionToken, origin }: Credential): readonly string[] {
  return [secret, accessKeyId, sessionToken, ...(origin ?? [])].filter((text) => text !== undefined);
}
