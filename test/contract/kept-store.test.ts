// Every driver of the store of kept objects through one suite, and what sealing adds.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import { KeptObjects } from "../../src/engine/keeping/kept-objects.ts";
import { type KeptStore, NoRoom } from "../../src/engine/keeping/kept-store.ts";
import { reportedStore } from "../../src/engine/keeping/reported-store.ts";
import { sealedStore } from "../../src/engine/keeping/sealed-store.ts";
import { openValkeyStore } from "../../src/engine/keeping/valkey-store.ts";
import type { GatewayError } from "../../src/core/errors.ts";
import { parseJson } from "../../src/wire/json/json.ts";
import { openWorkerKept, serveKept } from "../../src/process/workers/shared-kept.ts";
import { openChannels } from "../harness/channels.ts";
import { findServer, type RedisServer, startCluster, startRedis } from "../harness/servers/redis-server.ts";
import { keptStoreSuite, SUITE_BOUNDS, turnedClock, type TurnedClock } from "./kept-store.suite.ts";

keptStoreSuite("one process", async (clock) => {
  const store = new KeptObjects<Uint8Array>(clock, SUITE_BOUNDS);
  return { views: [store], close: async () => store.close() };
});

keptStoreSuite("the workers of a machine", async (clock) => {
  const store = new KeptObjects<Uint8Array>(clock, SUITE_BOUNDS);
  const views = [0, 1].map(() => {
    const { worker, supervisor } = openChannels();
    serveKept(supervisor, store);
    return openWorkerKept(worker, () => clock.now(), SUITE_BOUNDS);
  });
  return { views, close: async () => store.close() };
});

async function valkeyStores(url: string, clusterNodes: readonly string[] | null, clock: TurnedClock) {
  const open = (): Promise<KeptStore<Uint8Array>> => openValkeyStore({ url, clusterNodes }, clock, SUITE_BOUNDS);
  const views = [await open(), await open()];
  return {
    views,
    async close() {
      for (const view of views) view.close();
    },
  };
}

const hasRedis = findServer("redis-server") !== null;
if (!hasRedis) console.log("skipped: there is no redis-server on this machine");

