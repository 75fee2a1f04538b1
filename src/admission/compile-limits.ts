// Compiles configured limits and budgets into the set that calls read. The rules of a caller are found by tenant,
// project and token, and what applies at a target is computed once. Rules of other callers cost a call nothing.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { Configured } from "../core/configured/configured.ts";
import { compileModelPattern, normalizedPattern } from "../core/target.ts";
import { compileGlob, type Glob } from "../core/text/glob.ts";
import {
  type Account,
  type BudgetCount,
  type CallerLimits,
  type LimitedTarget,
  type LimitRule,
  type LimitScope,
  type LimitSet,
  NO_LIMITS,
  type Threshold,
} from "../core/configured/limit.ts";
import { endUserName } from "../core/record/end-user.ts";
import { type BudgetDocument, type LimitDocument, nanoUsdOf } from "./settings.ts";

/** Bounds of the caches: a tenant may have many tokens, a scope may have many values, and clients choose the models. */
const MAX_CALLERS = 20_000;
const MAX_TARGETS = 256;
const MAX_VALUES = 4_096;
const MAX_TENANTS = 10_000;
const ANY = "*";

export interface ConfiguredLimits {
  readonly limits: readonly Configured<LimitDocument>[];
  readonly budgets: readonly Configured<BudgetDocument>[];
}

export function compileLimits({ limits, budgets }: ConfiguredLimits): LimitSet {
  return limitSetOf([...limits.map(ruleOfLimit), ...budgets.map(ruleOfBudget)], budgetCounts(budgets));
}

/** Also of the rules that another set has, which another thread was sent. */
export function limitSetOf(rules: readonly ScopedRule[], counts: LimitSet["budgetCounts"] = []): LimitSet {
  if (rules.length === 0) return NO_LIMITS;
  const ofAll = rules.filter(({ tenantId }) => tenantId === null);
  const byTenant = Map.groupBy(
    rules.filter(({ tenantId }) => tenantId !== null),
    ({ tenantId }) => tenantId!,
  );
  const tenants = new BoundedCache<string, readonly PreparedRule[]>(MAX_TENANTS);
  const callers = new BoundedCache<string, CallerLimits | null>(MAX_CALLERS);
  // Each tenant has its own counts: a rule for all tenants counts separately for each of them.
  const ofTenant = (tenantId: string): readonly PreparedRule[] =>
    tenants.getOrMake(tenantId, () =>
      [...ofAll, ...(byTenant.get(tenantId) ?? [])].map((rule) => preparedRule({ ...rule, tenantId })),
    );
  return {
    forCaller(tenantId, projectId, tokenId, operation) {
      if (ofAll.length === 0 && !byTenant.has(tenantId)) return null;
      return callers.getOrMake(`${tenantId}\n${projectId}\n${tokenId}\n${operation ?? ""}`, () => {
        const own = ofTenant(tenantId).filter(
          ({ rule, matchesToken, matchesOperation }) =>
            (rule.projectId === null || rule.projectId === projectId) &&
            matchesToken(tokenId) &&
            (operation === undefined || matchesOperation(operation)),
        );
        return own.length === 0 ? null : callerLimits(own, { tokenId, operation: operation ?? "" });
      });
    },
    rulesIn: (tenantId) =>
      ofAll.length === 0 && !byTenant.has(tenantId) ? [] : ofTenant(tenantId).map(({ rule }) => rule),
    budgetCounts: counts,
  };
}

function budgetCounts(budgets: ConfiguredLimits["budgets"]): readonly BudgetCount[] {
  const counts = budgets.map(({ document: { window, scope } }) => ({
    window,
    isByUser: scope.user !== undefined,
    isByOperation: scope.operation !== undefined,
  }));
  return [...Map.groupBy(counts, (count) => JSON.stringify(count)).values()].map(([first]) => first!);
}

type ScopedRule = Omit<LimitRule, "tenantId"> & { readonly tenantId: string | null };

function ruleOfLimit(configured: Configured<LimitDocument>): ScopedRule {
  const { document } = configured;
  return {
    ...sharedOf(configured),
    kind: "limit",
    unit: document.metric,
    window: document.metric === "concurrency" ? null : (document.window ?? null),
    limit: document.limit,
    unpriced: "allow",
    thresholds: [],
  };
}

function ruleOfBudget(configured: Configured<BudgetDocument>): ScopedRule {
  const { document } = configured;
  return {
    ...sharedOf(configured),
    kind: "budget",
    unit: document.usd === undefined ? "tokens" : "nano_usd",
    window: document.window,
    limit: document.usd === undefined ? document.tokens! : nanoUsdOf(document.usd),
    unpriced: document.unpriced,
    thresholds: document.thresholds.map(thresholdOf).toSorted((a, b) => a.percent - b.percent),
    ...(document.cache_hits === "full" && { countsCacheHits: true }),
  };
}

function sharedOf({ id, name, tenantId, projectId, document }: Configured<LimitDocument | BudgetDocument>) {
  return {
    id,
    name: name ?? document.name ?? id,
    tenantId,
    projectId,
    scope: Object.fromEntries(
      Object.entries(document.scope).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, key === "model" ? normalizedPattern(value) : value]],
      ),
    ),
    mode: document.mode,
    onStoreFailure: document.on_store_failure,
    assumeOutputTokens: document.assume_output_tokens,
  };
}

