// The store of answers in Valkey through the suite of all stores, on each real server that this machine has.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import { openValkeyCache } from "../../src/cache/valkey.ts";
import { findServer, type RedisServer, startCluster, startRedis } from "../harness/servers/redis-server.ts";
import { until } from "../harness/time/until.ts";
import { answerCacheSuite, type OpenedCache } from "./answer-cache.suite.ts";

const SKEW_MS = 2000;

async function opened(url: string, clusterNodes: readonly string[] | null = null): Promise<OpenedCache> {
  const cache = await openValkeyCache({ url, clusterNodes });
  return { cache, close: async () => cache.close() };
}

/** Two gateways share the server: one keeps an answer while the other purges what is older. */
function sharedCacheSuite(open: () => Promise<OpenedCache>): void {
  test("[d13.5] knows the tenant of an answer that is kept during a purge of what is older", async () => {
    const [one, other] = [await open(), await open()];
    const entry = { route: "r", body: new Uint8Array(10), expiresAtMs: 10 * 60_000 + Date.now() };
    const [oldMs, newMs] = [Date.now(), Date.now() + 60_000];
    for (let round = 0; round < 100; round++) {
      const tenantId = `shared-${round}-${process.pid}`;
      const [old, kept] = ["0", "1"].map((key) => ({ ...entry, tenantId, key: key.repeat(64) }));
      await one.cache.put({ ...old!, askedAtMs: oldMs }, oldMs);
      await Promise.all([
        one.cache.purge({ tenantId }, oldMs, newMs),
        other.cache.put({ ...kept!, askedAtMs: newMs }, newMs),
      ]);
      expect(await one.cache.get(kept!, newMs)).not.toBeNull();
      expect(await one.cache.tenants()).toContain(tenantId);
    }
    await Promise.all([one.close(), other.close()]);
  });
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
    });
    afterAll(() => server.stop());
    answerCacheSuite(name, () => opened(server.url), SKEW_MS);
    sharedCacheSuite(() => opened(server.url));

    test("[d13.5] a full server refuses, and what is there can be read", async () => {
      const { cache, close } = await opened(server.url);
      const nowMs = Date.now();
      const entry = (key: number) => ({
        tenantId: "full",
        key: String(key).padStart(64, "0"),
        route: "r",
        askedAtMs: nowMs,
        expiresAtMs: nowMs + 60_000,
        body: new Uint8Array(100_000),
      });
      await cache.put(entry(1), nowMs);
      const redis = new Redis(server.url);
      await redis.config("SET", "maxmemory", "1");
      expect(Promise.resolve(cache.put(entry(2), nowMs))).rejects.toThrow("maxmemory");
      expect(await cache.get(entry(1), nowMs)).not.toBeNull();
      // what is there can be removed
      expect(await cache.purge({ tenantId: "full", key: entry(1).key }, nowMs, nowMs)).toBe(1);
      expect(await cache.purge({ tenantId: "full" }, nowMs, nowMs)).toBe(0);
      await redis.config("SET", "maxmemory", "0");
      await cache.put({ ...entry(4), askedAtMs: nowMs + SKEW_MS + 1 }, nowMs);
      await redis.config("SET", "maxmemory", "1");
      expect(await cache.purge({ tenantId: "full" }, nowMs + SKEW_MS + 1, nowMs + SKEW_MS + 1)).toBe(1);
      await redis.config("SET", "maxmemory", "0");
      redis.disconnect();
      await close();
    });
  });
}

const hasRedis = findServer("redis-server") !== null;
describe.skipIf(!hasRedis)("a cluster", () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  const nodes = (): readonly string[] => cluster.servers.slice(1).map(({ port }) => `127.0.0.1:${port}`);
  const open = () => opened(cluster.servers[0]!.url, nodes());
  beforeAll(async () => {
    cluster = await startCluster(3);
    await until(async () => {
      const { cache, close } = await open();
      const works = await Promise.resolve(cache.tenants()).then(
        () => true,
        () => false,
      );
      await close();
      return works;
    });
  });
  afterAll(() => cluster.stop());
  answerCacheSuite("a cluster of three", open, SKEW_MS);
  sharedCacheSuite(open);

  test("[d13.5] a node that is full refuses, also where others of the cluster have room", async () => {
    const { cache, close } = await open();
    const nowMs = Date.now();
    const put = (tenantId: string): Promise<void> =>
      Promise.resolve(
        cache.put(
          {
            tenantId,
            key: "1".padStart(64, "0"),
            route: "r",
            askedAtMs: nowMs,
            expiresAtMs: nowMs + 60_000,
            body: new Uint8Array(1000),
          },
          nowMs,
        ),
      );
    const tenants = Array.from({ length: 20 }, (_, index) => `full ${index}`);
    for (const tenantId of tenants) await put(tenantId);
    const set = async (most: string): Promise<void> => {
      for (const { url } of cluster.servers) {
        const node = new Redis(url);
        // the node that has the names of all tenants refuses them by itself
        const holds = await node.exists("dragoman:cache:tenants").catch(() => 0);
        if (holds === 0) await node.config("SET", "maxmemory", most);
        node.disconnect();
      }
    };
    await set("1");
    const results = await Promise.allSettled(tenants.map(put));
    const refusals = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
    await set("0");
    await close();
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.every((text) => text.includes("maxmemory"))).toBe(true);
  });
});
