// The command line on the admin API of a real process: every noun, `apply` and `export`, and the messages of errors.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Ran, runHere } from "../harness/processes/command-line.ts";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { gatewayCommand } from "../harness/processes/gateway-program.ts";
import { runToEnd } from "../harness/processes/processes.ts";
import { untilFound } from "../harness/time/until.ts";

let gateway: GatewayProcess;
let token: string;
const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");

beforeAll(async () => {
  gateway = await startGateway({
    environment: { DRAGOMAN_MASTER_KEY: MASTER_KEY },
    config: 'routes: { filed: { targets: ["sandbox:echo"] } }\n',
  });
  token = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
});

function cli(...args: readonly string[]): Promise<Ran> {
  return runHere(
    args,
    cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token, PROVIDER_KEY: "sk-very-secret-key" }),
    gateway.folder,
  );
}
async function json(...args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await cli(...args, "--json");
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

describe("the nouns", () => {
  test("[d9.3] tenants, projects, users, roles and configured objects are created, shown, changed and removed", async () => {
    expect(await json("tenant", "create", "acme", "--set", "name=Acme")).toMatchObject({ id: "acme", name: "Acme" });
    expect((await json("tenant", "list")).map((one: any) => one.id)).toEqual(["acme", "default"]);
    expect(await json("project", "create", "site", "--tenant", "acme")).toMatchObject({
      id: "site",
      tenant_id: "acme",
    });
    expect((await json("project", "list", "--tenant", "acme")).map((one: any) => one.id)).toEqual(["site"]);
    expect(
      await json(
        "user",
        "create",
        "ann",
        "--tenant",
        "acme",
        "--set",
        "role=developer",
        "--set",
        "email=ann@example.com",
      ),
    ).toMatchObject({ id: "ann", email: "ann@example.com" });
    expect(await json("member", "set", "ann", "--role", "maintainer", "--project", "site")).toMatchObject({
      user_id: "ann",
      project_id: "site",
      role: "maintainer",
    });
    expect((await json("member", "list", "--tenant", "acme")).map((one: any) => [one.user_id, one.role])).toEqual([
      ["ann", "developer"],
    ]);
    expect(
      await json("route", "create", "fast", "--project", "site", "--set", 'targets=["sandbox:echo"]'),
    ).toMatchObject({ name: "fast", targets: ["sandbox:echo"], version: 1 });
    expect(await json("route", "update", "fast", "--project", "site", "--set", "retries=2")).toMatchObject({
      targets: ["sandbox:echo"],
      retries: 2,
      version: 2,
    });
    const limit = await json(
      "limit",
      "create",
      "--project",
      "site",
      "--set",
      "metric=requests",
      "--set",
      "window=minute",
      "--set",
      "limit=10",
      "--set",
      "scope.user=*",
    );
    expect(limit).toMatchObject({ metric: "requests", limit: 10, scope: { user: "*" } });
    expect((await json("limit", "get", limit.id, "--project", "site")).etag).toBe(limit.etag);
    expect(await json("settings", "update", "--project", "site", "--set", "drop_params=true")).toMatchObject({
      drop_params: true,
    });
    expect(
      (await json("audit", "list", "--project", "site", "--filter", "kind=route")).map((one: any) => one.action),
    ).toEqual(["change", "create"]);
    expect((await cli("route", "delete", "fast", "--project", "site", "--dry-run")).stdout).toContain("dry run");
    expect((await cli("route", "delete", "fast", "--project", "site")).stdout).toBe("The route fast is deleted.\n");
    expect(await json("route", "list", "--project", "site", "--filter", "origin=store")).toEqual([]);
    const unconfirmed = await cli("project", "delete", "site");
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
      1,
      "dragoman: This deletes the project site with its tokens, memberships and configuration. Repeat the command with --yes to confirm, or with --dry-run to check only.\n",
    ]);
    expect((await cli("project", "delete", "site", "--dry-run")).code).toBe(0);
    expect((await cli("project", "get", "site")).code).toBe(0);
    expect((await cli("tenant", "delete", "acme", "--yes")).code).toBe(0);
  });

  test("[d9.3] every token that the caller may see is listed, and a token or project that does not exist is named", async () => {
    await json("project", "create", "second");
    const made = [
      await json("token", "create", "--name", "one", "--url", gateway.url),
      await json("token", "create", "--name", "two", "--project", "second", "--url", gateway.url),
    ];
    const ids = (await json("token", "list", "--url", gateway.url)).map((one: any) => one.id);
    for (const { id } of made) expect(ids).toContain(id);
    const owners = (await json("token", "list", "--url", gateway.url)).filter((one: any) => one.kind === "personal");
    expect(owners.length).toBeGreaterThan(0);
    expect(
      (await json("token", "list", "--project", "second", "--url", gateway.url)).map((one: any) => one.name),
    ).toEqual(["two"]);

    expect((await cli("token", "rotate", "nosuch", "--project", "second", "--url", gateway.url)).stderr).toContain(
      "There is no access token nosuch of the project second, or this access token has no access to it.",
    );
    expect((await cli("token", "create", "--name", "x", "--project", "nosuch", "--url", gateway.url)).stderr).toContain(
      "There is no project nosuch, or this access token has no access to it.",
    );
    expect((await cli("usage", "--by", "team")).stderr).toStartWith(
      "dragoman: --by expects one or more of tenant, project, token,",
    );
    expect((await cli("project", "delete", "second", "--yes")).code).toBe(0);
  });

  test("[d9.3] usage and calls are printed as tables, JSON and CSV", async () => {
    for (let times = 0; times < 3; times++)
      expect(
        (await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] })).status,
      ).toBe(200);
    const calls = await untilFound(async () => {
      const listed: readonly any[] = await json("call", "list");
      return listed.length >= 3 && listed;
    });
    expect(calls.map((one) => [one.model, one.status])).toEqual(Array.from({ length: 3 }, () => ["echo", 200]));
    expect(await json("call", "get", calls[0].trace_id)).toMatchObject({ trace_id: calls[0].trace_id });
    const usage = await untilFound(async () => {
      const groups: readonly any[] = await json("usage", "--by", "project,model");
      return groups[0]?.calls === 3 && groups;
    });
    expect(usage).toMatchObject([{ group: { project: "default", model: "echo" }, calls: 3, errors: 0 }]);
    expect(
      (await cli("usage", "--by", "model", "--csv")).stdout
        .split("\n")
        .slice(0, 2)
        .map((line) => line.split(",").slice(0, 3)),
    ).toEqual([
      ["model", "calls", "errors"],
      ["echo", "3", "0"],
    ]);
    expect((await cli("usage", "--by", "model")).stdout).toMatch(/^model=echo +3 +0 /m);
  });

  test("tables have a head and a row for each object", async () => {
    const { stdout } = await cli("project", "list");
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["ID", "TENANT", "NAME"],
      ["default", "default", "Default"],
      [""],
    ]);
    expect((await cli("route", "list")).stdout).toMatch(/^filed +- +sandbox:echo +file +- +0$/m);
  });

  test("a document comes from a file or standard input", async () => {
    writeFileSync(join(gateway.folder, "route.yaml"), "targets:\n  - sandbox:echo\nretries: 1\n");
    expect(await json("route", "create", "file", "-f", "route.yaml", "--set", "retries=3")).toMatchObject({
      retries: 3,
    });
    expect((await cli("route", "delete", "file")).code).toBe(0);
  });

  test("errors are printed as messages, with the code and the trace id, and nothing of the token", async () => {
    const cases: readonly (readonly [args: readonly string[], words: string])[] = [
      [["route", "get", "nothing"], "404 not_found, trace id "],
      [["route", "create", "bad", "--set", "targets=[]"], "targets"],
      [["limit", "create", "--set", "metric=requests", "--set", "window=minute", "--set", "limit=-1"], "limit"],
      [["route", "update", "filed", "--set", "retries=1"], "403 read_only"],
      [["route", "list", "--filter", "colour=red"], "search, name, origin"],
      [["route", "create", "x", "--set", "targets"], "--set expects"],
      [["route", "create", "x", "-f", "/nowhere.yaml"], "there is no such file"],
      [["tenant", "list", "--token", "dgm_ut_wrong"], "401 invalid_token"],
      [["tenant", "list", "--url", "http://127.0.0.1:1"], "cannot be reached"],
      [["tenant", "create"], "missing required argument"],
    ];
    for (const [args, words] of cases) {
      const { code, stdout, stderr } = await cli(...args);
      expect([args, code > 0, stdout]).toEqual([args, true, ""]);
      expect(stderr).toContain(words);
      expect(stderr).not.toContain(token.slice(20));
    }
    const without = await runCli(["tenant", "list"], cleanEnvironment({ DRAGOMAN_URL: gateway.url }));
    expect([without.code, without.stderr.includes("DRAGOMAN_TOKEN")]).toEqual([1, true]);
  });

  test("tokens are created, listed, rotated and revoked over the API too", async () => {
    const made = await json("token", "create", "--name", "over http", "--model", "sandbox:*", "--role", "viewer");
    expect(made).toMatchObject({
      kind: "project",
      project_id: "default",
      role: "viewer",
      models: ["sandbox:*"],
      token: expect.stringMatching(/^dgm_pt_/),
    });
    const personal = await json("token", "create", "--personal", "--user", "owner");
    expect(personal).toMatchObject({ kind: "personal", user_id: "owner" });
    expect((await json("token", "list", "--project", "default")).map((one: any) => one.name)).toContain("over http");
    expect((await json("token", "rotate", made.id, "--overlap-minutes", "60")).token).not.toBe(made.token);
    expect((await json("token", "revoke", personal.id)).state).toBe("revoked");
    expect((await cli("token", "revoke", made.id)).stdout).toContain("is revoked");

    // the same from the database of the gateway, with the same filters
    const atDatabase = ["--data", gateway.dataFolder] as const;
    const shape = (one: object): readonly string[] => Object.keys(one).filter((name) => name !== "last_used_at");
    const [remote] = await json("token", "list", "--project", "default", "--search", "over http");
    const named = await json("token", "list", ...atDatabase, "--project", "default", "--search", "over http");
    expect([named.length, named[0].id, shape(named[0])]).toEqual([1, made.id, shape(remote)]);
    expect(shape(await json("token", "create", ...atDatabase, "--project", "default"))).toEqual(shape(made));
    const revoked = await json("token", "list", ...atDatabase, "--state", "revoked", "--personal");
    expect(revoked.map((one: any) => one.id)).toEqual([personal.id]);
    expect(await json("token", "list", ...atDatabase, "--tenant", "acme", "--state", "expired")).toEqual([]);
  });
});

