// What the people of one tenant may store: every process that serves calls holds all of it.
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MOST_STORED } from "../../../src/store/kysely-work.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const BASE = "/api/v1/admin";
const A = `${BASE}/tenants/acme`;
const ROUTE = { targets: ["sandbox:echo"] };

const kinds = await allDatabases();
afterAll(async () => {
  await Promise.all(kinds.map((kind) => kind.dispose()));
});

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    beforeEach(async () => {
      world = await openAdminWorld({ kind });
    });
    afterEach(async () => {
      await world.close();
    });

    /** Writes many rows at once, past the store. */
    async function fill(table: string, columns: string, count: number, row: (index: number) => string): Promise<void> {
      const rows = Array.from({ length: count }, (_, index) => `(${row(index)})`);
      for (let at = 0; at < count; at += 500)
        await world.read(`insert into ${table} (${columns}) values ${rows.slice(at, at + 500).join(", ")}`);
    }
    const fillResources = (count: number, document: string): Promise<void> =>
      fill(
        "resources",
        "id, kind, tenant_id, name, document, set_by, version, created_at_ms, updated_at_ms",
        count,
        (index) => `'rte_${index}', 'route', 'acme', 'filler-${index}', '${document}', 'owner', 1, 0, 0`,
      );
    const addRoute = (as: string, name: string, more: object = {}) =>
      world.send(as, "POST", `${A}/routes`, { name, ...ROUTE, ...more });

    test("[d9.3] of one kind a tenant's people may store only so many, and an operator more", async () => {
      await fillResources(MOST_STORED.ofKind - 1, JSON.stringify(ROUTE));
      expect((await addRoute("acme.owner", "last")).status).toBe(201);
      const refused = await addRoute("acme.owner", "beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("5,000 resources of the kind route");
      // nothing was written, and what is there can still be changed
      expect((await world.send("acme.owner", "GET", `${A}/routes?limit=1000`)).text).not.toContain("beyond");
      const changed = await world.send("acme.owner", "PATCH", `${A}/routes/rte_0`, { retries: 2 });
      expect(changed.status).toBe(200);
      const limit = { metric: "requests", window: "minute", limit: 10 };
      expect((await world.send("acme.owner", "POST", `${A}/limits`, limit)).status).toBe(201);
      expect((await addRoute("default.owner", "beyond")).status).toBe(201);
    }, 60_000);

    test("[d9.3] a rollback of a project brings back no more than a tenant's people may store, and an operator's may", async () => {
      const site = `${BASE}/projects/site`;
      expect((await world.send("acme.owner", "POST", `${site}/routes`, { name: "old", ...ROUTE })).status).toBe(201);
      const [newest] = (await world.send("acme.owner", "GET", `${site}/versions`)).body.data;
      expect((await world.send("acme.owner", "DELETE", `${site}/routes/old`)).status).toBe(204);
      await fillResources(MOST_STORED.ofKind, JSON.stringify(ROUTE));
      const rollBack = (as: string) => world.send(as, "POST", `${site}/rollback`, { to: newest.number });
      const refused = await rollBack("acme.owner");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("5,000 resources of the kind route");
      expect((await world.send("acme.owner", "GET", `${site}/routes/old`)).status).toBe(404);
      expect((await rollBack("default.owner")).status).toBe(200);
    }, 60_000);

    test("[d9.3] routes of a tenant that many projects inherit beside their own are bounded", async () => {
      const projects = 20;
      await fillResources(MOST_STORED.inheritedRoutes / projects, JSON.stringify(ROUTE));
      await fill("projects", "id, tenant_id, name", projects + 1, (index) => `'with-${index}', 'acme', 'n'`);
      await fill(
        "resources",
        "id, kind, tenant_id, project_id, name, document, set_by, version, created_at_ms, updated_at_ms",
        projects,
        (index) =>
          `'own_${index}', 'route', 'acme', 'with-${index}', 'own', '${JSON.stringify(ROUTE)}', 'owner', 1, 0, 0`,
      );
      await world.source.reload();
      const refused = await addRoute("acme.owner", "beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      const add = (project: string) =>
        world.send("acme.owner", "POST", `${BASE}/projects/${project}/routes`, { name: "another", ...ROUTE });
      expect((await add(`with-${projects}`)).status).toBe(409);
      expect((await add("with-0")).status).toBe(201);
      expect((await addRoute("default.owner", "beyond")).status).toBe(201);
    }, 60_000);

    test("[d9.3] all that a tenant's people store together is bounded, and may become shorter", async () => {
      const long = JSON.stringify({ ...ROUTE, description: "x".repeat(MOST_STORED.characters / 64) });
      await fillResources(64, long);
      const refused = await addRoute("acme.owner", "beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      const shorter = await world.send("acme.owner", "PUT", `${A}/routes/rte_0`, { name: "filler-0", ...ROUTE });
      expect(shorter.status).toBe(200);
      expect((await addRoute("acme.owner", "beyond")).status).toBe(201);
    }, 60_000);

    test("[d9.3] a tenant's people may have only so many projects, and an operator adds more", async () => {
      const { count } = (await world.read("select count(*) as count from projects where tenant_id = 'acme'"))[0]!;
      await fill(
        "projects",
        "id, tenant_id, name",
        MOST_STORED.projects - Number(count),
        (index) => `'filler-${index}', 'acme', 'n'`,
      );
      const add = (as: string) =>
        world.send(as, "POST", `${BASE}/projects`, { id: "beyond", tenant_id: "acme", name: "Beyond" });
      const refused = await add("acme.owner");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      const renamed = await world.send("acme.owner", "PATCH", `${BASE}/projects/site`, { name: "Renamed" });
      expect(renamed.status).toBe(200);
      expect((await add("default.owner")).status).toBe(201);
    }, 60_000);

    test("[d9.3] a tenant's people may have only so many users and roles of users, and an operator adds more", async () => {
      const counted = async (table: string): Promise<number> =>
        Number((await world.read(`select count(*) as count from ${table} where tenant_id = 'acme'`))[0]!["count"]);
      const users = MOST_STORED.users - (await counted("users"));
      await fill("users", "id, tenant_id, name", users, (index) => `'filler-${index}', 'acme', 'n'`);
      const add = (as: string, role: string | null = null) =>
        world.send(as, "POST", `${A}/users`, { id: "beyond", name: "Beyond", role });
      const refused = await add("acme.owner");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("50,000 users");
      const renamed = await world.send("acme.owner", "PATCH", `${A}/users/filler-0`, { name: "Renamed" });
      expect(renamed.status).toBe(200);
      expect((await add("default.owner")).status).toBe(201);
      const roles = MOST_STORED.memberships - (await counted("memberships"));
      const projects = Math.ceil(roles / users);
      await fill("projects", "id, tenant_id, name", projects, (index) => `'with-${index}', 'acme', 'n'`);
      await fill(
        "memberships",
        "tenant_id, user_id, project_id, role",
        roles,
        (index) => `'acme', 'filler-${index % users}', 'with-${Math.floor(index / users)}', 'viewer'`,
      );
      const give = (as: string) => world.send(as, "PUT", `${A}/memberships/beyond`, { role: "viewer" });
      const none = await give("acme.owner");
      expect([none.status, none.body.error.code]).toEqual([409, "conflict"]);
      expect(none.body.error.message).toContain("200,000 roles of users");
      expect((await give("default.owner")).status).toBe(201);
    }, 120_000);

    test("[d9.3] all projects and users of a tenant may have only so many live tokens together, and an operator adds more", async () => {
      const { count } = (
        await world.read(
          "select count(*) as count from access_tokens where tenant_id = 'acme' and revoked_at_ms is null",
        )
      )[0]!;
      await fill(
        "access_tokens",
        "id, kind, name, tenant_id, project_id, permissions, created_at_ms, lifetime_ms, expires_at_ms",
        MOST_STORED.liveTokens - Number(count),
        (index) => `'t${index}', 'project', 'n', 'acme', 'app', '[]', 0, 1, ${Date.now() + 86_400_000}`,
      );
      const make = (as: string) => world.send(as, "POST", `${BASE}/projects/site/tokens`, { name: "beyond" });
      const refused = await make("acme.owner");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("200,000 live access tokens");
      expect((await make("default.owner")).status).toBe(201);
    }, 120_000);

    test("[d9.3] a tenant's people may have only so many drafts, and may go on with those", async () => {
      const save = (name: string) => world.send("acme.owner", "PUT", `${A}/routes/${name}/draft`, { text: "typed" });
      expect((await save("own")).status).toBe(200);
      await fill(
        "drafts",
        "tenant_id, owner, kind, name, text, saved_at_ms",
        2_000 - 1,
        (index) => `'acme', 'somebody-${index}', 'route', 'filler', 'x', 0`,
      );
      const refused = await save("beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("2,000 drafts");
      expect((await save("own")).status).toBe(200);
    }, 60_000);

    test("[d9.3] a tenant's people may have only so many links that can still be opened", async () => {
      const filler = (id: string, expiresMs: number) => (index: number) =>
        `'clm_${id}${index}', '${id}${index}', 'acme', '{"name":"n"}', '{}', 'ann', 0, ${expiresMs}`;
      const columns = "id, code_hash, tenant_id, request, giver, created_by, created_at_ms, expires_at_ms";
      await fill("token_claims", columns, 100, filler("old", 1));
      await fill("token_claims", columns, MOST_STORED.claims - 1, filler("open", Date.now() + 86_400_000));
      const make = () => world.send("acme.owner", "POST", `${BASE}/projects/site/claims`, { name: "beyond" });
      expect((await make()).status).toBe(201);
      const refused = await make();
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("10,000 open links");
    }, 60_000);

    test("[d9.3] a tenant's people may save only so many views, on whichever screens", async () => {
      await fill(
        "console_views",
        "id, tenant_id, user_id, screen, name, query, is_default, created_by, created_at_ms",
        MOST_STORED.views - 1,
        (index) => `'viw_${index}', 'acme', 'acme-owner', 's${index}', 'n', '', 0, 'acme-owner', 0`,
      );
      const save = (as: string, screen: string) =>
        world.send(as, "POST", `${BASE}/projects/site/views`, { name: "n", screen, query: "" });
      expect((await save("acme.owner", "last")).status).toBe(201);
      const refused = await save("acme.owner", "beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("10,000 saved views");
      expect((await save("default.owner", "beyond")).status).toBe(201);
    }, 60_000);

    test("[d9.3] a tenant's people may have only so many drains at a time, and may make those longer", async () => {
      const until = Date.now() + 86_400_000;
      await fill(
        "provider_drains",
        "tenant_id, provider, model, until_ms, begun_by, begun_at_ms",
        MOST_STORED.drains,
        (index) => `'acme', 'sandbox', 'model-${index}', ${until}, 'ann', 0`,
      );
      const drain = (as: string, model: string) =>
        world.send(as, "POST", `${A}/providers/sandbox/drain`, { minutes: 5, model });
      const refused = await drain("acme.owner", "beyond");
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("1,000 drains");
      expect((await drain("acme.owner", "model-0")).status).toBe(200);
      expect((await drain("default.owner", "beyond")).status).toBe(200);
    }, 60_000);
  });