describe.skipIf(!hasRedis)("redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  keptStoreSuite("redis-server", (clock) => valkeyStores(server.url, null, clock));

  test("[d12.8] what is kept has a time of expiry at the server, under every name, and no text or id is readable", async () => {
    const clock = turnedClock();
    const bytes = await openValkeyStore({ url: server.url, clusterNodes: null }, clock);
    const store = sealedStore<string>(
      bytes,
      () => [new Uint8Array(32).fill(1)],
      () => clock.now(),
    );
    expect(
      await store.keep({
        tenantId: "acme",
        projectId: null,
        ids: ["resp_1", "msg_1"],
        value: "said in secret",
        size: () => 0,
      }),
    ).toBe(true);
    const redis = new Redis(server.url);
    const names = await redis.keys("dragoman:kept:*");
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) {
      expect([name, (await redis.pttl(name)) > 0]).toEqual([name, true]);
      const held = (await redis.dumpBuffer(name)).toString("latin1");
      for (const secret of ["resp_1", "msg_1", "said in secret", "acme"])
        expect([name.includes(secret), held.includes(secret)]).toEqual([false, false]);
    }
    expect((await store.find("acme", "msg_1"))?.value).toBe("said in secret");
    redis.disconnect();
    store.close();
  });

  test("[d12.8] what is removed leaves no size behind, and the removal of what is not there leaves nothing at all", async () => {
    const clock = turnedClock();
    const [store] = (await valkeyStores(server.url, null, clock)).views as [KeptStore<Uint8Array>];
    const redis = new Redis(server.url);
    const before = new Set(await redis.keys("dragoman:kept:*"));
    const added = async (): Promise<readonly string[]> =>
      (await redis.keys("dragoman:kept:*")).filter((name) => !before.has(name));
    await store.remove("gone", "a");
    expect(await added()).toEqual([]);
    await store.keep({ tenantId: "gone", projectId: null, ids: ["a"], value: new Uint8Array(10), size: () => 10 });
    await store.remove("gone", "a");
    await store.remove("gone", "a");
    const sizes = (await added()).find((name) => name.endsWith(":sizes"))!;
    expect(await redis.hgetall(sizes)).toEqual({ "": "0" });
    expect(await redis.pttl(sizes)).toBeGreaterThan(0);
    redis.disconnect();
    store.close();
  });

  for (const evicted of ["index", "sizes", "object"])
    test(`[d12.8] a server that has evicted names that end in ${evicted} goes on keeping within the bound of the tenant`, async () => {
      const clock = turnedClock();
      const [store] = (await valkeyStores(server.url, null, clock)).views as [KeptStore<Uint8Array>];
      const redis = new Redis(server.url);
      const tenantId = `evicted ${evicted}`;
      const before = new Set(await redis.keys("dragoman:kept:*"));
      const keep = async (id: string): Promise<boolean> =>
        await store.keep({ tenantId, projectId: null, ids: [id], value: new Uint8Array(40), size: () => 40 });
      await keep("a");
      await keep("b");
      const names = (await redis.keys("dragoman:kept:*")).filter((name) => !before.has(name));
      await redis.del(...names.filter((name) => name.includes(`:${evicted}`)));
      for (const id of ["c", "d", "e", "f"]) {
        expect(await keep(id)).toBe(true);
        expect((await store.find(tenantId, id)) !== null).toBe(true);
      }
      const sizes = await redis.hgetall(names.find((name) => name.endsWith(":sizes"))!);
      expect(Object.keys(sizes).toSorted()).toEqual(["", "e", "f"]);
      expect(sizes[""]).toBe("80");
      redis.disconnect();
      store.close();
    });

  test("[d12.8] a server that has little room left for others keeps nothing more, but for what running calls say of themselves", async () => {
    const clock = turnedClock();
    const store = await openValkeyStore({ url: server.url, clusterNodes: null }, clock);
    const redis = new Redis(server.url);
    const object = (id: string, bytes = 2000) => ({
      tenantId: "full",
      projectId: null,
      ids: [id],
      value: new Uint8Array(bytes),
      size: () => bytes,
    });
    const changes: boolean[] = [];
    const reported = reportedStore(store, (error) => void changes.push(error === null));
    expect(await store.keep(object("a"))).toBe(true);
    await redis.config("SET", "maxmemory", "1mb");
    expect(Promise.resolve(store.keep(object("b")))).rejects.toBeInstanceOf(NoRoom);
    expect(Promise.resolve(reported.keep(object("b")))).rejects.toMatchObject({ code: "kept_store_unavailable" });
    expect([changes, reported.isAway]).toEqual([[], false]);
    expect(await store.keep(object("c", 500))).toBe(true);
    expect((await store.find("full", "a")) !== null).toBe(true);
    await redis.config("SET", "maxmemory", "0");
    expect(await store.keep(object("b"))).toBe(true);
    redis.disconnect();
    store.close();
  });

  test("[d12.8] a server that evicts is used to the full, and one that is full refuses an account that may not ask for its memory", async () => {
    const redis = new Redis(server.url);
    const [, used] = /^used_memory:(\d+)/m.exec(await redis.info("memory"))!;
    await redis.config("SET", "maxmemory", String(Math.ceil(Number(used) * 1.15)), "maxmemory-policy", "volatile-lru");
    const object = (id: string) => ({
      tenantId: "evicting",
      projectId: null,
      ids: [id],
      value: new Uint8Array(2000),
      size: () => 2000,
    });
    const store = await openValkeyStore({ url: server.url, clusterNodes: null }, turnedClock());
    expect(await store.keep(object("a"))).toBe(true);
    store.close();
    await redis.config("SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
    await redis.acl("SETUSER", "short", "on", ">secret", "~*", "+@all", "-info");
    const url = server.url.replace("redis://", "redis://short:secret@");
    const short = await openValkeyStore({ url, clusterNodes: null }, turnedClock());
    expect(await short.keep(object("b"))).toBe(true);
    await redis.config("SET", "maxmemory", "1");
    const refused = await Promise.resolve(short.keep(object("c"))).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(NoRoom);
    expect(await short.find("evicting", "c")).toBeNull();
    expect(await short.find("evicting", "b")).not.toBeNull();
    await redis.config("SET", "maxmemory", "0");
    await redis.acl("DELUSER", "short");
    redis.disconnect();
    short.close();
  });

  test("[d12.8] while the server is away every question is an error that says so, which is reported once", async () => {
    const own = await startRedis();
    const clock = turnedClock();
    const bytes = await openValkeyStore({ url: own.url, clusterNodes: null }, clock);
    const changes: boolean[] = [];
    const store = reportedStore(bytes, (error) => void changes.push(error === null));
    const object = { tenantId: "t", projectId: null, ids: ["a"], value: new Uint8Array(10), size: () => 10 };
    expect(await store.keep(object)).toBe(true);
    await own.kill();
    for (const ask of [() => store.find("t", "a"), () => store.keep(object), () => store.remove("t", "a")])
      expect(await Promise.resolve(ask()).catch((error: unknown) => (error as GatewayError).code)).toBe(
        "kept_store_unavailable",
      );
    expect([changes, store.isAway]).toEqual([[false], true]);
    await own.restart(true);
    while (store.isAway) await Promise.resolve(store.find("t", "a")).catch(() => Bun.sleep(10));
    expect([changes, (await store.find("t", "a")) !== null]).toEqual([[false, true], true]);
    await own.stop();
    store.close();
  }, 60_000);
});

