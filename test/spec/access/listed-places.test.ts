// What a personal token is shown that can be called: that of the project which the request names, and of no other.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

let world: AdminWorld;
beforeAll(async () => {
  world = await openAdminWorld();
  const route = { name: "of-site", targets: ["sandbox:echo"] };
  const made = await world.send("acme.owner", "POST", "/api/v1/admin/projects/site/routes", route);
  expect(made.status).toBe(201);
});
afterAll(() => world.close());

const listed = async (token: string, headers: Readonly<Record<string, string>>) => {
  const { status, body } = await world.send(token, "GET", "/api/v1/models", undefined, headers);
  return [status, status === 200 ? body.data.some(({ id }: any) => id === "of-site") : body.error.code];
};

test("[d9.1] [d2.1] a personal token lists the routes of the project that it names, and of none that it does not reach", async () => {
  expect(await listed("acme.owner", {})).toEqual([200, false]);
  expect(await listed("acme.owner", { "x-gateway-project-id": "site" })).toEqual([200, true]);
  expect(await listed("acme.viewer", { "x-gateway-project-id": "site" })).toEqual([200, true]);
  expect(await listed("acme.owner", { "x-gateway-project-id": "app" })).toEqual([200, false]);
  for (const project of ["lab", "none-such"])
    expect(await listed("acme.owner", { "x-gateway-project-id": project })).toEqual([403, "scope_mismatch"]);
  expect(await listed("acme.owner", { "x-gateway-tenant-id": "beta" })).toEqual([403, "scope_mismatch"]);
});

test("[d2.1] an operator is shown what can be called in a project of any tenant, and an owner who is none is not", async () => {
  const there = { "x-gateway-tenant-id": "acme", "x-gateway-project-id": "site" };
  expect(await listed("default.owner", there)).toEqual([200, true]);
  expect(await listed("default.owner", { "x-gateway-project-id": "site" })).toEqual([200, true]);
  expect(await listed("default.owner", { "x-gateway-project-id": "none-such" })).toEqual([403, "scope_mismatch"]);
  expect(await listed("default.owner", { "x-gateway-tenant-id": "acme" })).toEqual([200, false]);
  expect(await listed("default.owner", { ...there, "x-gateway-tenant-id": "beta" })).toEqual([403, "scope_mismatch"]);
  expect(await listed("default.boss", there)).toEqual([403, "scope_mismatch"]);
});

test("[d2.1 d12.8] a request for a kept response whose head names another tenant or project is refused as a call is", async () => {
  const asked = async (token: string, method: string, path: string, headers: Readonly<Record<string, string>>) => {
    const { status, body } = await world.send(token, method, `/api/v1/responses/resp_none${path}`, undefined, headers);
    return [status, body.error.code];
  };
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/input_items"],
    ["POST", "/cancel"],
  ] as const) {
    for (const [token, headers] of [
      ["acme.site.developer", { "x-gateway-tenant-id": "beta" }],
      ["acme.site.developer", { "x-gateway-project-id": "app" }],
      ["acme.owner", { "x-gateway-project-id": "none-such" }],
      ["site-only.developer", { "x-gateway-project-id": "app" }],
    ] as const)
      expect(await asked(token, method, path, headers)).toEqual([403, "scope_mismatch"]);
    for (const headers of [{}, { "x-gateway-tenant-id": "acme", "x-gateway-project-id": "site" }])
      expect(await asked("acme.site.developer", method, path, headers)).toEqual([404, "not_found"]);
  }
});
