// What every store of the response cache does, whatever keeps the answers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AnswerCache, CacheEntry } from "../../src/cache/answer-cache.ts";

const MINUTE = 60_000;

export interface OpenedCache {
  readonly cache: AnswerCache;
  readonly close: () => Promise<void>;
}

/** `open` returns a store that others do not use at the same time; `skew` is how far a purge reaches beyond its time. */
export function answerCacheSuite(name: string, open: () => Promise<OpenedCache>, skewMs = 0): void {
  describe(`the store of answers: ${name}`, () => {
    let opened: OpenedCache;
    let cache: AnswerCache;
    let tests = 0;
    beforeAll(async () => {
      opened = await open();
      ({ cache } = opened);
    });
    afterAll(async () => opened.close());

    const startMs = Date.UTC(2040, 0, 1);
    /** Tenants of its own for each test, because some stores are shared by all. */
    const tenants = () => {
      tests += 1;
      return [`tenant-${tests}-a-${process.pid}`, `tenant-${tests}-b-${process.pid}`] as const;
    };
    const entry = (tenantId: string, key: string, more: Partial<CacheEntry> = {}): CacheEntry => ({
      tenantId,
      key: keyOf(tenantId, key),
      route: "r",
      askedAtMs: startMs,
      expiresAtMs: startMs + MINUTE,
      body: new TextEncoder().encode(`body of ${tenantId} ${key}`),
      ...more,
    });
    const keyOf = (tenantId: string, key: string): string =>
      new Bun.CryptoHasher("sha256").update(`${tenantId} ${key}`).digest("hex");
    const found = async (tenantId: string, key: string, nowMs = startMs): Promise<string | null> => {
      const there = await cache.get({ tenantId, key: keyOf(tenantId, key) }, nowMs);
      return there === null ? null : new TextDecoder().decode(there.body);
    };

    test("[d13.5] returns what was put, whole, to its tenant and key only", async () => {
      const [a, b] = tenants();
      const put = entry(a, "1", { body: Uint8Array.from({ length: 100_000 }, (_, index) => index % 256) });
      await cache.put(put, startMs);
      const there = await cache.get({ tenantId: a, key: put.key }, startMs);
      expect({ ...there!, body: Buffer.from(there!.body).toString("hex") }).toEqual({
        ...put,
        body: Buffer.from(put.body).toString("hex"),
      });
      expect(await cache.get({ tenantId: b, key: put.key }, startMs)).toBeNull();
      expect(await found(a, "2")).toBeNull();
    });

    test("[d13.5] an entry ends at its time", async () => {
      const [a] = tenants();
      await cache.put(entry(a, "1"), startMs);
      expect(await found(a, "1", startMs + MINUTE - 1)).not.toBeNull();
      expect(await found(a, "1", startMs + MINUTE)).toBeNull();
      await cache.put(entry(a, "2", { expiresAtMs: startMs }), startMs);
      expect(await found(a, "2")).toBeNull();
    });

    test("[d13.5] an entry replaces one of the same key", async () => {
      const [a] = tenants();
      await cache.put(entry(a, "1"), startMs);
      await cache.put(entry(a, "1", { body: new TextEncoder().encode("newer"), askedAtMs: startMs + 1 }), startMs + 1);
      expect(await found(a, "1")).toBe("newer");
    });

    test("[d13.5] a purge removes one key, one route, or one tenant", async () => {
      const [a, b] = tenants();
      const putAll = async (atMs: number): Promise<void> => {
        for (const tenant of [a, b])
          for (const [key, route] of [
            ["1", "r"],
            ["2", "r"],
            ["3", "s"],
          ] as const)
            await cache.put(entry(tenant, key, { route, askedAtMs: atMs, expiresAtMs: atMs + MINUTE }), atMs);
      };
      const left = async (atMs: number): Promise<string> => {
        let all = "";
        for (const [name_, tenant] of [
          ["a", a],
          ["b", b],
        ] as const)
          for (const key of ["1", "2", "3"]) if ((await found(tenant, key, atMs)) !== null) all += ` ${name_}${key}`;
        return all.trim();
      };
      await putAll(startMs);
      expect(await cache.purge({ tenantId: a, key: keyOf(a, "1") }, startMs, startMs)).toBe(1);
      expect(await left(startMs)).toBe("a2 a3 b1 b2 b3");
      expect(await cache.purge({ tenantId: a, key: keyOf(b, "1") }, startMs, startMs)).toBe(0);
      expect(await cache.purge({ tenantId: a, route: "r" }, startMs, startMs)).toBe(1);
      expect(await left(startMs)).toBe("a3 b1 b2 b3");
      expect(await cache.purge({ tenantId: a }, startMs, startMs)).toBe(1);
      expect(await left(startMs)).toBe("b1 b2 b3");
      const laterMs = startMs + skewMs + 1;
      await putAll(laterMs);
      expect(await left(laterMs)).toBe("a1 a2 a3 b1 b2 b3");
    });

    test("[d13.5] what was asked for before a purge is not kept after it", async () => {
      const [a, b] = tenants();
      const purgedAtMs = startMs + 10_000;
      await cache.purge({ tenantId: a, key: keyOf(a, "1") }, purgedAtMs, purgedAtMs);
      await cache.purge({ tenantId: b, route: "r" }, purgedAtMs, purgedAtMs);
      const put = (tenantId: string, key: string, route: string, askedAtMs: number): Promise<unknown> =>
        Promise.resolve(
          cache.put(entry(tenantId, key, { route, askedAtMs, expiresAtMs: purgedAtMs + MINUTE }), purgedAtMs),
        );
      await put(a, "1", "r", startMs);
      await put(a, "2", "r", startMs);
      await put(b, "1", "r", startMs);
      await put(b, "2", "s", startMs);
      await put(b, "3", "r", purgedAtMs + skewMs + 1);
      const all = await Promise.all(
        [
          [a, "1"],
          [a, "2"],
          [b, "1"],
          [b, "2"],
          [b, "3"],
        ].map(async ([tenant, key]) => (await found(tenant!, key!, purgedAtMs)) !== null),
      );
      expect(all).toEqual([false, true, false, true, true]);
    });

    test("[d13.5] a purge also removes what was asked for after the present, by a clock that was set back since, and nothing newer than its time besides", async () => {
      const [a, b] = tenants();
      const aheadMs = startMs + MINUTE;
      for (const tenant of [a, b])
        for (const route of ["r", "s"])
          await cache.put(entry(tenant, route, { route, askedAtMs: aheadMs, expiresAtMs: aheadMs + MINUTE }), aheadMs);
      expect(await cache.purge({ tenantId: a, route: "r" }, startMs, aheadMs)).toBe(0);
      expect(await cache.purge({ tenantId: a, route: "r" }, startMs, startMs)).toBe(1);
      expect(await cache.purge({ tenantId: a }, startMs, startMs)).toBe(1);
      expect([await found(a, "r", aheadMs), await found(a, "s", aheadMs)]).toEqual([null, null]);
      expect(await found(b, "r", aheadMs)).not.toBeNull();
    });

    test("[d13.5] names the tenants that have entries", async () => {
      const [a, b] = tenants();
      await cache.put(entry(a, "1"), startMs);
      await cache.put(entry(b, "1"), startMs);
      expect(await cache.tenants()).toEqual(expect.arrayContaining([a, b]));
      await cache.purge({ tenantId: a }, startMs, startMs);
      expect(await cache.tenants()).not.toContain(a);
      // what is newer than a purge stays, and its tenant is known
      await cache.put(
        entry(b, "2", { askedAtMs: startMs + MINUTE, expiresAtMs: startMs + 3 * MINUTE }),
        startMs + MINUTE,
      );
      await cache.purge({ tenantId: b }, startMs, startMs + MINUTE);
      expect(await cache.tenants()).toContain(b);
      expect(await cache.tenants()).toContain(b);
    });
  });
}

