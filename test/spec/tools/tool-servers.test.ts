// Tool servers as they are registered and tried out (promises 2.9, 2.12, 9.3, 10.1): over the admin API, against a server that answers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { openToolServers, type OpenToolServers } from "../../../src/mcp/open-tool-servers.ts";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { openToolServer, said, type ToolServerEnd } from "../../harness/tools/tool-server.ts";

const A = "/api/v1/admin";
const ACME = `${A}/tenants/acme/tool_servers`;
const SITE = `${A}/projects/site/tool_servers`;
/** Of the operator's own tenant, which may name any address. */
const OWN = `${A}/tenants/default/tool_servers`;

let end: ToolServerEnd;
/** Of long results. */
let wideEnd: ToolServerEnd;
let servers: OpenToolServers;
let world: AdminWorld;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dragoman-tools-"));
  end = openToolServer({
    tools: [
      {
        name: "echo",
        description: "Says it back.",
        inputSchema: { type: "object", properties: { message: { type: "string" } } },
      },
      { name: "fails", run: () => ({ ...said("it is broken"), isError: true }) },
      { name: "counts", run: () => ({ content: [], structuredContent: { count: 3 } }) },
      { name: "dies", run: () => ({ raw: "gone from http://inside.example", status: 500 }) },
    ],
  });
  wideEnd = openToolServer({ tools: [{ name: "reads", run: () => said("x".repeat(1_100_000)) }] });
  const file = join(folder, "dragoman.yaml");
  writeFileSync(
    file,
    `
tool_servers:
  shared: { url: "${end.url}?key=operators-secret", headers: { authorization: "Bearer operators-secret" }, allowed_tools: [echo] }
  program: { command: operators-program, args: [--secret, operators-secret], environment: { KEY: operators-secret } }
tenants:
  acme: { tool_servers: { above: { url: "${end.url}", role: maintainer } } }
  default: { tool_servers: { wide: { url: "${wideEnd.url}", max_result_bytes: 4000000 } } }
projects:
  site: { tool_servers: { shared: { url: "${end.url}" }, away: { url: "${end.url}", enabled: false } } }
`,
  );
  servers = openToolServers({
    clock: systemClock,
    upstream: createSocketUpstream(),
    allowPrivateAddresses: () => false,
    log: () => {},
  });
  world = await openAdminWorld({ file, toolServers: servers });
});
afterAll(async () => {
  await world.close();
  await servers.close();
  await end.stop();
  await wideEnd.stop();
  rmSync(folder, { recursive: true });
});

describe("registering a tool server", () => {
  test("[d10.1] takes programs from the file alone: over the API they are answered with 400 at their field", async () => {
    for (const as of ["acme.owner", "default.owner"]) {
      const { status, body } = await world.send(as, "POST", ACME, {
        name: "shell",
        url: "https://93.184.215.14/mcp",
        transport: "stdio",
      });
      expect([as, status, body.error.param]).toEqual([as, 400, "transport"]);
      for (const fields of [
        { command: "/bin/sh" },
        { args: ["-c", "id"] },
        { environment: { A: "b" } },
        { folder: "/" },
      ]) {
        const told = await world.send(as, "POST", ACME, { name: "shell", url: "https://93.184.215.14/mcp", ...fields });
        expect([as, told.status, told.body.error.param]).toEqual([as, 400, Object.keys(fields)[0]]);
      }
    }
  });

  test("[d2.12] takes no address inside the network or of a metadata service from a tenant, for the server and for its tokens", async () => {
    for (const url of ["http://169.254.169.254/latest", "http://127.0.0.1:1/mcp", "http://10.0.0.1/mcp"]) {
      const { status, body } = await world.send("acme.admin", "POST", ACME, { name: "inside", url });
      expect([url, status, body.error.code, body.error.param]).toEqual([url, 400, "address_not_allowed", "url"]);
      const oauth = { token_url: url, client_id: "a", client_secret: "b" };
      const token = await world.send("acme.admin", "POST", ACME, {
        name: "inside",
        url: "https://93.184.215.14/mcp",
        oauth,
      });
      expect([url, token.status, token.body.error.code, token.body.error.param]).toEqual([
        url,
        400,
        "address_not_allowed",
        "oauth.token_url",
      ]);
      if (!url.includes("169.254"))
        for (const [field, error] of [
          ["url", body.error],
          ["oauth.token_url", token.body.error],
        ] as const) {
          expect(error.message).toContain(`The host of \`${field}\``);
          expect(error.message).toContain("`providers.allow_private_addresses: true`");
        }
    }
  });

  test("[d2.9] encrypts headers and the client secret, shows them masked, and sends them nowhere else", async () => {
    const document = {
      name: "sealed",
      url: "https://93.184.215.14/mcp",
      headers: { authorization: "Bearer tenants-secret" },
      oauth: { token_url: "https://93.184.215.14/token", client_id: "gateway", client_secret: "tenants-secret" },
    };
    const made = await world.send("acme.admin", "POST", ACME, document);
    expect([made.status, made.body.headers.authorization, made.body.oauth.client_secret]).toEqual([
      201,
      expect.stringMatching(/^\*\*\* [0-9a-f]{12}$/),
      expect.stringMatching(/^\*\*\* [0-9a-f]{12}$/),
    ]);
    expect(JSON.stringify(await world.read("select * from resources")).includes("tenants-secret")).toBe(false);
    const { name: _name, ...kept } = document;
    const moved = {
      ...kept,
      headers: made.body.headers,
      oauth: { ...made.body.oauth, token_url: "https://93.184.215.15/token" },
    };
    expect((await world.send("acme.admin", "PUT", `${ACME}/sealed`, moved)).status).toBe(400);
    expect(
      (
        await world.send("acme.admin", "PATCH", `${ACME}/sealed`, {
          max_concurrent: 2,
          role: "developer",
          transport: null,
        })
      ).status,
    ).toBe(200);
  });

  test("[d2.11] in the file lists it without its address or command, and read-only", async () => {
    const told = await world.send("acme.viewer", "GET", SITE);
    const { text } = await world.send("acme.viewer", "GET", ACME);
    expect(told.body.data.map((one: { name: string; origin: string }) => [one.name, one.origin])).toEqual(
      expect.arrayContaining([
        ["shared", "file"],
        ["program", "file"],
      ]),
    );
    for (const word of ["operators-secret", "operators-program", end.url])
      expect([word, (told.text + text).includes(word)]).toEqual([word, false]);
    const { status, body } = await world.send("acme.admin", "POST", SITE, {
      name: "shared",
      url: "https://93.184.215.14/mcp",
    });
    expect([status, body.error.code]).toEqual([403, "read_only"]);
  });
});

