// The routes of a tenant with those that its projects have by themselves, or of one project.
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { Route } from "../../../core/configured/route.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import { namedRoutes, routesFor } from "../../../routing/resolve-route.ts";

export interface PlacedRoute {
  readonly route: Route;
  /** The project whose route it is; `null` where its tenant, or the whole gateway, has a route of this name. */
  readonly projectId: string | null;
}

/** A project sees the routes of its tenant with its own defaults, and may replace one by its own of the same name. */
const isSame = ({ targets }: Route, shared: Route | undefined): boolean =>
  shared?.targets.length === targets.length && targets.every(({ name }, index) => name === shared.targets[index]!.name);

/** Sorted by name. */
export function placedRoutes(snapshot: Snapshot, at: TenantOrProject): readonly PlacedRoute[] {
  const { tenantId } = at;
  const shared = routesFor(snapshot, { tenantId, projectId: null });
  const projects =
    at.projectId === null
      ? [...snapshot.projects.values()].filter((project) => project.tenantId === tenantId).map(({ id }) => id)
      : [at.projectId];
  const own = projects.flatMap((projectId) => {
    const routes = routesFor(snapshot, { tenantId, projectId });
    // most projects of a tenant have no routes and no defaults of their own
    if (at.projectId === null && routes === shared) return [];
    return namedRoutes(routes)
      .map((route): PlacedRoute => ({ route, projectId: isSame(route, shared.get(route.name)) ? null : projectId }))
      .filter((one) => at.projectId !== null || one.projectId !== null);
  });
  const all =
    at.projectId === null ? [...namedRoutes(shared).map((route) => ({ route, projectId: null })), ...own] : own;
  return all.toSorted((a, b) => (a.route.name < b.route.name ? -1 : a.route.name > b.route.name ? 1 : 0));
}
