// A service that judges texts for a guard, as calls see it (promise 16.4).

/** The forms of requests in which services are asked. */
export const GUARD_SERVICE_TYPES = [
  "request",
  "presidio",
  "content_safety",
  "lakera",
  "moderation",
  "guardrails",
  "model_armor",
] as const;
export type GuardServiceType = (typeof GUARD_SERVICE_TYPES)[number];
/** Services that a configured provider has, with its address and credential. */
export const PROVIDER_SERVICE_TYPES = ["moderation", "guardrails", "model_armor"] as const;
export type ProviderServiceType = (typeof PROVIDER_SERVICE_TYPES)[number];
/** Services at an address of their own. */
export type AddressServiceType = Exclude<GuardServiceType, ProviderServiceType>;

/** Where the texts of a question are from: the request, the answer, or the result of a tool that the gateway ran. */
export type GuardPlace = "input" | "output" | "tool_result";

/** Where the service is. */
export type GuardServicePlace =
  | {
      readonly type: AddressServiceType;
      readonly url: string;
      /** By lower-case name; they may hold credentials. */
      readonly headers: Readonly<Record<string, string>>;
      /** The operator did not configure the address, so that the address guard checks it at each request. */
      readonly guarded: boolean;
    }
  | {
      readonly type: ProviderServiceType;
      /** The id of the provider, as it is configured for the tenant or project of the policy. */
      readonly provider: string;
      /** Empty for types without models. */
      readonly model: string;
      /** Both `null` for a policy of the whole gateway, which uses the gateway's own providers. */
      readonly tenantId: string | null;
      readonly projectId: string | null;
      /** The operator wrote the policy. */
      readonly isTrusted: boolean;
    };

/** What only some types have. */
export interface GuardServiceOptions {
  readonly language: string;
  readonly entities: readonly string[];
  readonly scoreThreshold: number | null;
  readonly leastSeverity: number;
  readonly blocklists: readonly string[];
  /** The guardrail, template or project at the vendor; empty where none is named. */
  readonly vendorId: string;
  /** The version of the guardrail. */
  readonly version: string;
}

export interface GuardService {
  readonly place: GuardServicePlace;
  /**
   * Identical for guards that ask the same service for the same tenant with the same options: its calls in flight are
   * bounded together, and it has one circuit breaker for each tenant whose texts it judges. Options with which the
   * service fails concern no other guard.
   */
  readonly key: string;
  /** The time for one question, with the waiting for a turn and all its requests. */
  readonly timeoutMs: number;
  readonly maxConcurrent: number;
  /** How many characters of a stream are collected before the service is asked. */
  readonly windowCharacters: number;
  /** How many characters of a stream are held back after a verdict and judged again with what follows. */
  readonly overlapCharacters: number;
  /** What the service costs, in nano-dollars; `null` where the configuration does not say. */
  readonly price: { readonly requestNanoUsd: number; readonly thousandCharactersNanoUsd: number } | null;
  readonly options: GuardServiceOptions;
}

/** What one policy's service was asked in one place of a call. */
export interface GuardServiceUse {
  /** The name of the policy. */
  readonly policy: string;
  readonly type: GuardServiceType;
  readonly place: GuardPlace;
  /** Requests that were sent. */
  requests: number;
  /** The characters in them, with those that were sent twice because windows overlap. */
  characters: number;
  /** How long the call waited for the verdicts, in milliseconds: in all, and for the slowest. */
  waitedMs: number;
  slowestMs: number;
  /** What was found, by the service's own names; a few at most. */
  found: readonly string[];
  /** Questions without a verdict. */
  failures: number;
  /** In nano-dollars, by the configured price; `null` where no price is configured. Budgets do not count it. */
  costNanoUsd: number | null;
}
