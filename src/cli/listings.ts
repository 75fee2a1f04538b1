// `dragoman models`, `routes`, `providers` and `params`: lists what the configuration and the capability tables
// contain, without a server.
import { systemClock } from "../core/clock.ts";
import type { Environment } from "../config/environment.ts";
import type { Route, RouteFallback, RouteMirror, RouteTarget } from "../core/configured/route.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { snakeCased } from "../core/text/camel-case.ts";
import { PROVIDER_FAMILIES } from "../process/parts/provider-families.ts";
import { operationsAt } from "../http/model-operations.ts";
import { inOneTurn } from "../core/concurrency/steps.ts";
import { listModels } from "../http/models.ts";
import { listCapabilities, type ListedCapability } from "../providers/interface/capability-listing.ts";
import { BUILT_IN_MODELS, providers } from "../providers/registry.ts";
import { type RouteScope, routesSeen } from "../routing/compile-routes.ts";
import { namedRoutes } from "../routing/resolve-route.ts";
import { compileSnapshot } from "../snapshot/compile.ts";
import { routesOf } from "../snapshot/configuration.ts";
import { namedConfiguration } from "./named-configuration.ts";
import { printJson, printLine, printTable } from "./output.ts";

export interface ListingFlags {
  readonly config?: string;
  readonly json?: true;
}

/** The command line has no tenant: it lists the prices that apply to all. */
const NO_SCOPE = { tenantId: null, projectId: null };

export function models(flags: ListingFlags, environment: Environment): void {
  const snapshot = snapshotWithoutStore(flags, environment);
  const listed = inOneTurn(
    listModels(
      { snapshot, scope: NO_SCOPE, restrictions: null, nowMs: systemClock.now() },
      namedRoutes(snapshot.routes),
      { providers, builtIn: BUILT_IN_MODELS },
    ),
  );
  if (flags.json === true) return printJson(listed);
  printTable(
    ["MODEL", "NAME"],
    listed.map((model) => [model["id"] as string, model["name"] as string]),
  );
  printLine(
    "\nModels that are not listed can be used too: write <provider>:<model_name>, with the model's name at the provider.",
  );
}

/** Lists each route at its place in the file, with the defaults that it inherits there. */
export function routes(flags: ListingFlags, environment: Environment): void {
  const { configuration } = namedConfiguration(flags, environment);
  const { global, tenants, projects } = routesOf(configuration);
  const listed = (scope: string, own: RouteScope, seen: readonly RouteScope[]) =>
    [...routesSeen(seen).values()]
      .filter(({ name }) => Object.hasOwn(own.routes, name))
      .map((route) => listedRoute(scope, route));
  const rows = [
    ...listed("global", global, [global]),
    ...[...tenants].flatMap(([id, scope]) => listed(`tenant ${id}`, scope, [scope, global])),
    ...[...projects].flatMap(([id, scope]) => listed(`project ${id}`, scope, [scope, global])),
  ];
  if (flags.json === true) return printJson(rows);
  const names = (entries: readonly RouteFallback[]): string =>
    entries.map(({ model, route }) => model ?? `route:${route}`).join(", ") || "-";
  printTable(
    ["ROUTE", "SCOPE", "STRATEGY", "TARGETS", "FALLBACKS"],
    rows.map((row) => [
      row.name,
      row.scope,
      row.strategy,
      row.targets.map(({ name }) => name).join(", "),
      names(row.fallbacks),
    ]),
  );
}

function listedRoute(
  scope: string,
  {
    contextWindowFallbacks,
    contentPolicyFallbacks,
    onExhausted,
    dropParams,
    disableStopSequenceLimit,
    retryTimeouts,
    fallbackOnRefusal,
    promptCaching,
    isConditional: _isConditional,
    targets,
    mirror,
    cache,
    ...route
  }: Route,
) {
  return {
    ...route,
    scope,
    targets: targets.map(({ weight, order, maxConcurrency, when, share, ...target }) => ({
      ...listedTarget(target),
      weight,
      order,
      max_concurrency: maxConcurrency,
      when,
      share,
    })),
    ...(mirror !== undefined && { mirror: listedMirror(mirror) }),
    context_window_fallbacks: Object.fromEntries(contextWindowFallbacks),
    content_policy_fallbacks: contentPolicyFallbacks,
    retry_timeouts: retryTimeouts,
    timeouts: snakeCased(route.timeouts),
    breaker: snakeCased(route.breaker),
    on_exhausted: onExhausted,
    hedge: route.hedge && snakeCased(route.hedge),
    queue: snakeCased(route.queue),
    drop_params: dropParams,
    disable_stop_sequence_limit: disableStopSequenceLimit,
    fallback_on_refusal: fallbackOnRefusal,
    cache: cache === null || cache === "off" ? cache : { ttl_s: cache.ttlMs / 1000, scope: cache.scope },
    prompt_cache: promptCaching,
  };
}

