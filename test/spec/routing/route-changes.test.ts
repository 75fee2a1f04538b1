// Routes and policies are changed safely: tests block a change that breaks them, a version says who, when and why, going
// back publishes again, and drafts are kept for each person. Both databases.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

const ROUTES = "/api/v1/admin/tenants/acme/routes";
const A = "openai:gpt-4o";
const B = "anthropic:claude-haiku-4-5";
const TESTS = [
  { name: "plain", expect: { target: A } },
  { name: "A down", when: { down: ["openai:*"] }, expect: { target: B } },
  { name: "log probabilities", when: { parameters: ["logprobs"] }, expect: { target: A } },
  {
    name: "log probabilities, A down",
    when: { parameters: ["logprobs"], down: [A] },
    expect: { code: "upstream_connection" },
  },
  { name: "never B for app", when: { project: "app" }, expect: { never: B } },
];

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    const send = (method: string, path: string, body?: unknown, as = "acme.admin"): Promise<Told> =>
      world.send(as, method, path, body);

    beforeAll(async () => {
      world = await openAdminWorld({ kind, variables: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" } });
      const policy = { name: "app", rule: `project.id == "app" && target.provider == "anthropic"` };
      expect((await send("POST", "/api/v1/admin/tenants/acme/policies", policy)).status).toBe(201);
      const made = await send("POST", `${ROUTES}?note=First%20try`, {
        name: "chat",
        targets: [A, B],
        retries: 0,
        tests: TESTS,
      });
      expect([made.status, made.text]).toEqual([201, made.text]);
    });
    afterAll(() => world.close());

    test("a change that breaks a test is refused with the test's path and what holds instead, and nothing is published", async () => {
      const broken = await send("PATCH", `${ROUTES}/chat`, { targets: [B, A] });
      expect(broken.status).toBe(400);
      expect(broken.body.error.param).toBe("tests[0]");
      expect(broken.body.error.message).toContain(`the test "plain" does not hold. ${B} answers, and not ${A}.`);
      expect(broken.body.error.message).toContain("override_tests");
      expect((await send("GET", `${ROUTES}/chat`)).body.targets).toEqual([A, B]);
      // the policy of the project is part of what is tried
      const widened = await send("PATCH", `${ROUTES}/chat`, {
        tests: [{ name: "site reaches B", when: { project: "site" }, expect: { never: B } }],
      });
      expect(widened.body.error.message).toContain(`Such a call can reach ${B}.`);
      for (const expected of [{ target: A }, { never: B }, { mirrored: false }]) {
        const unknown = await send("PATCH", `${ROUTES}/chat`, {
          tests: [{ name: "nobody", when: { project: "lab" }, expect: expected }],
        });
        expect(unknown.body.error?.message).toContain(
          'There is no project \\"lab\\" in the tenant.'.replaceAll("\\", ""),
        );
      }
      const ofProject = (project: string): Promise<Told> =>
        send("POST", "/api/v1/admin/projects/app/routes", {
          name: `own-${project}`,
          targets: [A],
          tests: [{ name: "own", when: { project }, expect: { target: A } }],
        });
      expect((await ofProject("app")).status).toBe(201);
      expect((await ofProject("site")).body.error.message).toContain(
        'The route belongs to the project "app", and no call of "site" can use it.',
      );
      const empty = await send("PATCH", `${ROUTES}/chat`, { tests: [{ name: "x", expect: {} }] });
      expect(empty.body.error.param).toBe("tests[0].expect");
    });

    test("tests run before the change is made, and again where something else was changed meanwhile", async () => {
      let change = async (): Promise<void> => {};
      let tried = 0;
      const other = await openAdminWorld({
        kind,
        variables: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" },
        between: (store) => ({
          ...store,
          async change(actor, work, options) {
            if (options?.basedOn !== undefined) {
              tried++;
              const now = change;
              change = async () => {};
              await now();
            }
            return await store.change(actor, work, options);
          },
        }),
      });
      const route = { name: "chat", targets: [A, B], tests: [{ name: "never B", expect: { never: B } }] };
      const made = (targets: readonly string[], name: string): Promise<Told> =>
        other.send("acme.admin", "POST", ROUTES, { ...route, targets, name });
      // a change of something else, after which the tests still hold
      change = async () => {
        await other.store.change(LOCAL_ACTOR, async (writer) => {
          const place = { tenantId: "acme", projectId: null };
          const document = { targets: [B] };
          await writer.createResource({ kind: "route", ...place, name: "fast", document });
        });
        await other.source.reload();
      };
      const first = await made([A], "one");
      expect([first.status, tried]).toEqual([201, 2]);
      // and one after which they do not
      change = async () => {
        await other.send("acme.admin", "POST", "/api/v1/admin/tenants/acme/policies", {
          name: "no-a",
          rule: `target.model == "gpt-4o"`,
        });
      };
      const direct = { name: "A", expect: { target: A } };
      tried = 0;
      const failed = await other.send("acme.admin", "POST", ROUTES, { name: "two", targets: [A], tests: [direct] });
      expect([failed.status, failed.body.error?.param, tried]).toEqual([400, "tests[0]", 2]);
      expect((await other.send("acme.admin", "GET", `${ROUTES}/two`)).status).toBe(404);
      // somebody who changes something all the time does not hold up the change for ever
      const always = async (): Promise<void> => {
        change = always;
        await other.store.change(
          LOCAL_ACTOR,
          async (writer) => void (await writer.createTenant({ id: `t${++tried}`, name: "t" })),
        );
      };
      change = always;
      const moved = await made([A], "three");
      expect([moved.status, moved.body.error?.code]).toEqual([409, "conflict"]);
      expect(moved.body.error.message).toContain("Try again");
      await other.close();
    });

    test("only an owner overrides a test, with a reason that the audit log keeps", async () => {
      const path = `${ROUTES}/chat?override_tests=A%20is%20down%20until%20noon`;
      const refused = await send("PATCH", path, { targets: [B, A] });
      expect([refused.status, refused.body.error.code]).toEqual([403, "insufficient_role"]);
      const done = await send("PATCH", path, { targets: [B, A] }, "acme.owner");
      expect(done.body.targets).toEqual([B, A]);
      const { body } = await send(
        "GET",
        "/api/v1/admin/tenants/acme/audit?action=override_tests",
        undefined,
        "acme.owner",
      );
      expect(body.data).toHaveLength(1);
      expect(body.data[0]).toMatchObject({ note: "A is down until noon", target_name: "chat" });
      expect(body.data[0].after.failed.map(({ path: failed }: { path: string }) => failed)).toEqual(["tests[0]"]);
      // it is not asked for where every test holds
      const { version } = done.body;
      const back = await send("PATCH", `${ROUTES}/chat?note=Again`, { targets: [A, B] }, "acme.owner");
      expect(back.body.version).toBe(version + 1);
    });

    test("a simulation says which tests hold, and offers tests that are made of the calls where there are none", async () => {
      const { body } = await send("POST", `${ROUTES}/chat/simulate`, { route: { targets: [B, A], tests: TESTS } });
      expect(body.tests.map(({ passed }: { passed: boolean }) => passed)).toEqual([false, true, true, true, true]);
      expect(body.suggested_tests).toEqual([]);
      const call = (parameters: object, index: number) =>
        rowOf({
          startedAtMs: Date.now() - 60_000 + index,
          route: "chat",
          dispositions: parameters as never,
          attempts: [attemptOf({ provider: "openai", model: "gpt-4o", startMs: 0, totalMs: 20 })],
        });
      await world.calls.ingest([
        ...Array.from({ length: 6 }, (_, index) => call({ temperature: "native" }, index)),
        ...Array.from({ length: 3 }, (_, index) => call({ tools: "native" }, index)),
      ]);
      const fresh = await send("POST", `${ROUTES}/chat/simulate`, { route: { targets: [A, B] }, calls: 500 });
      expect(fresh.body.suggested_tests).toEqual([
        { name: "text", when: {}, expect: { target: A } },
        { name: `text while ${A} is down`, when: { down: [A] }, expect: { target: B } },
        { name: "tools", when: { parameters: ["tools"] }, expect: { target: A } },
      ]);
      const tests = fresh.body.suggested_tests;
      const { status } = await send("PATCH", `${ROUTES}/chat?dry_run=true`, { tests }, "acme.owner");
      expect(status).toBe(200);
    });

    test("a route of the configuration file has no versions, which reading them says", async () => {
      const folder = mkdtempSync(join(tmpdir(), "dragoman-file-routes-"));
      const file = join(folder, "dragoman.json");
      writeFileSync(file, JSON.stringify({ routes: { filed: { targets: ["sandbox:echo"] } } }));
      const filed = await openAdminWorld({ kind, file });
      try {
        const read = (path: string) => filed.send("acme.viewer", "GET", `${ROUTES}/${path}`);
        const { status, body } = await read("filed/versions");
        expect([status, body.origin, body.data]).toEqual([200, "file", []]);
        expect((await read("nothing/versions")).status).toBe(404);
        expect((await read("filed/compare")).body).toMatchObject({ route: "filed", pairs: 0 });
        const unknown = await read("nothing/compare");
        expect([unknown.status, unknown.body.error.message]).toEqual([
          404,
          expect.stringMatching(/^There is no route nothing/),
        ]);
      } finally {
        await filed.close();
        rmSync(folder, { recursive: true });
      }
    });

    test("versions say who, when, why, what and which calls; going back publishes a new version", async () => {
      const { body } = await send("GET", `${ROUTES}/chat/versions`);
      const [again, overridden, first] = body.data;
      expect([again.note, overridden.note, first.note]).toEqual(["Again", null, "First try"]);
      expect(first).toMatchObject({ change: { action: "create", after: { targets: [A, B] } }, rolled_back_to: null });
      expect(overridden).toMatchObject({ actor: { role: "owner" }, change: { after: { targets: [B, A] } } });
      expect(again.calls).toEqual({ calls: 0, errors: 0, cost_usd: "0" });
      expect([again.actor.role, first.actor.role]).toEqual(["owner", "admin"]);

      const back = await send("POST", `${ROUTES}/chat/rollback?note=Oops`, { to: overridden.number }, "acme.owner");
      expect([back.status, back.body.targets]).toEqual([200, [B, A]]);
      const [newest] = (await send("GET", `${ROUTES}/chat/versions`)).body.data;
      expect(newest).toMatchObject({
        note: "Oops",
        rolled_back_to: overridden.number,
        change: { after: { targets: [B, A] } },
      });
      expect((await send("GET", "/api/v1/admin/tenants/acme/versions?limit=1")).body.data[0].note).toBe("Oops");
      const none = await send("POST", `${ROUTES}/chat/rollback`, { to: newest.number }, "acme.owner");
      expect(none.body.version).toBe(back.body.version);
      const before = await send("POST", `${ROUTES}/chat/rollback`, { to: first.number - 1 }, "acme.owner");
      expect([before.status, before.body.error.code]).toEqual([409, "conflict"]);
      expect((await send("POST", `${ROUTES}/chat/rollback`, { to: first.number }, "acme.viewer")).status).toBe(403);
    });

    test("[d9.3] going back to a route of a provider that is gone says so, also to somebody who may not name other providers", async () => {
      const providers = "/api/v1/admin/tenants/acme/providers";
      const made = { name: "gone", type: "custom", base_url: "https://1.1.1.1/v1", api_key: "k" };
      expect((await send("POST", providers, made, "acme.owner")).status).toBe(201);
      const routes = "/api/v1/admin/projects/site/routes";
      const path = `${routes}/through`;
      const maintain = (method: string, at: string, body?: unknown): Promise<Told> =>
        send(method, at, body, "site-only.maintainer");
      expect((await maintain("POST", routes, { name: "through", targets: ["gone:m"] })).status).toBe(201);
      const [first] = (await maintain("GET", `${path}/versions`)).body.data;
      expect((await maintain("PATCH", path, { targets: [A] })).status).toBe(200);
      expect((await send("DELETE", `${providers}/gone`, undefined, "acme.owner")).status).toBe(204);
      for (const who of ["acme.owner", "site-only.maintainer"]) {
        const { status, body } = await send("POST", `${path}/rollback`, { to: first.number }, who);
        expect([who, status, body.error.param, body.error.metadata.problems.length]).toEqual([who, 409, null, 1]);
        expect(body.error.message).toContain("the route through of the project site: there is no provider");
      }
    });

    test("a draft belongs to one person, may be anything, and says whether somebody has published meanwhile", async () => {
      const path = `${ROUTES}/chat/draft`;
      expect((await send("GET", path)).body).toMatchObject({ text: null, base_etag: null, saved_at: null });
      const { etag } = (await send("GET", `${ROUTES}/chat`)).body;
      const revision = await world.store.revision();
      const text = "targets: [ # not finished\n";
      expect((await send("PUT", path, { text, base_etag: etag })).body).toMatchObject({
        text,
        base_etag: etag,
        current_etag: etag,
      });
      await send("PUT", path, { text: `${text}- a`, base_etag: etag });
      expect(await world.store.revision()).toBe(revision);
      expect((await send("GET", path, undefined, "acme.owner")).body.text).toBeNull();
      expect((await send("GET", "/api/v1/admin/tenants/acme/drafts")).body.data).toMatchObject([
        { kind: "route", name: "chat" },
      ]);
      await send("PATCH", `${ROUTES}/chat?override_tests=x`, { retries: 1 }, "acme.owner");
      const stale = (await send("GET", path)).body;
      expect(stale.text).toBe(`${text}- a`);
      expect(stale.base_etag).not.toBe(stale.current_etag);
      expect((await send("DELETE", path)).status).toBe(204);
      expect((await send("DELETE", path)).status).toBe(204);
      expect((await send("GET", "/api/v1/admin/tenants/acme/drafts")).body.data).toEqual([]);
      expect((await send("PUT", path, { text: "x".repeat(100_001) })).body.error.param).toBe("text");
      expect((await send("PUT", path, { text: "x" }, "acme.viewer")).status).toBe(403);
      expect((await send("PUT", path, { text: "x" }, "beta.owner")).status).toBe(404);
    });

    test("drafts of a project are not those of its tenant, and too many drafts lose the oldest", async () => {
      const path = (name: string): string => `/api/v1/admin/projects/site/routes/${name}/draft`;
      await Promise.all(Array.from({ length: 101 }, (_, index) => send("PUT", path(`r${index}`), { text: "x" })));
      const { data } = (await send("GET", "/api/v1/admin/projects/site/drafts")).body;
      expect(data).toHaveLength(100);
      expect((await send("GET", "/api/v1/admin/tenants/acme/drafts")).body.data).toEqual([]);
    });
  });
