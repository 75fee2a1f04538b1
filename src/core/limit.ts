// Limits and budgets as calls see them (decisions 4): what is bounded, for whom, in which window, and what is done at the bound.

export type LimitWindow = "second" | "minute" | "hour" | "day";
export type BudgetWindow = "day" | "week" | "month" | "total";
/** Money is whole nano-dollars, everything else a count. */
export type LimitUnit = "requests" | "tokens" | "concurrency" | "nano_usd";

/**
 * Whom a limit bounds within its tenant or project; all that are named have to hold. A value is exact or a glob (`openai:*`), and then all that it matches
 * share one account; `*` alone gives each value an account of its own. None: everything in the tenant or project, in one account.
 */
export interface LimitScope {
  readonly token?: string;
  /** The end user that the request names in `user` (or `safety_identifier`). */
  readonly user?: string;
  readonly route?: string;
  readonly provider?: string;
  /** `<provider>:<model_name>`. */
  readonly model?: string;
}

/** What happens when so much of a budget is used. Each fires its event once in a window. */
export interface Threshold {
  /** Above 0, at most 100. */
  readonly percent: number;
  /** A model (`provider:model`) or `route:name` that calls go to from here on, instead of being refused; null: only the event. */
  readonly degradeTo: string | null;
}

export interface LimitRule {
  readonly id: string;
  readonly name: string;
  readonly kind: "limit" | "budget";
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly scope: LimitScope;
  readonly unit: LimitUnit;
  /** Null for concurrency, which has no window. */
  readonly window: LimitWindow | BudgetWindow | null;
  /** In `unit`; at least 0. */
  readonly limit: number;
  readonly mode: "enforce" | "audit";
  readonly onStoreFailure: "local_share" | "closed" | "open";
  /** What an answer without a bound is taken for when it is reserved, at most. */
  readonly assumeOutputTokens: number;
  /** What becomes of a model without a price under a money budget (decisions 4.5). */
  readonly unpriced: "deny" | "allow";
  readonly thresholds: readonly Threshold[];
}

/** One count: a rule, and the value of its scope where each value has a count of its own. */
export interface Account {
  readonly rule: LimitRule;
  /** The value (an end user, a token, a model) where the rule's scope says `*`, else empty. */
  readonly value: string;
}

/** Where an attempt of a call goes. */
export interface LimitedPlace {
  readonly route: string;
  readonly provider: string;
  /** `<provider>:<model_name>`. */
  readonly model: string;
}

/** What applies to the calls of one access token in one project. */
export interface CallerLimits {
  /** All of it, wherever a call goes. */
  readonly rules: readonly LimitRule[];
  /** Where budgets send calls instead of refusing them, each once. */
  readonly degradeTo: readonly string[];
  /** `user` is the end user whom the request names; null: none. The order is that of the rules. */
  accountsAt(place: LimitedPlace, user: string | null): readonly Account[];
}

/** All limits and budgets that are configured, arranged so that a call finds its own at once. */
export interface LimitSet {
  /** Null: nothing applies to this caller, wherever his calls go. */
  forCaller(tenantId: string, projectId: string, tokenId: string): CallerLimits | null;
}

export const NO_LIMITS: LimitSet = { forCaller: () => null };

/** Rules that name a provider or a model count what goes there, attempt by attempt; all others count the call as a whole. */
export function countsAttempts({ scope }: LimitRule): boolean {
  return scope.provider !== undefined || scope.model !== undefined;
}