describe.skipIf(!hasRedis)("a cluster", () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  beforeAll(async () => {
    cluster = await startCluster(3);
  }, 120_000);
  afterAll(() => cluster.stop());
  keptStoreSuite("a cluster", (clock) => valkeyStores(cluster.servers[0]!.url, [], clock));
});

describe("sealed", () => {
  const KEYS = [1, 2].map((fill) => new Uint8Array(32).fill(fill));
  const clock = turnedClock();
  const now = (): number => clock.now();
  const object = (tenantId: string) => ({
    tenantId,
    projectId: null,
    ids: ["resp_1", "msg_1"],
    value: { text: "hello" },
    size: () => 0,
  });

  test("[d12.8] a store is opened with an earlier master key too, and not without it", async () => {
    const bytes = new KeptObjects<Uint8Array>(clock);
    expect(await sealedStore(bytes, () => [KEYS[0]!], now).keep(object("t"))).toBe(true);
    const rotated = sealedStore<{ readonly text: string }>(bytes, () => [KEYS[1]!, KEYS[0]!], now);
    expect((await rotated.find("t", "msg_1"))?.value).toEqual({ text: "hello" });
    expect((await rotated.find("t", "msg_1"))?.ids).toEqual(["resp_1", "msg_1"]);
    expect(await sealedStore(bytes, () => [KEYS[1]!], now).find("t", "resp_1")).toBeNull();
    await rotated.remove("t", "resp_1");
    expect(await rotated.find("t", "resp_1")).toBeNull();
  });

  test("[d12.8] a store that was opened before the master key was changed finds what later ones keep, and they find what it keeps", async () => {
    const bytes = new KeptObjects<Uint8Array>(clock);
    let keys = [KEYS[0]!];
    const running = sealedStore<{ readonly text: string }>(bytes, () => keys, now);
    await running.keep(object("before"));
    keys = [KEYS[1]!, KEYS[0]!];
    const later = sealedStore<{ readonly text: string }>(bytes, () => keys, now);
    await later.keep(object("t"));
    await running.keep(object("after"));
    expect((await running.find("t", "msg_1"))?.value).toEqual({ text: "hello" });
    for (const tenant of ["before", "after"])
      expect([tenant, (await later.find(tenant, "msg_1"))?.value]).toEqual([tenant, { text: "hello" }]);
    expect(await sealedStore(bytes, () => [KEYS[1]!], now).find("after", "resp_1")).not.toBeNull();
  });

  test("[d12.8] numbers of what is kept have all of their digits, as in the memory of one process", async () => {
    // as deep as a request may be, inside what is kept with it
    const schema = `{"maximum":9223372036854775807,"minimum":-1e400,"deep":${"[".repeat(511)}${"]".repeat(511)}}`;
    const store = sealedStore<unknown>(new KeptObjects<Uint8Array>(clock), () => KEYS, now);
    await store.keep({ ...object("t"), value: { request: { schema: parseJson(schema) } } });
    expect(JSON.stringify((await store.find("t", "resp_1"))?.value)).toBe(`{"request":{"schema":${schema}}}`);
  });

  test("[d12.8] what was changed, or moved to another tenant, is not there", async () => {
    const held: { ids: readonly string[]; value: Uint8Array }[] = [];
    const store = (bend: (value: Uint8Array) => Uint8Array): KeptStore<Uint8Array> => ({
      isAway: false,
      untilMs: now() + 1000,
      keep: ({ ids, value }) => held.push({ ids, value }) > 0,
      find: () => ({ ids: held[0]!.ids, value: bend(held[0]!.value), untilMs: now() + 1000 }),
      remove: () => {},
      removeAll: () => {},
      close: () => {},
    });
    const same = sealedStore(
      store((value) => value),
      () => [KEYS[0]!],
      now,
    );
    await same.keep(object("t"));
    expect((await same.find("t", "resp_1")) !== null).toBe(true);
    expect(await same.find("other", "resp_1")).toBeNull();
    for (let at = 0; at < held[0]!.value.length; at++) {
      const bent = sealedStore(
        store((value) => value.map((byte, index) => (index === at ? byte ^ 1 : byte))),
        () => [KEYS[0]!],
        now,
      );
      expect([at, await bent.find("t", "resp_1")]).toEqual([at, null]);
    }
  });
});
