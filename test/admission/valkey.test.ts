// Behaviour of the Valkey driver that only real processes, files and time show: leases of a killed process come back,
// and calls whose slots cannot be renewed end.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { isShortage, type Reservation } from "../../src/admission/limit-store.ts";
import { openValkeyLimits } from "../../src/admission/valkey/valkey.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openMetrics } from "../../src/observe/metrics/metrics.ts";
import { accountOf, needOf, reserved } from "../contract/limit-store.suite.ts";
import { findServer, type RedisServer, startRedis } from "../harness/servers/redis-server.ts";
import { turnLedger } from "../harness/time/turn-ledger.ts";
import { until } from "../harness/time/until.ts";

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");

const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
const large = accountOf({ id: "large", window: "day", limit: 100_000, unit: "tokens" });

/** Uses some of what it borrows, says how much, and borrows on until it is killed. */
const borrower = (url: string, folder: string): string => `
  const { openValkeyLimits } = await import(${module("../../src/admission/valkey/valkey.ts")});
  const { systemClock } = await import(${module("../../src/core/clock.ts")});
  const store = await openValkeyLimits({ url: ${JSON.stringify(url)}, clusterNodes: null, clock: systemClock, folder: ${JSON.stringify(folder)} });
  const rule = ${JSON.stringify(large.rule)};
  let [used, atOnce] = [0, 0];
  while (atOnce < 60) {
    const result = store.reserve([{ account: { rule, value: "" }, units: 10, force: false }]);
    if (!(result instanceof Promise)) atOnce += 1;
    const given = await result;
    if ("need" in given) continue;
    given.recorded();
    // a surplus that may not have been reported yet, and calls that are in flight at the end
    if (used % 3 !== 0) { given.settle([7]); used += 7; } else used += 10;
    await Bun.sleep(2);
  }
  process.stdout.write(JSON.stringify({ used, atOnce }) + "\\n", () => process.kill(process.pid, "SIGKILL"));
  await Bun.sleep(5000);
`;

const settledOf = (inLedger: boolean) =>
  accountOf({ id: `settled-${inLedger}`, window: "day", limit: 100_000, unit: "tokens" });

/** Ten calls settle in one turn, and the process is killed when the ledger is asked to state them, or one turn later. */
const settler = (url: string, folder: string, inLedger: boolean): string => `
  const { openValkeyLimits } = await import(${module("../../src/admission/valkey/valkey.ts")});
  const { systemClock } = await import(${module("../../src/core/clock.ts")});
  const { turnLedger } = await import(${module("../harness/time/turn-ledger.ts")});
  const { writeSync } = await import("node:fs");
  const kill = () => process.kill(process.pid, "SIGKILL");
  const store = await openValkeyLimits({
    url: ${JSON.stringify(url)}, clusterNodes: null, clock: systemClock, folder: ${JSON.stringify(folder)},
    ledger: turnLedger((calls) => {
      writeSync(1, JSON.stringify(calls));
      if (!${inLedger}) kill();
    }),
  });
  const rule = ${JSON.stringify(settledOf(inLedger).rule)};
  const reservations = [];
  for (let call = 0; call < 10; call++) {
    const given = await store.reserve([{ account: { rule, value: "" }, units: 10, force: false }], "call-" + call);
    given.recorded();
    reservations.push(given);
  }
  for (const given of reservations) given.settle([7]);
  setImmediate(() => setImmediate(kill));
  await Bun.sleep(5000);
`;

const journals = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".leases"));

