// Compiles configuration, identities and environment into the snapshot that calls read, for everything
// that the schema accepts. But for the memory of the machine, it depends on nothing else.
import { totalmem } from "node:os";
import { compilePrices } from "../accounting/price-settings.ts";
import { compileLimits } from "../admission/compile-limits.ts";
import { compileContentLogs } from "../auth/settings/content-settings.ts";
import { compilePolicies } from "../policies/compile-policies.ts";
import type { Environment } from "../config/environment.ts";
import type { ServerLimitSettings } from "../config/sections.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { AccessToken, Project } from "../core/identity.ts";
import { loginKey } from "../core/configured/login.ts";
import type { Route } from "../core/configured/route.ts";
import type { ProviderSettings, ScopeSettings, ServerLimits, Snapshot } from "../core/snapshot.ts";
import { compileWebhooks } from "../observe/webhooks/webhook-settings.ts";
import { compileToolServers } from "../mcp/compile-servers.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { routeAliasesSeen, type RouteScope, routesSeen, splitName } from "../routing/compile-routes.ts";
import type { Contents } from "../store/configuration/contents.ts";
import type { Identities } from "../store/records.ts";
import { type Configuration, routesOf } from "./configuration.ts";
import { globalScope, type Joined, joined } from "./joined.ts";
import { lostNames } from "./lost-name-notices.ts";
import { openMemoizer, type Memoize } from "./memoize.ts";
import { compileProviders, type ProviderTable } from "./provider-table.ts";
import type { ScopeConfiguration } from "./scopes.ts";

export interface CompileInput {
  readonly configuration: Configuration;
  readonly identities: Identities;
  /** Omitted when the store has none. */
  readonly resources?: Contents["resources"];
  readonly drains?: Contents["drains"];
  readonly families: readonly ProviderFamily[];
  readonly environment: Environment;
  readonly version: number;
  /** How many processes serve calls and share the memory; 1 if left out. */
  readonly workers?: number;
  /** Reuses what was compiled before; by default everything is compiled afresh. */
  readonly memoize?: Memoize;
}

const NO_RESOURCES: Contents["resources"] = {
  provider: [],
  route: [],
  policy: [],
  limit: [],
  budget: [],
  price: [],
  tool_server: [],
  webhook: [],
  setting: [],
};

const NO_DRAINS: Contents["drains"] = [];

export function compileSnapshot(input: CompileInput): Snapshot {
  const { identities, environment, version, workers = 1, drains = NO_DRAINS, memoize = openMemoizer() } = input;
  const { projects } = identities;
  const {
    configuration,
    prices,
    limits,
    policies,
    webhooks,
    providers: stored,
    toolServers,
  } = joinedOf(input, memoize);
  const { providers } = providerTable(input, memoize);
  return {
    version,
    ...identityIndexes(identities, memoize),
    providers,
    ...memoize("scoped providers", [providers, stored, projects], () => scopedProviders(providers, stored, identities)),
    settings: configuration.settings,
    contentLogs: memoize("content logs", [configuration, projects], () =>
      compileContentLogs(
        configuration.content_log.allowed,
        projects,
        settingsById(configuration.tenants),
        settingsById(configuration.projects),
      ),
    ),
    ...memoize("settings", [configuration], () => compileSettings(configuration)),
    ...memoize("routes", [configuration, projects], () => compileRoutes(configuration, identities, memoize)),
    prices: memoize("prices", [prices], () => compilePrices(prices)),
    limitRules: memoize("limits", [limits], () => compileLimits(limits)),
    policies: memoize("policies", [policies], () => compilePolicies(policies)),
    drains: memoize("drains", [drains], () => Map.groupBy(drains, ({ tenantId }) => tenantId)),
    toolServers: memoize("tool servers", [toolServers], () => compileToolServers(toolServers)),
    webhooks: memoize("webhooks", [webhooks], () => compileWebhooks(webhooks)),
    allowPrivateAddresses: environment.allowPrivateAddresses ?? configuration.providers.allowPrivateAddresses,
    limits: memoize("server limits", [configuration.server.limits, projects], () =>
      serverLimits(configuration.server.limits, projects, workers),
    ),
    proxyTrust: configuration.server.proxyTrust,
    conditionHeaders: configuration.server.conditionHeaders,
    logins: configuration.oidc,
    corsOrigins: configuration.cors.origins,
    opsOpen: configuration.ops.open,
  };
}

/** Few tokens have any, so that this is fast for many tokens. */
function endingSecrets(token: AccessToken): readonly (readonly [string, AccessToken])[] {
  return token.secrets.flatMap(({ sha256, retiresAtMs }) =>
    retiresAtMs === null ? [] : [[Buffer.from(sha256).toString("hex"), token] as const],
  );
}

