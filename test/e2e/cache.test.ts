// The response cache of real processes: settings over the admin API, a store that outlives a process, and purges that
// reach other processes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ran, runHere } from "../harness/processes/command-line.ts";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { until } from "../harness/time/until.ts";

const ASK = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello, cache!" }] };

async function cacheOf(gateway: GatewayProcess, token: string, fields: object = {}): Promise<string | null> {
  const response = await gateway.chat({ ...ASK, ...fields }, { token });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-gateway-cache");
}

describe("a tenant that allows it", () => {
  let one: GatewayProcess;
  let two: GatewayProcess;
  let owner: string;
  let token: string;
  beforeAll(async () => {
    one = await startGateway({ config: 'routes: { r: { targets: ["sandbox:echo"], cache: { ttl_s: 600 } } }\n' });
    two = await startGateway({
      config: 'routes: { r: { targets: ["sandbox:echo"], cache: { ttl_s: 600 } } }\n',
      dataFolder: one.dataFolder,
    });
    owner = await one.createToken("--personal", "--role", "owner");
    token = await one.createToken();
  });
  afterAll(async () => {
    await two.stop();
    await one.stop();
  });
  const cli = (...args: readonly string[]): Promise<Ran> =>
    runHere(args, cleanEnvironment({ DRAGOMAN_URL: one.url, DRAGOMAN_TOKEN: owner }), one.folder);

  test("[d13.4] it is off until the tenant's setting allows it; a project cannot allow it itself", async () => {
    expect(await cacheOf(one, token, { model: undefined, route: "r" })).toBe("bypass");
    expect((await cli("settings", "update", "--project", "default", "--set", "cache_allowed=true")).code).not.toBe(0);
    expect((await cli("settings", "update", "--tenant", "default", "--set", "cache.ttl_s=60")).code).not.toBe(0);
    expect((await cli("settings", "update", "--tenant", "default", "--set", "cache_allowed=true")).code).toBe(0);
    for (const gateway of [one, two])
      await until(async () => (await cacheOf(gateway, token, { model: undefined, route: "r" })) === "hit");
    const shown = JSON.parse((await cli("settings", "get", "--tenant", "default", "--json")).stdout) as object;
    expect(shown).toMatchObject({ cache_allowed: true });
  });

  test("[d13.5] a purge reaches every process, and is in the audit log", async () => {
    const asked = { model: undefined, route: "r" };
    for (const gateway of [one, two]) expect(await cacheOf(gateway, token, asked)).toBe("hit");
    const { stdout, stderr } = await cli("cache", "purge", "--route", "r");
    expect([stdout, stderr]).toEqual(["1 answer was removed.\n", ""]);
    expect(await cacheOf(one, token, asked)).toBe("miss");
    await until(async () => (await cacheOf(two, token, asked)) === "miss", "the other process reads the purge");
    expect(await cacheOf(two, token, asked)).toBe("hit");
    const audit = JSON.parse((await cli("audit", "list", "--tenant", "default", "--json")).stdout) as {
      readonly action: string;
      readonly after: object;
    }[];
    expect(audit.find(({ action }) => action === "purge")).toMatchObject({
      kind: "response_cache",
      target_id: "r",
      after: { route: "r", removed: 1 },
    });
    for (const [args, message] of [
      [["--key", "abc"], "x-gateway-cache-key"],
      [["--key", "0".repeat(64), "--route", "r"], "either route or key"],
      [["--route", "no such"], "route"],
    ] as const) {
      const refused = await cli("cache", "purge", ...args);
      expect([refused.code === 0, refused.stderr.includes(message)]).toEqual([false, true]);
    }
  });

  test("[d13.5] metrics count what the cache does", async () => {
    const metrics = await (await fetch(`${one.url}/metrics`)).text();
    expect(metrics).toMatch(/dragoman_cache_calls_total\{route="r",cache="hit"\} [1-9]/);
    expect(metrics).toMatch(/dragoman_cache_calls_total\{route="r",cache="bypass"\} 1/);
    expect(metrics).toMatch(/dragoman_cache_entries 1/);
  });
});

describe("the file of the data folder", () => {
  test("[d13.5] answers outlive the process, sealed, and go with their tenant", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-cache-"));
    const dataFolder = join(folder, "data");
    const config = (allowed: boolean) =>
      `cache: { store: sqlite }\ntenants: { default: { settings: { cache_allowed: ${allowed} } } }\nprojects: { default: { settings: { cache: { ttl_s: 600, scope: tenant } } } }\n`;
    let gateway = await startGateway({ config: config(true), dataFolder });
    const token = await gateway.createToken();
    expect(await cacheOf(gateway, token)).toBe("miss");
    expect(await cacheOf(gateway, token)).toBe("hit");
    await gateway.stop("SIGKILL");
    gateway = await startGateway({ config: config(true), dataFolder });
    expect(await cacheOf(gateway, token)).toBe("hit");
    for (const name of readdirSync(dataFolder).filter((each) => each.startsWith("cache.sqlite")))
      expect(readFileSync(join(dataFolder, name)).includes("Hello, cache!")).toBe(false);
    await gateway.stop();
    gateway = await startGateway({ config: config(false), dataFolder });
    expect(await cacheOf(gateway, token)).toBe("bypass");
    await gateway.stop();
    gateway = await startGateway({ config: config(true), dataFolder });
    expect(await cacheOf(gateway, token)).toBe("miss");
    await gateway.stop();
    rmSync(folder, { recursive: true });
  });

  test.each([
    ["cache: { store: disk }", "cache.store"],
    ["cache: { store: valkey }", "cache.url"],
    ["cache: { store: valkey, url: 'http://valkey' }", "cache.url"],
    ["cache: { max_bytes: 1 }", "cache.max_bytes"],
    ["cache: { max_bytes: 2000000, max_answer_bytes: 3000000 }", "cache.max_answer_bytes"],
    ["routes: { r: { targets: ['sandbox:echo'], cache: { scope: project } } }", "routes.r.cache"],
    ["routes: { r: { targets: ['sandbox:echo'], cache: { ttl_s: 0 } } }", "routes.r.cache"],
    ["tenants: { default: { settings: { cache: { ttl_s: 60 } } } }", "tenants.default.settings.cache"],
    ["projects: { default: { settings: { cache_allowed: true } } }", "projects.default.settings.cache_allowed"],
    ["budgets: { b: { usd: '1', window: day, cache_hits: half } }", "budgets.b.cache_hits"],
  ])("%s is refused with its path", async (config, path) => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-cache-"));
    const file = join(folder, "dragoman.yaml");
    await Bun.write(file, config);
    const { code, stderr, stdout } = await runHere(["check", file], cleanEnvironment(), folder);
    expect([code === 0, `${stderr}${stdout}`.includes(path)]).toEqual([false, true]);
    rmSync(folder, { recursive: true });
  });
});