describe("a project sees", () => {
  const names = (tenant: string, project: string | null): readonly string[] =>
    [...world.source.current().toolServers.of(tenant, project).keys()].toSorted();

  test("[d10.1] global servers, its tenant's and its own, of equal names the nearest, and none that is switched off there", () => {
    expect([names("acme", "site"), names("acme", "app"), names("beta", "lab")]).toEqual([
      ["above", "program", "sealed", "shared"],
      ["above", "program", "sealed", "shared"],
      ["program", "shared"],
    ]);
    const shared = (project: string, tenant = "acme") =>
      world.source.current().toolServers.of(tenant, project).get("shared")!;
    expect([shared("site").allowedTools, shared("app").allowedTools, shared("lab", "beta").allowedTools]).toEqual([
      null,
      ["echo"],
      ["echo"],
    ]);
    expect([shared("app").key === shared("lab", "beta").key, shared("site").key === shared("app").key]).toEqual([
      true,
      false,
    ]);
  });

  test("[d10.1] that a server needs approval unless its settings say otherwise", async () => {
    await world.send("acme.admin", "POST", SITE, {
      name: "freely",
      url: "https://93.184.215.14/mcp",
      require_approval: "never",
    });
    const servers_ = world.source.current().toolServers.of("acme", "site");
    expect([servers_.get("shared")!.approval, servers_.get("freely")!.approval]).toEqual(["always", "never"]);
  });
});

