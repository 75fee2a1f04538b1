// Joins file and store: for the same kind, scope and name the file takes precedence, so that what an operator wrote
// there holds whatever is changed over the API. Entries of different scopes do not compete here; the narrower one takes
// precedence, as within the file.

// Decides (records and configuration): What wins: file or store? By: `joined`. Rule: Of the same kind, scope and name
// the one of the file; else the narrower scope.
import type { PriceDocument } from "../accounting/price-settings.ts";
import type { ConfiguredLimits } from "../admission/compile-limits.ts";
import { placeText } from "../auth/grants.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { ScopeSettings } from "../core/snapshot.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { compileFallback, type RouteScope } from "../routing/compile-routes.ts";
import { scopeRouteProblems } from "../routing/route-problems.ts";
import type { RouteEntry } from "../routing/settings.ts";
import type { Contents } from "../store/configuration/contents.ts";
import type { Identities } from "../store/records.ts";
import { type Configuration, routesOf } from "./configuration.ts";
import { entriesOfFile, documentsOfFile } from "./file-entries.ts";
import type { Memoize } from "./memoize.ts";
import type { ScopeConfiguration } from "./scopes.ts";
import { readStored, type Stored } from "./stored.ts";

/** `problems`: what in the store is not used, and why, with one sentence for each. */
export interface Joined extends Pick<
  Stored,
  "prices" | "policies" | "webhooks" | "providers" | "toolServers" | "problems"
> {
  /** The configuration of the file, with the routes and settings of the store added to its tenants and projects. */
  readonly configuration: Configuration;
  readonly limits: ConfiguredLimits;
}

export interface JoinInput {
  readonly configuration: Configuration;
  readonly identities: Pick<Identities, "projects">;
  readonly resources: Contents["resources"];
  readonly families: readonly ProviderFamily[];
  /** Returns the same lists as before unless the file, the projects or the resources of a list have changed. */
  readonly memoize: Memoize;
}

export function joined({ configuration, identities, resources, families, memoize }: JoinInput): Joined {
  const { projects } = identities;
  const stored = readStored(resources, families, memoize);
  const { route, provider, setting, price, limit, budget, policy, webhook, tool_server: toolServer } = resources;
  const { usable, problems } = memoize("usable routes", [configuration, route, provider, families], () =>
    usableRoutes(configuration, stored, route, families, memoize),
  );
  const both = <T>(
    section: string,
    global: Readonly<Record<string, T>>,
    own: (scope: ScopeConfiguration) => Readonly<Record<string, T>>,
    store: readonly Configured<T>[],
  ): readonly Configured<T>[] => fileFirst(entriesOfFile(section, global, configuration, own, identities), store);
  return {
    configuration: memoize("joined configuration", [configuration, usable, route, setting], () =>
      withStored(configuration, usable, route, stored.settings, memoize),
    ),
    prices: memoize("joined prices", [configuration, projects, price], () =>
      fileFirst(pricesOfFile(configuration, identities), stored.prices),
    ),
    limits: memoize("joined limits", [configuration, projects, limit, budget], () => ({
      limits: both("limits", configuration.limits, (scope) => scope.limits, stored.limits),
      budgets: both("budgets", configuration.budgets, (scope) => scope.budgets, stored.budgets),
    })),
    policies: memoize("joined policies", [configuration, projects, policy], () =>
      both("policies", configuration.policies, (scope) => scope.policies, stored.policies),
    ),
    webhooks: memoize("joined webhooks", [configuration, projects, webhook], () =>
      both("webhooks", configuration.webhooks, (scope) => scope.webhooks, stored.webhooks),
    ),
    providers: stored.providers,
    toolServers: memoize("joined tool servers", [configuration, projects, toolServer], () =>
      both("tool_servers", configuration.tool_servers, (scope) => scope.toolServers, stored.toolServers),
    ),
    problems: [...stored.problems, ...problems],
  };
}

function fileFirst<T>(file: readonly Configured<T>[], store: readonly Configured<T>[]): readonly Configured<T>[] {
  if (store.length === 0) return file;
  const key = ({ tenantId, projectId, name, id }: Configured<T>): string =>
    JSON.stringify([tenantId, projectId, name ?? id]);
  const keysInFile = new Set(file.map(key));
  return [...file, ...store.filter((one) => !keysInFile.has(key(one)))];
}

const NOTHING: ScopeConfiguration = {
  settings: { dropParams: null, disableStopSequenceLimit: null },
  routes: {},
  defaults: {},
  prices: {},
  limits: {},
  budgets: {},
  policies: {},
  webhooks: {},
  toolServers: {},
};

