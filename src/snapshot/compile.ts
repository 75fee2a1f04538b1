// Configuration, identities and environment compiled into the one value that calls read. Pure, and total over what the schema accepts.
import { compilePrices, type PriceDocument } from "../accounting/price-settings.ts";
import { compileLimits } from "../admission/compile-limits.ts";
import { compilePolicies } from "../auth/policies.ts";
import type { Environment } from "../config/environment.ts";
import type { Configured } from "../core/configured.ts";
import { loginKey } from "../core/login.ts";
import type { Route } from "../core/route.ts";
import type { ScopeSettings, Snapshot } from "../core/snapshot.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { type RouteScope, routesSeen, splitName } from "../routing/compile-routes.ts";
import type { Identities } from "../store/records.ts";
import { type Configuration, routesOf } from "./configuration.ts";
import { limitsOfFile } from "./file-limits.ts";
import { policiesOfFile } from "./file-policies.ts";
import { compileProviders } from "./provider-table.ts";
import type { ScopeConfiguration } from "./scopes.ts";

export interface CompileInput {
  readonly configuration: Configuration;
  readonly identities: Identities;
  readonly families: readonly ProviderFamily[];
  readonly environment: Environment;
  readonly version: number;
}

export function compileSnapshot({ configuration, identities, families, environment, version }: CompileInput): Snapshot {
  return {
    version,
    tokens: new Map(identities.tokens.map((token) => [token.id, token])),
    projects: new Map(identities.projects.map((project) => [project.id, project])),
    memberships: Map.groupBy(identities.memberships, ({ userId }) => userId),
    providers: compileProviders(configuration.providers, families, environment).providers,
    settings: configuration.settings,
    tenantSettings: settingsById(configuration.tenants),
    projectSettings: settingsById(configuration.projects),
    ...compileRoutes(configuration, identities),
    prices: compilePrices(configuredPrices(configuration, identities)),
    limitRules: compileLimits(limitsOfFile(configuration, identities)),
    policies: compilePolicies(policiesOfFile(configuration, identities)),
    allowPrivateAddresses: environment.allowPrivateAddresses ?? configuration.providers.allowPrivateAddresses,
    limits: configuration.server.limits,
    proxyTrust: configuration.server.proxyTrust,
    logins: configuration.oidc,
    loginUsers: new Map(identities.users.flatMap((user) => (user.login == null ? [] : [[loginKey(user.login), user] as const]))),
    corsOrigins: configuration.cors.origins,
    opsOpen: configuration.ops.open,
  };
}

/** Those of the file. */
function configuredPrices({ prices, tenants, projects }: Configuration, identities: Identities): readonly Configured<PriceDocument>[] {
  const of = (place: string, documents: Readonly<Record<string, PriceDocument>>, tenantId: string | null, projectId: string | null): readonly Configured<PriceDocument>[] =>
    Object.entries(documents).map(([name, document]) => ({ id: `${place}prices.${name}`, name, tenantId, projectId, origin: "file", setBy: null, version: 0, document }));
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [...of("", prices, null, null), ...[...tenants].flatMap(([id, scope]) => of(`tenants.${id}.`, scope.prices, id, null)), ...[...projects].flatMap(([id, scope]) => of(`projects.${id}.`, scope.prices, tenantOf.get(id) ?? null, id))];
}

function settingsById(scopes: ReadonlyMap<string, ScopeConfiguration>): ReadonlyMap<string, ScopeSettings> {
  return new Map([...scopes].map(([id, { settings }]) => [id, settings]));
}

/** A tenant or project that says nothing of routes has no entry: what the next wider scope sees holds for it. */
function compileRoutes(configuration: Configuration, identities: Identities): Pick<Snapshot, "routes" | "tenantRoutes" | "projectRoutes"> {
  const { global, tenants, projects } = routesOf(configuration);
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  const seenBy = (scopes: ReadonlyMap<string, RouteScope>, wider: (id: string) => readonly RouteScope[]): ReadonlyMap<string, ReadonlyMap<string, Route>> =>
    new Map([...scopes].filter(([, scope]) => saysSomething(scope)).map(([id, scope]) => [id, routesSeen([scope, ...wider(id)])]));
  return {
    routes: routesSeen([global]),
    tenantRoutes: seenBy(tenants, () => [global]),
    projectRoutes: seenBy(projects, (id) => {
      const tenant = tenants.get(tenantOf.get(id) ?? "");
      return tenant === undefined ? [global] : [tenant, global];
    }),
  };
}

function saysSomething({ routes, defaults }: RouteScope): boolean {
  return Object.keys(routes).length > 0 || Object.values(defaults).some((value) => value !== undefined);
}

/** What is no mistake and yet probably not what was meant; each a sentence for the log. */
export function configurationNotices({ configuration, identities, families, environment }: Omit<CompileInput, "version">): readonly string[] {
  const unknown = (section: string, ids: Iterable<string>, known: readonly { readonly id: string }[]): readonly string[] => {
    const there = new Set(known.map(({ id }) => id));
    return [...ids].filter((id) => !there.has(id)).map((id) => `${section}.${id} has settings in the file, and the database has no such ${section.slice(0, -1)}`);
  };
  const { providers, notices } = compileProviders(configuration.providers, families, environment);
  return [
    ...notices,
    ...deadTargets(configuration, providers),
    ...unknown("tenants", configuration.tenants.keys(), identities.tenants),
    ...unknown("projects", configuration.projects.keys(), identities.projects),
  ];
}

/** Models of routes that no call of the gateway's own can reach. */
function deadTargets(configuration: Configuration, providers: Snapshot["providers"]): readonly string[] {
  const { global, tenants, projects } = routesOf(configuration);
  const places = [["", global], ...[...tenants].map(([id, scope]) => [`tenants.${id}.`, scope] as const), ...[...projects].map(([id, scope]) => [`projects.${id}.`, scope] as const)] as const;
  return places.flatMap(([place, scope]) =>
    [...routesSeen([scope]).values()].flatMap(({ name, targets, fallbacks }) => {
      const models = new Set([...targets.map((target) => target.name), ...fallbacks.flatMap(({ model }) => (model === null ? [] : [model]))]);
      return [...models].filter((model) => providers.get(splitName(model)?.providerId ?? "")?.enabled === false).map((model) => `${place}routes.${name} names ${model}, whose provider is not enabled`);
    }),
  );
}
