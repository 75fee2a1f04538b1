// Writing off leases of gateways that never come back, on total budgets; and what happens when such a gateway comes
// back after all.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { Redis } from "ioredis";
import { reconcile } from "../../src/admission/valkey/reconcile.ts";
import { openValkeyLimits } from "../../src/admission/valkey/valkey.ts";
import { systemClock } from "../../src/core/clock.ts";
import { accountOf, needOf, reserved } from "../contract/limit-store.suite.ts";
import { type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { findServer, type RedisServer, startCluster, startRedis } from "../harness/servers/redis-server.ts";
import { until } from "../harness/time/until.ts";

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");

const totalOf = (id: string) => accountOf({ id, kind: "budget", unit: "tokens", window: "total", limit: 100_000 });
const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

/** Prints what it has used, while it holds a lease, and goes on when it is asked to. */
const borrower = (url: string, nodes: readonly string[] | null, id: string): string => `
  const { openValkeyLimits } = await import(${module("../../src/admission/valkey/valkey.ts")});
  const { systemClock } = await import(${module("../../src/core/clock.ts")});
  const store = await openValkeyLimits({ url: ${JSON.stringify(url)}, clusterNodes: ${JSON.stringify(nodes)}, clock: systemClock, folder: null });
  const need = { account: { rule: ${JSON.stringify(totalOf(id).rule)}, value: "" }, units: 10, force: false };
  let used = 0;
  for (let n = 0; n < 400 || performance.now() < 900; n++) {
    const given = await store.reserve([need]);
    if ("need" in given) { await Bun.sleep(10); continue; }
    used += 10;
    given.settle([10]);
    if (n % 20 === 19) await Bun.sleep(5);
  }
  process.stdout.write(used + "\\n");
  // stopped here, with a lease that is never ended
  const endsMs = performance.now() + 30;
  while (performance.now() < endsMs);
  for await (const _ of Bun.stdin.stream()) break;
  await store.close();
  process.stdout.write("ended\\n");
`;

/** Has used 30 units and reserved 700 for calls in flight, 400 of which it requested from the store one by one; they end with 1 unit each when it is asked to. */
const reserver = (url: string, id: string): string => `
  const { openValkeyLimits } = await import(${module("../../src/admission/valkey/valkey.ts")});
  const { systemClock } = await import(${module("../../src/core/clock.ts")});
  const store = await openValkeyLimits({ url: ${JSON.stringify(url)}, clusterNodes: null, clock: systemClock, folder: null });
  const rules = [${JSON.stringify({ ...totalOf(id).rule, limit: 1000 })}, ${JSON.stringify({ ...totalOf(id).rule, id: `${id}-lent` })}];
  const reserve = async (rule, units) => {
    for (;;) {
      const given = await store.reserve([{ account: { rule, value: "" }, units, force: false }]);
      if (!("need" in given)) return given;
      await Bun.sleep(10);
    }
  };
  for (const rule of rules) (await reserve(rule, 50)).settle([30]);
  const open = [];
  for (let n = 0; n < 4; n++) open.push(await reserve(rules[0], 100));
  for (let n = 0; n < 30; n++) open.push(await reserve(rules[1], 10));
  process.stdout.write("60\\n");
  for await (const _ of Bun.stdin.stream()) break;
  for (const each of open) each.settle([1]);
  await store.close();
  process.stdout.write("ended\\n");
`;

async function start(url: string, nodes: readonly string[] | null, id: string, program = borrower(url, nodes, id)) {
  const child = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const line = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value).trim();
  return { child, used: Number(await line()), line };
}

/** The one that holds something of the budget. */
async function replicaOf(url: string, id: string): Promise<string> {
  const redis = new Redis(url);
  const fields = await redis.hkeys((await redis.keys(`dragoman:{*}:a:${id}:*`))[0]!);
  redis.disconnect();
  return fields.find((field) => field.startsWith("h:"))!.slice(2);
}

/** As if the replica had been silent for so long. */
async function age(url: string, id: string, byMs: number): Promise<void> {
  const redis = new Redis(url);
  const [key] = await redis.keys(`dragoman:{*}:a:${id}:*`);
  const group = `${key!.slice(0, key!.indexOf("}") + 1)}:group`;
  for (const [field, value] of Object.entries(await redis.hgetall(key!))) {
    if (!field.startsWith("h:")) continue;
    const [units, at, idle] = value.split(":");
    const replica = field.slice(2);
    await redis.hset(key!, field, `${units}:${Number(at) - byMs}:${idle}`);
    await redis.hset(group, `s:${replica}`, String(Number(await redis.hget(group, `s:${replica}`)) - byMs));
    await redis.zincrby("dragoman:replicas", -byMs, replica);
  }
  redis.disconnect();
}