describe("apply and export", () => {
  const folder = (): string => {
    const path = join(gateway.folder, "documents");
    mkdirSync(path, { recursive: true });
    writeFileSync(
      join(path, "a.yaml"),
      `kind: limit\nproject: search\nname: per-user\nspec: { metric: requests, window: minute, limit: 10, scope: { user: "*" } }\n---\nkind: route\nproject: search\nname: fast\nspec: { targets: ["local:small"], fallbacks: ["route:slow"] }\n---\nkind: route\nproject: search\nname: slow\nspec: { targets: ["sandbox:echo"] }\n`,
    );
    writeFileSync(
      join(path, "b.yaml"),
      `kind: provider\nname: local\nspec: { type: custom, base_url: "http://127.0.0.1:9/v1" }\n---\nkind: project\nname: search\nspec: { name: Search }\n---\nkind: user\nname: kim\n---\nkind: member\nname: kim\nproject: search\nspec: { role: developer }\n---\nkind: settings\nproject: search\nspec: { drop_params: true }\n---\nkind: budget\nproject: search\nname: monthly\nspec: { usd: "100.00", window: month }\n`,
    );
    return path;
  };

  test("a plan is shown first, then applied in dependency order; a second run changes nothing", async () => {
    const path = folder();
    const dry = await cli("apply", "-f", path, "--dry-run");
    expect([dry.code, dry.stderr]).toEqual([0, ""]);
    expect(dry.stdout.split("\n").slice(0, 9)).toEqual([
      "+ project search (tenant default)",
      "+ user kim (tenant default)",
      "+ member kim (project search)",
      "+ provider local (tenant default)",
      "+ route slow (project search)",
      "+ route fast (project search)",
      "+ limit per-user (project search)",
      "+ budget monthly (project search)",
      "+ settings (project search)",
    ]);
    expect((await json("project", "list")).map((one: any) => one.id)).toEqual(["default"]);
    const first = await cli("apply", "-f", path);
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toContain("Done: 9 created, 0 changed, 0 deleted, 0 unchanged.");
    expect(await cli("apply", "-f", path)).toEqual({ code: 0, stdout: "Nothing to do: 9 unchanged.\n", stderr: "" });
  });

  test("a change is shown as a difference and made alone", async () => {
    const path = folder();
    const before = await json("history", "list");
    writeFileSync(join(path, "a.yaml"), readFileSync(join(path, "a.yaml"), "utf8").replace("limit: 10", "limit: 20"));
    const { code, stdout } = await cli("apply", "-f", path);
    expect([code, stdout]).toEqual([
      0,
      "~ limit per-user (project search)\n    limit: 10 -> 20\nDone: 0 created, 1 changed, 0 deleted, 8 unchanged.\n",
    ]);
    expect((await json("history", "list")).length).toBe(before.length + 1);
    expect(await json("apply", "-f", path)).toEqual({
      dry_run: false,
      unchanged: 9,
      changes: [],
      read_only: [],
      error: null,
    });
  });

  test("[d9.3] applying an export changes nothing, whatever its texts look like: none of them is a variable or a file", async () => {
    const out = join(gateway.folder, "exported");
    const texts = { rule: 'request.metadata.a == "${HOME}"', message: "${HOME} $${HOME} ${file:/etc/passwd} $1 ${" };
    const sets = Object.entries(texts).flatMap(([name, text]) => ["--set", `${name}=${text}`]);
    expect(
      (await cli("policy", "create", "texts", "--project", "search", "--set", "effect=deny", ...sets)).stderr,
    ).toBe("");
    expect(await json("policy", "get", "texts", "--project", "search")).toMatchObject(texts);
    expect((await cli("export", "-o", out)).code).toBe(0);
    const written = readdirSync(out)
      .map((file) => readFileSync(join(out, file), "utf8"))
      .join("\n");
    expect(written).not.toContain("filed");
    const again = await cli("apply", "-f", out);
    expect([again.code, again.stderr, again.stdout]).toEqual([
      0,
      "",
      expect.stringMatching(/^Nothing to do: \d+ unchanged\.\n$/),
    ]);
    writeFileSync(join(gateway.folder, "all.yaml"), (await cli("export")).stdout);
    expect((await cli("apply", "-f", "all.yaml")).stdout).toBe(again.stdout);
    // what is gone by the next export is not wanted by its folder
    expect(existsSync(join(out, "budget.yaml"))).toBe(true);
    expect((await cli("budget", "delete", "monthly", "--project", "search")).code).toBe(0);
    expect((await cli("export", "-o", out)).stdout).toContain("budget.yaml: removed");
    expect((await cli("apply", "-f", out)).stdout).toMatch(/^Nothing to do: \d+ unchanged\.\n$/);
  });

  test("[d9.3] an export that cannot be written leaves the one before it whole", async () => {
    const out = join(gateway.folder, "kept");
    expect((await cli("export", "-o", out)).code).toBe(0);
    const written = (): object =>
      Object.fromEntries(readdirSync(out).map((file) => [file, readFileSync(join(out, file), "utf8")]));
    const before = written();
    const set = ["--set", "effect=deny", "--set", `rule=request.metadata.a == "${"x".repeat(1500)}"`];
    expect((await cli("policy", "create", "later", "--project", "search", ...set)).stderr).toBe("");
    // no file may have more than a kilobyte, as on a disk that is nearly full
    const { code } = await runToEnd(["bash", "-c", 'ulimit -f 1; "$@"', "-", ...gatewayCommand, "export", "-o", out], {
      cwd: gateway.folder,
      env: cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token }),
    });
    expect(code).not.toBe(0);
    const left = Object.entries(written()).filter(([file]) => !file.endsWith(".unfinished"));
    expect(Object.fromEntries(left)).toEqual(before);
    expect((await cli("policy", "delete", "later", "--project", "search")).code).toBe(0);
    expect((await cli("export", "-o", out)).code).toBe(0);
  });

  test("a folder is read without what is hidden in it, as a mounted volume has its files", async () => {
    const mounted = join(gateway.folder, "mounted");
    mkdirSync(join(mounted, "..2026_11_22"), { recursive: true });
    mkdirSync(join(mounted, "not-a-file.yaml"));
    writeFileSync(
      join(mounted, "..2026_11_22", "route.yaml"),
      "kind: route\nname: mounted\nspec: { targets: [sandbox:echo] }\n",
    );
    symlinkSync("..2026_11_22", join(mounted, "..data"));
    symlinkSync("..data/route.yaml", join(mounted, "route.yaml"));
    const { code, stdout, stderr } = await cli("apply", "-f", mounted);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("+ route mounted");
    expect((await cli("route", "delete", "mounted")).code).toBe(0);
  });

  test.each([
    ["tenant", "nowhere"],
    ["project", "nowhere"],
  ])("[d9.3] an export of a %s that does not exist says so, and writes nothing", async (kind, id) => {
    const out = join(gateway.folder, `of-no-${kind}`);
    const { code, stdout, stderr } = await cli("export", `--${kind}`, id, "-o", out);
    expect([code, stdout, existsSync(out)]).toEqual([1, "", false]);
    expect(stderr).toContain("nowhere");
  });

  test("[d9.3] the whole configuration of one gateway is created on another that is empty: secrets are asked for by name, all at once and before anything is created", async () => {
    const documents =
      "kind: tenant\nname: moved\n---\nkind: project\ntenant: moved\nname: here\n---\nkind: provider\ntenant: moved\nname: theirs\nspec: {type: custom, base_url: 'https://93.184.215.14/v1', api_key: '${PROVIDER_KEY}'}\n---\nkind: route\nproject: here\nname: fast\nspec: {targets: ['theirs:small']}\n";
    writeFileSync(join(gateway.folder, "moved.yaml"), documents);
    expect((await cli("apply", "-f", "moved.yaml")).code).toBe(0);
    const whole = join(gateway.folder, "whole");
    expect((await cli("export", "--all", "-o", whole)).code).toBe(0);
    const empty = await startGateway({ environment: { DRAGOMAN_MASTER_KEY: MASTER_KEY } });
    try {
      const made = await runCli([
        "token",
        "create",
        "--personal",
        "--role",
        "owner",
        "--json",
        "--data",
        empty.dataFolder,
      ]);
      const there = {
        DRAGOMAN_URL: empty.url,
        DRAGOMAN_TOKEN: (JSON.parse(made.stdout) as { readonly token: string }).token,
      };
      const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ran> =>
        runHere(args, cleanEnvironment({ ...there, ...more }), gateway.folder);
      const asked = await run(["apply", "-f", whole]);
      const variables = [...new Set(asked.stderr.match(/SECRET_[A-Z0-9_]+/g))];
      expect([asked.code, variables.includes("SECRET_MOVED_PROVIDER_THEIRS_API_KEY")]).toEqual([1, true]);
      expect(JSON.parse((await run(["tenant", "list", "--json"])).stdout).map((one: any) => one.id)).toEqual([
        "default",
      ]);
      const applied = await run(
        ["apply", "-f", whole],
        Object.fromEntries(variables.map((name) => [name, "sk-given-anew"])),
      );
      expect([applied.stderr, applied.code]).toEqual(["", 0]);
      expect((await run(["apply", "-f", whole])).stdout).toContain("Nothing to do");
      const masked = (text: string): string => text.replaceAll(/\*\*\* [0-9a-f]{12}/g, "***");
      expect(masked((await run(["export", "--all"])).stdout)).toBe(masked((await cli("export", "--all")).stdout));
    } finally {
      await empty.stop();
    }
    expect((await cli("tenant", "delete", "moved", "--yes")).code).toBe(0);
  });

  test("secrets come from variables, are stored and never shown; an export has placeholders for them, which stand for the stored values", async () => {
    const file = join(gateway.folder, "sealed.yaml");
    writeFileSync(
      file,
      'kind: provider\nname: sealed\nspec: { type: custom, base_url: "http://127.0.0.1:9/v1", api_key: "${PROVIDER_KEY}" }\n',
    );
    const first = await cli("apply", "-f", file);
    expect([first.code, first.stderr]).toEqual([0, ""]);
    const again = await cli("apply", "-f", file);
    expect(again.stdout).toBe("Nothing to do: 1 unchanged.\n");
    const exported = await cli("export", "--json");
    const document = (JSON.parse(exported.stdout) as readonly any[]).find((one) => one.name === "sealed");
    expect(document.spec.api_key).toMatch(/^\*\*\* [0-9a-f]{12}$/);
    writeFileSync(
      join(gateway.folder, "p.json"),
      JSON.stringify({ ...document, spec: { ...document.spec, models: ["m"] } }),
    );
    const changed = await cli("apply", "-f", "p.json");
    expect([changed.code, changed.stderr, changed.stdout.split("\n")[0]]).toEqual([
      0,
      "",
      "~ provider sealed (tenant default)",
    ]);
    const renewed = await cli("apply", "-f", file, "--renew-secrets");
    expect(renewed.stdout).toMatch(/api_key: "\*\*\* [0-9a-f]{12}" -> \*\*\*\n/);
    for (const { stdout, stderr } of [first, again, exported, changed, renewed])
      expect(stdout + stderr).not.toContain("sk-very");
    expect((await cli("provider", "delete", "sealed")).code).toBe(0);
  });

  test("prune removes what no document names, and nothing else", async () => {
    const path = folder();
    expect(
      (await cli("route", "create", "extra", "--project", "search", "--set", 'targets=["sandbox:echo"]')).code,
    ).toBe(0);
    const { stdout } = await cli("apply", "-f", path, "--prune");
    expect(stdout.split("\n").filter((line) => line.startsWith("- "))).toEqual(["- route extra (project search)"]);
    expect(
      (await json("route", "list", "--project", "search", "--filter", "origin=store")).map((one: any) => one.name),
    ).toEqual(["fast", "slow"]);
  });

  test("[d9.3] names and aliases of routes move as the documents say, and a second run changes nothing", async () => {
    const file = join(gateway.folder, "aliases.yaml");
    const documents = (routes: Readonly<Record<string, readonly string[]>>): void =>
      writeFileSync(
        file,
        Object.entries(routes)
          .map(
            ([name, aliases]) =>
              `kind: route\nname: ${name}\nspec: {targets: ["sandbox:echo"], aliases: ${JSON.stringify(aliases)}}\n`,
          )
          .join("---\n"),
      );
    expect((await cli("project", "create", "named", "--tenant", "default")).code).toBe(0);
    const inPlace = (text: string): string => text.replaceAll("kind: route\n", "kind: route\nproject: named\n");
    for (const routes of [
      { one: ["first"], two: ["second"] },
      { two: ["first"], one: ["second"] },
      { "one-v2": ["one", "second"], two: ["first"] },
      { first: [], two: ["one"] },
    ]) {
      documents(routes);
      writeFileSync(file, inPlace(readFileSync(file, "utf8")));
      const made = await cli("apply", "-f", file, "--prune");
      expect([routes, made.code, made.stderr]).toEqual([routes, 0, ""]);
      expect((await cli("apply", "-f", file, "--prune")).stdout).toContain("Nothing to do");
      const shown = await json("route", "list", "--project", "named", "--filter", "origin=store");
      expect(Object.fromEntries(shown.map((one: any) => [one.name, one.aliases ?? []]))).toEqual(routes);
    }
    // a change beside these is refused, whichever of the two routes is listed first
    for (const name of ["aaa", "zzz"]) {
      const { code, stderr } = await cli(
        "route",
        "create",
        name,
        "--project",
        "named",
        "--set",
        'targets=["sandbox:echo"]',
        "--set",
        'aliases=["one"]',
      );
      expect([name, code, stderr]).toEqual([name, 1, expect.stringContaining("alias")]);
    }
    const shadowing = await cli("route", "create", "one", "--project", "named", "--set", 'targets=["sandbox:echo"]');
    expect([shadowing.code, shadowing.stderr]).toEqual([
      1,
      expect.stringContaining("the route two has this name as an alias"),
    ]);
    expect((await cli("project", "delete", "named", "--yes")).code).toBe(0);
  });

  test("apply stops at the first refusal and reports what was done; objects of the file are not changed", async () => {
    writeFileSync(
      join(gateway.folder, "wrong.yaml"),
      'kind: route\nname: good\nspec: { targets: ["sandbox:echo"] }\n---\nkind: limit\nname: wrong\nspec: { metric: requests, window: minute, limit: -5 }\n---\nkind: budget\nname: never\nspec: { usd: "1.00", window: day }\n',
    );
    const { code, stdout, stderr } = await cli("apply", "-f", "wrong.yaml");
    expect(code).toBe(1);
    expect(stdout).not.toContain("Done");
    expect(stderr).toMatch(
      /^dragoman: 1 of 3 changes was made\. The next one failed: limit wrong \(tenant default\) \(wrong\.yaml:5\): .*limit.* trace id [0-9a-f]{32}\)\n$/,
    );
    expect((await json("budget", "list")).map((one: any) => one.name)).toEqual([]);
    expect((await json("route", "list", "--filter", "origin=store")).map((one: any) => one.name)).toEqual(["good"]);
    expect((await cli("apply", "-f", "/nowhere")).stderr).toContain("/nowhere");
  });
});

