// A service that judges texts for a guard, as calls see it (promise 16.4).

/** The forms of requests in which services are asked. */
export const GUARD_SERVICE_TYPES = ["request", "presidio"] as const;
export type GuardServiceType = (typeof GUARD_SERVICE_TYPES)[number];

/** Where the texts of a question are from: the request, the answer, or the result of a tool that the gateway ran. */
export type GuardPlace = "input" | "output" | "tool_result";

export interface GuardService {
  readonly type: GuardServiceType;
  /**
   * Identical for guards that ask the same service for the same tenant: its calls in flight are bounded together, and it
   * has one circuit breaker.
   */
  readonly key: string;
  readonly url: string;
  /** By lower-case name; they may hold credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The operator did not configure the address, so that the address guard checks it at each request. */
  readonly guarded: boolean;
  /** The time for one question, with the waiting for a turn and all its requests. */
  readonly timeoutMs: number;
  readonly maxConcurrent: number;
  /** How many characters of a stream are collected before the service is asked. */
  readonly windowCharacters: number;
  /** How many characters of a stream are held back after a verdict and judged again with what follows. */
  readonly overlapCharacters: number;
  /** What the service costs, in nano-dollars; `null` where the configuration does not say. */
  readonly price: { readonly requestNanoUsd: number; readonly thousandCharactersNanoUsd: number } | null;
  /** What only some types have, such as the language of texts. */
  readonly options: {
    readonly language: string;
    readonly entities: readonly string[];
    readonly scoreThreshold: number | null;
  };
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
  /** By the configured price; `null` where there is none. It is not charged to budgets. */
  costNanoUsd: number | null;
}
