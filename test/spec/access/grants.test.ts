// No caller grants more than it has (promise 2.11), over all roles: granted roles and permissions, returned secrets,
// objects set by a higher role, routes of maintainers, restricted tokens; and what callers cannot do to themselves.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loginUserId } from "../../../src/auth/logins/logins.ts";
import { type Role, ROLES, roleAtLeast } from "../../../src/core/identity.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

const A = "/api/v1/admin";
let world: AdminWorld;
beforeAll(async () => void (world = await openAdminWorld()));
afterAll(() => world.close());

const code = ({ status, body }: { readonly status: number; readonly body: any }): string =>
  status < 300 ? "done" : `${status} ${body.error.code}`;
const ADMINISTRATORS: ReadonlySet<Role> = new Set(["admin", "owner"]);

describe("[d2.11] roles", () => {
  test("[d2.11] no caller grants a role above the caller's own, in the tenant, in a project, to a token or to a new user: every role times every role", async () => {
    for (const own of ROLES)
      for (const given of ROLES) {
        const expected = !ADMINISTRATORS.has(own) || !roleAtLeast(own, given) ? "403 insufficient_role" : "done";
        expect([
          own,
          given,
          code(
            await world.send(`acme.${own}`, "PUT", `${A}/tenants/acme/memberships/site-only-viewer?dry_run=true`, {
              role: given,
            }),
          ),
        ]).toEqual([own, given, expected]);
        expect([
          own,
          given,
          code(
            await world.send(`acme.${own}`, "POST", `${A}/tenants/acme/users?dry_run=true`, { id: "new", role: given }),
          ),
        ]).toEqual([own, given, expected]);
        const project = roleAtLeast("maintainer", given) ? expected : "400 invalid_request";
        const inProject = ADMINISTRATORS.has(own) ? project : "403 insufficient_role";
        expect([
          own,
          given,
          code(
            await world.send(`acme.${own}`, "PUT", `${A}/projects/site/memberships/acme-viewer?dry_run=true`, {
              role: given,
            }),
          ),
        ]).toEqual([own, given, inProject]);
        const token = !roleAtLeast(own, "maintainer")
          ? "403 insufficient_role"
          : !roleAtLeast("maintainer", given)
            ? "400 invalid_request"
            : "done";
        expect([
          own,
          given,
          code(
            await world.send(`acme.${own}`, "POST", `${A}/projects/site/tokens?dry_run=true`, {
              name: "t",
              role: given,
            }),
          ),
        ]).toEqual([own, given, token]);
      }
  });

  test("[d2.11] no caller removes a higher role, nor obtains the token or the login of a user who has one", async () => {
    for (const own of ["admin", "owner"] as const)
      for (const theirs of ROLES) {
        const expected = roleAtLeast(own, theirs) ? "done" : "403 insufficient_role";
        const user = `acme-${theirs}`;
        const same = own === theirs;
        const token = await world.send(`acme.${own}`, "POST", `${A}/tenants/acme/tokens?dry_run=true`, {
          name: "t",
          user_id: user,
        });
        expect([own, theirs, code(token)]).toEqual([own, theirs, expected]);
        expect([
          own,
          theirs,
          code(
            await world.send(`acme.${own}`, "PATCH", `${A}/tenants/acme/users/${user}?dry_run=true`, {
              login: { issuer: "https://login.example", subject: "me" },
            }),
          ),
        ]).toEqual([own, theirs, expected]);
        const outcome = same ? "409 conflict" : expected;
        expect([
          own,
          theirs,
          code(await world.send(`acme.${own}`, "DELETE", `${A}/tenants/acme/users/${user}?dry_run=true`)),
        ]).toEqual([own, theirs, outcome]);
        expect([
          own,
          theirs,
          code(await world.send(`acme.${own}`, "DELETE", `${A}/tenants/acme/memberships/${user}?dry_run=true`)),
        ]).toEqual([own, theirs, outcome]);
        expect([
          own,
          theirs,
          code(
            await world.send(`acme.${own}`, "PUT", `${A}/tenants/acme/memberships/${user}?dry_run=true`, {
              role: "viewer",
            }),
          ),
        ]).toEqual([own, theirs, outcome]);
      }
    const tokens = (await world.send("acme.owner", "GET", `${A}/tenants/acme/tokens?user_id=acme-owner`)).body.data;
    for (const step of ["rotate", "revoke"])
      expect([
        step,
        code(
          await world.send(
            "acme.admin",
            "POST",
            `${A}/tenants/acme/tokens/${tokens[0].id}/${step}`,
            step === "rotate" ? {} : undefined,
          ),
        ),
      ]).toEqual([step, "403 insufficient_role"]);
  });

  test("[d2.11] no caller links the login of a person with a higher role to another user", async () => {
    const issuer = "https://login.example";
    const strange = "ann@acme.example";
    const folder = mkdtempSync(join(tmpdir(), "dragoman-logins-"));
    const file = join(folder, "dragoman.yaml");
    writeFileSync(
      file,
      `oidc:\n${[
        ["corp", "acme"],
        ["other", "beta"],
      ]
        .map(([name, tenant]) => `  - {name: ${name}, issuer: "${issuer}", audience: gateway, tenant: ${tenant}}\n`)
        .join("")}`,
    );
    const own = await openAdminWorld({ file });
    try {
      // the people of the company have their roles under the ids of their logins
      await own.store.change(LOCAL_ACTOR, async (writer) => {
        for (const role of ["viewer", "owner"] as const) {
          await writer.createUser({ id: `corp.${role}`, tenantId: "acme", name: role });
          await writer.putMembership({ userId: `corp.${role}`, tenantId: "acme", projectId: null, role });
        }
        const id = loginUserId({ name: "corp" }, strange);
        await writer.createUser({ id, tenantId: "acme", name: "Ann" });
        await writer.putMembership({ userId: id, tenantId: "acme", projectId: null, role: "owner" });
      });
      const link = (as: string, subject: string) =>
        own.send(as, "POST", `${A}/tenants/acme/users?dry_run=true`, { id: "x", login: { issuer, subject } });
      expect(code(await link("acme.admin", "viewer"))).toBe("done");
      expect(code(await link("acme.admin", "nobody"))).toBe("done");
      expect(code(await link("acme.owner", "owner"))).toBe("done");
      for (const subject of ["owner", strange]) {
        expect([subject, code(await link("acme.admin", subject))]).toEqual([subject, "403 insufficient_role"]);
        const changed = await own.send("acme.admin", "PATCH", `${A}/tenants/acme/users/acme-viewer?dry_run=true`, {
          login: { issuer, subject },
        });
        expect([subject, code(changed)]).toEqual([subject, "403 insufficient_role"]);
      }
      // the user of that id is the person whose login it is
      expect(
        code(
          await own.send("acme.owner", "PATCH", `${A}/tenants/acme/users/corp.owner`, {
            login: { issuer, subject: "owner" },
          }),
        ),
      ).toBe("done");
    } finally {
      await own.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("[d2.11] no caller takes over a login of another tenant, nor learns that it exists there", async () => {
    const login = { issuer: "https://login.example", subject: "shared" };
    const made = await Promise.all(
      ["acme", "beta"].map((tenant) =>
        world.send(`${tenant}.admin`, "POST", `${A}/tenants/${tenant}/users`, { id: `${tenant}-shared`, login }),
      ),
    );
    expect(made.map(code)).toEqual(["done", "done"]);
    expect(code(await world.send("acme.admin", "POST", `${A}/tenants/acme/users`, { id: "acme-again", login }))).toBe(
      "409 already_exists",
    );
    const { loginUsers } = world.source.current();
    expect(
      [...loginUsers.values()]
        .filter(({ login: known }) => known?.subject === "shared")
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(["acme-shared", "beta-shared"]);
  });

  test("[d2.11] the last owner, the caller's own role and the token of the request cannot be removed", async () => {
    expect(
      code(await world.send("default.owner", "PUT", `${A}/tenants/beta/memberships/beta-owner`, { role: "admin" })),
    ).toBe("409 conflict");
    expect(code(await world.send("default.owner", "DELETE", `${A}/tenants/beta/memberships/beta-owner`))).toBe(
      "409 conflict",
    );
    expect(code(await world.send("default.owner", "DELETE", `${A}/tenants/beta/users/beta-owner`))).toBe(
      "409 conflict",
    );
    expect(
      code(await world.send("beta.owner", "PUT", `${A}/tenants/beta/memberships/beta-admin`, { role: "owner" })),
    ).toBe("done");
    expect(
      code(
        await world.send("default.owner", "PUT", `${A}/tenants/beta/memberships/beta-owner?dry_run=true`, {
          role: "admin",
        }),
      ),
    ).toBe("done");
    const { id } = (await world.send("acme.site.maintainer", "GET", "/api/v1/key")).body;
    expect(code(await world.send("acme.site.maintainer", "POST", `${A}/projects/site/tokens/${id}/revoke`))).toBe(
      "409 conflict",
    );
    expect(code(await world.send("default.owner", "DELETE", `${A}/tenants/default`))).toBe("409 conflict");
  });

  test("[d2.4] a restriction to models that could match nothing is refused where it is made and where it is changed", async () => {
    const tokens = `${A}/projects/site/tokens`;
    const refused = await world.send("acme.owner", "POST", tokens, { name: "narrow", models: ["openai:*", "gpt-*"] });
    expect(refused.body.error).toMatchObject({ code: "invalid_request", param: "models[1]" });
    expect(refused.body.error.message).toContain("*:<model_name> for any provider");
    const made = await world.send("acme.owner", "POST", tokens, { name: "narrow", models: ["*:gpt-*"] });
    expect(made.status).toBe(201);
    const changed = await world.send("acme.owner", "PATCH", `${tokens}/${made.body.id}`, { models: ["gpt-*"] });
    expect(changed.body.error).toMatchObject({ code: "invalid_request", param: "models[0]" });
  });

  test("[d2.3] a change is not made whose caller loses the right while the body arrives, or while the change waits for its turn", async () => {
    let isGated = false;
    const gate = { waits: Promise.withResolvers<void>(), opens: Promise.withResolvers<void>() };
    const own = await openAdminWorld({
      between: (store) => ({
        ...store,
        async change(actor, work, how) {
          if (isGated) {
            isGated = false;
            gate.waits.resolve();
            await gate.opens.promise;
          }
          return await store.change(actor, work, how);
        },
      }),
    });
    const tokenOf = async (user: string): Promise<string> => {
      await own.send("acme.owner", "POST", `${A}/tenants/acme/users`, { id: user, role: "owner" });
      const made = await own.send("acme.owner", "POST", `${A}/tenants/acme/tokens`, { name: user, user_id: user });
      return made.body.token;
    };
    const [removed, demoted] = [await tokenOf("removed"), await tokenOf("demoted")];

    const began = Promise.withResolvers<void>();
    const completed = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          began.resolve();
          await completed.promise;
          controller.enqueue(new TextEncoder().encode('{"id":"first","role":"owner"}'));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const slow = own.fetch(
      new Request(`http://gateway.test${A}/tenants/acme/users`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${removed}`, "content-type": "application/json" },
      }),
    );
    await began.promise;
    expect(code(await own.send("acme.owner", "DELETE", `${A}/tenants/acme/users/removed`))).toBe("done");
    completed.resolve();
    expect((await slow).status).toBe(401);

    isGated = true;
    const waiting = own.send(demoted, "POST", `${A}/tenants/acme/users`, { id: "second", role: "owner" });
    await gate.waits.promise;
    expect(code(await own.send("acme.owner", "PUT", `${A}/tenants/acme/memberships/demoted`, { role: "viewer" }))).toBe(
      "done",
    );
    gate.opens.resolve();
    expect(code(await waiting)).toBe("403 insufficient_role");

    const { body: users } = await own.send("acme.owner", "GET", `${A}/tenants/acme/users`);
    const ids = users.data.map(({ id }: { readonly id: string }) => id);
    expect(ids).not.toContain("first");
    expect(ids).not.toContain("second");
    await own.close();
  });

  test("[d2.3] a removed role is gone with the next request, and so is a revoked token", async () => {
    await world.send("acme.owner", "POST", `${A}/tenants/acme/users`, { id: "brief", role: "admin" });
    const { body } = await world.send("acme.owner", "POST", `${A}/tenants/acme/tokens`, {
      name: "brief",
      user_id: "brief",
    });
    const token = body.token as string;
    expect(code(await world.send(token, "GET", `${A}/tenants/acme/users`))).toBe("done");
    await world.send("acme.owner", "PUT", `${A}/tenants/acme/memberships/brief`, { role: "viewer" });
    expect(code(await world.send(token, "GET", `${A}/tenants/acme/users`))).toBe("403 insufficient_role");
    await world.send("acme.owner", "POST", `${A}/tenants/acme/tokens/${body.id}/revoke`);
    expect(code(await world.send(token, "GET", `${A}/tenants/acme`))).toBe("401 revoked_token");
  });
});

describe("[d2.11] permissions", () => {
  test("[d2.11] [d2.4] are granted by admin and owner only, to new and existing tokens, and by a rotation too", async () => {
    for (const own of [
      "acme.maintainer",
      "site-only.maintainer",
      "acme.site.maintainer",
      "acme.admin",
      "acme.owner",
      "default.owner",
    ]) {
      const expected = /admin|owner/.test(own) ? "done" : "403 insufficient_role";
      const { body: plain } = await world.send("acme.admin", "POST", `${A}/projects/site/tokens`, { name: "plain" });
      const { body: mighty } = await world.send("acme.admin", "POST", `${A}/projects/site/tokens`, {
        name: "mighty",
        permissions: ["byo_endpoint"],
      });
      for (const permission of ["byo_endpoint", "custom_price", "debug"])
        expect([
          own,
          permission,
          code(
            await world.send(own, "POST", `${A}/projects/site/tokens?dry_run=true`, {
              name: "t",
              permissions: [permission],
            }),
          ),
        ]).toEqual([own, permission, expected]);
      expect([
        own,
        code(await world.send(own, "PATCH", `${A}/projects/site/tokens/${plain.id}`, { permissions: ["debug"] })),
      ]).toEqual([own, expected]);
      expect([own, code(await world.send(own, "POST", `${A}/projects/site/tokens/${mighty.id}/rotate`))]).toEqual([
        own,
        expected,
      ]);
      expect([
        own,
        code(await world.send(own, "PATCH", `${A}/projects/site/tokens/${mighty.id}`, { models: [] })),
      ]).toEqual([own, expected]);
      // to end it gives nothing
      expect([own, code(await world.send(own, "POST", `${A}/projects/site/tokens/${mighty.id}/revoke`))]).toEqual([
        own,
        "done",
      ]);
    }
  });
});

describe("[d2.11] objects set by a higher role", () => {
  test("[d2.11] are read-only below that role, for every kind of object and every role", async () => {
    const things = [
      ["route", "routes", { targets: ["sandbox:echo"] }, { retries: 2 }, "maintainer"],
      ["limit", "limits", { metric: "requests", window: "day", limit: 5 }, { limit: 500 }, "maintainer"],
      ["budget", "budgets", { usd: "5", window: "day" }, { usd: "500" }, "maintainer"],
      ["policy", "policies", { rule: "request.stream" }, { mode: "audit" }, "admin"],
      ["price", "prices", { model: "sandbox:*", prompt: "1" }, { prompt: "0" }, "admin"],
    ] as const;
    for (const [kind, noun, document, change, least] of things)
      for (const setBy of ROLES) {
        const name = `by-${setBy}`;
        await world.store.change(LOCAL_ACTOR, (writer) =>
          writer.createResource({ kind, tenantId: "acme", projectId: "site", name, document, setBy }),
        );
        for (const own of ROLES) {
          const expected = !roleAtLeast(own, least)
            ? "403 insufficient_role"
            : roleAtLeast(own, setBy)
              ? "done"
              : "403 read_only";
          expect([
            noun,
            setBy,
            own,
            code(await world.send(`acme.${own}`, "PATCH", `${A}/projects/site/${noun}/${name}?dry_run=true`, change)),
          ]).toEqual([noun, setBy, own, expected]);
          expect([
            noun,
            setBy,
            own,
            code(await world.send(`acme.${own}`, "DELETE", `${A}/projects/site/${noun}/${name}?dry_run=true`)),
          ]).toEqual([noun, setBy, own, expected]);
          expect([
            noun,
            setBy,
            own,
            code(await world.send(`acme.${own}`, "GET", `${A}/projects/site/${noun}/${name}`)),
          ]).toEqual([noun, setBy, own, "done"]);
        }
      }
  });
});

describe("[d2.11] routes of maintainers", () => {
  const attempt = (as: string, entry: object) =>
    world.send(as, "POST", `${A}/projects/site/routes?dry_run=true`, { name: "mine", ...entry });

  test("[d2.11] name only models that the tenant has enabled", async () => {
    expect(code(await attempt("acme.site.maintainer", { targets: ["openai:gpt-5"] }))).toBe("403 insufficient_role");
    expect(code(await attempt("acme.admin", { targets: ["openai:gpt-5"] }))).toBe("done");
    expect(
      code(await attempt("acme.site.maintainer", { targets: ["sandbox:echo"], fallbacks: ["openai:gpt-5"] })),
    ).toBe("403 insufficient_role");
    expect(
      code(
        await attempt("acme.site.maintainer", {
          targets: ["sandbox:echo"],
          context_window_fallbacks: { "sandbox:echo": "openai:gpt-5" },
        }),
      ),
    ).toBe("403 insufficient_role");
    expect(
      code(
        await world.send("acme.admin", "POST", `${A}/tenants/acme/providers`, {
          name: "openai",
          api_key: "sk-of-acme",
        }),
      ),
    ).toBe("done");
    expect(code(await attempt("acme.site.maintainer", { targets: ["openai:gpt-5"] }))).toBe("done");
    expect(
      code(
        await world.send("acme.admin", "PUT", `${A}/tenants/acme/settings`, { models: ["sandbox:*", "openai:gpt-4*"] }),
      ),
    ).toBe("done");
    expect(code(await attempt("acme.site.maintainer", { targets: ["openai:gpt-5"] }))).toBe("403 insufficient_role");
    expect(code(await attempt("acme.site.maintainer", { targets: ["openai:gpt-4o"] }))).toBe("done");
    expect(code(await world.send("acme.admin", "DELETE", `${A}/tenants/acme/settings`))).toBe("done");
  });

  test("[d2.11] bring no address, credential or header of their own, wherever it stands", async () => {
    const fields: Readonly<Record<string, unknown>> = {
      base_url: "https://a.example",
      api_base: "https://a.example",
      api_key: "k",
      api_version: "v",
      headers: { "x-a": "b" },
      extra_headers: { "x-a": "b" },
      model_list: [],
      aws_region_name: "r",
      vertex_project: "p",
      extra_body: { a: 1 },
      tools: [{ type: "mcp", server_label: "x", server_url: "https://a.example" }],
      // the forms of vendors have members of their own for this
      mcp_servers: [{ type: "url", name: "x", url: "https://a.example" }],
      workspace_id: "w",
      prompt: { id: "pmpt_1" },
    };
    for (const [name, value] of Object.entries(fields))
      for (const entry of [
        { targets: [{ model: "sandbox:echo", params: { [name]: value } }] },
        { targets: ["sandbox:echo"], fallbacks: [{ model: "sandbox:echo", [name]: value }] },
      ]) {
        const { status } = await attempt("acme.site.maintainer", entry);
        expect([name, [400, 403].includes(status)]).toEqual([name, true]);
      }
    expect(
      code(
        await attempt("acme.site.maintainer", { targets: [{ model: "sandbox:echo", params: { temperature: 0.5 } }] }),
      ),
    ).toBe("done");
  });
});

describe("[d12.15] routes of maintainers", () => {
  test("[d12.15] name nothing that lives at a vendor, which their project has not received", async () => {
    const fields: Readonly<Record<string, unknown>> = {
      container: "container_of_another",
      previous_response_id: "resp_of_another",
      conversation: { id: "conv_of_another" },
      cachedContent: "cachedContents/of-another",
      tools: [{ type: "file_search", vector_store_ids: ["vs_of_another"] }],
    };
    const attempt = async (who: string, entry: object) =>
      code(await world.send(who, "POST", `${A}/projects/site/routes?dry_run=true`, { name: "mine", ...entry }));
    for (const [name, value] of Object.entries(fields))
      for (const entry of [
        { targets: [{ model: "sandbox:echo", params: { [name]: value } }] },
        { targets: ["sandbox:echo"], fallbacks: [{ model: "sandbox:echo", [name]: value }] },
        { targets: ["sandbox:echo"], mirror: { target: "sandbox:echo", params: { [name]: value } } },
      ])
        expect([name, await attempt("acme.site.maintainer", entry)]).toEqual([name, "403 insufficient_role"]);
    const { container } = fields;
    expect(await attempt("acme.admin", { targets: [{ model: "sandbox:echo", params: { container } }] })).toBe("done");
  });
});

describe("[d2.11] restricted tokens", () => {
  test("[d2.11] create none with fewer restrictions, and configure nothing", async () => {
    const make = async (restrictions: object): Promise<string> =>
      (
        await world.send("acme.admin", "POST", `${A}/projects/site/tokens`, {
          name: "narrow",
          role: "maintainer",
          ...restrictions,
        })
      ).body.token;
    const narrow = await make({ models: ["openai:gpt-*", "sandbox:echo"] });
    const cases: readonly (readonly [object, string])[] = [
      [{}, "403 insufficient_role"],
      [{ models: ["openai:*"] }, "403 insufficient_role"],
      [{ models: ["*"] }, "403 insufficient_role"],
      [{ routes: ["fast"] }, "403 insufficient_role"],
      [{ models: ["openai:gpt-5"] }, "done"],
      [{ models: ["openai:gpt-*"] }, "done"],
      [{ models: ["sandbox:echo", "openai:gpt-5*"] }, "done"],
    ];
    for (const [given, expected] of cases)
      expect([
        given,
        code(await world.send(narrow, "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "t", ...given })),
      ]).toEqual([given, expected]);
    const admin = (
      await world.send("acme.admin", "POST", `${A}/tenants/acme/tokens`, {
        name: "narrow",
        models: ["sandbox:echo"],
      })
    ).body.token;
    const login = { issuer: "https://login.test", subject: "me" };
    for (const [method, path, body] of [
      ["POST", `${A}/tenants/acme/users`, { id: "new", name: "New", role: "admin" }],
      ["POST", `${A}/tenants/acme/users`, { id: "new", name: "New", login }],
      ["PATCH", `${A}/tenants/acme/users/acme-viewer`, { login }],
      ["PUT", `${A}/tenants/acme/memberships/acme-viewer`, { role: "admin" }],
      ["PUT", `${A}/projects/site/memberships/acme-viewer`, { role: "maintainer" }],
    ] as const) {
      const send = async (by: string): Promise<string> =>
        code(await world.send(by, method, `${path}?dry_run=true`, body));
      expect([path, body, await send(admin), await send("acme.admin")]).toEqual([
        path,
        body,
        "403 insufficient_role",
        "done",
      ]);
    }
    const slashed = await make({ models: ["*/gpt-*", "sandbox:*"] });
    const both = await make({ models: ["openai:gpt-*"], routes: ["fast", "slow"] });
    for (const [by, given, expected] of [
      // the slash after a provider stands for the colon
      [narrow, { models: ["openai/gpt-5"] }, "done"],
      [slashed, { models: ["sandbox/echo"] }, "done"],
      [slashed, { models: ["openai/gpt-5"] }, "403 insufficient_role"],
      // with models alone, it could name every route
      [both, { models: ["openai:gpt-5"] }, "403 insufficient_role"],
      [both, { models: ["openai:gpt-5"], routes: ["fast"] }, "done"],
      [both, { routes: ["slow"] }, "done"],
      [both, { routes: ["other"] }, "403 insufficient_role"],
    ] as const)
      expect([
        given,
        code(await world.send(by, "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "t", ...given })),
      ]).toEqual([given, expected]);
    const { body: wide } = await world.send("acme.admin", "POST", `${A}/projects/site/tokens`, { name: "wide" });
    expect(code(await world.send(narrow, "POST", `${A}/projects/site/tokens/${wide.id}/rotate`))).toBe(
      "403 insufficient_role",
    );
    expect(
      code(await world.send(narrow, "POST", `${A}/projects/site/routes`, { name: "r", targets: ["sandbox:echo"] })),
    ).toBe("403 insufficient_role");
    expect(
      code(
        await world.send(narrow, "POST", `${A}/projects/site/limits`, { metric: "requests", window: "day", limit: 1 }),
      ),
    ).toBe("403 insufficient_role");
    expect(
      code(
        await world.send("acme.admin", "POST", `${A}/projects/site/limits`, {
          name: "there",
          metric: "requests",
          window: "day",
          limit: 1,
        }),
      ),
    ).toBe("done");
    await world.store.change(LOCAL_ACTOR, (writer) =>
      writer.createResource({
        kind: "limit",
        tenantId: "acme",
        projectId: "site",
        name: "low",
        document: { metric: "requests", window: "day", limit: 1 },
        setBy: "maintainer",
      }),
    );
    expect(code(await world.send(narrow, "DELETE", `${A}/projects/site/limits/low`))).toBe("403 insufficient_role");
    const here = await make({ ip: ["192.0.2.0/24"] });
    expect(code(await world.send(here, "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "t" }))).toBe(
      "403 insufficient_role",
    );
    expect(
      code(
        await world.send(here, "POST", `${A}/projects/site/tokens?dry_run=true`, { name: "t", ip: ["192.0.2.0/24"] }),
      ),
    ).toBe("done");
    const elsewhere = await make({ ip: ["10.0.0.0/8"] });
    expect(code(await world.send(elsewhere, "GET", `${A}/projects/site`))).toBe("403 address_forbidden");
  });
});

describe("[d2.11] providers of tenants", () => {
  test("[d2.11] [d2.12] use no identity of the machine and reach no private address; the operator's providers may", async () => {
    const machine = [
      { name: "bedrock", aws: "default" },
      { name: "bedrock", aws: { profile: "p" } },
      { name: "vertex", google: "default" },
      { name: "vertex", google: { credentials_file: "/etc/key.json" } },
    ];
    for (const body of machine) {
      const { status, body: told } = await world.send(
        "acme.owner",
        "POST",
        `${A}/tenants/acme/providers?dry_run=true`,
        body,
      );
      expect([JSON.stringify(body), status, told.error?.param?.split(".")[0]]).toEqual([
        JSON.stringify(body),
        400,
        Object.keys(body)[1],
      ]);
    }
    for (const address of [
      "http://169.254.169.254/v1",
      "http://10.0.0.1/v1",
      "http://127.0.0.1:8080",
      "http://[::1]/v1",
    ]) {
      expect([
        address,
        code(
          await world.send("acme.owner", "POST", `${A}/tenants/acme/providers?dry_run=true`, {
            name: "mine",
            type: "openai",
            base_url: address,
          }),
        ),
      ]).toEqual([address, "400 address_not_allowed"]);
      expect([
        address,
        code(
          await world.send("default.owner", "POST", `${A}/tenants/default/providers?dry_run=true`, {
            name: "mine",
            type: "openai",
            base_url: address,
          }),
        ),
      ]).toEqual([address, "done"]);
    }
  });
});

describe("[d2.13] tokens that are made with project tokens", () => {
  const TOKENS = `${A}/projects/site/tokens`;
  const DAY_MS = 86_400_000;
  const QUARTER_HOUR = { expires_in_days: 1 / 96 };
  const made = async (as: string, path: string, body: unknown): Promise<any> => {
    const { status, body: said } = await world.send(as, "POST", path, body);
    expect([status, said.error]).toEqual([status < 300 ? status : 201, undefined]);
    return said;
  };
  const shortMaker = async (): Promise<{ readonly ends: string; readonly id: string; readonly name: string }> => {
    const {
      token,
      id,
      expires_at: ends,
    } = await made("acme.owner", TOKENS, {
      name: "short",
      role: "maintainer",
      ...QUARTER_HOUR,
    });
    const name = `short ${id}`;
    (world.tokens as Map<string, string>).set(name, token);
    return { ends, id, name };
  };

  test("[d2.13] end with their maker: the default is shortened, what was asked for is given or refused", async () => {
    const { ends, name } = await shortMaker();
    expect((await made(name, TOKENS, { name: "by default" })).expires_at).toBe(ends);
    const shorter = await made(name, TOKENS, { name: "shorter", expires_in_days: 1 / 960 });
    expect(Date.parse(shorter.expires_at)).toBeLessThan(Date.parse(ends));
    const { status, body } = await world.send(name, "POST", TOKENS, { name: "a year", expires_in_days: 365 });
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", "expires_in_days"]);
    expect(body.error.message).toContain(ends);
    expect(body.error.message).toContain("personal token");
    const byPerson = await made("acme.maintainer", TOKENS, { name: "of a person", expires_in_days: 365 });
    expect(Date.parse(byPerson.expires_at)).toBeGreaterThan(Date.now() + 364 * DAY_MS);
  });

  test("[d2.13] end with who rotates them, the maker itself included, and a person gives the whole time again", async () => {
    const { ends, id, name } = await shortMaker();
    const { id: long } = await made("acme.owner", TOKENS, { name: "long" });
    for (const rotated of [id, long]) {
      const { status, body } = await world.send(name, "POST", `${TOKENS}/${rotated}/rotate`, { expires_in_days: 365 });
      expect([status, body.error.param]).toEqual([400, "expires_in_days"]);
      expect((await made(name, `${TOKENS}/${rotated}/rotate`, {})).expires_at).toBe(ends);
    }
    const again = await made("acme.owner", `${TOKENS}/${long}/rotate`, {});
    expect(Date.parse(again.expires_at)).toBeGreaterThan(Date.now() + 364 * DAY_MS);
  });
});