type Stock = readonly Configured<RouteEntry>[];
/** All routes of the store, also those that cannot be read. */
type StoredRoutes = Contents["resources"]["route"];

/** `tenants/<id>` or `projects/<id>`. */
const scopeOf = ({ tenantId, projectId }: Pick<Configured<unknown>, "tenantId" | "projectId">): string =>
  projectId === null ? `tenants/${tenantId}` : `projects/${projectId}`;

function inFile(configuration: Configuration, key: string): ScopeConfiguration {
  const [, scopes, id] = /^(tenants|projects)\/(.*)$/s.exec(key) as unknown as readonly [
    string,
    "tenants" | "projects",
    string,
  ];
  return configuration[scopes].get(id) ?? NOTHING;
}

/**
 * Adds the routes and settings of the store to the scopes. Each scope stays the same object as long as nothing in it
 * changes.
 */
function withStored(
  configuration: Configuration,
  usable: Stock,
  routes: StoredRoutes,
  settings: readonly Configured<ScopeSettings>[],
  memoize: Memoize,
): Configuration {
  if (routes.length === 0 && settings.length === 0) return configuration;
  const usableIn = Map.groupBy(usable, scopeOf);
  const routesIn = Map.groupBy(routes, scopeOf);
  const settingsIn = new Map(settings.map((one) => [scopeOf(one), one]));
  const tenants = new Map(configuration.tenants);
  const projects = new Map(configuration.projects);
  for (const key of new Set([...routesIn.keys(), ...settingsIn.keys()])) {
    const file = inFile(configuration, key);
    const own = usableIn.get(key) ?? [];
    const all = routesIn.get(key) ?? [];
    const setting = settingsIn.get(key);
    const scope = memoize(`scope ${key}`, [file, setting, own.length, ...own, ...all], (): ScopeConfiguration => ({
      ...withRoutes(file, own, all),
      settings: setting === undefined ? file.settings : withDefaults(file.settings, setting.document),
    }));
    (key.startsWith("tenants/") ? tenants : projects).set(key.slice(key.indexOf("/") + 1), scope);
  }
  return { ...configuration, tenants, projects };
}

/** For the same name the file takes precedence. The others of `all` cannot be used. */
function withRoutes<T extends RouteScope>(file: T, own: Stock, all: StoredRoutes): T {
  const known = new Set([...Object.keys(file.routes), ...own.map(({ name }) => name)]);
  const unusable = all.flatMap(({ name }) => (name === null || known.has(name) ? [] : [name]));
  const ofStore = own.filter(({ name }) => !Object.hasOwn(file.routes, name!));
  const ofTenant = ofStore.flatMap(({ name, tenantId, byOperator }) =>
    byOperator === true ? [] : [[name!, tenantId!] as const],
  );
  return {
    ...file,
    routes: { ...Object.fromEntries(own.map(({ name, document }) => [name!, document])), ...file.routes },
    versions: new Map(ofStore.map(({ name, version }) => [name!, version])),
    ...(ofTenant.length > 0 && { ofTenant: new Map(ofTenant) }),
    ...(unusable.length > 0 && { unusable: new Set(unusable) }),
  };
}

/** Setting by setting, and deviation by deviation: the store applies where the file sets nothing. */
function withDefaults(file: ScopeSettings, store: ScopeSettings): ScopeSettings {
  const ofFile = Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined && value !== null));
  const hasDeviations = file.clientDeviations !== undefined || store.clientDeviations !== undefined;
  return {
    ...store,
    ...ofFile,
    ...(hasDeviations && { clientDeviations: { ...store.clientDeviations, ...file.clientDeviations } }),
  };
}

/** The same object as long as the routes of the file and their defaults are the same. */
export function globalScope(configuration: Configuration, memoize: Memoize): RouteScope {
  const { routes, route_defaults: defaults } = configuration;
  return memoize("global scope", [routes, defaults], () => routesOf(configuration).global);
}

interface Usable {
  readonly usable: Stock;
  /** What is left out, and why, with one sentence for each. */
  readonly problems: readonly string[];
}

/**
 * The routes of the store whose targets exist. The routes of one tenant neither slow down nor affect another tenant.
 */
