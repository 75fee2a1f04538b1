// The tests of the routes of a configuration file, tried without keys and without a database: every provider counts as
// enabled, and the projects that the tests name count as there.
import { formatPath } from "../../config/problem.ts";
import type { RouteEntries } from "../../routing/settings.ts";
import { testResults } from "../../simulation/route-tests.ts";
import { type SimulatedConfiguration, simulatedSnapshot } from "./prepare-calls.ts";

/** The tenant of routes and projects for which the file names none: that of the first start. */
const FIRST_TENANT = "default";

interface Place {
  readonly path: readonly string[];
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly routes: RouteEntries;
}

export function failedTests(
  file: SimulatedConfiguration,
): readonly { readonly path: string; readonly message: string }[] {
  const places = placesOf(file);
  const named = places.flatMap(({ tenantId, projectId, routes }) => [
    // a tenant of whose projects the file says nothing has one that keeps what its tenant lets it keep
    { id: projectId ?? `${tenantId}/`, tenantId, name: projectId ?? tenantId },
    ...Object.values(routes)
      .flatMap(({ tests = [] }) => tests.flatMap(({ when }) => when.project ?? []))
      .map((id) => ({ id, tenantId, name: id })),
  ]);
  if (places.every(({ routes }) => Object.values(routes).every(({ tests = [] }) => tests.length === 0))) return [];
  const snapshot = simulatedSnapshot(file, named);
  return places.flatMap(({ path, tenantId, projectId, routes }) =>
    Object.entries(routes).flatMap(([name, { tests = [] }]) =>
      testResults(tests, { snapshot, tenantId, projectId, name }).flatMap(({ name: title, fault }, index) =>
        fault === null
          ? []
          : [
              {
                path: formatPath([...path, "routes", name, "tests", index]),
                message: `the test ${JSON.stringify(title)} does not hold. ${fault}`,
              },
            ],
      ),
    ),
  );
}

function placesOf({ configuration: { routes, tenants, projects } }: SimulatedConfiguration): readonly Place[] {
  return [
    { path: [], tenantId: FIRST_TENANT, projectId: null, routes },
    ...[...tenants].map(([id, scope]) => ({
      path: ["tenants", id],
      tenantId: id,
      projectId: null,
      routes: scope.routes,
    })),
    ...[...projects].map(([id, scope]) => ({
      path: ["projects", id],
      tenantId: FIRST_TENANT,
      projectId: id,
      routes: scope.routes,
    })),
  ];
}
