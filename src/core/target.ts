// Where a call goes: one provider, one model, one address, one credential.

export interface Credential {
  readonly apiKey: string;
  /** True when the caller brought it: its refusal is the caller's to see (decisions 7.8). */
  readonly fromCaller: boolean;
}

export interface Target {
  /** The id in the configuration: `openai`, or the operator's own `mine`. Stands in `model` of the answer. */
  readonly providerId: string;
  /** The provider's implementation or row: `openai`, `custom`, `anthropic`. */
  readonly family: string;
  /** The provider's own name of the model, without prefix. */
  readonly model: string;
  /** What the vendor's client library calls its base URL, without a slash at the end. */
  readonly baseUrl: string;
  readonly credential: Credential | null;
  readonly apiVersion: string | null;
  /** Extra headers of the caller, lower-case names (decisions 2.10). */
  readonly headers: Readonly<Record<string, string>>;
  /** The request's field that brought the address, which then has to pass the address guard (decisions 2.12); null: the operator's own address. */
  readonly guardedField: string | null;
}

/** `<provider>:<model_name>`, as the answer's `model` says it. */
export function targetName(target: Target): string {
  return `${target.providerId}:${target.model}`;
}