function thresholdOf(entry: BudgetDocument["thresholds"][number]): Threshold {
  return typeof entry === "number"
    ? { percent: entry, degradeTo: null }
    : { percent: entry.percent, degradeTo: entry.degrade_to ?? null };
}

/** A rule with its globs compiled. */
type PreparedRule = ReturnType<typeof preparedRule>;

const EVERYTHING: Glob = () => true;
const globOf = (pattern: string | undefined): Glob =>
  pattern === undefined || pattern === ANY ? EVERYTHING : compileGlob(pattern);

function preparedRule(rule: LimitRule) {
  const { scope } = rule;
  const [route, provider] = [globOf(scope.route), globOf(scope.provider)];
  const model = scope.model === undefined || scope.model === ANY ? EVERYTHING : compileModelPattern(scope.model);
  return {
    rule,
    matchesToken: globOf(scope.token),
    matchesOperation: globOf(scope.operation),
    matchesTarget: (target: LimitedTarget) => route(target.route) && provider(target.provider) && model(target.model),
    /** `null` when the scope of the rule does not name end users. */
    matchesUser: scope.user === undefined ? null : globOf(scope.user),
    /** The single account of a rule whose scope has no `*`, else `null`. */
    only: Object.values(scope).includes(ANY) ? null : { rule, value: "" },
    accounts: new BoundedCache<string, Account>(MAX_VALUES),
  };
}

/** What applies at one target, before the end user is considered. */
interface TargetLimits {
  readonly target: LimitedTarget;
  readonly fixed: readonly Account[];
  readonly byUser: readonly PreparedRule[];
}

/** What is the same for every target and end user. */
interface Asker {
  readonly tokenId: string;
  readonly operation: string;
}

/** The members of a scope that only the body of a request decides. */
const BODY_DECIDES = ["route", "provider", "model", "user"] as const;
const NOWHERE: LimitedTarget = { route: "", provider: "", model: "" };

function callerLimits(own: readonly PreparedRule[], asker: Asker): CallerLimits {
  const targets = new BoundedCache<string, TargetLimits>(MAX_TARGETS);
  const at = (target: LimitedTarget): TargetLimits => {
    const there = own.filter(({ matchesTarget }) => matchesTarget(target));
    return {
      target,
      fixed: there.filter(({ matchesUser }) => matchesUser === null).map((each) => accountOf(each, asker, target, "")),
      byUser: there.filter(({ matchesUser }) => matchesUser !== null),
    };
  };
  /** Most calls of a caller go to one target, which is compared without making a key. */
  let last: TargetLimits | null = null;
  const known = (target: LimitedTarget): TargetLimits =>
    last !== null && last.target.model === target.model && last.target.route === target.route
      ? last
      : (last = targets.getOrMake(`${target.route}\n${target.model}`, () => at(target)));
  return {
    rules: own.map(({ rule }) => rule),
    degradeTo: [
      ...new Set(
        own.flatMap(({ rule: { mode, thresholds } }) =>
          mode === "audit" ? [] : thresholds.flatMap(({ degradeTo }) => degradeTo ?? []),
        ),
      ),
    ],
    ofEveryCall: own
      .filter(({ rule: { scope } }) => BODY_DECIDES.every((key) => scope[key] === undefined))
      .map((each) => accountOf(each, asker, NOWHERE, "")),
    accountsAt(target, user) {
      const { fixed, byUser } = known(target);
      if (user === null || byUser.length === 0) return fixed;
      return [
        ...fixed,
        ...byUser.filter(({ matchesUser }) => matchesUser!(user)).map((each) => accountOf(each, asker, target, user)),
      ];
    },
  };
}

function accountOf(prepared: PreparedRule, asker: Asker, target: LimitedTarget, user: string): Account {
  const { rule, only, accounts } = prepared;
  if (only !== null) return only;
  const value = valueOf(rule.scope, asker, target, user);
  return accounts.getOrMake(value, () => ({ rule, value }));
}

/**
 * Returns the account of a token, and of an end user where one is named, wherever their calls go; `null` where the account
 * depends on more of a call.
 */
export function accountOfCaller(rule: LimitRule, tokenId: string, user: string | null): Account | null {
  const open = Object.entries(rule.scope).flatMap(([key, value]) => (value === ANY ? [key] : []));
  if (open.some((key) => key !== "token" && !(key === "user" && user !== null))) return null;
  return { rule, value: open.length === 0 ? "" : valueOf(rule.scope, { tokenId, operation: "" }, NOWHERE, user ?? "") };
}

/** The end user stands last, because only a user name may contain the separator of the values. */
function valueOf(
  scope: LimitScope,
  { tokenId, operation }: Asker,
  { route, provider, model }: LimitedTarget,
  user: string,
): string {
  const values: string[] = [];
  if (scope.token === ANY) values.push(tokenId);
  if (scope.route === ANY) values.push(route);
  if (scope.provider === ANY) values.push(provider);
  if (scope.model === ANY) values.push(model);
  if (scope.operation === ANY) values.push(operation);
  if (scope.user === ANY) values.push(endUserName(user));
  return values.length === 1 ? values[0]! : values.join("\n");
}