function usableRoutes(
  configuration: Configuration,
  { routes, providers }: Stored,
  stored: StoredRoutes,
  families: readonly ProviderFamily[],
  memoize: Memoize,
): Usable {
  if (stored.length === 0) return { usable: [], problems: [] };
  const ids = [
    ...families.map(({ id }) => id),
    ...configuration.providers.entries.keys(),
    ...providers.flatMap(({ name }) => name ?? []),
  ];
  const known = memoize("known providers", [...new Set(ids)].toSorted(), () => new Set(ids));
  const global = globalScope(configuration, memoize);
  const readable = Map.groupBy(routes, scopeOf);
  const byScope = Map.groupBy(stored, scopeOf);
  const inScope = (key: string, all: StoredRoutes, wider: readonly RouteScope[]): Usable => {
    const file = inFile(configuration, key);
    return memoize(`usable routes of ${key}`, [file, known, wider.length, ...wider, ...all], () =>
      usableInScope(file, readable.get(key) ?? [], all, wider, known),
    );
  };
  const ofTenants = new Map(
    [...byScope].filter(([key]) => key.startsWith("tenants/")).map(([key, all]) => [key, inScope(key, all, [global])]),
  );
  const ofProjects = [...byScope]
    .filter(([key]) => key.startsWith("projects/"))
    .map(([key, all]) => {
      const tenant = `tenants/${all[0]!.tenantId}`;
      const file = inFile(configuration, tenant);
      const above = ofTenants.get(tenant)?.usable ?? [];
      const ofTenant = byScope.get(tenant) ?? [];
      const wider = memoize(`wider routes ${tenant}`, [file, above.length, ...above, ...ofTenant], () =>
        withRoutes(file, above, ofTenant),
      );
      return inScope(key, all, [wider, global]);
    });
  const all = [...ofTenants.values(), ...ofProjects];
  return { usable: all.flatMap(({ usable }) => usable), problems: all.flatMap(({ problems }) => problems) };
}

/** When a route is left out, routes that fall back to it are left out too. */
function usableInScope(
  file: ScopeConfiguration,
  own: Stock,
  all: StoredRoutes,
  wider: readonly RouteScope[],
  providers: ReadonlySet<string>,
): Usable {
  const problems: string[] = [];
  let usable = own;
  for (;;) {
    const wrong = new Map<unknown, string>(
      scopeRouteProblems(withRoutes(file, usable, all), wider, providers).flatMap(({ path, message }) =>
        path[0] === "routes" ? [[path[1], message] as const] : [],
      ),
    );
    const without = new Map(
      [...usable].flatMap((route) =>
        wrong.has(route.name) && !Object.hasOwn(file.routes, route.name!)
          ? [[route.name!, wrong.get(route.name)!] as const]
          : [],
      ),
    );
    if (without.size === 0) return { usable, problems };
    excludeDependents(without, usable, file.routes);
    for (const route of usable)
      if (without.has(route.name!))
        problems.push(
          `the stored route ${route.name} of the ${placeText(route)} is ignored: ${without.get(route.name!)!}`,
        );
    usable = usable.filter(({ name }) => !without.has(name!));
  }
}

/** Adds to `without` the routes that fall back to one in it, and those that fall back to them. */
function excludeDependents(without: Map<string, string>, routes: Stock, ofFile: RouteScope["routes"]): void {
  const leadingTo = Map.groupBy(
    routes.flatMap(({ name, document }) => fallbacksOf(document).map((to) => ({ name: name!, to }))),
    ({ to }) => to,
  );
  for (const gone of without.keys()) {
    for (const { name } of leadingTo.get(gone) ?? [])
      if (!without.has(name) && !Object.hasOwn(ofFile, name))
        without.set(name, `it falls back to the route ${gone}, which is ignored`);
  }
}

function fallbacksOf({ fallbacks = [], content_policy_fallbacks: afterRefusal = [] }: RouteEntry): readonly string[] {
  return [...fallbacks, ...afterRefusal].flatMap((entry) => compileFallback(entry).route ?? []);
}

function pricesOfFile(
  { prices, tenants, projects }: Pick<Configuration, "prices" | "tenants" | "projects">,
  identities: Pick<Identities, "projects">,
): readonly Configured<PriceDocument>[] {
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...documentsOfFile("prices.", Object.entries(prices), { tenantId: null, projectId: null }),
    ...[...tenants].flatMap(([id, scope]) =>
      documentsOfFile(`tenants.${id}.prices.`, Object.entries(scope.prices), { tenantId: id, projectId: null }),
    ),
    ...[...projects].flatMap(([id, scope]) =>
      documentsOfFile(`projects.${id}.prices.`, Object.entries(scope.prices), {
        tenantId: tenantOf.get(id) ?? null,
        projectId: id,
      }),
    ),
  ];
}
