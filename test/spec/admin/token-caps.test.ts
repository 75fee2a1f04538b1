// The longest lifetimes of a tenant's access tokens, which single fields of a PATCH change (docs/admin-api.md).
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

let world: AdminWorld;
beforeAll(async () => {
  world = await openAdminWorld();
});
afterAll(async () => {
  await world.close();
});

const TENANT = "/api/v1/admin/tenants/acme";

test("[d2.6] a change of one longest lifetime leaves the other as it is, and null takes away both", async () => {
  const changed = async (caps: unknown): Promise<unknown> => {
    expect((await world.send("acme.owner", "PATCH", TENANT, { token_caps: caps })).status).toBe(200);
    return (await world.send("acme.owner", "GET", TENANT)).body.token_caps;
  };
  expect(await changed({ personal_days: 90, project_days: 365 })).toEqual({ personal_days: 90, project_days: 365 });
  expect(await changed({ personal_days: 30 })).toEqual({ personal_days: 30, project_days: 365 });
  expect(await changed({ project_days: null })).toEqual({ personal_days: 30, project_days: null });
  expect(await changed({})).toEqual({ personal_days: 30, project_days: null });
  expect(await changed(null)).toBeNull();
});

test("[d2.6] [d14.6] a claim link for a longer lifetime than the tenant allows is refused when it is made, as the token would be", async () => {
  const host = { host: "localhost:4100" };
  expect(
    (await world.send("acme.owner", "PATCH", TENANT, { token_caps: { personal_days: 9, project_days: 30 } })).status,
  ).toBe(200);
  for (const [place, most, further] of [
    ["projects/site", 30, {}],
    ["tenants/acme", 9, { user_id: "acme-viewer" }],
  ] as const)
    for (const noun of ["tokens", "claims"]) {
      const made = async (days: number) => {
        const body = { name: "t", expires_in_days: days, ...further };
        const { status, body: said } = await world.send(
          "acme.owner",
          "POST",
          `/api/v1/admin/${place}/${noun}`,
          body,
          host,
        );
        return [noun, status, said.error?.param ?? null];
      };
      expect(await made(most + 1)).toEqual([noun, 400, "expires_in_days"]);
      expect(await made(most)).toEqual([noun, 201, null]);
    }
  expect((await world.send("acme.owner", "PATCH", TENANT, { token_caps: null })).status).toBe(200);
});
