// The routes of a place, of which a tenant may have thousands, in thousands of projects.
import { expect, test } from "bun:test";
import type { Route } from "../../../../src/core/configured/route.ts";
import type { Snapshot } from "../../../../src/core/snapshot.ts";
import { placedRoutes } from "../../../../src/http/admin/health/placed-routes.ts";

/** Routes that count how often they are gone through. */
function routes(...targets: readonly (readonly [name: string, target: string])[]) {
  const all = new Map(
    targets.map(([name, target]) => [name, { name, targets: [{ name: target }] } as unknown as Route]),
  );
  const values = all.values.bind(all);
  return Object.assign(all, {
    passes: 0,
    values(this: { passes: number }) {
      this.passes += 1;
      return values();
    },
  });
}

test("[d5.8 d9.9] projects without routes of their own are no reason to go through the tenant's again, and the others show theirs", () => {
  const shared = routes(["fast", "a:m"], ["slow", "b:m"]);
  const own = routes(["fast", "c:m"], ["slow", "b:m"]);
  const ids = ["own", ...Array.from({ length: 50 }, (_, number) => `p${number}`)];
  const snapshot = {
    routes: new Map(),
    tenantRoutes: new Map([["acme", shared]]),
    projectRoutes: new Map([["own", own]]),
    projects: new Map(ids.map((id) => [id, { id, tenantId: "acme", name: id }])),
  } as unknown as Snapshot;
  const placed = (projectId: string | null) =>
    placedRoutes(snapshot, { tenantId: "acme", projectId }).map((one) => [one.route.name, one.projectId]);
  expect(placed(null)).toEqual([
    ["fast", null],
    ["fast", "own"],
    ["slow", null],
  ]);
  expect([shared.passes, own.passes]).toEqual([1, 1]);
  expect(placed("own")).toEqual([
    ["fast", "own"],
    ["slow", null],
  ]);
  expect(placed("p1")).toEqual([
    ["fast", null],
    ["slow", null],
  ]);
});