/** For stores that bound their own size. */
export function boundedCacheSuite(name: string, open: (maxBytes: number) => Promise<OpenedCache>): void {
  describe(`the bound of the store of answers: ${name}`, () => {
    const nowMs = Date.UTC(2040, 0, 1);
    const entry = (key: number, more: Partial<CacheEntry> = {}): CacheEntry => ({
      tenantId: "t",
      key: String(key).padStart(64, "0"),
      route: "r",
      askedAtMs: nowMs,
      expiresAtMs: nowMs + MINUTE,
      body: new Uint8Array(2000),
      ...more,
    });

    test("[d13.5] it never holds more, and removes what was used the longest ago", async () => {
      const { cache, close } = await open(1_048_576);
      const used = entry(0);
      await cache.put(used, nowMs);
      for (let key = 1; key < 1000; key++) {
        await cache.put(entry(key), nowMs + key);
        expect(cache.figures()!.bytes).toBeLessThanOrEqual(1_048_576);
      }
      expect(await cache.get({ tenantId: "t", key: entry(999).key }, nowMs)).not.toBeNull();
      expect(await cache.get({ tenantId: "t", key: entry(1).key }, nowMs)).toBeNull();
      await cache.put(entry(5000, { body: new Uint8Array(2_000_000) }), nowMs);
      expect(await cache.get({ tenantId: "t", key: entry(5000).key }, nowMs)).toBeNull();
      expect(cache.figures()!.entries).toBeGreaterThan(100);
      await close();
    });

    test("[d13.5] a tenant that keeps much displaces no more than half of what others keep", async () => {
      const { cache, close } = await open(1_048_576);
      const keptOf = async (tenantId: string, keys: number): Promise<number> => {
        let kept = 0;
        for (let key = 0; key < keys; key++)
          if ((await cache.get({ tenantId, key: `${tenantId[0]}${entry(key).key.slice(1)}` }, nowMs)) !== null) kept++;
        return kept;
      };
      const put = (tenantId: string, key: number): unknown =>
        cache.put(entry(key, { tenantId, key: `${tenantId[0]}${entry(key).key.slice(1)}` }), nowMs + key);
      for (let key = 0; key < 150; key++) await put("modest", key);
      for (let key = 1000; key < 2000; key++) await put("greedy", key);
      expect(await keptOf("modest", 150)).toBe(150);
      for (let key = 2000; key < 3000; key++) await put("modest", key);
      for (let key = 3000; key < 4000; key++) await put("greedy", key);
      const bytes = 2512 * (await keptOf("modest", 3000));
      // some entries more may be removed at once
      expect([bytes > 1_048_576 / 2 - 300_000, cache.figures()!.bytes <= 1_048_576]).toEqual([true, true]);
      await close();
    });

    test("[d13.5] what has expired goes before what is used", async () => {
      const { cache, close } = await open(1_048_576);
      for (let key = 0; key < 300; key++) await cache.put(entry(key, { expiresAtMs: nowMs + 1 }), nowMs);
      for (let key = 1000; key < 1300; key++) await cache.put(entry(key), nowMs + 1);
      for (let key = 1000; key < 1300; key++)
        expect(await cache.get({ tenantId: "t", key: entry(key).key }, nowMs + 1)).not.toBeNull();
      await close();
    });
  });
}
