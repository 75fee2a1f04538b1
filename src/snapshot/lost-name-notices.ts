// Says of limits, budgets and policies of the file that they name a provider, model or route that does not exist, so that
// they bound or forbid nothing, or lead calls nowhere. What is missing may come later, so that this is no error.
import type { BudgetDocument, LimitDocument } from "../admission/settings.ts";
import { type Finding, formatPath } from "../config/problem.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { PolicyDocument } from "../policies/policy-settings.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { degradeProblems, scopeProblems } from "../routing/lost-names.ts";
import type { RouteEntries } from "../routing/settings.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";
import type { Joined } from "./joined.ts";
import type { ScopeConfiguration } from "./scopes.ts";

type Tables = Pick<Snapshot, "providers" | "tenantProviders" | "projectProviders">;
type Naming = LimitDocument | BudgetDocument | PolicyDocument;

/** What may be named at a place. */
interface Known {
  readonly providers: ReadonlySet<string>;
  readonly routes: readonly RouteEntries[];
}

/** `known` is asked only where the document names something. */
function findingsIn(document: Naming, known: () => Known): readonly Finding[] {
  const { scope } = document;
  const thresholds = "thresholds" in document ? document.thresholds : [];
  const names = [scope.route, scope.provider, scope.model];
  if (names.every((name) => name === undefined) && thresholds.every((one) => typeof one === "number")) return [];
  const { providers, routes } = known();
  const ofScope = scopeProblems(scope, providers, routes).map(({ path, message }) => ({
    path,
    message: `${message}, so it applies to no call`,
  }));
  const ofDegrades = degradeProblems(thresholds, providers, routes).map(({ path, message }) => ({
    path,
    message: `${message}, so calls that the budget leads there are refused`,
  }));
  return [...ofScope, ...ofDegrades];
}

/** Judges the file with the store, for the log. What is in the store itself is not judged. */
export function lostNames(
  { configuration: { routes, tenants, projects }, limits, policies }: Joined,
  { projects: known }: Identities,
  { providers, tenantProviders, projectProviders }: Tables,
): readonly string[] {
  const places = new Map<string, Known>();
  const byId = new Map(known.map((project) => [project.id, project]));
  const byTenant = Map.groupBy(known, (project) => project.tenantId);
  const knownAt = (tenantId: string | null, projectId: string | null): Known =>
    places.getOrInsertComputed(JSON.stringify([tenantId, projectId]), () => {
      const ofTenant = tenantId === null ? known : (byTenant.get(tenantId) ?? []);
      const counted = projectId === null ? ofTenant : [byId.get(projectId) ?? []].flat();
      const ofTenants = [...new Set(counted.map((project) => project.tenantId))];
      const tables = [
        providers,
        ...ofTenants.map((each) => tenantProviders.get(each)),
        ...counted.map((project) => projectProviders.get(project.id)),
      ];
      return {
        providers: new Set(tables.flatMap((table) => [...(table?.keys() ?? [])])),
        routes: [
          routes,
          ...ofTenants.map((each) => tenants.get(each)?.routes ?? {}),
          ...counted.map((project) => projects.get(project.id)?.routes ?? {}),
        ],
      };
    });
  return [...limits.limits, ...limits.budgets, ...policies].flatMap(({ id, origin, tenantId, projectId, document }) =>
    origin === "file"
      ? findingsIn(document, () => knownAt(tenantId, projectId)).map(
          ({ path, message }) => `${id.slice("file.".length)}.${formatPath(path)}: ${message}`,
        )
      : [],
  );
}

/**
 * Judges the file alone. Only the store knows which tenant a project belongs to, so that any of them may have the routes.
 */
export function lostNameWarnings(
  { providers, tenants, projects, ...global }: Configuration,
  families: readonly ProviderFamily[],
): readonly Finding[] {
  const known = new Set([...families.map(({ id }) => id), ...providers.entries.keys()]);
  const routesIn = (scopes: ReadonlyMap<string, ScopeConfiguration>): readonly RouteEntries[] =>
    [...scopes.values()].map((scope) => scope.routes);
  const at = (
    base: Finding["path"],
    own: Pick<ScopeConfiguration, "limits" | "budgets" | "policies">,
    routes: readonly RouteEntries[],
  ): readonly Finding[] =>
    (["limits", "budgets", "policies"] as const).flatMap((section) =>
      Object.entries<Naming>(own[section]).flatMap(([name, document]) =>
        findingsIn(document, () => ({ providers: known, routes })).map(({ path, message }) => ({
          path: [...base, section, name, ...path],
          message: `in this file, ${message}`,
        })),
      ),
    );
  return [
    ...at([], global, [global.routes, ...routesIn(tenants), ...routesIn(projects)]),
    ...[...tenants].flatMap(([id, scope]) =>
      at(["tenants", id], scope, [global.routes, scope.routes, ...routesIn(projects)]),
    ),
    ...[...projects].flatMap(([id, scope]) =>
      at(["projects", id], scope, [global.routes, scope.routes, ...routesIn(tenants)]),
    ),
  ];
}
