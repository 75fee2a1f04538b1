// Limits and budgets as calls see them (promise 4): what is bounded, for whom, in which window, and what happens when
// the bound is reached.

// Decides (money and limits): What is one request to a limit? By: `countsAttempts`. Also:
// `admission/reservation-estimate.ts` (`firstReservation`), `admission/held-account.ts` (`HeldAccount`). Rule: The call
// as a whole. Where the scope names a provider or a model, each upstream request that goes there: of retries,
// fallbacks, hedges, rounds of tools, and `n` that takes several.

export type LimitWindow = "second" | "minute" | "hour" | "day";
export type BudgetWindow = "day" | "week" | "month" | "total";
/** Money is counted in whole nano-dollars; every other unit is a plain count. */
export type LimitUnit = "requests" | "tokens" | "concurrency" | "nano_usd";

/**
 * The calls that a limit bounds within its tenant or project; all named members must match. A value is exact or a glob
 * (`openai:*`), and then everything that it matches shares one account. A `*` alone gives each value an account of its
 * own. An empty scope puts everything in the tenant or project in one account.
 */
export interface LimitScope {
  readonly token?: string;
  /** The end user that the request names in `user` or `safety_identifier`. */
  readonly user?: string;
  readonly route?: string;
  readonly provider?: string;
  /** `<provider>:<model_name>`. */
  readonly model?: string;
  /** The name of an operation, such as `embeddings`. */
  readonly operation?: string;
}

/** What happens when a share of a budget is used up. Each threshold emits its event once in a window. */
export interface Threshold {
  /** More than 0 and at most 100. */
  readonly percent: number;
  /**
   * A model (`provider:model`) or `route:name` to which calls go beyond this threshold instead of being refused; `null`
   * when only the event is emitted.
   */
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
  /** `null` for concurrency, which has no window. */
  readonly window: LimitWindow | BudgetWindow | null;
  /** In `unit`; never negative. */
  readonly limit: number;
  readonly mode: "enforce" | "audit";
  readonly onStoreFailure: "local_share" | "closed" | "open";
  /** The most output tokens that are reserved for an answer without a bound. */
  readonly assumeOutputTokens: number;
  /** What happens to a call of a model without a price under a money budget (promise 4.5). */
  readonly unpriced: "deny" | "allow";
  readonly thresholds: readonly Threshold[];
  /** The budget counts answers from the response cache as if the provider had been called; absent when it does not. */
  readonly countsCacheHits?: true;
}

/** The count of one rule, for one value of its scope where each value has its own count. */
export interface Account {
  readonly rule: LimitRule;
  /** The value (an end user, a token, a model) where the rule's scope has `*`; otherwise empty. */
  readonly value: string;
  /** Set where the limit of today is not known: the account keeps the one that calls have given it. */
  readonly isWithoutLimit?: true;
}

/** Where an attempt goes. */
export interface LimitedTarget {
  readonly route: string;
  readonly provider: string;
  /** `<provider>:<model_name>`. */
  readonly model: string;
}

/** The limits that apply to calls of one access token in one project. */
export interface CallerLimits {
  /** All rules that may apply, wherever a call goes. */
  readonly rules: readonly LimitRule[];
  /** The distinct models and routes to which budgets send calls instead of refusing them. */
  readonly degradeTo: readonly string[];
  /** The accounts of the rules that apply to each call, whatever its body says: none that name a place or an end user. */
  readonly ofEveryCall: readonly Account[];
  /**
   * `user` is the end user that the request names, `null` when it names none. The accounts are in the order of the
   * rules.
   */
  accountsAt(target: LimitedTarget, user: string | null): readonly Account[];
}

/** All configured limits and budgets, indexed so that those of a call are found quickly. */
export interface LimitSet {
  /**
   * Returns `null` when no limit applies to this caller, wherever its calls go. With an operation, the limits of other
   * operations are left out.
   */
  forCaller(tenantId: string, projectId: string, tokenId: string, operation?: string): CallerLimits | null;
  /** All limits and budgets of a tenant and of its projects, also those that are for every tenant. */
  rulesIn(tenantId: string): readonly LimitRule[];
  /** The distinct windows of budgets, apart for those that count by end user or operation. */
  readonly budgetCounts: readonly BudgetCount[];
}

/** A window in which budgets count, and what they count by. */
export interface BudgetCount {
  readonly window: BudgetWindow;
  readonly isByUser: boolean;
  readonly isByOperation: boolean;
}

export const NO_LIMITS: LimitSet = { forCaller: () => null, rulesIn: () => [], budgetCounts: [] };

/**
 * Rules that name a provider or a model count each attempt that goes there; all other rules count the call as a whole.
 */
export function countsAttempts({ scope }: LimitRule): boolean {
  return scope.provider !== undefined || scope.model !== undefined;
}
