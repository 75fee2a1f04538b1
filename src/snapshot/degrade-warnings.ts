// Finds budgets of a file that lead calls to a model or a route that the file does not have. It may be in the store, so
// that this is no error.
import type { Finding } from "../config/problem.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { degradeProblems } from "../routing/degrade-problems.ts";
import type { RouteEntries } from "../routing/settings.ts";
import type { Configuration } from "./configuration.ts";
import type { ScopeConfiguration } from "./scopes.ts";

/** Only the store knows which tenant a project belongs to, so that any of them may have the routes. */
export function degradeWarnings(
  { providers, routes, budgets, tenants, projects }: Configuration,
  families: readonly ProviderFamily[],
): readonly Finding[] {
  const known = new Set([...families.map(({ id }) => id), ...providers.entries.keys()]);
  const routesIn = (scopes: ReadonlyMap<string, ScopeConfiguration>): readonly RouteEntries[] =>
    [...scopes.values()].map((scope) => scope.routes);
  const at = (base: Finding["path"], own: Configuration["budgets"], seen: readonly RouteEntries[]) =>
    Object.entries(own).flatMap(([name, budget]) =>
      degradeProblems(budget, known, seen).map(({ path, message }) => ({
        path: [...base, "budgets", name, ...path],
        message: `${message} in this file`,
      })),
    );
  return [
    ...at([], budgets, [routes, ...routesIn(tenants), ...routesIn(projects)]),
    ...[...tenants].flatMap(([id, scope]) =>
      at(["tenants", id], scope.budgets, [routes, scope.routes, ...routesIn(projects)]),
    ),
    ...[...projects].flatMap(([id, scope]) =>
      at(["projects", id], scope.budgets, [routes, scope.routes, ...routesIn(tenants)]),
    ),
  ];
}
