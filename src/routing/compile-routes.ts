// Compiles routes of the configuration to `Route`. What a route does not set comes from the defaults of its scopes, the
// nearest first.
import { toCacheUse } from "../auth/settings/cache-use-settings.ts";
import { toPromptCaching } from "../auth/settings/prompt-cache-settings.ts";
import { SYNONYMS } from "../core/capability.ts";
import type { JsonObject } from "../core/json.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { CommonParameter } from "../core/params.ts";
import { type CamelCased, camelCased } from "../core/text/camel-case.ts";
import {
  DEFAULT_BREAKER,
  DEFAULT_QUEUE,
  DIRECT_ROUTE,
  type EntryCondition,
  type Hedge,
  isConditional,
  NO_TIMEOUTS,
  type Route,
  type RouteFallback,
  type RouteMirror,
  type RouteTarget,
  type Sticky,
} from "../core/configured/route.ts";
import type { FallbackEntry, MirrorEntry, RouteDefaults, RouteEntries, RouteEntry, TargetEntry } from "./settings.ts";

/** The routes and defaults of one scope: the whole file, a tenant or a project. */
export interface RouteScope {
  readonly routes: RouteEntries;
  readonly defaults: RouteDefaults;
  /** Of the routes that are in the store, by name. */
  readonly versions?: ReadonlyMap<string, number>;
  /**
   * Names of routes in the store that cannot be used now. Another route that has one of them as its name, in a wider scope,
   * or as an alias is not used instead.
   */
  readonly unusable?: ReadonlySet<string>;
  /** The tenants of its routes that somebody other than an operator has written, by the names of the routes. */
  readonly ofTenant?: ReadonlyMap<string, string>;
}

interface SeenEntry {
  readonly entry: RouteEntry;
  readonly version: number | undefined;
  /** The tenant whose own people have written it; `null` for an operator's. */
  readonly ofTenant: string | null;
}

/**
 * Returns the entries of all routes that are visible within `scopes`, which are ordered from the nearest, with their
 * versions. A route of a nearer scope replaces one of the same name in a wider scope, and those of nearer scopes come last.
 */
function entriesSeen(scopes: readonly RouteScope[]) {
  const seen = new Map<string, SeenEntry>();
  for (const { routes, versions, unusable, ofTenant } of scopes.toReversed()) {
    for (const name of unusable ?? []) seen.delete(name);
    for (const [name, entry] of Object.entries(routes)) {
      seen.delete(name);
      seen.set(name, { entry, version: versions?.get(name), ofTenant: ofTenant?.get(name) ?? null });
    }
    if (unusable !== undefined)
      for (const [name, { entry, ...rest }] of seen)
        seen.set(name, { ...rest, entry: withoutAliases(entry, unusable) });
  }
  return seen;
}

function withoutAliases(entry: RouteEntry, taken: ReadonlySet<string>): RouteEntry {
  const { aliases = [] } = entry;
  return aliases.some((alias) => taken.has(alias))
    ? { ...entry, aliases: aliases.filter((alias) => !taken.has(alias)) }
    : entry;
}

/** Returns all routes that are visible within `scopes`, which are ordered from the nearest. */
export function routesSeen(scopes: readonly RouteScope[]): ReadonlyMap<string, Route> {
  const defaults = scopes.map((scope) => scope.defaults);
  // no configured route can have this name; it holds the defaults for direct calls
  const seen = new Map<string, Route>([[DIRECT_ROUTE, compileRoute(DIRECT_ROUTE, { targets: [] }, defaults, null)]]);
  for (const [name, { entry, version, ofTenant }] of entriesSeen(scopes)) {
    const route = compileRoute(name, entry, defaults, ofTenant);
    seen.set(name, version === undefined ? route : { ...route, version });
  }
  return seen;
}

/** Whether one of these routes falls back to another route. */
export function leadsOn(
  routes: readonly (readonly [string, RouteEntry])[],
  scopes: readonly RouteScope[],
  key: "fallbacks" | "content_policy_fallbacks",
): boolean {
  const inherited = scopes.map(({ defaults }) => defaults[key]);
  return routes.some(([name, entry]) =>
    inheritedFallbacks(name, entry[key], inherited).some(({ route }) => route !== null),
  );
}

/** What routes fall back to, of the routes that are visible within `scopes`, which are ordered from the nearest. */
export function fallbacksSeen(
  scopes: readonly RouteScope[],
  key: "fallbacks" | "content_policy_fallbacks",
): ReadonlyMap<string, readonly RouteFallback[]> {
  const inherited = scopes.map(({ defaults }) => defaults[key]);
  return new Map(
    [...entriesSeen(scopes)].map(([name, { entry }]) => [name, inheritedFallbacks(name, entry[key], inherited)]),
  );
}

