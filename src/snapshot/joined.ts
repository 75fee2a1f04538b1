// File and store joined: for the same kind, scope and name the file wins, so that what an operator wrote there holds whatever is changed over the API.
// Things of different scopes do not meet here; of those the narrower one goes before, as within the file.
import type { PriceDocument } from "../accounting/price-settings.ts";
import type { ConfiguredLimits } from "../admission/compile-limits.ts";
import type { PolicyDocument } from "../auth/policy-settings.ts";
import type { Configured } from "../core/configured.ts";
import type { ProviderSettings, ScopeSettings } from "../core/snapshot.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { routeProblems } from "../routing/route-problems.ts";
import type { RouteEntry } from "../routing/settings.ts";
import type { Contents } from "../store/contents.ts";
import type { Identities } from "../store/records.ts";
import { type Configuration, routesOf } from "./configuration.ts";
import { limitsOfFile } from "./file-limits.ts";
import { policiesOfFile } from "./file-policies.ts";
import { pricesOfFile } from "./file-prices.ts";
import type { ScopeConfiguration } from "./scopes.ts";
import { readStored, type Stored } from "./stored.ts";

export interface Joined {
  /** The file's, with the routes and settings of the store in its tenants and projects. */
  readonly configuration: Configuration;
  readonly prices: readonly Configured<PriceDocument>[];
  readonly limits: ConfiguredLimits;
  readonly policies: readonly Configured<PolicyDocument>[];
  readonly providers: readonly Configured<ProviderSettings>[];
  /** What of the store is not used and why, a sentence each. */
  readonly problems: readonly string[];
}

export interface JoinInput {
  readonly configuration: Configuration;
  readonly identities: Identities;
  readonly resources: Contents["resources"];
  readonly families: readonly ProviderFamily[];
}

export function joined({ configuration, identities, resources, families }: JoinInput): Joined {
  const stored = readStored(resources, families);
  const ofFile = limitsOfFile(configuration, identities);
  const { usable, problems } = usableRoutes(configuration, stored, families);
  return {
    configuration: withStored(configuration, usable, stored.settings),
    prices: fileFirst(pricesOfFile(configuration, identities), stored.prices),
    limits: { limits: fileFirst(ofFile.limits, stored.limits), budgets: fileFirst(ofFile.budgets, stored.budgets) },
    policies: fileFirst(policiesOfFile(configuration, identities), stored.policies),
    providers: stored.providers,
    problems: [...stored.problems, ...problems],
  };
}

function fileFirst<T>(file: readonly Configured<T>[], store: readonly Configured<T>[]): readonly Configured<T>[] {
  if (store.length === 0) return file;
  const key = ({ tenantId, projectId, name, id }: Configured<T>): string => JSON.stringify([tenantId, projectId, name ?? id]);
  const taken = new Set(file.map(key));
  return [...file, ...store.filter((one) => !taken.has(key(one)))];
}

const NOTHING: ScopeConfiguration = { settings: { dropParams: null, disableStopSequenceLimit: null }, routes: {}, defaults: {}, prices: {}, limits: {}, budgets: {}, policies: {} };

/** `own`: the thing of the store, in its scope. */
function inScopes(configuration: Configuration, own: readonly Configured<unknown>[], change: (scope: ScopeConfiguration, one: Configured<unknown>) => ScopeConfiguration): Configuration {
  if (own.length === 0) return configuration;
  const tenants = new Map(configuration.tenants);
  const projects = new Map(configuration.projects);
  for (const one of own) {
    const [scopes, id] = one.projectId === null ? [tenants, one.tenantId!] : [projects, one.projectId];
    scopes.set(id, change(scopes.get(id) ?? NOTHING, one));
  }
  return { ...configuration, tenants, projects };
}

function withStored(configuration: Configuration, routes: readonly Configured<RouteEntry>[], settings: readonly Configured<ScopeSettings>[]): Configuration {
  const byScope = Map.groupBy(routes, ({ tenantId, projectId }) => JSON.stringify([tenantId, projectId]));
  const withRoutes = inScopes(
    configuration,
    [...byScope.values()].map((own) => ({ ...own[0]!, document: own })),
    (scope, { document }) => ({ ...scope, routes: { ...Object.fromEntries((document as readonly Configured<RouteEntry>[]).map((route) => [route.name!, route.document])), ...scope.routes } }),
  );
  return inScopes(withRoutes, settings, (scope, { document }) => ({ ...scope, settings: narrowed(scope.settings, document as ScopeSettings) }));
}

/** Each setting by itself: what the file does not say, the store may. */
function narrowed(file: ScopeSettings, store: ScopeSettings): ScopeSettings {
  const models = file.models ?? store.models;
  return { dropParams: file.dropParams ?? store.dropParams, disableStopSequenceLimit: file.disableStopSequenceLimit ?? store.disableStopSequenceLimit, ...(models !== undefined && { models }) };
}

/** Routes of the store that name what is there; one that is left out may take another along that falls back to it. */
function usableRoutes(configuration: Configuration, { routes, providers }: Stored, families: readonly ProviderFamily[]): { readonly usable: readonly Configured<RouteEntry>[]; readonly problems: readonly string[] } {
  const ids = new Set([...families.map(({ id }) => id), ...configuration.providers.entries.keys(), ...providers.flatMap(({ name }) => name ?? [])]);
  const problems: string[] = [];
  let usable = routes;
  for (;;) {
    const found = usable.length === 0 ? [] : routeProblems(routesOf(withStored(configuration, usable, [])), ids);
    const wrong = new Map<string, string>(found.flatMap(({ path, message }) => (path[2] === "routes" ? [[path.slice(0, 4).join("/"), message] as const] : [])));
    const keyOf = ({ tenantId, projectId, name }: Configured<RouteEntry>): string => (projectId === null ? `tenants/${tenantId}/routes/${name}` : `projects/${projectId}/routes/${name}`);
    const left = usable.filter((route) => !wrong.has(keyOf(route)));
    if (left.length === usable.length) return { usable, problems };
    for (const route of usable) if (wrong.has(keyOf(route))) problems.push(`the stored route ${route.name} of ${route.projectId === null ? `the tenant ${route.tenantId}` : `the project ${route.projectId}`} is left out: ${wrong.get(keyOf(route))}`);
    usable = left;
  }
}