function listedTarget({ name, params: parameters, drop }: Pick<RouteTarget, "name" | "params" | "drop">) {
  return { name, params: parameters, drop: [...(drop ?? [])] };
}

function listedMirror({ target, toOtherVendors, maxInFlight, timeoutMs, when, share }: RouteMirror) {
  return {
    ...listedTarget(target),
    other_vendors: toOtherVendors,
    max_in_flight: maxInFlight,
    timeout_ms: timeoutMs,
    when,
    share,
  };
}

export function providersList(flags: ListingFlags, environment: Environment): void {
  const rows = [...snapshotWithoutStore(flags, environment).providers.values()].map((settings) => {
    const provider = providers.get(settings.family)!;
    const { verified } = provider.capabilities;
    return {
      id: settings.id,
      family: settings.family,
      label: provider.label,
      enabled: settings.enabled,
      base_url: settings.baseUrl,
      key_variables: provider.keyVariables,
      verified: verified === "unverified" ? null : verified.date,
      docs: provider.docs,
    };
  });
  if (flags.json === true) return printJson(rows);
  printTable(
    ["ID", "LABEL", "ENABLED", "KEY VARIABLE", "BASE URL"],
    rows.map((row) => [
      row.id,
      row.label,
      row.enabled ? "yes" : "no",
      row.key_variables[0] ?? "-",
      row.base_url ?? "-",
    ]),
  );
}

/** Throws Error for an unknown provider. */
export function params(name: string, flags: ListingFlags, environment: Environment): void {
  const at = name.search(/[:/]/);
  const known = snapshotWithoutStore(flags, environment).providers;
  const settings = known.get(at < 0 ? name : name.slice(0, at));
  if (settings === undefined)
    throw new Error(
      `unknown provider ${JSON.stringify(name.slice(0, at < 0 ? undefined : at))}; the providers are: ${[...known.keys()].join(", ")}`,
    );
  const provider = providers.get(settings.family)!;
  const model = at < 0 || at === name.length - 1 ? null : name.slice(at + 1);
  const listing = listCapabilities(settings.id, provider, model);
  const operations = model === null ? null : operationsAt(settings, provider, model);
  if (flags.json === true) return printJson({ ...listing, ...(operations !== null && { operations }) });
  const lines = (kind: string, rows: readonly ListedCapability[]) =>
    rows.map((row) => [
      row.name,
      kind,
      row.support,
      [row.note, row.values?.join(" | "), row.range?.join(" to ")].filter(Boolean).join("; "),
    ]);
  printTable(
    ["NAME", "KIND", "SUPPORT", "NOTE"],
    [...lines("parameter", listing.parameters), ...lines("content block", listing.content_blocks)],
  );
  if (operations !== null)
    printLine(
      `\nOperations: ${operations.map(({ name: one, native }) => (native === true ? `${one} (native)` : one)).join(", ")}`,
    );
  printLine(
    listing.verified === null
      ? "\nNot checked against a page of the vendor; assumed from the wire format."
      : `\nChecked on ${listing.verified.date} against ${listing.verified.source}`,
  );
}

/** The snapshot of file and environment, which contains no access tokens. */
export function snapshotWithoutStore(flags: Pick<ListingFlags, "config">, environment: Environment): Snapshot {
  return compileSnapshot({
    configuration: namedConfiguration(flags, environment).configuration,
    identities: { tenants: [], projects: [], users: [], memberships: [], tokens: [] },
    families: PROVIDER_FAMILIES,
    environment,
    version: 0,
  });
}
