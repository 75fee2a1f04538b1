// The configuration as it would be with a route that somebody proposes: what its tests and simulations are tried on.
import type { TenantOrProject } from "../../auth/grants.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { RouteEntry } from "../../routing/settings.ts";
import { withProposedRoute } from "../../simulation/proposed-route.ts";
import type { Reader } from "../../store/reader.ts";
import type { DocumentDependencies } from "./document-rule.ts";
import { allOf, routesOfPlace } from "./references.ts";

/** The projects of a tenant that have a route of their own with this name, which replaces the tenant's. */
export async function projectsWithOwn(
  dependencies: DocumentDependencies,
  snapshot: Snapshot,
  { tenantId, projectId }: TenantOrProject,
  name: string,
  reader: Reader,
): Promise<ReadonlySet<string>> {
  if (projectId !== null) return new Set();
  const stored = await allOf(reader, "route", tenantId);
  const own = [...snapshot.projects.values()].filter(
    (project) =>
      project.tenantId === tenantId &&
      Object.hasOwn(routesOfPlace(dependencies, stored, { tenantId, projectId: project.id }).routes, name),
  );
  return new Set(own.map(({ id }) => id));
}

export interface RouteProposal {
  readonly name: string;
  readonly entry: RouteEntry;
  readonly ownIn: ReadonlySet<string>;
}

export function proposedSnapshot(
  dependencies: DocumentDependencies,
  snapshot: Snapshot,
  place: TenantOrProject,
  proposal: RouteProposal,
): Snapshot {
  const file = dependencies.configuration();
  return withProposedRoute(snapshot, {
    ...place,
    ...proposal,
    defaultsOf: (projectId) => [
      ...(projectId === null ? [] : [file.projects.get(projectId)?.defaults ?? {}]),
      file.tenants.get(place.tenantId)?.defaults ?? {},
      file.route_defaults,
    ],
  });
}
