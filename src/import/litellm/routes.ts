// `model_list` and `router_settings` of LiteLLM: the routes, and what holds for all of them.
// https://docs.litellm.ai/docs/routing, https://docs.litellm.ai/docs/proxy/reliability
import { claimAsked, always } from "../report.ts";
import { isOn, MOST_RETRIES, numberOf, requestTimes, textOf, timeOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import { type ImportContext, moveSetting } from "../gateway-import.ts";
import type { Mapping } from "../reference.ts";
import { type Deployment, enforcesRates, RATE_CHECK } from "./deployment.ts";
import { importFallbacks } from "./fallbacks.ts";
import { type Group, groupsOf, isWildcard, targetOf, targetsOf } from "./groups.ts";
import { importRateLimits } from "./rate-limits.ts";

/** Lots are drawn by weight. */
const WEIGHTED = "weighted";
type Strategy = readonly [strategy: string, how: string | null];
const STRATEGIES: Readonly<Record<string, Strategy>> = {
  "simple-shuffle": [WEIGHTED, null],
  "least-busy": ["least_busy", null],
  "latency-based-routing": ["least_latency", "the time to the first content counts"],
  "cost-based-routing": ["least_cost", null],
  // by weight, among providers that have something left of their budgets
  "provider-budget-routing": [WEIGHTED, null],
  "usage-based-routing": [
    "least_busy",
    "the target with the fewest calls in flight comes first, not the one with the fewest tokens in this minute",
  ],
  "usage-based-routing-v2": [
    "least_busy",
    "the target with the fewest calls in flight comes first, not the one with the fewest tokens in this minute",
  ],
};

export function importRoutes(deployments: readonly Deployment[], context: ImportContext): void {
  const { claims, draft, foreign } = context;
  const { members } = foreign.root;
  const router = members.get("router_settings");
  const settings = routerSettings(router, members.get("litellm_settings"), context);
  const groups = withAliases(groupsOf(deployments, context), router?.members.get("model_group_alias"), context);
  if (groups.some((group) => group.deployments.length > 1) || router?.members.has("routing_strategy") === true)
    draft.set("route_defaults", ["strategy"], strategyOf(router, context));
  importReliability(settings, context);
  const fallbacks = importFallbacks(groups, deployments.filter(isWildcard), settings, context);
  const isEnforced = enforcesRates(router);
  const isDrawn = knownStrategy(router)[0] === WEIGHTED;
  const haveRates = groups.some((group) => group.deployments.some(({ rates }) => rates.size > 0));
  const checks = router?.members.get("enable_pre_call_checks");
  if (isEnforced && (haveRates || haveAny(groups, REGIONS)))
    claims.changed(checks, "limits", "targets over their rate are passed over, and none by its region");
  else if (isEnforced) claims.taken(checks, TOO_LONG);
  for (const node of router?.members.get("optional_pre_call_checks")?.items ?? [])
    if (textOf(node) === RATE_CHECK && haveRates) claims.taken(node, "limits");
    else if (textOf(node) === RATE_CHECK) claims.without(node, "no deployment has rpm or tpm");
  /** Those that conditions read. */
  const headers = new Set<string>();
  for (const group of groups) {
    importRateLimits(group, groups, { isEnforced, isDrawn }, context);
    const route: Mapping = {
      targets: targetsOf(group, isDrawn, context, headers),
      ...importRetries(group, settings, context),
      ...importTimeouts(group, settings, context),
      ...importCooldown(group, settings, context),
      ...importMirror(group, groups, context),
      ...(fallbacks.get(group) as Mapping),
      ...dropParams(group, context),
    };
    draft.set("routes", [group.route], route);
  }
}

const TOO_LONG = always("targets for which a conversation is too long, which are passed over");

const REGIONS = ["region_name", "allowed_model_region"] as const;

function haveAny(groups: readonly Group[], names: readonly string[]): boolean {
  return groups.some(({ deployments }) => deployments.some(({ settings }) => names.some((name) => settings.has(name))));
}

/** Where both sections set the same, `router_settings` counts. */
function routerSettings(
  router: ForeignNode | undefined,
  litellm: ForeignNode | undefined,
  { claims }: ImportContext,
): ReadonlyMap<string, ForeignNode> {
  const both = new Map<string, ForeignNode>();
  const shared = [
    "num_retries",
    "timeout",
    "stream_timeout",
    "request_timeout",
    "fallbacks",
    "default_fallbacks",
    "context_window_fallbacks",
    "content_policy_fallbacks",
    "allowed_fails",
    "cooldown_time",
  ];
  for (const key of shared) {
    const [first, second] = [router?.members.get(key), litellm?.members.get(key)];
    if (first !== undefined) claims.without(second, "router_settings sets it too, and takes precedence there");
    const found = first ?? second;
    if (found !== undefined) both.set(key, found);
  }
  return both;
}

const UNKNOWN_STRATEGY: Strategy = [WEIGHTED, "Dragoman has no such strategy; calls are divided by weight"];

function knownStrategy(router: ForeignNode | undefined): Strategy {
  const name = textOf(router?.members.get("routing_strategy")) ?? "simple-shuffle";
  return Object.hasOwn(STRATEGIES, name) ? STRATEGIES[name]! : UNKNOWN_STRATEGY;
}

function strategyOf(router: ForeignNode | undefined, { claims }: ImportContext): string {
  const [strategy, how] = knownStrategy(router);
  claims.moved(router?.members.get("routing_strategy"), "route_defaults.strategy", how);
  return strategy;
}

/** An alias is a route of its own with the same deployments. */
function withAliases(
  groups: readonly Group[],
  aliases: ForeignNode | undefined,
  { claims, draft }: ImportContext,
): readonly Group[] {
  const byName = new Map(groups.map((group) => [group.name, group]));
  const added = [...(aliases?.members ?? [])].flatMap(([name, node]): readonly Group[] => {
    const target = node.kind === "mapping" ? node.members.get("model") : node.kind === "list" ? node.items[0] : node;
    const group = byName.get(textOf(target) ?? "");
    for (const further of node.items.slice(1)) claims.without(further, "an alias stands for one model");
    claims.without(node.members.get("hidden"), "the alias is a route, and routes are listed");
    if (group === undefined) {
      claims.without(node, "no model that was taken over has this name");
      return [];
    }
    if (byName.has(name)) {
      claims.without(node, "a model in model_list has the name of the alias");
      return [];
    }
    const route = draft.routeFor(name);
    claimAsked(target, name, route, claims);
    return [{ ...group, name, source: group.name, route }];
  });
  return [...groups, ...added];
}

function importReliability(settings: RouterSettings, context: ImportContext): void {
  const { claims, draft } = context;
  const retries = settings.get("num_retries");
  const count = wholeOf(retries, 0, Number.POSITIVE_INFINITY);
  if (count !== null) {
    const kept = Math.min(count, MOST_RETRIES);
    moveSetting(retries, ["route_defaults", "retries"], kept, retryWords(count), context);
  }
  const time = settings.get("timeout") ?? settings.get("request_timeout");
  const setTime = (node: ForeignNode | undefined, key: string, how: string): void =>
    moveSetting(node, ["route_defaults", "timeouts", key], timeOf(node), how, context);
  if (settings.has("timeout"))
    claims.without(settings.get("request_timeout"), "timeout of router_settings takes precedence there");
  setTime(time, "first_byte_ms", "counts for each request to a provider, until its answer begins");
  const { total_ms: totalMs } = requestTimes(timeOf(time) ?? 0);
  if (totalMs !== undefined) draft.set("route_defaults", ["timeouts", "total_ms"], totalMs);
  setTime(settings.get("stream_timeout"), "first_token_ms", "counts for each request, until the first content");
  const fails = settings.get("allowed_fails");
  const allowed = numberOf(fails);
  if (allowed !== null && allowed >= 0) {
    for (const [key, value] of Object.entries({
      failures: Math.min(Math.floor(allowed) + 1, 10_000),
      ratio: 0.01,
      window_ms: 60_000,
    }))
      draft.set("route_defaults", ["breaker", key], value);
    claims.changed(fails, "route_defaults.breaker", "only failures that are the provider's fault count");
  }
  const cooldown = settings.get("cooldown_time");
  moveSetting(cooldown, ["route_defaults", "breaker", "open_ms"], timeOf(cooldown), RESTS, context);
}

const RESTS =
  "after it one call tries the target; while that fails, the time doubles, to 60 s at most where it is shorter";

function retryWords(count: number): string {
  const words = "retries go to the same target first, and then to the others of the route";
  return count > MOST_RETRIES ? `${words}; the most is ${MOST_RETRIES}` : words;
}

/**
 * What holds for each deployment of a name: its own value, or else what holds for all. Retries and times belong to a
 * route here, so the greatest of them counts; `null` where no deployment has a value of its own. A value may be infinite.
 */
function greatest(
  { deployments }: Group,
  own: (deployment: Deployment) => number | null,
  otherwise: (deployment: Deployment) => number,
): number | null {
  if (deployments.every((deployment) => own(deployment) === null)) return null;
  return Math.max(...deployments.map((deployment) => own(deployment) ?? otherwise(deployment)));
}

/** Retries of a deployment for which nothing sets them: https://docs.litellm.ai/docs/proxy/config_settings. */
const RETRIES_THERE = 2;
/** How long a deployment rests where nothing sets it, from the same page. */
const REST_THERE_MS = 5000;
const GREATEST = "the greatest of the name counts, with what holds for its deployments that set none";

type RouterSettings = ReadonlyMap<string, ForeignNode>;

function importRetries(group: Group, settings: RouterSettings, { claims }: ImportContext): Mapping {
  const forAll = numberOf(settings.get("num_retries")) ?? RETRIES_THERE;
  const retries = greatest(
    group,
    (deployment) => deployment.retries,
    () => forAll,
  );
  if (retries === null) return {};
  for (const { settings: own } of group.deployments)
    for (const name of ["num_retries", "max_retries"])
      claims.changed(own.get(name), `routes.${group.route}.retries`, `${retryWords(retries)}; ${GREATEST}`);
  return { retries: Math.min(retries, MOST_RETRIES) };
}

/**
 * LiteLLM gives an attempt 6000 s where nothing sets a time, so such a deployment has no limit that would mean
 * anything, and neither has its route.
 */
function importTimeouts(group: Group, settings: RouterSettings, { claims }: ImportContext): Mapping {
  const forAll = timeOf(settings.get("timeout") ?? settings.get("request_timeout")) ?? Number.POSITIVE_INFINITY;
  const forStreams = timeOf(settings.get("stream_timeout"));
  const timeThere = ({ timeoutMs }: Deployment): number => timeoutMs ?? forAll;
  const whole = greatest(group, ({ timeoutMs }) => timeoutMs, timeThere);
  const first = greatest(
    group,
    ({ streamTimeoutMs }) => streamTimeoutMs,
    (deployment) => forStreams ?? timeThere(deployment),
  );
  const claim = (node: ForeignNode | undefined, key: string, ms: number | null, how: string): void => {
    if (ms === Number.POSITIVE_INFINITY) claims.without(node, ENDLESS);
    else claims.changed(node, `routes.${group.route}.timeouts.${key}`, `${how}; ${GREATEST}`);
  };
  for (const { settings: own } of group.deployments) {
    for (const name of ["timeout", "request_timeout"])
      claim(own.get(name), "first_byte_ms", whole, "counts for each request to a provider, until its answer begins");
    claim(own.get("stream_timeout"), "first_token_ms", first, "counts until the first content of a stream");
  }
  const times = {
    ...(isFinite(whole) && requestTimes(whole)),
    ...(isFinite(first) && { first_token_ms: first }),
  };
  return Object.keys(times).length === 0 ? {} : { timeouts: times };
}

const ENDLESS =
  "time limits belong to a route here, and another deployment of the name has none; give this one a name of its own, which the other's route has as a fallback";

function isFinite(ms: number | null): ms is number {
  return ms !== null && ms !== Number.POSITIVE_INFINITY;
}

function importCooldown(group: Group, settings: RouterSettings, { claims }: ImportContext): Mapping {
  const forAll = timeOf(settings.get("cooldown_time")) ?? REST_THERE_MS;
  const openMs = greatest(
    group,
    ({ settings: own }) => timeOf(own.get("cooldown_time")),
    () => forAll,
  );
  for (const { settings: own } of group.deployments) {
    const node = own.get("cooldown_time");
    if (timeOf(node) === null) claims.without(node, "expected a number of seconds above 0");
    else claims.changed(node, `routes.${group.route}.breaker.open_ms`, `${RESTS}; ${GREATEST}`);
  }
  return openMs === null ? {} : { breaker: { open_ms: openMs } };
}

/** `silent_model` of the deployments: the first that is known gets the copies of the whole route, with its parameters. */
function importMirror(group: Group, groups: readonly Group[], { claims }: ImportContext): Mapping {
  const given = group.deployments.flatMap(({ settings }) => settings.get("silent_model") ?? []);
  const wanted = given.map(textOf).find((name) => groups.some((each) => each.name === name));
  const target = groups.find((each) => each.name === wanted)?.deployments[0];
  for (const node of given)
    if (textOf(node) !== wanted || target === undefined)
      claims.without(node, "no model that was taken over has this name, or another one gets the copies of this route");
    else
      claims.changed(
        node,
        `routes.${group.route}.mirror`,
        `${targetOf(target)} gets copies of the calls of the whole route, but for those that are never copied: docs/routes.md#a-mirror`,
      );
  if (target === undefined) return {};
  const { params, drop } = target;
  return {
    mirror: {
      target: targetOf(target),
      ...(Object.keys(params).length > 0 && { params }),
      ...(drop.length > 0 && { drop }),
      other_vendors: true,
    },
  };
}

/** A deployment that drops what its provider does not take makes its whole route do so. */
function dropParams(group: Group, { claims }: ImportContext): Mapping {
  const given = group.deployments.flatMap(({ settings }) => settings.get("drop_params") ?? []);
  for (const node of given)
    claims.changed(node, `routes.${group.route}.drop_params`, "counts for all targets of the route");
  if (given.some(isOn)) return { drop_params: true };
  return given.length === group.deployments.length ? { drop_params: false } : {};
}
