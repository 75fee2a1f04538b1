// The right of an operator (promises 2.3, 2.4, 2.12): who has it, who grants it, what it permits, and what the name of
// a tenant does not permit.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { bootstrap } from "../../../src/auth/first-identities.ts";
import { createToken } from "../../../src/auth/tokens/token-admin.ts";
import { rowOf } from "../../contract/store/call-records.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

const A = "/api/v1/admin";
const code = ({ status, body }: { readonly status: number; readonly body: any }): string =>
  status < 300 ? "done" : `${status} ${body.error.code}`;

describe("the right of an operator", () => {
  let world: AdminWorld;
  beforeAll(async () => void (world = await openAdminWorld()));
  afterAll(() => world.close());

  test("[d2.3] the user of the first start has it, and an owner of the same tenant has not", async () => {
    expect((await world.send("default.owner", "GET", "/api/v1/key")).body.operator).toBe(true);
    expect((await world.send("default.boss", "GET", "/api/v1/key")).body).toMatchObject({
      operator: false,
      role: "owner",
      tenant_id: "default",
    });
    expect((await world.send("default.owner", "GET", `${A}/tenants/default/users/owner`)).body.operator).toBe(true);
    const first = await openSqliteDatabase({ file: ":memory:" });
    await first.store.migrate();
    await bootstrap(first.store, 0);
    expect((await first.store.findUser("owner"))?.isOperator).toBe(true);
    await first.store.close();
  });

  test("[d2.11] [d7.8] the text about an error that is meant for operators is shown to no one else who sees the call", async () => {
    const { record } = rowOf({
      startedAtMs: Date.now() - 60_000,
      code: "upstream_authentication",
      errorDetail: "Your organization org-of-the-operator has no such key.",
    });
    await world.calls.ingest([{ record, settled: true }]);
    const places = ["", "/tenants/acme", "/projects/site"];
    for (const caller of ["acme.owner", "acme.viewer", "default.owner"] as const)
      for (const place of places)
        for (const noun of ["calls", "logs"]) {
          const path = `${A}${place}/${noun}/${record.traceId}`;
          const { status, body } = await world.send(caller, "GET", path);
          const isOperator = caller === "default.owner";
          const seen = [path, caller, status, body.record?.code, body.record?.error_detail];
          expect(seen).toEqual([
            path,
            caller,
            ...(isOperator
              ? [200, "upstream_authentication", record.errorDetail]
              : place === ""
                ? [403, undefined, undefined]
                : [200, "upstream_authentication", undefined]),
          ]);
          if (!isOperator) expect(JSON.stringify(body)).not.toContain("org-of-the-operator");
        }
  });

  test("[d2.3] [d2.11] operators grant and revoke it, other callers cannot, and it takes effect with the next request, in whatever tenant the user is", async () => {
    for (const own of ["default.boss", "acme.owner"] as const) {
      const tenant = own.split(".")[0]!;
      expect([
        own,
        code(
          await world.send(own, "POST", `${A}/tenants/${tenant}/users`, {
            id: `${tenant}-new`,
            role: "viewer",
            operator: true,
          }),
        ),
      ]).toEqual([own, "403 insufficient_role"]);
      expect([
        own,
        code(await world.send(own, "PATCH", `${A}/tenants/${tenant}/users/${tenant}-viewer`, { operator: true })),
      ]).toEqual([own, "403 insufficient_role"]);
    }
    expect(code(await world.send("acme.viewer", "GET", `${A}/audit`))).toBe("403 insufficient_role");
    expect(
      code(await world.send("default.owner", "PATCH", `${A}/tenants/acme/users/acme-viewer`, { operator: true })),
    ).toBe("done");
    expect(code(await world.send("acme.viewer", "GET", `${A}/audit`))).toBe("done");
    expect(code(await world.send("acme.viewer", "POST", `${A}/tenants?dry_run=true`, { id: "gamma" }))).toBe("done");
    const change = (await world.send("acme.viewer", "GET", `${A}/audit?target_id=acme-viewer`)).body.data[0];
    expect([change.before.operator, change.after.operator]).toEqual([false, true]);
    expect(
      code(await world.send("acme.viewer", "PATCH", `${A}/tenants/acme/users/acme-viewer`, { operator: false })),
    ).toBe("done");
    expect(code(await world.send("acme.viewer", "GET", `${A}/audit`))).toBe("403 insufficient_role");
  });

  test("[d2.11] a caller who is not an operator cannot act on one: on the token, the login, the roles, the user", async () => {
    await world.send("default.owner", "POST", `${A}/tenants/acme/users`, {
      id: "acme-ops",
      role: "viewer",
      operator: true,
    });
    const made = await world.send("default.owner", "POST", `${A}/tenants/acme/tokens`, {
      name: "ops",
      user_id: "acme-ops",
    });
    const tokens = `${A}/tenants/acme/tokens`;
    const attempts = [
      ["POST", tokens, { name: "mine", user_id: "acme-ops" }],
      ["POST", `${tokens}/${made.body.id}/rotate`, {}],
      ["PATCH", `${tokens}/${made.body.id}`, { name: "mine" }],
      ["PATCH", `${A}/tenants/acme/users/acme-ops`, { login: { issuer: "https://login.example", subject: "me" } }],
      ["DELETE", `${A}/tenants/acme/users/acme-ops`, undefined],
      ["PUT", `${A}/tenants/acme/memberships/acme-ops`, { role: "owner" }],
      ["DELETE", `${A}/tenants/acme/memberships/acme-ops`, undefined],
      ["PUT", `${A}/projects/site/memberships/acme-ops`, { role: "viewer" }],
    ] as const;
    for (const [method, path, body] of attempts)
      expect([method, path, code(await world.send("acme.owner", method, path, body))]).toEqual([
        method,
        path,
        "403 insufficient_role",
      ]);
    for (const [method, path, body] of attempts)
      expect([method, path, code(await world.send("default.owner", method, `${path}?dry_run=true`, body))]).toEqual([
        method,
        path,
        "done",
      ]);
  });

  test("[d2.3] [d2.11] only an operator deletes the project in which an operator has the only role, and none their own", async () => {
    const own = await openAdminWorld();
    const users = `${A}/tenants/acme/users`;
    await own.send("default.owner", "POST", `${A}/projects`, { id: "attic", name: "attic", tenant_id: "acme" });
    await own.send("default.owner", "POST", users, { id: "ops", operator: true });
    await own.send("default.owner", "PUT", `${A}/projects/attic/memberships/ops`, { role: "viewer" });
    const { body } = await own.send("default.owner", "POST", `${A}/tenants/acme/tokens`, { name: "o", user_id: "ops" });
    expect(code(await own.send("acme.owner", "DELETE", `${A}/projects/attic`))).toBe("403 insufficient_role");
    expect(code(await own.send(body.token, "DELETE", `${A}/projects/attic`))).toBe("409 conflict");
    expect(code(await own.send(body.token, "GET", `${A}/projects/attic`))).toBe("done");
    await own.send("default.owner", "PUT", `${A}/tenants/acme/memberships/ops`, { role: "viewer" });
    expect(code(await own.send("acme.owner", "DELETE", `${A}/projects/attic`))).toBe("done");
    expect(code(await own.send(body.token, "GET", `${A}/projects/site`))).toBe("done");
    await own.close();
  });

  test("[d2.3] the last operator cannot be removed", async () => {
    const own = await openAdminWorld();
    // the first start's user and the one of the harness: one may go, the other may not
    expect(
      code(await own.send("default.owner", "PATCH", `${A}/tenants/default/users/owner`, { operator: false })),
    ).toBe("done");
    // nobody can log in as an operator without a role
    await own.send("default.owner", "POST", `${A}/tenants/acme/users`, { id: "later", operator: true });
    expect(
      code(await own.send("default.owner", "PATCH", `${A}/tenants/default/users/default-owner`, { operator: false })),
    ).toBe("409 conflict");
    expect(
      code(
        await own.send("default.owner", "PATCH", `${A}/tenants/default/users/default-owner`, { name: "Still here" }),
      ),
    ).toBe("done");
    await own.close();
  });

  test("[d2.3] of two operators who delete each other's tenants at the same moment, one stays", async () => {
    const own = await openAdminWorld();
    await own.send("default.owner", "POST", `${A}/tenants/acme/users`, {
      id: "acme-ops",
      role: "owner",
      operator: true,
    });
    const { body } = await own.send("default.owner", "POST", `${A}/tenants/acme/tokens`, {
      name: "ops",
      user_id: "acme-ops",
    });
    const both = await Promise.all([
      own.send("default.owner", "DELETE", `${A}/tenants/acme`),
      own.send(body.token, "DELETE", `${A}/tenants/default`),
    ]);
    expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([204, 401]);
    expect((await own.store.listUsers({ limit: 10 }, { isOperator: true })).data).not.toEqual([]);
    await own.close();
  });

  test("[d2.4] [d2.11] the permission ops is granted by operators and stands alone; read_content is granted by admins and owners", async () => {
    const make = async (as: string, permissions: readonly string[]): Promise<string> =>
      code(await world.send(as, "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "t", permissions }));
    expect([
      await make("acme.owner", ["ops"]),
      await make("acme.admin", ["ops"]),
      await make("default.owner", ["ops"]),
    ]).toEqual(["403 insufficient_role", "403 insufficient_role", "done"]);
    expect([
      await make("acme.maintainer", ["read_content"]),
      await make("acme.admin", ["read_content"]),
      await make("default.owner", ["ops", "debug"]),
    ]).toEqual(["403 insufficient_role", "done", "400 invalid_request"]);
    const { id } = (
      await world.send("default.owner", "POST", `${A}/projects/site/tokens`, { name: "scraper", permissions: ["ops"] })
    ).body;
    expect(code(await world.send("acme.owner", "POST", `${A}/projects/site/tokens/${id}/rotate`, {}))).toBe(
      "403 insufficient_role",
    );
    const local = world.store.change(LOCAL_ACTOR, (writer) =>
      createToken(writer, { name: "x", projectId: "site", permissions: ["ops", "debug"] }, 0),
    );
    expect(await local.catch((thrown: unknown) => (thrown as Error).message)).toContain(
      "cannot be combined with others",
    );
  });
});

describe("addresses set by other users than operators", () => {
  let world: AdminWorld;
  beforeAll(async () => void (world = await openAdminWorld()));
  afterAll(() => world.close());
  const provider = (name: string, fields: object = {}) => ({
    name,
    type: "custom",
    base_url: "http://127.0.0.1:9/v1",
    api_key: "k",
    ...fields,
  });
  const guarded = (tenant: string, name: string): boolean | undefined =>
    world.source.current().tenantProviders.get(tenant)?.get(name)?.guarded;
  const serverGuarded = (tenant: string, name: string): boolean => {
    const { transport } = world.source.current().toolServers.of(tenant, null).get(name)!;
    return transport.kind !== "stdio" && transport.guarded;
  };

  test("[d2.12] the address check asks for the operator's right and not for the name of the tenant: for providers, tool servers, metadata addresses and identities of the machine", async () => {
    for (const base_url of ["http://127.0.0.1:9/v1", "http://169.254.169.254/v1", "http://10.1.2.3/v1"])
      for (const as of ["default.admin", "default.boss", "acme.owner"]) {
        const tenant = as.split(".")[0]!;
        expect([
          as,
          base_url,
          code(
            await world.send(
              as,
              "POST",
              `${A}/tenants/${tenant}/providers?dry_run=true`,
              provider("near", { base_url }),
            ),
          ),
        ]).toEqual([as, base_url, "400 address_not_allowed"]);
        expect([
          as,
          base_url,
          code(
            await world.send(as, "POST", `${A}/tenants/${tenant}/tool_servers?dry_run=true`, {
              name: "near",
              url: base_url,
            }),
          ),
        ]).toEqual([as, base_url, "400 address_not_allowed"]);
      }
    const refused = [
      await world.send("acme.owner", "POST", `${A}/tenants/acme/providers`, provider("near")),
      await world.send("default.owner", "POST", `${A}/tenants/acme/webhooks`, {
        name: "near",
        url: "http://10.1.2.3/hook",
        events: ["*"],
      }),
    ];
    for (const { body } of refused)
      expect(body.error).toMatchObject({
        code: "address_not_allowed",
        message: expect.stringContaining("`providers.allow_private_addresses: true`"),
      });
    for (const as of ["default.admin", "default.boss"])
      expect([
        as,
        code(
          await world.send(as, "POST", `${A}/tenants/default/providers?dry_run=true`, {
            name: "cloud",
            type: "bedrock",
            aws: "default",
            region: "eu-west-1",
          }),
        ),
      ]).toEqual([as, "400 invalid_request"]);
    for (const tenant of ["default", "acme"]) {
      expect([
        tenant,
        code(await world.send("default.owner", "POST", `${A}/tenants/${tenant}/providers`, provider("near"))),
      ]).toEqual([tenant, "done"]);
      expect([
        tenant,
        code(
          await world.send("default.owner", "POST", `${A}/tenants/${tenant}/tool_servers`, {
            name: "near",
            url: "http://127.0.0.1:9/mcp",
          }),
        ),
      ]).toEqual([tenant, "done"]);
      expect([guarded(tenant, "near"), serverGuarded(tenant, "near")]).toEqual([false, false]);
    }
  });

  test("[d2.12] an object of an operator that another user replaces belongs to that user: its addresses have to be sent again, and are checked from then on", async () => {
    await world.send("default.owner", "POST", `${A}/tenants/acme/providers`, provider("shared"));
    const path = `${A}/tenants/acme/providers/shared`;
    expect(code(await world.send("acme.owner", "PATCH", path, { enabled: false }))).toBe("403 read_only");
    expect(
      code(await world.send("acme.owner", "PATCH", path, { base_url: "http://127.0.0.1:9/v1", enabled: true })),
    ).toBe("400 address_not_allowed");
    expect(guarded("acme", "shared")).toBe(false);
    expect(
      code(await world.send("acme.owner", "PATCH", path, { base_url: "https://1.1.1.1/v1", api_key: "mine" })),
    ).toBe("done");
    expect(guarded("acme", "shared")).toBe(true);
    const versions = (await world.send("acme.owner", "GET", `${A}/tenants/acme/versions`)).body.data as readonly {
      readonly number: number;
    }[];
    expect(
      code(await world.send("acme.owner", "POST", `${A}/tenants/acme/rollback`, { to: versions[1]!.number })),
    ).toBe("done");
    // going back brings the operator's words back, which are not looked at like the tenant's
    expect(guarded("acme", "shared")).toBe(false);
  });

  test("[d2.12] [d9.3] going back to a version of one policy brings back its name, its author and the guard of its address, whoever goes back", async () => {
    const path = `${A}/tenants/acme/policies`;
    const judged = (url: string): object => ({
      guard: { on: "input", action: "block", service: { type: "request", url } },
    });
    const { body: made } = await world.send("acme.owner", "POST", path, {
      name: "first",
      ...judged("https://1.1.1.1/"),
    });
    const one = `${path}/${made.id}`;
    const [written] = (await world.send("acme.owner", "GET", `${one}/versions`)).body.data;
    expect(
      code(await world.send("default.owner", "PUT", one, { name: "second", ...judged("http://127.0.0.1:9/") })),
    ).toBe("done");
    const [changed] = (await world.send("acme.owner", "GET", `${one}/versions`)).body.data;
    const back = await world.send("default.owner", "POST", `${one}/rollback`, { to: written.number });
    expect([back.status, back.body.name, back.body.guard.service.url]).toEqual([200, "first", "https://1.1.1.1/"]);
    const { data: found } = await world.store.listResources({ limit: 10 }, { kind: "policy", tenantId: "acme" });
    expect(found.map(({ name, byOperator }) => [name, byOperator])).toEqual([["first", false]]);
    expect(code(await world.send("acme.owner", "POST", `${one}/rollback`, { to: changed.number }))).toBe("done");
    const { data: again } = await world.store.listResources({ limit: 10 }, { kind: "policy", tenantId: "acme" });
    expect(again.map(({ name, byOperator }) => [name, byOperator])).toEqual([["second", true]]);
  });
});
