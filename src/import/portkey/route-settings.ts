// What a Portkey config says beside its targets: retries, times, cache, circuit breaker, and what keeps calls at one
// target. https://portkey.ai/docs/api-reference/inference-api/config-object
import { isOn, numberOf, textOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping } from "../reference.ts";

const MOST_RETRIES = 10;
const DAY_MS = 86_400_000;
const MOST_TTL_S = 2_592_000;
/** How long an answer is kept without max_age: https://portkey.ai/docs/product/ai-gateway/cache-simple-and-semantic */
const TTL_S = 604_800;

/** The settings of a route, from the config and, where they belong to the same route, from its targets. */
export function routeSettings(config: ForeignNode, context: ImportContext, withTargets = true): Mapping {
  const { members } = config;
  const strategy = members.get("strategy");
  const settings: Mapping = {
    ...stickinessOf(strategy, context),
    ...retriesOf(members.get("retry"), context),
    ...timeoutOf(members.get("request_timeout"), context),
    ...cacheOf(members.get("cache"), context),
    ...breakerOf(strategy?.members.get("cb_config") ?? members.get("cb_config"), context),
  };
  const targets = withTargets ? (members.get("targets")?.items ?? []) : [];
  const below = targets.map((target) => routeSettings(target, context)).toReversed();
  // the config's own settings count, then those of the first target that has them
  return Object.fromEntries([...below, settings].flatMap((each) => Object.entries(each)));
}

function stickinessOf(strategy: ForeignNode | undefined, { claims }: ImportContext): Mapping {
  const sticky = strategy?.members.get("sticky");
  const field = textOf(sticky?.members.get("hash_fields")?.items[0]);
  const byUser = isOn(sticky?.members.get("enabled")) && /user/i.test(field ?? "");
  if (byUser) {
    claims.taken(sticky?.members.get("enabled"), "sticky");
    claims.changed(
      sticky?.members.get("hash_fields"),
      "sticky",
      "the request's field user keeps calls together, and not its metadata",
    );
  } else claims.without(sticky, "calls are kept together by the request's field user, by the prompt or by a header");
  return byUser ? { sticky: "user" } : {};
}

function retriesOf(retry: ForeignNode | undefined, { claims }: ImportContext): Mapping {
  const attempts = retry?.members.get("attempts");
  const count = wholeOf(attempts, 0, 1000);
  if (count === null) return {};
  if (count <= MOST_RETRIES) claims.taken(attempts, "retries");
  else claims.changed(attempts, "retries", `the most is ${MOST_RETRIES}`);
  claims.changed(
    retry?.members.get("on_status_codes"),
    "retries",
    "which failures are repeated is the same for all routes: docs/routes.md",
  );
  claims.changed(
    retry?.members.get("use_retry_after_headers"),
    "retries",
    "what the provider asks for is kept up to 10 seconds",
  );
  return { retries: Math.min(count, MOST_RETRIES) };
}

function timeoutOf(node: ForeignNode | undefined, { claims }: ImportContext): Mapping {
  const time = wholeOf(node, 1, DAY_MS);
  if (time === null) return {};
  claims.changed(
    node,
    "timeouts.first_byte_ms",
    "counts for each request to a provider, until its answer begins; one value counts for all targets",
  );
  return { timeouts: { first_byte_ms: time } };
}

function cacheOf(cache: ForeignNode | undefined, { claims, draft }: ImportContext): Mapping {
  if (cache === undefined) return {};
  const mode = cache.kind === "mapping" ? cache.members.get("mode") : cache;
  const age = cache.members.get("max_age");
  const seconds = numberOf(age);
  draft.set("tenants", ["default", "settings", "cache_allowed"], true);
  if (textOf(mode) === "semantic")
    claims.changed(
      mode,
      "cache",
      "only calls that are exactly equal share an answer, never similar ones; callers of one project share them",
    );
  else claims.changed(mode, "cache", "callers of one project share answers");
  claims.taken(age, "cache.ttl_s");
  const ttl = Math.min(MOST_TTL_S, Math.max(1, seconds ?? TTL_S));
  return { cache: { ttl_s: ttl, scope: "project" } };
}

function breakerOf(config: ForeignNode | undefined, { claims }: ImportContext): Mapping {
  if (config === undefined) return {};
  const failures = wholeOf(config.members.get("failure_threshold"), 1, 10_000);
  const least = wholeOf(config.members.get("minimum_requests"), 1, 10_000);
  const percent = numberOf(config.members.get("failure_threshold_percentage"));
  const rest = wholeOf(config.members.get("cooldown_interval"), 1, DAY_MS);
  const breaker = {
    ...(failures !== null && { failures, ratio: 0.01 }),
    ...(percent !== null &&
      percent > 0 &&
      percent <= 100 && { failures: failures ?? least ?? 1, ratio: percent / 100 }),
    ...(rest !== null && { open_ms: rest }),
  };
  claims.changed(config.members.get("failure_threshold"), "breaker.failures", "failures within 30 seconds count");
  claims.changed(
    config.members.get("minimum_requests"),
    "breaker.failures",
    "it is the number of failures, not of calls",
  );
  claims.taken(config.members.get("failure_threshold_percentage"), "breaker.ratio");
  claims.changed(
    config.members.get("cooldown_interval"),
    "breaker.open_ms",
    "after it one call tries the target; while that fails, the time doubles up to ten times",
  );
  claims.changed(
    config.members.get("failure_status_codes"),
    "breaker",
    "what counts as a failure is the same for all routes: docs/routes.md",
  );
  return Object.keys(breaker).length === 0 ? {} : { breaker };
}
