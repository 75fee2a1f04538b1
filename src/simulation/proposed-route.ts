// The configuration as it would be with another document for one route, without storing anything, and how the tests of
// the route end there. It runs in the thread of simulations.
import type { Route } from "../core/configured/route.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { compileRoute } from "../routing/compile-routes.ts";
import { routesFor } from "../routing/resolve-route.ts";
import type { RouteDefaults, RouteEntry } from "../routing/settings.ts";
import type { RouteTest } from "../routing/test-settings.ts";
import { type RouteTestResult, testResults } from "./route-tests.ts";
import { type SimulatedConfiguration, simulatedSnapshot } from "./simulated-configuration.ts";

export interface ProposedRoute {
  readonly tenantId: string;
  /** `null` where the route is for all projects of the tenant. */
  readonly projectId: string | null;
  readonly name: string;
  readonly entry: RouteEntry;
  /** Whether an operator proposes it, and would be its author. */
  readonly byOperator: boolean;
  readonly defaults: {
    readonly ofProjects: ReadonlyMap<string, RouteDefaults>;
    /** Of the tenant and of all tenants, the nearest first. */
    readonly wider: readonly RouteDefaults[];
  };
  /** Projects whose own route of this name replaces the tenant's. */
  readonly ownIn: ReadonlySet<string>;
}

export function withProposedRoute(
  snapshot: Snapshot,
  { tenantId, projectId, name, entry, byOperator, defaults: { ofProjects, wider }, ownIn }: ProposedRoute,
): Snapshot {
  const defaultsOf = (project: string | null): readonly RouteDefaults[] => [
    ...(project === null ? [] : [ofProjects.get(project) ?? {}]),
    ...wider,
  ];
  const seen = (project: string | null): ReadonlyMap<string, Route> =>
    new Map(routesFor(snapshot, { tenantId, projectId: project })).set(
      name,
      compileRoute(name, entry, defaultsOf(project), byOperator ? null : tenantId),
    );
  if (projectId !== null)
    return { ...snapshot, projectRoutes: new Map(snapshot.projectRoutes).set(projectId, seen(projectId)) };
  const projectRoutes = new Map(snapshot.projectRoutes);
  for (const id of snapshot.projectRoutes.keys())
    if (snapshot.projects.get(id)?.tenantId === tenantId && !ownIn.has(id)) projectRoutes.set(id, seen(id));
  return { ...snapshot, projectRoutes, tenantRoutes: new Map(snapshot.tenantRoutes).set(tenantId, seen(null)) };
}

export interface TestQuestion {
  readonly configuration: SimulatedConfiguration;
  readonly proposal: ProposedRoute;
  readonly tests: readonly RouteTest[];
}

export function testedProposal({ configuration, proposal, tests }: TestQuestion): readonly RouteTestResult[] {
  const { tenantId, projectId, name } = proposal;
  const snapshot = withProposedRoute(simulatedSnapshot(configuration), proposal);
  return testResults(tests, { snapshot, tenantId, projectId, name });
}