describe.skipIf(binary === null)("limits in Redis", () => {
  let redis: RedisServer;
  let folder: string;
  const open = (onState?: (state: string) => void) =>
    openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder, ...(onState && { onState }) });
  beforeAll(async () => {
    redis = await startRedis();
    folder = mkdtempSync(join(tmpdir(), "dragoman-leases-"));
    const store = await open();
    (await reserved(store, needOf(accountOf({ id: "warm" })))).release();
    await store.close();
  });
  afterAll(async () => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]));

  test("[d4.2] units that a killed process had leased and not used are released by the next start of its data folder, to the unit", async () => {
    const child = Bun.spawn([process.execPath, "-e", borrower(redis.url, folder)], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const { used, atOnce } = JSON.parse(await new Response(child.stdout).text()) as { used: number; atOnce: number };
    expect(child.signalCode ?? (await child.exited.then(() => child.signalCode))).toBe("SIGKILL");
    expect(atOnce).toBeGreaterThan(20);
    expect(journals(folder)).toHaveLength(1);

    const other = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
    const before = await other.status(large);
    expect(before.used).toBeGreaterThanOrEqual(used);
    const next = await open();
    await until(() => journals(folder).length === 1);
    const fresh = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
    expect((await fresh.status(large)).used).toBe(used);
    for (const store of [other, next, fresh]) await store.close();
  });

  test.each([
    { killed: "before the ledger has stated them", inLedger: false, used: 100 },
    { killed: "after the ledger has stated them", inLedger: true, used: 70 },
  ])(
    "[d11.2] settlements of a process that is killed $killed count as the ledger has them",
    async ({ inLedger, used }) => {
      const child = Bun.spawn([process.execPath, "-e", settler(redis.url, folder, inLedger)], {
        stdout: "pipe",
        stderr: "inherit",
      });
      expect(await new Response(child.stdout).json()).toEqual(
        Array.from({ length: 10 }, (_, index) => `call-${index}`),
      );
      expect(await child.exited.then(() => child.signalCode)).toBe("SIGKILL");
      const next = await open();
      await until(() => journals(folder).length === 1);
      const fresh = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
      expect((await fresh.status(settledOf(inLedger))).used).toBe(used);
      for (const store of [next, fresh]) await store.close();
    },
  );

  test("[d11.2 d4.2] what a call gives back serves the next one of the same turn, after the ledger has stated it", async () => {
    const stated: (readonly string[])[] = [];
    const ledger = turnLedger((calls) => stated.push(calls));
    const store = await openValkeyLimits({
      url: redis.url,
      clusterNodes: null,
      clock: systemClock,
      folder: null,
      ledger,
    });
    const account = accountOf({ id: "same-turn", window: "day", limit: 10, unit: "tokens" });
    const first = await store.reserve([needOf(account, 10)], "first");
    if (isShortage(first)) throw new Error("there was room");
    first.settle([3]);
    // ending it again, before the settlement counts, changes nothing
    first.release();
    expect(stated).toEqual([]);
    const second = await store.reserve([needOf(account, 7)], "second");
    if (isShortage(second)) throw new Error("nothing was given back");
    expect(stated).toEqual([["first", "first"]]);
    second.settle([7]);
    expect((await store.status(account)).used).toBe(10);
    expect([store.open(), stated.at(-1)]).toEqual([0, ["second"]]);
    await store.close();
  });

  test("[d4.3] a wrong clock of a replica does not change the wait that a refused call is given", async () => {
    const fitsAt: number[] = [];
    const calendar = accountOf({ id: "calendar", kind: "budget", window: "day", limit: 1, unit: "tokens" });
    const sliding = accountOf({ id: "sliding", window: "minute", limit: 1, unit: "requests" });
    for (const aheadMs of [0, 3_600_000, -86_400_000]) {
      const clock = {
        ...systemClock,
        now: () => systemClock.now() + aheadMs,
        monotonic: () => systemClock.monotonic(),
      };
      const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock, folder: null });
      if (aheadMs === 0)
        for (const account of [calendar, sliding]) (await reserved(store, needOf(account))).settle([1]);
      for (const account of [calendar, sliding]) {
        const refused = await store.reserve([needOf(account)]);
        if (!isShortage(refused)) throw new Error("there was room");
        // by the clock of this machine, which all of them look at at different times
        fitsAt.push(refused.fitsAtMs! - aheadMs);
      }
      await store.close();
    }
    const [dayMs, minuteMs] = fitsAt;
    for (const [index, ms] of fitsAt.entries())
      expect(Math.abs(ms - (index % 2 === 0 ? dayMs! : minuteMs!))).toBeLessThan(5000);
  });

  test("a process that ends in order leaves nothing behind: its leases are released, and its file is removed", async () => {
    const store = await open();
    const account = accountOf({ id: "orderly", window: "day", limit: 100_000 });
    for (let n = 0; n < 50; n++) (await reserved(store, needOf(account))).settle([1]);
    await store.close();
    const next = await open();
    expect((await next.status(account)).used).toBe(50);
    await next.close();
  });

  test("a `closed` slot that cannot be renewed for two heartbeats ends its call; other slots go on", async () => {
    const states: string[] = [];
    const store = await open((state) => states.push(state));
    const slot = (id: string, onStoreFailure: "closed" | "local_share"): Promise<Reservation> =>
      reserved(store, needOf(accountOf({ id, unit: "concurrency", window: null, limit: 4, onStoreFailure })));
    const [closed, shared] = [await slot("closed-slots", "closed"), await slot("shared-slots", "local_share")];
    const ended: string[] = [];
    closed.whenLost!(() => ended.push("closed"));
    shared.whenLost!(() => ended.push("shared"));
    await Bun.sleep(2500);
    expect(ended).toEqual([]);
    redis.freeze();
    await until(() => ended.length > 0 && states.length > 0);
    redis.thaw();
    await until(() => states.length > 1);
    expect([ended, states]).toEqual([["closed"], ["away", "back"]]);
    closed.release();
    shared.release();
    await store.close();
  });

  test("eighty limits at once on one call, a rule that changes its limit, and a value that is no key", async () => {
    const store = await open();
    const accounts = Array.from({ length: 80 }, (_, index) =>
      accountOf({ id: `many-${index}`, limit: 3 }, `ü ${index} }{ ${"x".repeat(300)}`),
    );
    const one = await reserved(store, ...accounts.map((account) => needOf(account)));
    one.release();
    one.release();
    expect(await Promise.all(accounts.map(async (account) => (await store.status(account)).used))).toEqual(
      accounts.map(() => 0),
    );
    expect(store.open()).toBe(0);
    const before = accountOf({ id: "changes", limit: 1 });
    (await reserved(store, needOf(before))).settle([1]);
    expect(isShortage(await store.reserve([needOf(before)]))).toBe(true);
    (await reserved(store, needOf(accountOf({ id: "changes", limit: 2 })))).settle([1]);
    expect(isShortage(await store.reserve([needOf(accountOf({ id: "changes", limit: 2 }))]))).toBe(true);
    await store.close();
  });

  test("a server that was demoted is disconnected: the address may lead to its successor by now", async () => {
    const store = await open();
    const account = accountOf({ id: "demoted" });
    (await reserved(store, needOf(account))).settle([1]);
    const redisClient = new Redis(redis.url);
    const connections = async (): Promise<readonly string[]> =>
      ((await redisClient.client("LIST")) as string)
        .trim()
        .split("\n")
        .filter((line) => line.includes("cmd=evalsha") || line.includes("cmd=eval ") || line.includes("cmd=info"))
        .map((line) => /id=(\d+)/.exec(line)![1]!);
    const before = await connections();
    await redisClient.call("REPLICAOF", "127.0.0.1", "1");
    expect((await store.reserve([needOf(account)])) as object).toMatchObject({ unavailable: true });
    await until(async () => !(await connections()).some((id) => before.includes(id)));
    await redisClient.call("REPLICAOF", "NO", "ONE");
    await until(async () => {
      const given = await store.reserve([needOf(account)]);
      if (!isShortage(given)) given.release();
      return !isShortage(given) && !store.figures().isAway;
    });
    redisClient.disconnect();
    await store.close();
  });

  test("a server without memory left: each limit does what its on_store_failure says, and nothing is counted partially", async () => {
    const store = await open();
    const account = accountOf({ id: "full", limit: 100 });
    const shared = accountOf({ id: "full-shared", limit: 100, onStoreFailure: "local_share" });
    (await reserved(store, needOf(account), needOf(shared))).settle([1, 1]);
    const redisClient = new Redis(redis.url);
    await redisClient.config("SET", "maxmemory", "1");
    // what was borrowed before serves until its lease is over
    await until(async () => {
      const given = await store.reserve([needOf(account), needOf(shared)]);
      if (!("need" in given)) given.release();
      return "need" in given && given.unavailable;
    });
    (await reserved(store, needOf(shared))).settle([1]);
    await redisClient.config("SET", "maxmemory", "0");
    await until(async () => (await store.status(account)).used === 1);
    await until(async () => (await store.status(shared)).used === 2 && !store.figures().isAway);
    redisClient.disconnect();
    await store.close();
  });

  test("every count expires by itself when its window has passed, except for total budgets", async () => {
    const store = await open();
    for (let user = 0; user < 20; user++) {
      const accounts = [
        accountOf({ id: "ttl", scope: { user: "*" } }, `u${user}`),
        accountOf({ id: "ttl-day", kind: "budget", window: "day" }, `u${user}`),
        accountOf({ id: "ttl-total", kind: "budget", window: "total" }, `u${user}`),
        accountOf({ id: "ttl-slots", unit: "concurrency", window: null }, `u${user}`),
      ];
      const one = await reserved(store, ...accounts.map((account) => needOf(account)));
      if (user % 2 === 0) one.settle([1, 1, 1, 1]);
      else one.release();
    }
    await store.close();
    const redisClient = new Redis(redis.url);
    const keys = await redisClient.keys("dragoman:{*}:*:ttl*");
    const forever: string[] = [];
    for (const key of keys) if ((await redisClient.pttl(key)) < 0) forever.push(key);
    expect(forever.filter((key) => !key.includes(":ttl-total:"))).toEqual([]);
    // nothing of it was used in the end
    expect(forever.filter((key) => Number(/u(\d+)$/.exec(key)![1]) % 2 === 1)).toEqual([]);
    // nor is a process's part of one kept for as long as that
    expect(forever.filter((key) => key.includes(":o:"))).toEqual([]);
    expect(forever).toHaveLength(10);
    redisClient.disconnect();
  });

  test("[d9.5] metrics show how many reservations asked the store and how long it took, what is leased, and whether the store is unavailable", async () => {
    let store: Awaited<ReturnType<typeof openValkeyLimits>> | null = null;
    const metrics = openMetrics({ limitStore: () => store?.figures() ?? null });
    expect(await metrics.text()).not.toContain("way=");
    store = await openValkeyLimits({
      url: redis.url,
      clusterNodes: null,
      clock: systemClock,
      folder: null,
      onAnswered: metrics.limitStoreAnswered,
    });
    const account = accountOf({ id: "measured", unit: "tokens", limit: 100_000, onStoreFailure: "open" });
    for (let n = 0; n < 200; n++) (await reserved(store, needOf(account, 10))).settle([10]);
    const figure = async (name: string): Promise<number> =>
      Number(
        (await metrics.text())
          .split("\n")
          .find((line) => line.startsWith(`dragoman_limit_store_${name} `))
          ?.split(" ")
          .at(-1),
      );
    const [leased, asked] = [
      await figure('reservations_total{way="leased"}'),
      await figure('reservations_total{way="asked"}'),
    ];
    expect(leased + asked).toBe(200);
    expect(leased).toBeGreaterThan(100);
    expect(await figure('leased_units{unit="tokens"}')).toBeGreaterThan(0);
    expect(await figure("round_trip_seconds_count")).toBeGreaterThanOrEqual(asked > 0 ? 1 : 0);
    expect(await figure("round_trip_seconds_sum")).toBeGreaterThan(0);
    expect([await figure("away"), await figure('reservations_total{way="alone"}')]).toEqual([0, 0]);
    redis.freeze();
    await until(async () => (await figure("away")) !== 0);
    (await reserved(store, needOf(account, 10))).settle([10]);
    expect([
      await figure("away"),
      await figure('reservations_total{way="alone"}'),
      await figure('leased_units{unit="tokens"}'),
    ]).toEqual([1, 1, Number.NaN]);
    redis.thaw();
    await until(async () => (await figure("away")) !== 1);
    await store.close();
  });

  test("[d4.2] a slow store is waited for: nothing is decided alone while it may still answer", async () => {
    const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
    const account = accountOf({
      id: "late",
      unit: "concurrency",
      window: null,
      limit: 1,
      onStoreFailure: "local_share",
    });
    const first = await reserved(store, needOf(account));
    redis.freeze();
    const second = store.reserve([needOf(account)]);
    await Bun.sleep(1000);
    redis.thaw();
    expect(isShortage(await second)).toBe(true);
    expect(store.figures().alone).toBe(0);
    first.release();
    (await reserved(store, needOf(account))).release();
    await store.close();
  });

  test("[d4.2] a wall clock that is set forward or back ends no call while the store answers", async () => {
    let aheadMs = 0;
    const clock = { now: () => systemClock.now() + aheadMs, monotonic: () => systemClock.monotonic() };
    const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock, folder: null });
    const slot = await reserved(
      store,
      needOf(accountOf({ id: "stepped", unit: "concurrency", window: null, limit: 4, onStoreFailure: "closed" })),
    );
    let isLost = false;
    slot.whenLost!(() => (isLost = true));
    for (const stepMs of [5000, 3_600_000, -7_200_000, 5000]) {
      aheadMs += stepMs;
      // some ticks of the driver, and room for a heartbeat
      await Bun.sleep(400);
      (await reserved(store, needOf(accountOf({ id: "stepped-other" })))).release();
    }
    expect(isLost).toBe(false);
    slot.release();
    await store.close();
  });
});
