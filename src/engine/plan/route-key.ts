// The key under which something is counted for a route, which stays the same when the configuration is read again.
import type { Route } from "../../core/configured/route.ts";
import type { CallRecord } from "../../core/record/record.ts";
import type { Snapshot } from "../../core/snapshot.ts";

/** What of a call says whose routes it sees. */
interface Caller {
  readonly snapshot: Pick<Snapshot, "routes" | "tenantRoutes" | "projectRoutes">;
  readonly record: Pick<CallRecord, "tenantId" | "projectId">;
}

/** Tenants and projects may have routes of their own with the same name. */
export function routeKey({ name }: Pick<Route, "name">, { snapshot, record: { tenantId, projectId } }: Caller): string {
  const { routes, tenantRoutes, projectRoutes } = snapshot;
  const ofAll = routes.get(name);
  const ofTenant = (tenantId === null ? undefined : tenantRoutes.get(tenantId)?.get(name)) ?? ofAll;
  const seen = (projectId === null ? undefined : projectRoutes.get(projectId)?.get(name)) ?? ofTenant;
  if (seen === ofAll) return name;
  return seen === ofTenant ? `${name} of tenant ${tenantId!}` : `${name} of project ${projectId!}`;
}
