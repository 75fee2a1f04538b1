// What a Portkey config says beside its targets: retries, times, cache, circuit breaker, and what keeps calls at one
// target. https://portkey.ai/docs/api-reference/inference-api/config-object
import { cacheSecondsOf, isOn, MOST_RETRIES, MOST_TTL_S, numberOf, requestTimes, textOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping, Value } from "../reference.ts";
import type { PlaceOf } from "../report.ts";

const DAY_MS = 86_400_000;
/** How long an answer is kept without max_age: https://portkey.ai/docs/product/ai-gateway/cache-simple-and-semantic */
const TTL_S = 604_800;

/** A setting of routes, and the places where it was written: filled when the routes are. */
export interface RouteSetting {
  readonly key: string;
  readonly value: Value;
  readonly places: string[];
}

interface Saying extends Pick<ImportContext, "claims"> {
  /** Where a key of the setting stands. */
  readonly at: PlaceOf;
}

/** The settings of a route, from the config and, where they belong to the same route, from its targets. The first of a key counts. */
export function routeSettings(
  config: ForeignNode,
  context: ImportContext,
  withTargets = true,
): readonly RouteSetting[] {
  const { members } = config;
  const strategy = members.get("strategy");
  const own = [
    read(stickinessOf, strategy?.members.get("sticky"), context),
    read(retriesOf, members.get("retry"), context),
    read(timeoutOf, members.get("request_timeout"), context),
    read(cacheOf, members.get("cache"), context),
    read(breakerOf, strategy?.members.get("cb_config") ?? members.get("cb_config"), context),
  ].flat();
  const targets = withTargets ? (members.get("targets")?.items ?? []) : [];
  return [...own, ...targets.flatMap((target) => routeSettings(target, context))];
}

function read(
  setting: (node: ForeignNode, saying: Saying) => Mapping,
  node: ForeignNode | undefined,
  context: ImportContext,
): readonly RouteSetting[] {
  if (node === undefined) return [];
  const places: string[] = [];
  const at: PlaceOf = (key) => () => places.map((place) => `${place}.${key}`);
  return Object.entries(setting(node, { claims: context.claims, at })).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value, places }],
  );
}

/** Writes the first setting of each key at the place, which is a route or the defaults of all routes. */
export function written(settings: readonly RouteSetting[], place: string, { draft }: ImportContext): Mapping {
  const entry: Record<string, Value> = {};
  for (const { key, value, places } of settings) {
    if (key in entry) continue;
    entry[key] = value;
    places.push(place);
    if (key === "cache") draft.set("tenants", ["default", "settings", "cache_allowed"], true);
  }
  return entry;
}

function stickinessOf(sticky: ForeignNode, { claims, at }: Saying): Mapping {
  const field = textOf(sticky.members.get("hash_fields")?.items[0]);
  claims.without(sticky.members.get("ttl"), "calls are kept at a target as long as it is healthy");
  if (!isOn(sticky.members.get("enabled")) || !/user/i.test(field ?? "")) {
    claims.without(sticky, "calls are kept together by the request's field user, by the prompt or by a header");
    return {};
  }
  claims.taken(sticky.members.get("enabled"), at("sticky"));
  claims.changed(
    sticky.members.get("hash_fields"),
    at("sticky"),
    "the request's field user keeps calls together, and not its metadata",
  );
  return { sticky: "user" };
}

function retriesOf(retry: ForeignNode, { claims, at }: Saying): Mapping {
  const attempts = retry.members.get("attempts");
  const count = wholeOf(attempts, 0, 1000);
  if (count === null) {
    claims.without(retry, "expected a number of attempts");
    return {};
  }
  claims.moved(attempts, at("retries"), count <= MOST_RETRIES ? null : `the most is ${MOST_RETRIES}`);
  claims.changed(
    retry.members.get("on_status_codes"),
    at("retries"),
    "which failures are repeated is the same for all routes: docs/routes.md",
  );
  claims.changed(
    retry.members.get("use_retry_after_headers"),
    at("retries"),
    "what the provider asks for is kept up to 10 seconds",
  );
  return { retries: Math.min(count, MOST_RETRIES) };
}

function timeoutOf(node: ForeignNode, { claims, at }: Saying): Mapping {
  const time = wholeOf(node, 1, DAY_MS);
  if (time === null) {
    claims.without(node, "expected milliseconds, up to those of a day");
    return {};
  }
  claims.changed(
    node,
    at("timeouts.first_byte_ms"),
    "counts for each request to a provider, until its answer begins; one value counts for all targets",
  );
  return { timeouts: requestTimes(time) };
}

function cacheOf(cache: ForeignNode, { claims, at }: Saying): Mapping {
  const mode = cache.kind === "mapping" ? cache.members.get("mode") : cache;
  const age = cache.members.get("max_age");
  const seconds = numberOf(age);
  const ttl = cacheSecondsOf(seconds ?? TTL_S);
  claims.changed(
    mode,
    at("cache"),
    textOf(mode) === "semantic"
      ? "only calls that are exactly equal share an answer, never similar ones; callers of one project share them"
      : "callers of one project share answers",
  );
  if (seconds === null) claims.without(age, "expected a number of seconds");
  else
    claims.moved(age, at("cache.ttl_s"), ttl === seconds ? null : `an answer is kept for 1 to ${MOST_TTL_S} seconds`);
  return { cache: { ttl_s: ttl, scope: "project" } };
}

function breakerOf(config: ForeignNode, { claims, at }: Saying): Mapping {
  const [threshold, minimum, share, cooldown, codes] = [
    "failure_threshold",
    "minimum_requests",
    "failure_threshold_percentage",
    "cooldown_interval",
    "failure_status_codes",
  ].map((name) => config.members.get(name));
  const failures = wholeOf(threshold, 1, 10_000);
  const least = wholeOf(minimum, 1, 10_000);
  const percent = numberOf(share);
  const rest = wholeOf(cooldown, 1, DAY_MS);
  const isShare = percent !== null && percent > 0 && percent <= 100;
  const breaker = {
    ...(failures !== null && { failures, ratio: 0.01 }),
    ...(isShare && { failures: failures ?? least ?? 1, ratio: percent / 100 }),
    ...(rest !== null && { open_ms: rest }),
  };
  claims.changed(threshold, at("breaker.failures"), "failures within 30 seconds count");
  if (failures !== null) claims.without(minimum, "failure_threshold counts");
  claims.changed(minimum, at("breaker.failures"), "it is the number of failures, not of calls");
  if (isShare) claims.taken(share, at("breaker.ratio"));
  else claims.without(share, "expected a percentage above 0");
  claims.changed(
    cooldown,
    at("breaker.open_ms"),
    "after it one call tries the target; while that fails, the time doubles, to 60 s at most where it is shorter",
  );
  claims.changed(codes, at("breaker"), "what counts as a failure is the same for all routes: docs/routes.md");
  return Object.keys(breaker).length === 0 ? {} : { breaker };
}