describe.skipIf(binary === null)("dragoman limit reconcile", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
    const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
    (await reserved(store, needOf(accountOf({ id: "warm" })))).release();
    await store.close();
  });
  afterAll(() => redis.stop());
  const usedOf = async (id: string): Promise<number> => {
    const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
    const { used } = await store.status(totalOf(id));
    await store.close();
    return used;
  };

  test("[d4.2] writes off what a killed gateway had leased of a total budget, once it has been silent for a minute", async () => {
    const { child, used } = await start(redis.url, null, "killed");
    child.kill("SIGKILL");
    await child.exited;
    const charged = await usedOf("killed");
    expect(charged).toBeGreaterThan(used);
    const run = async (...flags: string[]) => {
      const { code, stdout, stderr } = await runCli(["limit", "reconcile", "--json", ...flags], {
        DRAGOMAN_LIMIT_STORE_URL: redis.url,
      });
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout) as {
        readonly dry_run: boolean;
        readonly written_off: readonly {
          readonly replica: string;
          readonly tenant: string;
          readonly budget: string;
          readonly unit: string;
          readonly units: number;
        }[];
      };
    };
    // it was here just now
    expect((await run()).written_off).toEqual([]);
    await age(redis.url, "killed", 61_000);
    const planned = await run("--dry-run");
    // what it had leased at its last message: how much of that it spent afterwards is unknown
    const { units } = planned.written_off[0]!;
    expect(planned).toMatchObject({ dry_run: true, written_off: [{ tenant: "t", budget: "killed", unit: "tokens" }] });
    expect(units).toBeGreaterThanOrEqual(charged - used);
    expect(await usedOf("killed")).toBe(charged);
    expect((await run("--replica", "somebody-else")).written_off).toEqual([]);
    expect((await run()).written_off).toEqual(planned.written_off);
    expect(await usedOf("killed")).toBe(charged - units);
    expect((await run()).written_off).toEqual([]);
  });

  test("a gateway that comes back all the same reports what it used: nothing is released twice", async () => {
    const { child, used, line } = await start(redis.url, null, "stopped");
    child.kill("SIGSTOP");
    await Bun.sleep(5300);
    const charged = await usedOf("stopped");
    expect(charged).toBeGreaterThan(used);
    const [found] = await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: false });
    // within the minute only where it is named
    expect(found).toBeUndefined();
    const redisClient = new Redis(redis.url);
    const replica = (await redisClient.hkeys((await redisClient.keys("dragoman:{t}:a:stopped:*"))[0]!))
      .find((field) => field.startsWith("h:"))!
      .slice(2);
    redisClient.disconnect();
    const [written] = await reconcile({ url: redis.url, clusterNodes: null, replicas: [replica], dryRun: false });
    expect(written).toMatchObject({ replica, budget: "stopped" });
    expect(written!.units).toBeGreaterThanOrEqual(charged - used);
    expect(await usedOf("stopped")).toBe(charged - written!.units);
    child.kill("SIGCONT");
    void child.stdin.write("on\n");
    void child.stdin.end();
    expect(await line()).toBe("ended");
    expect(await usedOf("stopped")).toBe(used);
  });

  const usedOfBoth = async (id: string): Promise<readonly number[]> => [await usedOf(id), await usedOf(`${id}-lent`)];

  test("[d4.2] lists and writes off what a killed gateway had reserved for calls in flight, one by one or out of leases", async () => {
    const { child } = await start(redis.url, null, "reserved", reserver(redis.url, "reserved"));
    // a call in flight is no sign of death, however long it takes
    const replica = await replicaOf(redis.url, "reserved");
    await Bun.sleep(5200);
    expect(await reconcile({ url: redis.url, clusterNodes: null, replicas: [replica], dryRun: true })).toEqual([]);
    // leases have ended
    await until(async () => String(await usedOfBoth("reserved")) === "430,330");
    child.kill("SIGKILL");
    await child.exited;
    expect(await usedOfBoth("reserved")).toEqual([430, 330]);
    for (const id of ["reserved", "reserved-lent"]) await age(redis.url, id, 61_000);
    const planned = await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: true });
    expect(planned.map(({ budget, units, reserved: part }) => `${budget} ${units} ${part}`).toSorted()).toEqual([
      "reserved 400 400",
      "reserved-lent 300 300",
    ]);
    expect(await usedOfBoth("reserved")).toEqual([430, 330]);
    expect(await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: false })).toEqual(planned);
    expect(await usedOfBoth("reserved")).toEqual([30, 30]);
    expect(await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: true })).toEqual([]);
  });

  test("[d4.2] a gateway that comes back after its reservations were written off is charged with what its calls used", async () => {
    const { child, line } = await start(redis.url, null, "away", reserver(redis.url, "away"));
    child.kill("SIGSTOP");
    for (const id of ["away", "away-lent"]) await age(redis.url, id, 61_000);
    expect(await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: false })).toHaveLength(2);
    expect(await usedOfBoth("away")).toEqual([30, 30]);
    child.kill("SIGCONT");
    void child.stdin.write("on\n");
    void child.stdin.end();
    expect(await line()).toBe("ended");
    expect(await usedOfBoth("away")).toEqual([34, 60]);
    expect(await reconcile({ url: redis.url, clusterNodes: null, replicas: null, dryRun: true })).toEqual([]);
  });

  test("[d4.2] after a real gateway is killed with calls in flight and loses its data folder, only what was used stays charged", async () => {
    const config = "budgets: { whole: { tokens: 60000, window: total, on_store_failure: closed } }\n";
    const environment = { DRAGOMAN_LIMIT_STORE_URL: redis.url };
    const first = await startGateway({ config, environment });
    const ask = (gateway: GatewayProcess, model: string): Promise<Response> =>
      gateway.chat({ model, max_tokens: 2000, messages: [{ role: "user", content: "hello" }] });
    const remaining = async (gateway: GatewayProcess): Promise<number> => {
      const response = await ask(gateway, "sandbox:echo");
      await response.text();
      return Number(response.headers.get("x-ratelimit-remaining-tokens"));
    };
    const before = await remaining(first);
    const cut = Array.from({ length: 3 }, () => ask(first, "sandbox:slow-60000").catch(() => null));
    // what each of them may use is set aside
    let left = before;
    while (left > before - 3 * 2000) {
      await Bun.sleep(50);
      left = await remaining(first);
    }
    await first.stop("SIGKILL");
    await Promise.all(cut);
    // its folder went with it
    expect(existsSync(first.dataFolder)).toBe(false);
    await age(redis.url, "*whole*", 61_000);
    const { code, stdout } = await runCli(["limit", "reconcile", "--json"], environment);
    expect(code).toBe(0);
    const [written] = (
      JSON.parse(stdout) as {
        readonly written_off: readonly { readonly budget: string; readonly units: number; readonly reserved: number }[];
      }
    ).written_off;
    expect(written!.units).toBe(written!.reserved);
    expect(written!.reserved).toBeGreaterThanOrEqual(3 * 2000);
    const next = await startGateway({ config, environment });
    const found = await remaining(next);
    const perCall = found - (await remaining(next));
    expect(perCall).toBeGreaterThan(0);
    expect(found).toBe(left + written!.reserved - perCall);
    await next.stop();
  });

  test("reports a missing limit store, and one that is unreachable", async () => {
    const nothing = await runCli(["limit", "reconcile"]);
    expect([nothing.code, nothing.stderr]).toEqual([
      2,
      expect.stringContaining("DRAGOMAN_LIMIT_STORE_URL") as unknown as string,
    ]);
    const away = await runCli(["limit", "reconcile"], { DRAGOMAN_LIMIT_STORE_URL: "redis://:secret@127.0.0.1:1" });
    expect([away.code, away.stderr]).toEqual([
      2,
      expect.stringContaining("127.0.0.1:1 did not answer") as unknown as string,
    ]);
    expect(away.stderr).not.toContain("secret");
  });

  test("in a cluster every node is asked", async () => {
    const cluster = await startCluster(3);
    try {
      const nodes = cluster.servers.slice(1).map(({ port }) => `127.0.0.1:${port}`);
      const url = cluster.servers[0]!.url;
      const { child, used } = await start(url, nodes, "clustered");
      child.kill("SIGKILL");
      await child.exited;
      await Bun.sleep(5200);
      const found = await reconcile({ url, clusterNodes: nodes, replicas: null, dryRun: true });
      expect(found).toEqual([]);
      const holder = await Promise.all(
        cluster.servers.map(async (server) => {
          const client = new Redis(server.url);
          const [key] = await client.keys("dragoman:{t}:a:clustered:*");
          const fields = key === undefined ? [] : await client.hkeys(key);
          client.disconnect();
          return fields.find((field) => field.startsWith("h:"))?.slice(2);
        }),
      );
      const replica = holder.find((each) => each !== undefined)!;
      const [one] = await reconcile({ url, clusterNodes: nodes, replicas: [replica], dryRun: false });
      expect(one).toMatchObject({ replica, budget: "clustered" });
      const store = await openValkeyLimits({ url, clusterNodes: nodes, clock: systemClock, folder: null });
      const left = (await store.status(totalOf("clustered"))).used;
      expect(left).toBeLessThanOrEqual(used);
      expect(left).toBeGreaterThanOrEqual(used - one!.units);
      await store.close();
    } finally {
      await cluster.stop();
    }
  });
});
