// How every operation of the admin API behaves (promises 9.2, 9.3): ETags, idempotency, dry runs, pages, errors by path, the audit log, versions, the file beside the
// database, secrets, and a database that is away.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import type { AdminClient, AdminRequest } from "../../../src/cli/admin/client.ts";
import { make } from "../../../src/cli/apply/gateway-state.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

const A = "/api/v1/admin";
const folder = mkdtempSync(join(tmpdir(), "dragoman-admin-file-"));
const FILE = `
providers:
  openai:
    api_key: sk-of-the-operator-1234567890
    base_url: https://models.example/v1
routes:
  shared: {targets: ["sandbox:echo"]}
limits:
  everybody: {metric: requests, window: minute, limit: 100}
tenants:
  acme:
    routes:
      fixed: {targets: ["sandbox:echo"]}
    settings: {drop_params: true}
`;

let world: AdminWorld;

const route = (name: string, targets: readonly unknown[] = ["sandbox:echo"]) => ({ name, targets });

const kinds = await allDatabases();
afterAll(async () => {
  await Promise.all(kinds.map((kind) => kind.dispose()));
  rmSync(folder, { recursive: true, force: true });
});

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    beforeAll(async () => {
      const file = join(folder, "dragoman.yaml");
      writeFileSync(file, FILE);
      world = await openAdminWorld({ file, kind });
    });
    afterAll(async () => {
      await world.close();
    });

    describe("ETags", () => {
      test("[d14.5, d9.3] apply creates no role that someone else has given in between", async () => {
        const path = `${A}/projects/site/memberships/acme-viewer`;
        expect((await world.send("acme.admin", "PUT", path, { role: "maintainer" })).status).toBe(201);
        const answers: number[] = [];
        const send: AdminClient["send"] = async (method, to, request?: AdminRequest) => {
          const { body, ifMatch } = request ?? {};
          const headers = ifMatch == null ? {} : { "if-match": ifMatch };
          const answer = await world.send("acme.admin", method, `${A}${to}`, body, headers);
          answers.push(answer.status);
          return answer.body;
        };
        const what = { kind: "member", tenant: null, project: "site", name: "acme-viewer" } as const;
        const desired = { ...what, spec: { role: "viewer" }, from: "members.yaml:1" };
        const step = { action: "create", what, desired, actual: null, differences: [] } as const;
        const client = { send } as AdminClient;
        await make(client, step);
        expect((await world.store.findMembership("acme-viewer", "site"))!.role).toBe("maintainer");
        expect((await world.send("acme.admin", "DELETE", path)).status).toBe(204);
        await make(client, step);
        expect(answers).toEqual([412, 201]);
        expect((await world.send("acme.admin", "DELETE", path)).status).toBe(204);
      });

      test("[d9.3] stand in the header and the body, change with each change, and a different one is answered with 412", async () => {
        const made = await world.send("acme.admin", "POST", `${A}/tenants/acme/routes`, route("tagged"));
        const first = made.headers.get("etag")!;
        expect([made.status, made.body.etag]).toEqual([201, first]);
        const changed = await world.send(
          "acme.admin",
          "PATCH",
          `${A}/tenants/acme/routes/tagged`,
          { retries: 1 },
          { "if-match": first },
        );
        expect([changed.status, changed.headers.get("etag") === first]).toEqual([200, false]);
        const late = await world.send(
          "acme.admin",
          "PATCH",
          `${A}/tenants/acme/routes/tagged`,
          { retries: 2 },
          { "if-match": first },
        );
        expect([late.status, late.body.error.code, late.headers.get("etag")]).toEqual([
          412,
          "etag_mismatch",
          changed.headers.get("etag"),
        ]);
        for (const [header, status] of [
          ["*", 200],
          [`"nonsense", ${changed.headers.get("etag")}`, 200],
          ['W/"1"', 412],
        ] as const)
          expect([
            header,
            (
              await world.send(
                "acme.admin",
                "PATCH",
                `${A}/tenants/acme/routes/tagged?dry_run=true`,
                { retries: 3 },
                { "if-match": header },
              )
            ).status,
          ]).toEqual([header, status]);
        expect(
          (
            await world.send("acme.admin", "DELETE", `${A}/tenants/acme/routes/tagged`, undefined, {
              "if-match": first,
            })
          ).status,
        ).toBe(412);
        expect((await world.send("acme.admin", "GET", `${A}/tenants/acme/routes/tagged`)).body.retries).toBe(1);
      });

      test("[d9.3] one of twenty writers with the same ETag wins, for every kind of object", async () => {
        const things: readonly (readonly [path: string, change: object])[] = [
          ["/tenants/acme/routes/tagged", { retries: 4 }],
          ["/tenants/acme", { name: "Acme" }],
          ["/projects/site", { name: "Site" }],
          ["/tenants/acme/users/acme-viewer", { name: "Vi" }],
        ];
        for (const [path, change] of things) {
          const etag = (await world.send("acme.owner", "GET", A + path)).headers.get("etag")!;
          const answers = await Promise.all(
            Array.from({ length: 20 }, () => world.send("acme.owner", "PATCH", A + path, change, { "if-match": etag })),
          );
          const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
          expect([path, statuses]).toEqual([path, [200, ...Array.from({ length: 19 }, () => 412)]]);
        }
      });

      test("[d9.3] an object that was removed and created again has another ETag", async () => {
        const one = (await world.send("acme.admin", "POST", `${A}/tenants/acme/routes`, route("again"))).headers.get(
          "etag",
        );
        await world.send("acme.admin", "DELETE", `${A}/tenants/acme/routes/again`);
        await Bun.sleep(2);
        expect(
          (await world.send("acme.admin", "POST", `${A}/tenants/acme/routes`, route("again"))).headers.get("etag"),
        ).not.toBe(one);
      });
    });

    describe("idempotency keys", () => {
      const post = (key: string, name: string, as = "acme.site.maintainer") =>
        world.send(as, "POST", `${A}/projects/site/tokens`, { name }, { "idempotency-key": key });

      test("[d9.3] the same request gets the same answer and does nothing again; another request with the key is answered with 422", async () => {
        const first = await post("key-1", "once");
        const second = await post("key-1", "once");
        expect([
          first.status,
          second.status,
          second.body,
          first.headers.get("idempotent-replayed"),
          second.headers.get("idempotent-replayed"),
          second.headers.get("etag"),
        ]).toEqual([201, 201, { ...first.body, token: null }, null, "true", first.headers.get("etag")]);
        const other = await post("key-1", "twice");
        expect([other.status, other.body.error.code]).toEqual([422, "idempotency_mismatch"]);
        const { body } = await world.send("acme.site.maintainer", "GET", `${A}/projects/site/tokens?search=once`);
        expect(body.data).toHaveLength(1);
      });
      test("[d2.5] [d9.3] a token's secret is in the first answer alone: in no repeat, and nowhere in the database, encrypted or not", async () => {
        const first = await post("key-secret", "told once");
        expect(first.body.token).toMatch(/^dgm_pt_/);
        expect((await post("key-secret", "told once")).body.token).toBeNull();
        const rotate = () =>
          world.send("acme.site.maintainer", "POST", `${A}/projects/site/tokens/${first.body.id}/rotate`, undefined, {
            "idempotency-key": "key-rotate",
          });
        const [rotated, again] = [await rotate(), await rotate()];
        expect([
          rotated.status,
          rotated.body.token.startsWith("dgm_pt_"),
          again.status,
          again.body,
          again.headers.get("idempotent-replayed"),
        ]).toEqual([200, true, 200, { ...rotated.body, token: null }, "true"]);
        const kept = await world.store.findAnswer(
          /^dgm_pt_([^_]+)_/.exec(world.tokens.get("acme.site.maintainer")!)![1]!,
          "key-secret",
        );
        expect([kept?.status, kept?.body.includes("dgm_pt_"), kept?.body.includes(first.body.id)]).toEqual([
          201,
          false,
          true,
        ]);
      });
      test("[d9.3] twenty requests at once with one key create one object, and all answers describe it", async () => {
        const answers = await Promise.all(Array.from({ length: 20 }, () => post("key-2", "crowd")));
        expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
        expect(answers.filter(({ body }) => body.token !== null)).toHaveLength(1);
        expect(
          (await world.send("acme.site.maintainer", "GET", `${A}/projects/site/tokens?search=crowd`)).body.data,
        ).toHaveLength(1);
      });
      test("[d9.3] keys of different tokens are independent, a refused request stores none, and a bad key is answered with 400", async () => {
        expect((await post("key-1", "another", "site-only.maintainer")).status).toBe(201);
        expect(
          (
            await world.send(
              "acme.site.maintainer",
              "POST",
              `${A}/projects/site/tokens`,
              { name: "" },
              { "idempotency-key": "key-3" },
            )
          ).status,
        ).toBe(400);
        expect((await post("key-3", "mended")).status).toBe(201);
        for (const key of ["", "a b", "k".repeat(256)])
          expect([key, (await post(key, "x")).status]).toEqual([key, 400]);
      });
    });

    describe("dry runs, pages and errors", () => {
      test("[d9.3] a dry run returns what would result, and changes nothing", async () => {
        const { status, body, headers } = await world.send(
          "acme.admin",
          "POST",
          `${A}/projects/site/tokens?dry_run=true`,
          { name: "imagined" },
        );
        expect([status, body.name, body.token, headers.get("x-gateway-dry-run")]).toEqual([
          200,
          "imagined",
          null,
          "true",
        ]);
        expect((await world.send("acme.admin", "GET", `${A}/projects/site/tokens?search=imagined`)).body.data).toEqual(
          [],
        );
        expect(
          (await world.send("acme.admin", "GET", `${A}/tenants/acme/audit?target_id=${body.id}`)).body.data,
        ).toEqual([]);
        expect(
          (await world.send("acme.admin", "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "" })).status,
        ).toBe(400);
      });

      test("[d9.3] pages of every size show each object once and end with null", async () => {
        for (let index = 0; index < 7; index++)
          await world.send("acme.admin", "POST", `${A}/projects/app/limits`, {
            name: `page-${index}`,
            metric: "requests",
            window: "minute",
            limit: index,
          });
        for (const limit of [1, 2, 3, 7, 8, 100]) {
          const seen: string[] = [];
          let cursor: string | null = "";
          while (cursor !== null) {
            const more: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
            const { body } = await world.send("acme.admin", "GET", `${A}/projects/app/limits?limit=${limit}${more}`);
            expect(body.data.length).toBeLessThanOrEqual(limit);
            seen.push(...body.data.map((one: any) => one.name));
            cursor = body.next_cursor;
          }
          expect([limit, seen]).toEqual([
            limit,
            ["everybody", ...Array.from({ length: 7 }, (_, index) => `page-${index}`)],
          ]);
        }
        for (const bad of ["limit=0", "limit=1001", "limit=x", "cursor=nonsense", "surplus=1", "limit=1&limit=2"])
          expect([bad, (await world.send("acme.admin", "GET", `${A}/projects/app/limits?${bad}`)).status]).toEqual([
            bad,
            400,
          ]);
        expect(
          (await world.send("acme.admin", "GET", `${A}/projects/app/limits?origin=store&name=page-3`)).body.data,
        ).toHaveLength(1);
      });

      test("[d5.2] a number in a query that has no value is refused, and does not count as 0", async () => {
        for (const [path, name] of [
          ["/projects/site/logs?max_tokens=", "max_tokens"],
          ["/projects/site/logs?min_ms=%20", "min_ms"],
          ["/tenants/acme/diff?to=1&from=", "from"],
          ["/events?places=acme/-&seconds=", "seconds"],
        ] as const) {
          const { status, body } = await world.send("acme.owner", "GET", `${A}${path}`);
          expect([path, status, body.error?.param]).toEqual([path, 400, name]);
        }
      });

      test("[d9.3] the cursor of another list is refused, also where the caller sees only projects of its own", async () => {
        const next = async (as: string, path: string): Promise<string> =>
          (await world.send(as, "GET", `${A}${path}${path.includes("?") ? "&" : "?"}limit=1`)).body.next_cursor;
        for (const name of ["first", "second"])
          for (const [noun, more] of [
            ["routes", { name, targets: ["sandbox:echo"] }],
            ["limits", { name, metric: "requests", window: "minute", limit: 1 }],
          ] as const)
            expect((await world.send("acme.owner", "POST", `${A}/tenants/acme/${noun}`, more)).status).toBe(201);
        const cursors = {
          "/tenants/acme/routes": await next("acme.owner", "/tenants/acme/routes"),
          "/tenants/acme/limits": await next("acme.owner", "/tenants/acme/limits"),
          "/projects": await next("acme.owner", "/projects"),
        };
        for (const [as, path] of [
          ["acme.owner", "/tenants/acme/routes"],
          ["acme.owner", "/tenants/acme/limits"],
          ["acme.owner", "/projects"],
          ["acme.site.maintainer", "/projects"],
        ] as const)
          for (const [of, cursor] of Object.entries(cursors)) {
            const { status, body } = await world.send(as, "GET", `${A}${path}?cursor=${encodeURIComponent(cursor)}`);
            expect([as, path, of, status, body.error?.param ?? null]).toEqual([
              as,
              path,
              of,
              ...(of === path ? [200, null] : [400, "cursor"]),
            ]);
          }
      });

      test("[d5.2] [d9.3] all mistakes are reported at once, each with its path, and nothing is stored", async () => {
        const cases: readonly (readonly [path: string, body: unknown, param: string | null])[] = [
          ["/projects/site/limits", { metric: "requests", window: "minute", limit: -1 }, "limit"],
          [
            "/projects/site/limits",
            { metric: "requests", window: "minute", limit: 1, scope: { users: "*" } },
            "scope.users",
          ],
          ["/projects/site/limits", { metric: "requests", limit: 1 }, "window"],
          ["/projects/site/budgets", { window: "day" }, "usd"],
          ["/projects/site/budgets", { usd: "-1", window: "day" }, "usd"],
          ["/projects/site/routes", { name: "bad", targets: ["sandbox:echo", "nowhere:model"] }, "targets[1]"],
          [
            "/projects/site/routes",
            { name: "bad", targets: ["sandbox:echo"], fallbacks: ["route:missing"] },
            "fallbacks[0]",
          ],
          [
            "/projects/site/routes",
            { name: "bad", targets: ["sandbox:echo"], fallbacks: ["route:bad"] },
            "fallbacks[0]",
          ],
          ["/projects/site/routes", { targets: ["sandbox:echo"] }, "name"],
          ["/projects/site/routes", { name: ".", targets: ["sandbox:echo"] }, "name"],
          ["/projects/site/routes", { name: "..", targets: ["sandbox:echo"] }, "name"],
          ["/projects/site/policies", { name: "bad", rule: "request.modle == 'x'" }, "rule"],
          [
            "/projects/site/policies",
            { name: "bad", guard: { patterns: ["("], action: "block" } },
            "guard.patterns[0]",
          ],
          ["/tenants/acme/prices", { name: "bad", model: "sandbox:*", prompt: "1.2.3" }, "prompt"],
          ["/tenants/acme/providers", { name: "mine", type: "nobody" }, "type"],
          ["/tenants/acme/providers", { name: "openai", api_key: "${OPENAI_API_KEY}" }, "api_key"],
          ["/tenants/acme/users", { id: "a b" }, "id"],
          ["/projects/site/tokens", { name: "n", ip: ["300.1.1.1"] }, "ip[0]"],
          ["/projects/site/tokens", { name: "n", expires_in_days: 0 }, "expires_in_days"],
          ["/projects/site/tokens", { name: "n", role: "admin" }, "role"],
        ];
        const before = (await world.send("acme.owner", "GET", `${A}/tenants/acme/versions?limit=1`)).text;
        for (const [path, body, param] of cases) {
          const { status, body: told } = await world.send("acme.owner", "POST", A + path, body);
          expect([path, JSON.stringify(body), status, told.error?.code, told.error?.param]).toEqual([
            path,
            JSON.stringify(body),
            400,
            "invalid_request",
            param,
          ]);
        }
        const two = await world.send("acme.owner", "POST", `${A}/projects/site/limits`, { metric: "rows", limit: "x" });
        expect(two.body.error.metadata.problems.map((one: any) => one.param)).toEqual(["metric", "limit"]);
        expect((await world.send("acme.owner", "GET", `${A}/tenants/acme/versions?limit=1`)).text).toBe(before);
      });

      test("[d5.6] bad JSON and unlimited nesting are answered with 400, another content type with 415, a body that is too large with 413", async () => {
        const send = (body: string, headers: Readonly<Record<string, string>> = {}) =>
          world.send("acme.owner", "POST", `${A}/projects/site/tokens`, body, headers);
        expect((await send("{")).body.error.code).toBe("invalid_json");
        expect((await send('{"name": "a", "name": "b"}')).body.error.code).toBe("invalid_json");
        expect((await send('{"name": "a"}', { "content-type": "text/plain" })).status).toBe(415);
        expect((await send(JSON.stringify({ name: "a".repeat(1_100_000) }))).status).toBe(413);
        expect((await send(`{"name": ${"[".repeat(64)}${"]".repeat(64)}}`)).status).toBe(400);
        expect((await send('{"name": "a", "__proto__": {"role": "maintainer"}}')).status).toBe(400);
        expect((await send('{"name": "a", "expires_in_days": 12345678901234567890123}')).status).toBe(400);
      });
    });

    describe("the file beside the database", () => {
      test("[d9.3] objects of the file are listed first with origin file, without secrets, and are read-only for every caller", async () => {
        const { body } = await world.send("acme.owner", "GET", `${A}/tenants/acme/routes`);
        expect(body.data.slice(0, 2).map((one: any) => [one.name, one.origin, one.tenant_id, one.set_by])).toEqual([
          ["fixed", "file", "acme", null],
          ["shared", "file", null, null],
        ]);
        expect((await world.send("acme.owner", "GET", `${A}/tenants/acme/routes/fixed`)).body.targets).toEqual([
          "sandbox:echo",
        ]);
        for (const as of ["acme.owner", "default.owner"])
          for (const [method, path, sent] of [
            ["POST", "routes", route("fixed")],
            ["PATCH", "routes/fixed", { retries: 1 }],
            ["PUT", "routes/fixed", { targets: ["sandbox:echo"] }],
            ["DELETE", "routes/fixed", undefined],
            ["DELETE", "routes/shared", undefined],
          ] as const) {
            const { status, body: told } = await world.send(as, method, `${A}/tenants/acme/${path}`, sent);
            expect([as, method, path, status, told.error.code]).toEqual([as, method, path, 403, "read_only"]);
          }
        const providers = await world.send("acme.viewer", "GET", `${A}/tenants/acme/providers`);
        expect(providers.body.data[0]).toMatchObject({ name: "openai", origin: "file", enabled: true });
        for (const as of ["acme.owner", "default.boss"])
          expect([
            as,
            (await world.send(as, "GET", `${A}/tenants/${as.split(".")[0]!}/providers`)).body.data[0].base_url,
          ]).toEqual([as, undefined]);
        expect((await world.send("default.owner", "GET", `${A}/tenants/acme/providers`)).body.data[0].base_url).toBe(
          "https://models.example/v1",
        );
        expect(providers.text).not.toContain("sk-of-the-operator");
      });
      test("[d9.3] settings of the file are shown in their effective form and are read-only, beside those of the database", async () => {
        const at = `${A}/tenants/acme/settings`;
        const shown = await world.send("acme.viewer", "GET", at);
        expect([shown.body.origin, shown.body.drop_params, shown.body.read_only_fields]).toEqual([
          "file",
          true,
          ["drop_params"],
        ]);
        const other = await world.send("acme.owner", "PATCH", at, { drop_params: false });
        expect([other.status, other.body.error.code, other.body.error.param]).toEqual([
          403,
          "read_only",
          "drop_params",
        ]);
        const back = await world.send("acme.owner", "PUT", at, { ...shown.body, disable_stop_sequence_limit: true });
        expect([back.status, back.body.origin, back.body.drop_params, back.body.disable_stop_sequence_limit]).toEqual([
          200,
          "store",
          true,
          true,
        ]);
        const { tenantSettings } = world.source.current();
        expect([tenantSettings.get("acme")!.dropParams, tenantSettings.get("acme")!.disableStopSequenceLimit]).toEqual([
          true,
          true,
        ]);
        expect((await world.send("acme.owner", "DELETE", at)).status).toBe(204);
        expect((await world.send("acme.owner", "GET", at)).body.origin).toBe("file");
        expect((await world.send("acme.owner", "GET", `${A}/projects/site/settings`)).body).toMatchObject({
          origin: "store",
          read_only_fields: [],
        });
      });
      test("[d9.3] members that an answer shows beside the settings are accepted in a change only in their own form", async () => {
        const at = `${A}/projects/site/settings`;
        for (const [method, sent, param] of [
          ["PATCH", { version: {} }, "version"],
          ["PUT", { etag: [] }, "etag"],
          ["PATCH", { read_only_fields: "drop_params" }, "read_only_fields"],
          ["PUT", { origin: "elsewhere" }, "origin"],
        ] as const) {
          const { status, body } = await world.send("acme.owner", method, at, sent);
          expect([sent, status, body.error?.code, body.error?.param]).toEqual([sent, 400, "invalid_request", param]);
        }
        const { body: shown } = await world.send("acme.owner", "GET", at);
        expect((await world.send("acme.owner", "PUT", at, shown)).status).toBe(200);
      });
      test("[d9.3] a name is free in another scope: a tenant may have its own object with a name that the file uses for all", async () => {
        expect((await world.send("acme.owner", "POST", `${A}/tenants/acme/routes`, route("shared"))).status).toBe(201);
        expect((await world.send("acme.owner", "GET", `${A}/tenants/acme/routes/shared`)).body.origin).toBe("store");
      });
    });

    describe("secrets", () => {
      test("[d9.3] [d2.9] a credential is never shown again, in no answer, audit row, version or replay; sent back masked, it stays unchanged", async () => {
        const secret = "sk-very-secret-0123456789";
        const made = await world.send(
          "acme.admin",
          "POST",
          `${A}/tenants/acme/providers`,
          { name: "anthropic", api_key: secret },
          { "idempotency-key": "p1" },
        );
        expect([made.status, /^\*\*\* [0-9a-f]{12}$/.test(made.body.api_key)]).toEqual([201, true]);
        const again = await world.send("acme.admin", "PUT", `${A}/tenants/acme/providers/anthropic`, {
          api_key: made.body.api_key,
          models: ["claude-sonnet-4-5"],
        });
        expect([again.status, again.body.api_key]).toEqual([200, made.body.api_key]);
        const moved = await world.send("acme.admin", "PATCH", `${A}/tenants/acme/providers/anthropic`, {
          base_url: "https://93.184.215.14",
        });
        expect([moved.status, moved.body.error.code]).toEqual([400, "invalid_request"]);
        const texts = [made, again, moved];
        for (const path of ["/providers", "/providers/anthropic", "/audit", "/versions", "/diff?from=0&to=9999"])
          texts.push(await world.send("acme.owner", "GET", `${A}/tenants/acme${path}`));
        texts.push(
          await world.send(
            "acme.admin",
            "POST",
            `${A}/tenants/acme/providers`,
            { name: "anthropic", api_key: secret },
            { "idempotency-key": "p1" },
          ),
        );
        for (const { text, status } of texts)
          expect([status, text.includes(secret), text.includes("sealed:")]).toEqual([status, false, false]);
      });
      test("[d9.3] [d2.9] a stored key file and a key in the address of a tool server are masked, and can be sent back as they were shown", async () => {
        const account = JSON.stringify({
          type: "service_account",
          client_email: "a@b.test",
          private_key: "-----BEGIN PRIVATE KEY-----\nvery-secret\n",
        });
        const made = await world.send("acme.admin", "POST", `${A}/tenants/acme/providers`, {
          name: "vertex",
          google: { service_account: account },
          project: "p",
          location: "us-central1",
        });
        const put = await world.send("acme.admin", "PUT", `${A}/tenants/acme/providers/vertex`, made.body);
        const patched = await world.send("acme.admin", "PATCH", `${A}/tenants/acme/providers/vertex`, {
          enabled: false,
        });
        const wrong = await world.send("acme.admin", "POST", `${A}/tenants/acme/providers`, {
          name: "vertex2",
          type: "vertex",
          google: { service_account: made.body.google.service_account },
        });
        expect([made, put, patched, wrong].map(({ status }) => status)).toEqual([201, 200, 200, 400]);
        const tools = await world.send("acme.admin", "POST", `${A}/tenants/acme/tool_servers`, {
          name: "search",
          url: "https://93.184.215.14/mcp?key=very-secret",
        });
        expect([tools.status, tools.body.url]).toEqual([
          201,
          expect.stringMatching(/^https:\/\/93\.184\.215\.14\/mcp\?\*\*\* [0-9a-f]{12}$/),
        ]);
        const again = await world.send("acme.admin", "PUT", `${A}/tenants/acme/tool_servers/search`, {
          ...tools.body,
          enabled: false,
        });
        const moved = await world.send("acme.admin", "PATCH", `${A}/tenants/acme/tool_servers/search`, {
          url: tools.body.url.replace("/mcp", "/other"),
        });
        expect([again.status, again.body.url, moved.status]).toEqual([200, tools.body.url, 400]);
        for (const { text } of [
          made,
          put,
          patched,
          wrong,
          tools,
          again,
          moved,
          await world.send("acme.owner", "GET", `${A}/tenants/acme/audit`),
          await world.send("acme.owner", "GET", `${A}/tenants/acme/diff?from=0&to=9999`),
        ])
          expect(text).not.toContain("very-secret");
      });
      test("[d2.5] a token's text is in the answer to the request that created it alone", async () => {
        const { body } = await world.send("acme.admin", "POST", `${A}/projects/site/tokens`, { name: "seen once" });
        const shown = await world.send("acme.admin", "GET", `${A}/projects/site/tokens/${body.id}`);
        const list = await world.send("acme.admin", "GET", `${A}/projects/site/tokens`);
        const audit = await world.send("acme.admin", "GET", `${A}/tenants/acme/audit?target_id=${body.id}`);
        expect(audit.body.data).toHaveLength(1);
        for (const { text } of [shown, list, audit]) expect(/dgm_[pu]t_|sha256/.test(text)).toBe(false);
        expect((await world.send(body.token, "GET", "/api/v1/key")).body.name).toBe("seen once");
      });
    });

    describe("the shapes of the documentation", () => {
      test("[d4.1] [d9.3] limits and budgets take every metric, window, scope and mode, dollars as text and as number, thresholds as numbers", async () => {
        const limits = ["requests", "tokens", "concurrency"].flatMap((metric) =>
          ["second", "minute", "hour", "day"].map((window) => ({ metric, window, limit: 10 })),
        );
        const { id: token } = (await world.send("beta.owner", "GET", "/api/v1/key")).body;
        const scopes = [
          { token },
          { token: "*" },
          { user: "*" },
          { route: "fast" },
          { model: "openai:*" },
          { provider: "openai" },
          {},
        ];
        for (const place of ["projects/lab", "tenants/beta"]) {
          for (const body of [
            ...limits,
            ...scopes.map((scope) => ({ metric: "requests", window: "minute", limit: 1000, scope, mode: "audit" })),
            { metric: "concurrency", limit: 3 },
          ]) {
            const { status, body: told } = await world.send("beta.owner", "POST", `${A}/${place}/limits`, body);
            expect([place, body, status]).toEqual([place, body, 201]);
            expect(told).toMatchObject(body);
          }
          for (const body of [
            ...["day", "week", "month", "total"].flatMap((window) => [
              { usd: "12.50", window },
              { usd: 12.5, window },
              { tokens: 1_000_000, window },
            ]),
            { usd: "1", window: "day", scope: { user: "*" }, unpriced: "allow", thresholds: [80, 100] },
          ]) {
            const { status, body: told } = await world.send("beta.owner", "POST", `${A}/${place}/budgets`, body);
            expect([place, body, status]).toEqual([place, body, 201]);
            expect(told).toMatchObject(body);
          }
        }
        const rules = [...(world.source.current().limitRules.forCaller("beta", "lab", "none")?.rules ?? [])];
        expect(rules.filter(({ unit }) => unit === "concurrency").every(({ window }) => window === null)).toBe(true);
        for (const noun of ["limits", "budgets"])
          for (const place of ["projects/lab", "tenants/beta"]) {
            const { body } = await world.send("beta.owner", "GET", `${A}/${place}/${noun}?origin=store&limit=1000`);
            for (const { id } of body.data)
              expect((await world.send("beta.owner", "DELETE", `${A}/${place}/${noun}/${id}`)).status).toBe(204);
          }
      });

      test("[d2.4] [d9.3] tokens take one form in projects and tenants: a personal one belongs to the caller unless a user, or the holder of a role, is named", async () => {
        const body = { name: "ci", models: ["sandbox:*"], routes: [], permissions: [], ip: [], expires_in_days: 30 };
        const of = async (as: string, more: object) =>
          await world.send(as, "POST", `${A}/tenants/beta/tokens`, { ...body, ...more });
        expect(
          (await world.send("beta.admin", "POST", `${A}/projects/lab/tokens`, { ...body, role: "developer" })).body,
        ).toMatchObject({ role: "developer", models: ["sandbox:*"] });
        expect((await of("beta.admin", {})).body).toMatchObject({ user_id: "beta-admin", role: null });
        expect((await of("beta.admin", { role: "admin" })).body.user_id).toBe("beta-admin");
        expect((await of("beta.admin", { role: "viewer" })).body.user_id).toBe("beta-viewer");
        expect((await of("beta.admin", { role: "viewer", user_id: "beta-viewer" })).status).toBe(201);
        const other = await of("beta.admin", { role: "viewer", user_id: "beta-developer" });
        expect([other.status, other.body.error.param]).toEqual([400, "role"]);
        expect((await of("beta.admin", { role: "owner" })).status).toBe(403);
        const nobody = await of("default.owner", {});
        expect([nobody.status, nobody.body.error.param]).toEqual([400, "user_id"]);
      });
    });

    describe("what happened", () => {
      test("[d9.3] each change is one row with actor, origin, before and after; each refused attempt is one row, at most once a minute", async () => {
        const { body } = await world.send("acme.admin", "POST", `${A}/projects/app/limits`, {
          name: "audited",
          metric: "requests",
          window: "day",
          limit: 5,
        });
        await world.send("acme.owner", "PATCH", `${A}/projects/app/limits/${body.id}`, { limit: 6 });
        const rows = (await world.send("acme.owner", "GET", `${A}/projects/app/audit?target_id=${body.id}`)).body.data;
        expect(
          rows.map((row: any) => [
            row.action,
            row.actor.user_id,
            row.actor.role,
            row.address,
            row.before?.limit ?? null,
            row.after.limit,
          ]),
        ).toEqual([
          ["change", "acme-owner", "owner", "192.0.2.1", 5, 6],
          ["create", "acme-admin", "admin", "192.0.2.1", null, 5],
        ]);
        for (let times = 0; times < 3; times++)
          expect((await world.send("acme.developer", "DELETE", `${A}/projects/app/limits/${body.id}`)).status).toBe(
            403,
          );
        expect((await world.send("beta.owner", "DELETE", `${A}/projects/app/limits/${body.id}`)).status).toBe(404);
        const refused = (
          await world.send("acme.owner", "GET", `${A}/tenants/acme/audit?outcome=refused&target_id=${body.id}`)
        ).body.data;
        expect(
          refused.map((row: any) => [row.action, row.actor.user_id, row.project_id, row.note.split(":")[0]]),
        ).toEqual([["deleteProjectLimit", "acme-developer", "app", "insufficient_role"]]);
        const trespass = (
          await world.send("beta.owner", "GET", `${A}/tenants/beta/audit?outcome=refused&action=deleteProjectLimit`)
        ).body.data;
        expect(trespass.map((row: any) => [row.action, row.actor.user_id, row.tenant_id])).toEqual([
          ["deleteProjectLimit", "beta-owner", "beta"],
        ]);
      });

      test("[d1.4] [d9.1] a route without an enabled target is not listed", async () => {
        for (const [name, more] of [
          ["echoes", { targets: ["sandbox:echo"] }],
          ["dead", { targets: ["sandbox:assistant"] }],
          ["saved", { targets: ["sandbox:assistant"], fallbacks: ["sandbox/echo"] }],
        ] as const)
          expect((await world.send("acme.admin", "POST", `${A}/projects/app/routes`, { name, ...more })).status).toBe(
            201,
          );
        const { body: made } = await world.send("acme.admin", "POST", `${A}/projects/app/tokens`, { name: "lister" });
        const names = async (): Promise<readonly string[]> =>
          (await world.send(made.token, "GET", "/api/v1/models")).body.data.map(({ id }: any) => id);
        expect(await names()).toEqual(expect.arrayContaining(["echoes", "dead", "saved"]));
        await world.send("acme.admin", "PUT", `${A}/projects/app/settings`, { models: ["sandbox:echo"] });
        expect((await names()).filter((name) => ["echoes", "dead", "saved"].includes(name))).toEqual([
          "echoes",
          "saved",
        ]);
        await world.send("acme.admin", "DELETE", `${A}/projects/app/settings`);
        for (const name of ["echoes", "dead", "saved"])
          await world.send("acme.admin", "DELETE", `${A}/projects/app/routes/${name}`);
      });

      test("[d9.3] refused attempts do not fill the log: each token gets so many rows a minute, the last of which says so", async () => {
        for (let each = 0; each < 60; each++)
          expect((await world.send("beta.viewer", "DELETE", `${A}/projects/lab/limits/lim_${each}`)).status).toBe(403);
        const { data } = (
          await world.send("beta.owner", "GET", `${A}/tenants/beta/audit?outcome=refused&user_id=beta-viewer&limit=100`)
        ).body;
        expect(data).toHaveLength(30);
        expect(data[0].note).toContain("Further attempts");
        expect(data[1].note).not.toContain("Further attempts");
      });

      test("[d9.3] versions are listed, shown, compared and restored, within what the role may change", async () => {
        const number = async (): Promise<number> =>
          (await world.send("beta.owner", "GET", `${A}/tenants/beta/versions?limit=1`)).body.data[0]?.number ?? 0;
        await world.send("beta.admin", "POST", `${A}/tenants/beta/routes`, route("first"));
        const start = await number();
        await world.send("beta.admin", "PATCH", `${A}/tenants/beta/routes/first`, { retries: 3 });
        await world.send("beta.admin", "POST", `${A}/projects/lab/limits`, {
          name: "second",
          metric: "requests",
          window: "day",
          limit: 5,
        });
        const diff = await world.send(
          "beta.viewer",
          "GET",
          `${A}/tenants/beta/diff?from=${start}&to=${await number()}`,
        );
        expect(diff.body.changes.map((one: any) => [one.action, one.kind, one.name])).toEqual([
          ["change", "route", "first"],
          ["create", "limit", "second"],
        ]);
        const back = await world.send("beta.admin", "POST", `${A}/tenants/beta/rollback`, { to: start });
        expect([back.status, back.body.changes.length]).toEqual([200, 2]);
        expect((await world.send("beta.admin", "GET", `${A}/tenants/beta/routes/first`)).body.retries).toBeUndefined();
        expect((await world.send("beta.admin", "GET", `${A}/projects/lab/limits/second`)).status).toBe(404);
        await world.send("beta.owner", "PATCH", `${A}/tenants/beta/routes/first`, { retries: 9 });
        const above = await world.send("beta.admin", "POST", `${A}/tenants/beta/rollback`, { to: start });
        expect([above.status, above.body.error.code]).toEqual([403, "read_only"]);
        expect((await world.send("beta.owner", "POST", `${A}/tenants/beta/rollback`, { to: 99_999 })).status).toBe(404);
        expect(
          (await world.send("beta.admin", "GET", `${A}/tenants/beta/versions/${start}`)).body.changes[0].name,
        ).toBe("first");
        expect((await world.send("acme.admin", "GET", `${A}/tenants/acme/versions/${start}`)).status).toBe(404);
      });
    });

    describe("references between objects", () => {
      const at = (path: string): string => `${A}${path}`;
      const numberOf = async (): Promise<number> =>
        (await world.send("acme.owner", "GET", `${A}/tenants/acme/versions?limit=1`)).body.data[0].number;

      test("[d9.3] an object that others refer to is not removed: 409 conflict names them, until they refer to something else", async () => {
        for (const [path, body] of [
          ["/tenants/acme/providers", { name: "mill", type: "custom", base_url: "https://93.184.215.14/v1" }],
          ["/tenants/acme/routes", route("cheap", ["mill:flour"])],
          ["/projects/site/routes", { name: "dear", targets: ["sandbox:echo"], fallbacks: ["route:cheap"] }],
          [
            "/projects/app/budgets",
            { name: "frugal", usd: "1", window: "day", thresholds: [{ percent: 80, degrade_to: "route:cheap" }] },
          ],
        ] as const)
          expect([path, (await world.send("acme.owner", "POST", at(path), body)).status]).toEqual([path, 201]);
        const provider = await world.send("acme.owner", "DELETE", at("/tenants/acme/providers/mill"));
        expect([provider.status, provider.body.error.code, provider.body.error.metadata.referred_by]).toEqual([
          409,
          "conflict",
          [{ kind: "route", name: "cheap", tenant_id: "acme", project_id: null, param: "targets[0]" }],
        ]);
        const cheap = await world.send("acme.owner", "DELETE", at("/tenants/acme/routes/cheap"));
        expect([
          cheap.status,
          cheap.body.error.metadata.referred_by.map((one: any) => [one.kind, one.name, one.project_id, one.param]),
        ]).toEqual([
          409,
          [
            ["route", "dear", "site", "fallbacks[0]"],
            ["budget", "frugal", "app", "thresholds[0].degrade_to"],
          ],
        ]);
        for (const name of ["route dear of the project site", "budget frugal of the project app"])
          expect(cheap.body.error.message).toContain(name);
        expect((await world.send("acme.owner", "DELETE", at("/tenants/acme/routes/cheap?dry_run=true"))).status).toBe(
          409,
        );
        for (const [path, body] of [
          ["/projects/site/routes/dear", { fallbacks: null }],
          ["/projects/app/budgets/frugal", { thresholds: null }],
        ] as const)
          expect([path, (await world.send("acme.owner", "PATCH", at(path), body)).status]).toEqual([path, 200]);
        for (const path of ["/tenants/acme/routes/cheap", "/tenants/acme/providers/mill"])
          expect([path, (await world.send("acme.owner", "DELETE", at(path))).status]).toEqual([path, 204]);
      });

      test("[d9.3] a limit or budget of one access token names a token that exists and can call there", async () => {
        const idOf = async (name: string): Promise<string> => (await world.send(name, "GET", "/api/v1/key")).body.id;
        const bodies = [
          ["limits", { metric: "requests", window: "minute", limit: 1 }],
          ["budgets", { usd: "1", window: "day" }],
        ] as const;
        const ofApp = (await world.send("acme.owner", "POST", at("/projects/app/tokens"), { name: "of app" })).body.id;
        for (const [noun, body] of bodies) {
          for (const [place, token] of [
            ["projects/site", "nobody"],
            ["tenants/acme", "nobody"],
            ["tenants/acme", await idOf("beta.owner")],
            ["projects/site", ofApp],
          ] as const) {
            const { status, body: told } = await world.send("acme.owner", "POST", at(`/${place}/${noun}`), {
              name: "x",
              ...body,
              scope: { token },
            });
            expect([noun, place, token, status, told.error.code, told.error.param]).toEqual([
              noun,
              place,
              token,
              400,
              "invalid_request",
              "scope.token",
            ]);
          }
          for (const [place, token] of [
            ["projects/app", ofApp],
            ["tenants/acme", ofApp],
            ["projects/site", await idOf("acme.owner")],
            ["projects/site", "*"],
            ["projects/site", "tok*"],
          ] as const) {
            const { status, body: told } = await world.send("acme.owner", "POST", at(`/${place}/${noun}`), {
              name: "y",
              ...body,
              scope: { token },
            });
            expect([noun, place, token, status]).toEqual([noun, place, token, 201]);
            const moved = await world.send("acme.owner", "PATCH", at(`/${place}/${noun}/${told.id}`), {
              scope: { token: "gone" },
            });
            expect([moved.status, moved.body.error.param]).toEqual([400, "scope.token"]);
            expect((await world.send("acme.owner", "DELETE", at(`/${place}/${noun}/${told.id}`))).status).toBe(204);
          }
        }
      });

      test("[d9.3] a budget degrades only to a model or route that exists", async () => {
        for (const to of ["route:nowhere", "nobody:model"]) {
          const { status, body } = await world.send("acme.owner", "POST", at("/projects/site/budgets"), {
            name: "x",
            usd: "1",
            window: "day",
            thresholds: [50, { percent: 80, degrade_to: to }],
          });
          expect([to, status, body.error.param]).toEqual([to, 400, "thresholds[1].degrade_to"]);
        }
      });

      test("[d9.3] a version whose objects refer to removed objects is not restored: 409, and nothing changes", async () => {
        await world.send("acme.owner", "POST", at("/tenants/acme/providers"), {
          name: "kiln",
          type: "custom",
          base_url: "https://93.184.215.14/v1",
        });
        const without = await numberOf();
        await world.send("acme.owner", "POST", at("/projects/site/routes"), route("baked", ["kiln:brick"]));
        const withBoth = await numberOf();
        await world.send("acme.owner", "DELETE", at("/projects/site/routes/baked"));
        await world.send("acme.owner", "DELETE", at("/tenants/acme/providers/kiln"));
        const last = await numberOf();
        // the project alone would get a route without its provider
        const back = await world.send("acme.owner", "POST", at("/projects/site/rollback"), { to: withBoth });
        expect([back.status, back.body.error.code, back.body.error.metadata.problems[0].param]).toEqual([
          409,
          "conflict",
          "targets[0]",
        ]);
        expect(back.body.error.message).toContain("route baked of the project site");
        expect(await numberOf()).toBe(last);
        expect((await world.send("acme.owner", "POST", at("/tenants/acme/rollback"), { to: withBoth })).status).toBe(
          200,
        );
        expect((await world.send("acme.owner", "POST", at("/projects/site/rollback"), { to: without })).status).toBe(
          200,
        );
      });

      test("[d9.3] a route whose condition reads a header that conditions may not read any more is not restored", async () => {
        const { version, result } = await world.store.change(LOCAL_ACTOR, (writer) =>
          writer.createResource({
            kind: "route",
            tenantId: "acme",
            projectId: "site",
            name: "by-header",
            document: { targets: [{ model: "sandbox:echo", when: 'headers["x-team"] == "a"' }] },
            setBy: "viewer",
          }),
        );
        expect((await world.send("acme.owner", "DELETE", at(`/projects/site/routes/${result.id}`))).status).toBe(204);
        const back = await world.send("acme.owner", "POST", at("/projects/site/rollback"), { to: version });
        expect([back.status, back.body.error?.code, back.body.error?.metadata.problems[0].param]).toEqual([
          409,
          "conflict",
          "targets[0].when",
        ]);
      });

      test("[d9.3] a limit and a budget for an access token that is gone are not restored: they would bound no call", async () => {
        await world.send("acme.owner", "POST", at("/projects"), { id: "brief", tenant_id: "acme", name: "Brief" });
        const { body: made } = await world.send("acme.owner", "POST", at("/projects/brief/tokens"), { name: "short" });
        for (const [noun, fields] of [
          ["limits", { metric: "requests", window: "minute", limit: 5 }],
          ["budgets", { usd: "1", window: "day" }],
        ] as const) {
          const sent = { name: "of-token", ...fields, scope: { token: made.id } };
          const { body } = await world.send("acme.owner", "POST", at(`/tenants/acme/${noun}`), sent);
          const before = await numberOf();
          await world.send("acme.owner", "DELETE", at(`/tenants/acme/${noun}/${body.id}`));
          expect([
            noun,
            (await world.send("acme.owner", "POST", at("/tenants/acme/rollback"), { to: before })).status,
          ]).toEqual([noun, 200]);
        }
        const withBoth = await numberOf();
        await world.send("acme.owner", "PATCH", at("/tenants/acme/budgets/of-token"), { scope: null });
        await world.send("acme.owner", "PATCH", at("/tenants/acme/limits/of-token"), { scope: null });
        expect((await world.send("acme.owner", "DELETE", at("/projects/brief"))).status).toBe(204);
        const back = await world.send("acme.owner", "POST", at("/tenants/acme/rollback"), { to: withBoth });
        expect([back.status, back.body.error?.code]).toEqual([409, "conflict"]);
        expect(
          back.body.error.metadata.problems.map(({ message }: { readonly message: string }) => message).toSorted(),
        ).toEqual([
          "the budget of-token: the tenant has no access token with this id",
          "the limit of-token: the tenant has no access token with this id",
        ]);
      });

      test("[d9.3] a version that holds an unreadable object is not restored", async () => {
        const { version, result } = await world.store.change(LOCAL_ACTOR, (writer) =>
          writer.createResource({
            kind: "limit",
            tenantId: "acme",
            projectId: "site",
            name: "of old",
            document: { metric: "rows", window: "minute", limit: 1 },
            setBy: "viewer",
          }),
        );
        expect((await world.send("acme.owner", "DELETE", at(`/projects/site/limits/${result.id}`))).status).toBe(204);
        const back = await world.send("acme.owner", "POST", at("/projects/site/rollback"), { to: version });
        expect([back.status, back.body.error.code, back.body.error.metadata.problems[0].param]).toEqual([
          409,
          "conflict",
          "metric",
        ]);
      });
    });

    describe("the caller's own access token", () => {
      test("[d9.2] shows scopes, role, permissions, restrictions, and for each limit what is left and when it resets", async () => {
        await world.send("beta.owner", "POST", `${A}/projects/lab/limits`, {
          name: "each",
          metric: "requests",
          window: "minute",
          limit: 10,
          scope: { token: "*" },
        });
        await world.send("beta.owner", "POST", `${A}/projects/lab/budgets`, {
          name: "money",
          usd: "12.50",
          window: "day",
        });
        const { body: made } = await world.send("beta.owner", "POST", `${A}/projects/lab/tokens`, {
          name: "narrow",
          models: ["sandbox:*"],
          permissions: ["debug"],
          ip: ["192.0.2.0/24"],
        });
        const token = made.token as string;
        const snapshot = world.source.current();
        const rule = snapshot.limitRules.forCaller("beta", "lab", made.id)!.rules.find(({ name }) => name === "each");
        await world.limits.reserve([{ account: { rule: rule!, value: made.id }, units: 3, force: false }]);
        for (const path of ["/api/v1/key", "/v1/key", "/api/key"]) {
          const { status, body } = await world.send(token, "GET", path);
          expect([
            status,
            body.kind,
            body.tenant_id,
            body.project_id,
            body.role,
            body.permissions,
            body.models,
            body.ip,
          ]).toEqual([200, "project", "beta", "lab", "developer", ["debug"], ["sandbox:*"], ["192.0.2.0/24"]]);
          const limit = body.limits.find((one: any) => one.name === "each");
          expect([limit.limit, limit.used, limit.remaining, Date.parse(limit.resets_at) > Date.now()]).toEqual([
            10,
            3,
            7,
            true,
          ]);
          expect(body.limits.find((one: any) => one.name === "money")).toMatchObject({
            metric: "usd",
            limit: "12.5",
            used: "0",
            remaining: "12.5",
          });
          expect(body.limits.find((one: any) => one.name === "everybody")).toMatchObject({
            metric: "requests",
            limit: 100,
            project_id: null,
          });
        }
        expect((await world.send(null, "GET", "/api/v1/key")).status).toBe(401);
        expect((await world.send(token, "DELETE", "/api/v1/key")).status).toBe(405);
      });
    });

    describe("an unavailable store, and unauthenticated callers", () => {
      test("[d9.3] every operation is answered with 503 store_unavailable and the gateway's own message while the database is unavailable", async () => {
        const away = await openAdminWorld({
          kind,
          between: (store) =>
            new Proxy(store, {
              get: (target, name) =>
                typeof target[name as keyof typeof target] === "function"
                  ? () => Promise.reject(new StoreError("unusable", "cannot open /secret/path"))
                  : target[name as keyof typeof target],
            }),
        });
        for (const [method, path, body] of [
          ["GET", "/tenants", undefined],
          ["POST", "/projects", { id: "x" }],
          ["GET", "/projects/site/limits", undefined],
          ["DELETE", "/projects/site", undefined],
          ["POST", "/projects/site/tokens", { name: "n" }],
        ] as const) {
          const { status, body: told, text } = await away.send("acme.owner", method, A + path, body);
          expect([path, status, told.error.code, text.includes("secret/path")]).toEqual([
            path,
            503,
            "store_unavailable",
            false,
          ]);
        }
        expect((await away.send("acme.site.developer", "GET", "/api/v1/key")).status).toBe(200);
        await away.close();
      });

      test("[d2.7] a thousand wrong tokens in a second get a thousand 401 answers without a database query, and the right token is served meanwhile", async () => {
        let asked = 0;
        const watched = await openAdminWorld({
          kind,
          between: (store) =>
            new Proxy(store, {
              get: (target, name) => {
                const member = target[name as keyof typeof target] as unknown;
                if (typeof member !== "function") return member;
                return (...given: unknown[]) => {
                  asked++;
                  return (member as (...all: unknown[]) => unknown).apply(target, given);
                };
              },
            }),
        });
        await watched.send("acme.admin", "GET", `${A}/tenants/acme`);
        asked = 0;
        const wrong = Array.from({ length: 1000 }, (_, index) =>
          index % 3 === 0
            ? "nonsense"
            : index % 3 === 1
              ? newAccessToken("personal").text
              : `${newAccessToken("project").text.slice(0, -1)}_`,
        );
        const [answers, right] = await Promise.all([
          Promise.all(wrong.map((token) => watched.send(token, "GET", `${A}/tenants/acme`))),
          watched.send("acme.admin", "GET", "/api/v1/key"),
        ]);
        expect([
          new Set(answers.map(({ status, headers }) => `${status} ${headers.get("www-authenticate")}`)),
          right.status,
          asked,
        ]).toEqual([new Set(['401 Bearer realm="dragoman"']), 200, 0]);
        await watched.close();
      });
    });
  });