describe("a master key other than the one that encrypted the secrets", () => {
  test("[d9.3] is reported as such to administrators, and calls go on", async () => {
    const folder = join(gateway.folder, "sealed");
    const before = await startGateway({ dataFolder: folder, environment: { DRAGOMAN_MASTER_KEY: MASTER_KEY } });
    const owner = await before.createToken("--personal", "--role", "owner");
    const providers = (
      url: string,
      method: string,
      path: string,
      body: object,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Response> =>
      fetch(`${url}/api/v1/admin/tenants/default/providers${path}`, {
        method,
        headers: { authorization: `Bearer ${owner}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    const sealed = { name: "sealed", type: "custom", base_url: "http://127.0.0.1:9/v1", api_key: "sk-very-secret-key" };
    const once = { "idempotency-key": "once" };
    const made = (await (await providers(before.url, "POST", "", sealed, once)).json()) as { readonly api_key: string };
    await before.stop("SIGKILL");
    const after = await startGateway({
      dataFolder: folder,
      environment: { DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 9).toString("base64") },
    });
    for (const answer of [
      await providers(after.url, "POST", "", sealed, once),
      await providers(after.url, "PATCH", "/sealed", { api_key: null, api_keys: [made.api_key] }),
    ]) {
      const text = await answer.text();
      expect([
        answer.status,
        answer.headers.get("x-should-retry"),
        answer.headers.get("retry-after"),
        JSON.parse(text).error.code,
      ]).toEqual([503, "false", null, "store_unavailable"]);
      expect(text).toMatch(
        /cannot be decrypted: it was encrypted with the master key [0-9a-f]{8}, which is not among [0-9a-f]{8}/,
      );
      expect(/sk-very|sealed:1|reached/.test(text)).toBe(false);
    }
    // a new secret mends it
    expect((await providers(after.url, "PATCH", "/sealed", { api_key: "sk-another" })).status).toBe(200);
    expect(
      (
        await fetch(`${after.url}/api/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "sandbox:echo", messages: [{ role: "user", content: "x" }] }),
        })
      ).status,
    ).toBe(200);
    await after.stop();
  });
});