/** Returns the names of the routes that are visible within `scopes`, which are ordered from the nearest. */
export function routeNamesSeen(scopes: readonly RouteScope[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { routes, unusable } of scopes.toReversed()) {
    for (const name of unusable ?? []) names.delete(name);
    for (const name of Object.keys(routes)) names.add(name);
  }
  return names;
}

/** Returns the names and the aliases of the routes that are visible within `scopes`. */
export function routeAliasesSeen(scopes: readonly RouteScope[]): ReadonlySet<string> {
  return new Set([...entriesSeen(scopes)].flatMap(([name, { entry }]) => [name, ...(entry.aliases ?? [])]));
}

interface CompiledEntry {
  readonly name: string;
  readonly defaults: readonly RouteDefaults[];
  readonly ofTenant: string | null;
  readonly route: Route;
}

/** An entry stays the same object until it changes, and most scopes have no defaults of their own. */
const lastOf = memoizePerObject((_entry: RouteEntry): { compiled: CompiledEntry | null } => ({ compiled: null }));

/**
 * `defaults` are those of the scopes that the route is in, the nearest first. `ofTenant` is the tenant whose own people have
 * written the route; `null` for an operator's.
 */
export function compileRoute(
  name: string,
  entry: RouteEntry,
  defaults: readonly RouteDefaults[],
  ofTenant: string | null,
): Route {
  const set = defaults.filter((one) => Object.values(one).some((value) => value !== undefined));
  const last = lastOf(entry);
  const { compiled } = last;
  const isSame =
    compiled?.name === name &&
    compiled.ofTenant === ofTenant &&
    compiled.defaults.length === set.length &&
    compiled.defaults.every((one, index) => one === set[index]);
  if (isSame) return compiled.route;
  const route = compiledRoute(name, entry, set, ofTenant);
  last.compiled = { name, defaults: set, ofTenant, route };
  return route;
}

function compiledRoute(
  name: string,
  entry: RouteEntry,
  defaults: readonly RouteDefaults[],
  ofTenant: string | null,
): Route {
  const layers: readonly RouteDefaults[] = [entry, ...defaults];
  const first = <Value>(read: (scope: RouteDefaults) => Value | undefined): Value | null =>
    layers.map(read).find((value) => value !== undefined) ?? null;
  const strategy = first((scope) => scope.strategy) ?? "priority";
  const { aliases = [] } = entry;
  const targets = entry.targets.map(compileTarget);
  return {
    name,
    ...(aliases.length > 0 && { aliases }),
    strategy: typeof strategy === "string" ? strategy : strategy.type,
    targets,
    ...(targets.some(isConditional) && { isConditional: true as const }),
    ...(entry.mirror !== undefined && { mirror: compileMirror(entry.mirror) }),
    retries: first((scope) => scope.retries),
    retryTimeouts: first((scope) => scope.retry_timeouts) ?? false,
    timeouts: { ...NO_TIMEOUTS, ...nearest(layers.map((scope) => scope.timeouts)) },
    ...(ofTenant !== null && entry.timeouts !== undefined && { hasTimeoutsOfTenant: true as const }),
    fallbacks: inheritedFallbacks(
      name,
      entry.fallbacks,
      defaults.map((scope) => scope.fallbacks),
    ),
    contextWindowFallbacks: new Map(Object.entries(first((scope) => scope.context_window_fallbacks) ?? {})),
    contentPolicyFallbacks: inheritedFallbacks(
      name,
      entry.content_policy_fallbacks,
      defaults.map((scope) => scope.content_policy_fallbacks),
    ),
    breaker: {
      ...DEFAULT_BREAKER,
      ...nearest(layers.map((scope) => scope.breaker)),
      ...(ofTenant !== null && entry.breaker !== undefined && { ofTenant }),
    },
    onExhausted: first((scope) => scope.on_exhausted) ?? "least_bad",
    sticky: compileSticky(first(stickyOf)),
    hedge: compileHedge(first((scope) => scope.hedge)),
    queue: { ...DEFAULT_QUEUE, ...nearest(layers.map((scope) => scope.queue)) },
    dropParams: first((scope) => scope.drop_params),
    disableStopSequenceLimit: first((scope) => scope.disable_stop_sequence_limit),
    fallbackOnRefusal: first((scope) => scope.fallback_on_refusal) ?? false,
    cache: first((scope) => (scope.cache === undefined ? undefined : toCacheUse(scope.cache))),
    promptCaching: first((scope) =>
      scope.prompt_cache === undefined ? undefined : toPromptCaching(scope.prompt_cache),
    ),
  };
}

