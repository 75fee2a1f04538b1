// A route that somebody proposes, with what it inherits in its place: what tests and simulations are tried on.
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { ProposedRoute } from "../../../simulation/proposed-route.ts";
import type { Reader } from "../../../store/reader.ts";
import type { AdminCall } from "../operation.ts";
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
  const ofName = Map.groupBy(
    stored.filter((route) => route.name === name),
    (route) => route.projectId,
  );
  const own = [...snapshot.projects.values()].filter(
    (project) =>
      project.tenantId === tenantId &&
      Object.hasOwn(
        routesOfPlace(dependencies, ofName.get(project.id) ?? [], { tenantId, projectId: project.id }).routes,
        name,
      ),
  );
  return new Set(own.map(({ id }) => id));
}

export function proposedRoute(
  dependencies: DocumentDependencies,
  { projects }: Snapshot,
  { caller, place }: Pick<AdminCall, "caller" | "place">,
  proposal: Pick<ProposedRoute, "name" | "entry" | "ownIn">,
): ProposedRoute {
  const file = dependencies.configuration();
  const own = [...file.projects].filter(([id]) => projects.get(id)?.tenantId === place!.tenantId);
  return {
    ...place!,
    ...proposal,
    byOperator: caller.isOperator,
    defaults: {
      ofProjects: new Map(own.map(([id, { defaults }]) => [id, defaults])),
      wider: [file.tenants.get(place!.tenantId)?.defaults ?? {}, file.route_defaults],
    },
  };
}