describe("trying out a tool server", () => {
  test("[d9.3] lists the tools that are allowed", async () => {
    const all = await world.send("acme.developer", "GET", `${SITE}/shared/tools`);
    expect([all.status, all.body.data.map((one: { name: string }) => one.name)]).toEqual([
      200,
      ["echo", "fails", "counts", "dies"],
    ]);
    expect(all.body.data[0]).toEqual({
      name: "echo",
      title: null,
      description: "Says it back.",
      input_schema: { type: "object", properties: { message: { type: "string" } } },
    });
    const narrowed = await world.send("acme.developer", "GET", `${A}/projects/app/tool_servers/shared/tools`);
    expect(narrowed.body.data.map((one: { name: string }) => one.name)).toEqual(["echo"]);
  });

  test("[d9.3] reports whether and how fast it answers, or why it does not, and shows hosts to operators alone", async () => {
    const good = await world.send("acme.maintainer", "POST", `${SITE}/shared/test`);
    expect(good.body).toEqual({
      ok: true,
      transport: "streamable_http",
      protocol_version: "2025-11-25",
      server_name: "faulty",
      server_version: "1.2.3",
      connect_ms: expect.any(Number),
      list_ms: expect.any(Number),
      tools: 4,
      error: null,
    });
    await world.send("default.owner", "POST", OWN, { name: "dead", url: "http://127.0.0.1:1/mcp" });
    const bad = await world.send("default.owner", "POST", `${OWN}/dead/test`);
    expect([bad.status, bad.body.ok, bad.body.error]).toEqual([
      200,
      false,
      {
        code: "tool_server_failed",
        message: "The tool server dead failed.",
        detail: expect.stringContaining("ECONNREFUSED"),
      },
    ]);
    const asAdmin = await world.send("default.admin", "POST", `${OWN}/dead/test`);
    expect(asAdmin.body.error.detail).toBeNull();
    const program = await world.send("acme.maintainer", "POST", `${SITE}/program/test`);
    expect([program.body.ok, program.text.includes("operators")]).toEqual([false, false]);
  });

  test("[d9.3] calls one tool, and the audit log records who called which, without arguments and results", async () => {
    const called = await world.send("acme.maintainer", "POST", `${SITE}/shared/call`, {
      tool: "echo",
      arguments: { message: "between us" },
    });
    expect(called.body).toEqual({
      ok: true,
      is_error: false,
      content: [{ type: "text", text: '{"message":"between us"}' }],
      structured: null,
      result_bytes: expect.any(Number),
      duration_ms: expect.any(Number),
      error: null,
    });
    const { body: log, text } = await world.send("acme.admin", "GET", `${A}/projects/site/audit?action=call`);
    expect(log.data[0]).toMatchObject({
      action: "call",
      outcome: "done",
      kind: "tool_server",
      target_name: "shared",
      actor: { user_id: "acme-maintainer" },
      after: { tool: "echo", ok: true, is_error: false },
    });
    expect(text.includes("between us")).toBe(false);
    const outcomes = [];
    for (const tool of ["fails", "counts", "dies", "nobody"]) {
      const { status, body } = await world.send("acme.maintainer", "POST", `${SITE}/shared/call`, { tool });
      outcomes.push([tool, status, body.ok, body.is_error, body.structured, body.error?.code ?? null]);
    }
    expect(outcomes).toEqual([
      ["fails", 200, true, true, null, null],
      ["counts", 200, true, false, { count: 3 }, null],
      ["dies", 200, false, null, null, "tool_server_failed"],
      ["nobody", 200, true, true, null, null],
    ]);
  });

  test("[d9.3] calls a tool once for two simultaneous requests with one idempotency key, and gives both the result", async () => {
    const runs = (): number => end.sent.filter(({ message }) => message["method"] === "tools/call").length;
    const before = runs();
    const both = await Promise.all(
      [1, 2].map(() =>
        world.send("acme.maintainer", "POST", `${SITE}/shared/call`, { tool: "counts" }, { "idempotency-key": "once" }),
      ),
    );
    expect(both.map(({ status, body }) => [status, body.structured])).toEqual([
      [200, { count: 3 }],
      [200, { count: 3 }],
    ]);
    expect(both[1]!.body).toEqual(both[0]!.body);
    expect(both.filter(({ headers }) => headers.get("idempotent-replayed") === "true").length).toBe(1);
    expect(runs() - before).toBe(1);
  });

  test("[d9.3] keeps no result of more than 1 MiB for a repeated request, which calls the tool no second time", async () => {
    const call = () =>
      world.send("default.owner", "POST", `${OWN}/wide/call`, { tool: "reads" }, { "idempotency-key": "wide" });
    const first = await call();
    expect([first.status, first.body.content[0].text.length]).toEqual([200, 1_100_000]);
    const again = await call();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual({ ...first.body, content: null });
    expect(wideEnd.sent.filter(({ message }) => message["method"] === "tools/call")).toHaveLength(1);
    const [{ longest }] = (await world.read("select max(length(body)) as longest from kept_answers")) as [
      { readonly longest: unknown },
    ];
    expect(Number(longest)).toBeLessThan(100_000);
  });

  test("[d9.3] calls nothing in a dry run", async () => {
    const before = end.sent.length;
    for (const path of ["test", "call"])
      expect(
        (
          await world.send(
            "acme.maintainer",
            "POST",
            `${SITE}/shared/${path}?dry_run=true`,
            path === "call" ? { tool: "echo" } : undefined,
          )
        ).status,
      ).toBe(200);
    expect(end.sent.length).toBe(before);
  });

  test("[d2.3] requires the role of the operation, and of the server where it names one", async () => {
    for (const [as, path, status] of [
      ["acme.viewer", `${SITE}/shared/tools`, 403],
      ["acme.developer", `${SITE}/shared/tools`, 200],
      ["acme.developer", `${SITE}/above/tools`, 403],
      ["acme.maintainer", `${SITE}/above/tools`, 200],
      ["beta.owner", `${SITE}/shared/tools`, 404],
    ] as const)
      expect([as, path, (await world.send(as, "GET", path)).status]).toEqual([as, path, status]);
    expect((await world.send("acme.developer", "POST", `${SITE}/shared/call`, { tool: "echo" })).status).toBe(403);
    expect((await world.send("acme.maintainer", "POST", `${ACME}/above/call`, { tool: "echo" })).status).toBe(403);
  });

  test("[d10.1] that is missing or switched off is answered with 404", async () => {
    for (const name of ["nobody", "away"]) {
      const { status, body } = await world.send("acme.developer", "GET", `${SITE}/${name}/tools`);
      expect([name, status, body.error.code]).toEqual([name, 404, "tool_server_not_found"]);
    }
  });
});