/** The identities of the store, indexed as calls look them up. */
function identityIndexes(
  { tokens, projects, memberships, users }: Identities,
  memoize: Memoize,
): Pick<Snapshot, "tokens" | "tokensByHash" | "projects" | "memberships" | "users" | "operators" | "loginUsers"> {
  return {
    tokens: memoize("tokens", [tokens], () => new Map(tokens.map((token) => [token.id, token]))),
    tokensByHash: memoize("tokensByHash", [tokens], () => new Map(tokens.flatMap(endingSecrets))),
    projects: memoize("projects", [projects], () => new Map(projects.map((project) => [project.id, project]))),
    memberships: memoize("memberships", [memberships], () => Map.groupBy(memberships, ({ userId }) => userId)),
    users: memoize("users", [users], () => new Map(users.map((user) => [user.id, user]))),
    operators: memoize(
      "operators",
      [users],
      () =>
        new Map(
          users.flatMap(({ id, tenantId, isOperator }) => (isOperator === true ? [[id, tenantId] as const] : [])),
        ),
    ),
    loginUsers: memoize(
      "logins",
      [users],
      () =>
        new Map(
          users.flatMap((user) => (user.login == null ? [] : [[loginKey(user.tenantId, user.login), user] as const])),
        ),
    ),
  };
}

/** The share of calls in flight that is left for other tenants when one tenant has reached its maximum, by default. */
const SHARE_OF_OTHERS = 0.2;
/** The share of the memory that all processes together hold of arriving bodies, by default. */
const SHARE_OF_HELD = 0.25;

function serverLimits(limits: ServerLimitSettings, projects: Identities["projects"], workers: number): ServerLimits {
  const { maxConcurrentCalls, maxConcurrentCallsPerTenant, maxHeldBytes } = limits;
  const hasSeveralTenants = new Set(projects.map(({ tenantId }) => tenantId)).size > 1;
  return {
    ...limits,
    maxConcurrentCallsPerTenant:
      maxConcurrentCallsPerTenant ??
      (hasSeveralTenants ? Math.max(1, Math.floor(maxConcurrentCalls * (1 - SHARE_OF_OTHERS))) : null),
    maxHeldBytes: maxHeldBytes ?? Math.floor((availableMemory() * SHARE_OF_HELD) / workers),
  };
}

/** How much memory the gateway may use, in bytes: that of its container, or of the machine. */
function availableMemory(): number {
  const ofContainer = process.constrainedMemory();
  return ofContainer > 0 ? Math.min(ofContainer, totalmem()) : totalmem();
}

/** The providers of the file and of the environment, without those of the store. */
function providerTable(
  { configuration, families, environment }: Pick<CompileInput, "configuration" | "families" | "environment">,
  memoize: Memoize,
): ProviderTable {
  return memoize("providers", [configuration, families, environment], () =>
    compileProviders(configuration.providers, families, environment),
  );
}

function joinedOf(
  {
    configuration,
    identities,
    resources = NO_RESOURCES,
    families,
  }: Pick<CompileInput, "configuration" | "identities" | "resources" | "families">,
  memoize: Memoize,
): Joined {
  return memoize("joined", [configuration, identities.projects, resources, families], () =>
    joined({ configuration, identities, resources, families, memoize }),
  );
}

/** What in the store is not used, and why, with one sentence for each. */
export function storedProblems(
  input: Pick<CompileInput, "configuration" | "identities" | "resources" | "families" | "memoize"> &
    Partial<Pick<Contents, "unreadable">>,
): readonly string[] {
  const unreadable = [...(input.unreadable ?? [])].map(
    ([name, why]) => `the ${name.replace(" ", " with the id ")} in the database is ignored: ${why}`,
  );
  return [...unreadable, ...joinedOf(input, input.memoize ?? openMemoizer()).problems];
}

/** A tenant's own providers take precedence over global ones, and a project's over its tenant's. */
function scopedProviders(
  all: Snapshot["providers"],
  stored: readonly Configured<ProviderSettings>[],
  { projects }: Identities,
): Pick<Snapshot, "tenantProviders" | "projectProviders"> {
  const tenants = new Map<string, Map<string, ProviderSettings>>();
  const ofTenants = Map.groupBy(
    stored.filter(({ projectId }) => projectId === null),
    ({ tenantId }) => tenantId!,
  );
  for (const [id, own] of ofTenants)
    tenants.set(id, new Map([...all, ...own.map(({ document }) => [document.id, document] as const)]));
  const tenantOf = new Map(projects.map(({ id, tenantId }) => [id, tenantId]));
  const ofProjects = Map.groupBy(
    stored.filter(({ projectId }) => projectId !== null),
    ({ projectId }) => projectId!,
  );
  const seen = [...ofProjects].map(
    ([id, own]) =>
      [
        id,
        new Map([
          ...(tenants.get(tenantOf.get(id) ?? "") ?? all),
          ...own.map(({ document }) => [document.id, document] as const),
        ]),
      ] as const,
  );
  return { tenantProviders: tenants, projectProviders: new Map(seen) };
}

function settingsById(scopes: ReadonlyMap<string, ScopeConfiguration>): ReadonlyMap<string, ScopeSettings> {
  return new Map([...scopes].map(([id, { settings }]) => [id, settings]));
}

function compileSettings({
  tenants,
  projects,
}: Configuration): Pick<Snapshot, "tenantSettings" | "projectSettings" | "hasCachingProjects"> {
  const projectSettings = settingsById(projects);
  return {
    tenantSettings: settingsById(tenants),
    projectSettings,
    ...([...projectSettings.values()].some(({ promptCaching }) => promptCaching !== undefined) && {
      hasCachingProjects: true as const,
    }),
  };
}

