// The driver for many replicas through the suite of all drivers, on each real server that this machine has: Redis, Valkey, and a cluster of three.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import { isShortage, type LimitStore } from "../../src/admission/limit-store.ts";
import { openValkeyLimits } from "../../src/admission/valkey/valkey.ts";
import { systemClock } from "../../src/core/clock.ts";
import { findServer, type RedisServer, startCluster, startRedis } from "../harness/servers/redis-server.ts";
import { accountOf, limitStoreSuite, needOf, refused, reserved } from "./limit-store.suite.ts";
import { turnLedger } from "../harness/time/turn-ledger.ts";
import { until, untilFound } from "../harness/time/until.ts";

/** Takes away what tenants have; that the server is known stays, or each test would wait for a new epoch to open. */
async function forget(urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    const redis = new Redis(url);
    const keys = (await redis.keys("dragoman:{*")).filter((key) => !key.endsWith(":epoch"));
    if (keys.length > 0) await Promise.all(keys.map((key) => redis.del(key)));
    redis.disconnect();
  }
}

/** Each reservation is that of a call, whose settlements wait for the ledger. */
async function open(url: string, clusterNodes: readonly string[] | null = null): Promise<LimitStore> {
  const store = await openValkeyLimits({
    url,
    clusterNodes,
    clock: systemClock,
    folder: null,
    ledger: turnLedger(),
  });
  return { ...store, reserve: (needs) => store.reserve(needs, "call") };
}

/** The first message ever makes an epoch, which opens a little later. */
async function opened(url: string, clusterNodes: readonly string[] | null, tenants: readonly string[]): Promise<void> {
  const store = await open(url, clusterNodes);
  await until(() => reachable(store));
  await Promise.all(
    tenants.map(async (tenantId) => (await reserved(store, needOf(accountOf({ tenantId, id: "warm" })))).settle([1])),
  );
  await store.close();
}

async function reachable(store: LimitStore): Promise<boolean> {
  const result = await store.reserve([needOf(accountOf({ id: "warm" }))]);
  if ("need" in result) return false;
  result.release();
  return true;
}

for (const name of ["redis-server", "valkey-server"] as const) {
  const binary = findServer(name);
  // Valkey is in few distributions, and is tested where it is found
  if (binary === null && name === "valkey-server") continue;
  if (binary === null) console.log(`skipped: there is no ${name} on this machine`);
  describe.skipIf(binary === null)(name, () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis({ binary: binary! });
      await opened(server.url, null, []);
    });
    afterAll(() => server.stop());
    limitStoreSuite(`${name}, one replica`, async () => {
      await forget([server.url]);
      return await open(server.url);
    });

    test("[d4.2] of two hundred at once over three replicas against room for ten, ten are admitted", async () => {
      await forget([server.url]);
      const stores = await Promise.all([open(server.url), open(server.url), open(server.url)]);
      for (const [unit, window] of [
        ["requests", "minute"],
        ["tokens", "second"],
        ["concurrency", null],
      ] as const) {
        const account = accountOf({ id: `three-${unit}`, unit, window });
        const results = await Promise.all(
          Array.from({ length: 200 }, async (_, index) => stores[index % 3]!.reserve([needOf(account)])),
        );
        const admitted = results.flatMap((result) => ("need" in result ? [] : [result]));
        expect(admitted).toHaveLength(10);
        for (const each of admitted) each.release();
      }
      for (const store of stores) await store.close();
    });

    test("[d4.2] three replicas that lease parts of a limit admit all of it, and no more; most of it without a request to the store", async () => {
      await forget([server.url]);
      const stores = await Promise.all([open(server.url), open(server.url), open(server.url)]);
      // in a window that no slow machine can outlast
      const account = accountOf({ id: "large", limit: 3000, window: "day" });
      let [admitted, atOnce, refusals] = [0, 0, 0];
      await Promise.all(
        stores.map(async (store) => {
          for (let n = 0; n < 1100; n++) {
            const result = store.reserve([needOf(account)]);
            if (!(result instanceof Promise)) atOnce += 1;
            const given = await result;
            if ("need" in given && given.unavailable) {
              // on a busy machine the store may take longer than a call waits: that says nothing of room
              n -= 1;
              await Bun.sleep(50);
              continue;
            }
            if ("need" in given) refusals += 1;
            else {
              admitted += 1;
              given.settle([1]);
            }
            if (n % 5 === 0) await Bun.sleep(1);
          }
        }),
      );
      expect(admitted).toBeLessThanOrEqual(3000);
      expect(refusals).toBe(3300 - admitted);
      // a replica that the machine let wait for longer than a call waits for it may have had some left: it gives that back, and all of it can be had
      for (let silent = 0; silent < 20;) {
        const given = await stores[0].reserve([needOf(account)]);
        if ("need" in given) {
          silent += 1;
          await Bun.sleep(25);
          continue;
        }
        silent = 0;
        admitted += 1;
        given.settle([1]);
      }
      for (const store of stores) await store.close();
      expect(admitted).toBe(3000);
      // two thousand and more where nothing else runs; a busy machine lets leases end unused
      expect(atOnce).toBeGreaterThan(200);
    });

    test("a slot of a replica that is gone is free after three heartbeats", async () => {
      await forget([server.url]);
      const account = accountOf({ id: "gone", unit: "concurrency", window: null, limit: 1 });
      const store = await open(server.url);
      const child = Bun.spawn([process.execPath, "-e", slotHolder(server.url)], { stdout: "pipe" });
      await child.stdout.getReader().read();
      await refused(store, needOf(account));
      child.kill("SIGKILL");
      const free = await untilFound(async () => {
        const given = await store.reserve([needOf(account)]);
        return isShortage(given) ? null : given;
      });
      free.release();
      await store.close();
    });
  });
}

const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
function slotHolder(url: string): string {
  return `
    const { openValkeyLimits } = await import(${module("../../src/admission/valkey/valkey.ts")});
    const { systemClock } = await import(${module("../../src/core/clock.ts")});
    const store = await openValkeyLimits({ url: ${JSON.stringify(url)}, clusterNodes: null, clock: systemClock, folder: null });
    const rule = ${JSON.stringify(accountOf({ id: "gone", unit: "concurrency", window: null, limit: 1 }).rule)};
    const need = { account: { rule, value: "" }, units: 1, force: false };
    while ("need" in (await store.reserve([need]))) await Bun.sleep(20);
    console.log("held");
    await Bun.sleep(60000);
  `;
}

const clusterBinary = findServer("redis-server");
describe.skipIf(clusterBinary === null)("a cluster", () => {
  let cluster: { readonly servers: readonly RedisServer[]; stop(): Promise<void> };
  const nodes = (): readonly string[] => cluster.servers.slice(1).map(({ port }) => `127.0.0.1:${port}`);
  beforeAll(async () => {
    cluster = await startCluster(3);
    await opened(cluster.servers[0]!.url, nodes(), ["t", "other"]);
  });
  afterAll(() => cluster.stop());
  limitStoreSuite("a cluster of three", async () => {
    await forget(cluster.servers.map(({ url }) => url));
    const store = await open(cluster.servers[0]!.url, nodes());
    await until(() => reachable(store));
    await forget(cluster.servers.map(({ url }) => url));
    return store;
  });
});
