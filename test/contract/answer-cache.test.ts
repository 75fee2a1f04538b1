// The stores of answers, through the one suite. Valkey has answer-cache-valkey.test.ts.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheSecrets } from "../../src/cache/cache-secrets.ts";
import { openMemoryCache } from "../../src/cache/memory.ts";
import { sealedCache } from "../../src/cache/sealed.ts";
import { openSqliteCache } from "../../src/cache/sqlite.ts";
import { answerCacheSuite, boundedCacheSuite, type OpenedCache } from "./answer-cache.suite.ts";

const KEYS = cacheSecrets(() => [new Uint8Array(32).fill(1)]);
const BYTES = 10_000_000;
const inMemory = async (maxBytes: number): Promise<OpenedCache> => {
  const cache = openMemoryCache(maxBytes);
  return { cache, close: async () => cache.close() };
};
const inSqlite = async (maxBytes: number): Promise<OpenedCache> => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-cache-"));
  const cache = openSqliteCache({ file: join(folder, "cache.sqlite"), maxBytes });
  return {
    cache,
    async close() {
      await cache.close();
      rmSync(folder, { recursive: true });
    },
  };
};

answerCacheSuite("memory", () => inMemory(BYTES));
boundedCacheSuite("memory", inMemory);
answerCacheSuite("SQLite", () => inSqlite(BYTES));
boundedCacheSuite("SQLite", inSqlite);
answerCacheSuite("sealed", async () => {
  const { cache, close } = await inSqlite(BYTES);
  return { cache: sealedCache(cache, KEYS, () => {}), close };
});

describe("the file of the store", () => {
  const nowMs = Date.UTC(2040, 0, 1);
  const SECRET = "the text of an answer";
  const entry = {
    tenantId: "t",
    key: "0".repeat(64),
    route: "r",
    askedAtMs: nowMs,
    expiresAtMs: nowMs + 60_000,
    body: new TextEncoder().encode(SECRET),
  };
  const folder = (): string => mkdtempSync(join(tmpdir(), "dragoman-cache-"));

  test("[d13.5] kept text is sealed at rest: neither text nor another key opens it", async () => {
    const file = join(folder(), "cache.sqlite");
    const plain = openSqliteCache({ file, maxBytes: BYTES });
    const sealed = sealedCache(plain, KEYS, () => {});
    await sealed.put(entry, nowMs);
    expect(new TextDecoder().decode((await sealed.get(entry, nowMs))!.body)).toBe(SECRET);
    let garbage = 0;
    const other = sealedCache(
      plain,
      cacheSecrets(() => [new Uint8Array(32).fill(2)]),
      () => (garbage += 1),
    );
    expect(await other.get(entry, nowMs)).toBeNull();
    const moved = (await plain.get(entry, nowMs))!;
    await plain.put({ ...moved, route: "another" }, nowMs);
    expect(await sealed.get(entry, nowMs)).toBeNull();
    await plain.put({ ...moved, tenantId: "u" }, nowMs);
    expect(await sealed.get({ ...entry, tenantId: "u" }, nowMs)).toBeNull();
    expect(garbage).toBe(1);
    for (const end of ["", "-wal"]) expect(readFileSync(file + end).includes(SECRET)).toBe(false);
    expect(statSync(file).mode & 0o077).toBe(0);
    await plain.close();
  });

  test("[d13.5] it outlives the process, and a damaged one is made anew", async () => {
    const file = join(folder(), "cache.sqlite");
    const first = openSqliteCache({ file, maxBytes: BYTES });
    await first.put(entry, nowMs);
    await first.close();
    const second = openSqliteCache({ file, maxBytes: BYTES });
    expect(await second.get(entry, nowMs)).not.toBeNull();
    await second.close();
    writeFileSync(file, "this is not a database, whatever its name says, and it is longer than its header");
    const third = openSqliteCache({ file, maxBytes: BYTES });
    expect(await third.get(entry, nowMs)).toBeNull();
    await third.put(entry, nowMs);
    expect(await third.get(entry, nowMs)).not.toBeNull();
    await third.close();
  });

  /** More than the pages that are read when the file is opened. */
  const filled = async (file: string): Promise<void> => {
    const cache = openSqliteCache({ file, maxBytes: BYTES });
    for (let at = 0; at < 200; at++)
      await cache.put({ ...entry, key: String(at).padStart(64, "0"), body: new Uint8Array(3000) }, nowMs);
    await cache.close();
  };
  /** Everything behind the first pages, whose places only the answers have. */
  const damage = (file: string): void => writeFileSync(file, readFileSync(file).fill("Z", 40 * 4096), { flag: "r+" });

  test("[d13.5] one that is damaged where an answer stands is made anew, and only by the process that finds it first", async () => {
    const file = join(folder(), "cache.sqlite");
    await filled(file);
    damage(file);
    const first = openSqliteCache({ file, maxBytes: BYTES });
    const second = openSqliteCache({ file, maxBytes: BYTES });
    const fresh = { ...entry, key: "f".repeat(64) };
    // both have the damaged file open
    expect([first.figures()?.entries, second.figures()?.entries]).toEqual([200, 200]);
    expect(await first.get({ ...entry, key: "150".padStart(64, "0") }, nowMs)).toBeNull();
    await first.put(fresh, nowMs);
    expect(await first.get(fresh, nowMs)).not.toBeNull();
    expect(await second.get(fresh, nowMs)).not.toBeNull();
    expect([first.figures()?.entries, second.figures()?.entries]).toEqual([1, 1]);
    await second.close();
    await first.close();
    const third = openSqliteCache({ file, maxBytes: BYTES });
    expect(await third.get(fresh, nowMs)).not.toBeNull();
    await third.close();
  });

  test("[d13.5] a folder in its place is a store that is away, and it works when the folder is gone", async () => {
    const file = join(folder(), "cache.sqlite");
    mkdirSync(join(file, "kept"), { recursive: true });
    const cache = openSqliteCache({ file, maxBytes: BYTES });
    expect(() => cache.tenants()).toThrow(`${file}: it is a folder and not a file`);
    expect(cache.figures()).toBeNull();
    expect(existsSync(join(file, "kept"))).toBe(true);
    rmSync(file, { recursive: true });
    expect(await cache.tenants()).toEqual([]);
    await cache.close();
  });

  test("[d13.5] one to which another process writes is a store that is away, and keeps its answers", async () => {
    const file = join(folder(), "cache.sqlite");
    const first = openSqliteCache({ file, maxBytes: BYTES });
    await first.put(entry, nowMs);
    await first.close();
    const writer = new Database(file);
    // so that opening the file has to write to it
    writer.run("PRAGMA journal_mode = DELETE");
    writer.run("BEGIN EXCLUSIVE");
    const second = openSqliteCache({ file, maxBytes: BYTES });
    expect(() => second.tenants()).toThrow("database is locked");
    writer.run("ROLLBACK");
    writer.close();
    expect(await second.get(entry, nowMs)).not.toBeNull();
    await second.close();
  });

  test("[d13.5] two processes share it", async () => {
    const file = join(folder(), "cache.sqlite");
    const [one, two] = [openSqliteCache({ file, maxBytes: BYTES }), openSqliteCache({ file, maxBytes: BYTES })];
    await one.put(entry, nowMs);
    expect(await two.get(entry, nowMs)).not.toBeNull();
    await two.purge({ tenantId: "t" }, nowMs, nowMs);
    expect(await one.get(entry, nowMs)).toBeNull();
    await one.put(entry, nowMs);
    expect(await two.get(entry, nowMs)).toBeNull();
    await one.close();
    await two.close();
  });
});