/** A tenant or project without settings for routes has no entry: the routes of the next wider scope apply. */
function compileRoutes(
  configuration: Configuration,
  identities: Identities,
  memoize: Memoize,
): Pick<Snapshot, "routes" | "tenantRoutes" | "projectRoutes"> {
  const { tenants, projects } = configuration;
  const global = globalScope(configuration, memoize);
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  const seenBy = (
    kind: string,
    scopes: ReadonlyMap<string, RouteScope>,
    wider: (id: string) => readonly RouteScope[],
  ): ReadonlyMap<string, ReadonlyMap<string, Route>> =>
    new Map(
      [...scopes]
        .filter(([id, scope]) => hasRouteSettings(scope, wider(id)))
        .map(([id, scope]) => [
          id,
          memoize(`routes of ${kind}/${id}`, [scope, ...wider(id)], () => routesSeen([scope, ...wider(id)])),
        ]),
    );
  return {
    routes: routesSeen([global]),
    tenantRoutes: seenBy("tenants", tenants, () => [global]),
    projectRoutes: seenBy("projects", projects, (id) => {
      const tenant = tenants.get(tenantOf.get(id) ?? "");
      return tenant === undefined ? [global] : [tenant, global];
    }),
  };
}

/** Whether a scope sees other routes than the `wider` ones. */
function hasRouteSettings({ routes, unusable, defaults }: RouteScope, wider: readonly RouteScope[]): boolean {
  return (
    Object.keys(routes).length > 0 ||
    Object.values(defaults).some((value) => value !== undefined) ||
    (unusable !== undefined && !routeAliasesSeen(wider).isDisjointFrom(unusable))
  );
}

/** Notices about settings that are valid but probably not what was meant, with one sentence for each, for the log. */
export function configurationNotices(input: Omit<CompileInput, "version">): readonly string[] {
  const { configuration, identities, memoize = openMemoizer() } = input;
  const unknown = (
    section: string,
    ids: Iterable<string>,
    known: readonly { readonly id: string }[],
  ): readonly string[] => {
    const existing = new Set(known.map(({ id }) => id));
    return [...ids]
      .filter((id) => !existing.has(id))
      .map((id) => `${section}.${id} has settings in the file, but the database has no such ${section.slice(0, -1)}`);
  };
  const { providers, notices } = providerTable(input, memoize);
  const all = joinedOf(input, memoize);
  const tables = { providers, ...scopedProviders(providers, all.providers, identities) };
  return [
    ...notices,
    ...deadTargets(configuration, identities, tables),
    ...lostNames(all, identities, tables),
    // without a tenant the first start has not ended, which makes tenant and project last
    ...(identities.tenants.length === 0
      ? []
      : [
          ...unknown("tenants", configuration.tenants.keys(), identities.tenants),
          ...unknown("projects", configuration.projects.keys(), identities.projects),
        ]),
  ];
}

/**
 * Names the models in routes whose provider is not enabled: neither for all, nor by a tenant or project that sees the
 * route. Only a call that brings its own credential can reach such a model.
 */
function deadTargets(
  configuration: Configuration,
  { projects: known }: Identities,
  {
    providers,
    tenantProviders,
    projectProviders,
  }: Pick<Snapshot, "providers" | "tenantProviders" | "projectProviders">,
): readonly string[] {
  const { global, tenants, projects } = routesOf(configuration);
  const ofTenant = (id: string) => tenantProviders.get(id) ?? providers;
  const ofProject = ({ id, tenantId }: Project) => projectProviders.get(id) ?? ofTenant(tenantId);
  const places = [
    ["", global, [providers, ...tenantProviders.values(), ...projectProviders.values()]],
    ...[...tenants].map(
      ([id, scope]) =>
        [
          `tenants.${id}.`,
          scope,
          [ofTenant(id), ...known.filter(({ tenantId }) => tenantId === id).map(ofProject)],
        ] as const,
    ),
    ...[...projects].map(
      ([id, scope]) => [`projects.${id}.`, scope, known.filter((project) => project.id === id).map(ofProject)] as const,
    ),
  ] as const;
  return places.flatMap(([place, scope, tables]) =>
    [...routesSeen([scope]).values()].flatMap((route) => {
      const { name, targets, mirror, fallbacks, contentPolicyFallbacks, contextWindowFallbacks } = route;
      const models = new Set([
        ...targets.map((target) => target.name),
        ...(mirror === undefined ? [] : [mirror.target.name]),
        ...[...fallbacks, ...contentPolicyFallbacks].flatMap(({ model }) => (model === null ? [] : [model])),
        ...contextWindowFallbacks.values(),
      ]);
      return [...models]
        .filter((model) => {
          const found = tables.flatMap((table) => table.get(splitName(model)?.providerId ?? "") ?? []);
          return found.length > 0 && found.every(({ enabled }) => !enabled);
        })
        .map((model) => `${place}routes.${name} uses ${model}, but its provider is not enabled`);
    }),
  );
}