/** Each setting of a section by the first of its layers that has it. */
function nearest<Section extends object>(layers: readonly (Section | undefined)[]): Partial<CamelCased<Section>> {
  const settings = layers.map((section) => (section === undefined ? {} : camelCased(section)));
  return Object.assign({}, ...settings.toReversed()) as Partial<CamelCased<Section>>;
}

function compileTarget(entry: TargetEntry): RouteTarget {
  const {
    model,
    weight = 1,
    order = 0,
    params,
    drop = [],
    max_concurrency: maxConcurrency = null,
    when,
    share,
  } = typeof entry === "string" ? { model: entry } : entry;
  // route-problems.ts, which also compiles routes to find loops, reports names that are not models
  const { providerId, model: own } = splitName(model) ?? { providerId: "", model };
  return {
    name: `${providerId}:${own}`,
    providerId,
    model: own,
    weight,
    order,
    params: jsonObject(params ?? {}),
    maxConcurrency,
    ...(drop.length > 0 && { drop: withSynonyms(drop) }),
    ...conditionOf({ when, share }),
  };
}

function compileMirror({ target: model, params, drop, when, share, ...bounds }: MirrorEntry): RouteMirror {
  return {
    target: compileTarget({ model, weight: 1, order: 0, params, drop }),
    toOtherVendors: bounds.other_vendors,
    maxInFlight: bounds.max_in_flight,
    timeoutMs: bounds.timeout_ms,
    ...conditionOf({ when, share }),
  };
}

function conditionOf({
  when,
  share,
}: {
  readonly when?: string | undefined;
  readonly share?: number | undefined;
}): EntryCondition {
  return { ...(when !== undefined && { when }), ...(share !== undefined && { share }) };
}

/** The two names of the output bound are one parameter (promise 5.5). */
function withSynonyms(names: readonly CommonParameter[]): ReadonlySet<CommonParameter> {
  return new Set(
    names.flatMap((name) => [name, ...(SYNONYMS[name] === undefined ? [] : [SYNONYMS[name] as CommonParameter])]),
  );
}

/** Splits at the first `:` or `/`. Returns `null` when there is none, or when one side is empty. */
export function splitName(name: string): { readonly providerId: string; readonly model: string } | null {
  const at = name.search(/[:/]/);
  return at <= 0 || at === name.length - 1 ? null : { providerId: name.slice(0, at), model: name.slice(at + 1) };
}

/** A default list does not apply to routes that it names: they would fall back to themselves or to one another. */
function inheritedFallbacks(
  name: string,
  own: readonly FallbackEntry[] | undefined,
  inherited: readonly (readonly FallbackEntry[] | undefined)[],
): readonly RouteFallback[] {
  const list =
    own ??
    inherited.find(
      (entries) => entries !== undefined && !entries.some((entry) => compileFallback(entry).route === name),
    ) ??
    [];
  return list.map(compileFallback);
}

const ROUTE_PREFIX = "route:";

export function compileFallback(entry: FallbackEntry): RouteFallback {
  if (typeof entry === "string")
    return entry.startsWith(ROUTE_PREFIX)
      ? { model: null, route: entry.slice(ROUTE_PREFIX.length), params: {} }
      : { model: entry, route: null, params: {} };
  const { model = null, route = null, when, share, ...params } = entry;
  return { model, route, params: jsonObject(params), ...conditionOf({ when, share }) };
}

/** Omits parameters that are undefined, which is how an empty value of the YAML file arrives. */
function jsonObject(params: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as JsonObject;
}

type StickyEntry = NonNullable<RouteDefaults["sticky"]>;

function stickyOf({ sticky, strategy }: RouteDefaults): StickyEntry | undefined {
  return sticky ?? (typeof strategy === "object" ? strategy.sticky : undefined);
}

function compileSticky(entry: StickyEntry | null): Sticky | null {
  if (entry === null || typeof entry === "boolean") return null;
  return typeof entry === "string" ? { by: entry } : { by: "header", name: entry.header.toLowerCase() };
}

function compileHedge(entry: NonNullable<RouteDefaults["hedge"]> | null): Hedge | null {
  return entry === null || typeof entry === "boolean"
    ? null
    : { after: entry.after ?? "p95", maxExtra: entry.max_extra ?? 0.05 };
}
