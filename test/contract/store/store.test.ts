// The stores through their common suite; and errors that only SQLite in a file can make.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Kysely } from "kysely";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import { bunSqliteDialect } from "../../../src/store/database/bun-sqlite-dialect.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { rowOf } from "./call-records.ts";
import { auditChainSuite } from "./audit-chain.suite.ts";
import { storeChangesSuite } from "./store-changes.suite.ts";
import { storeSuite, type StorePlace } from "./store.suite.ts";
import { writes } from "../../harness/store-writes.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `store-${++files}.db`);

async function newFilePlace(): Promise<StorePlace> {
  const file = newFile();
  const externalClients = new Database(file, { create: true });
  return {
    open: async (options) => (await openSqliteDatabase({ file, ...options })).store,
    run: async (sql) => void externalClients.run(sql),
    read: async (sql) => externalClients.query(sql).all(),
    dispose: async () => externalClients.close(),
  };
}
storeSuite("a SQLite file", newFilePlace);
storeChangesSuite("a SQLite file", newFilePlace);
auditChainSuite("a SQLite file", newFilePlace);

async function openingError(file: string): Promise<Error> {
  try {
    await (await openSqliteDatabase({ file, busyTimeoutMs: 100 })).store.close();
  } catch (error) {
    return error as Error;
  }
  throw new Error(`${file} was opened`);
}

describe("a SQLite file that cannot be used gives an error with file and cure", () => {
  test("no database", async () => {
    const file = newFile();
    writeFileSync(file, "These are notes, and no database. ".repeat(100));
    const error = await openingError(file);
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain(file);
    expect(error.message).toContain("move this one away");
  });

  test("a folder that does not exist", async () => {
    const file = join(folder, "missing", "store.db");
    const error = await openingError(file);
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain(file);
    expect(error.message).toContain(`mkdir -p ${join(folder, "missing")}`);
  });

  test("a folder in its place", async () => {
    const error = await openingError(folder);
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain(folder);
  });

  test("locked by another process for too long", async () => {
    const file = newFile();
    const other = new Database(file, { create: true });
    other.run("begin exclusive");
    const error = await openingError(file);
    other.run("rollback");
    other.close();
    expect(error).toMatchObject({ name: "StoreError", kind: "busy" });
    expect(error.message).toContain(file);
  });

  // Root may write everything, so a process of an ordinary user tries.
  for (const [what, fileMode, folderMode] of [
    ["a read-only file", 0o444, 0o777],
    ["a read-only folder", 0o666, 0o555],
  ] as const) {
    test(what, async () => {
      const place = mkdtempSync(join(tmpdir(), "dragoman-store-"));
      const file = join(place, "store.db");
      await (await openSqliteDatabase({ file })).store.close();
      chmodSync(file, fileMode);
      chmodSync(place, folderMode);
      try {
        const { message } = await asOrdinaryUser(file);
        expect(message).toContain(file);
        expect(message).toContain("write access");
      } finally {
        chmodSync(place, 0o700);
        rmSync(place, { recursive: true });
      }
    });
  }
});

async function asOrdinaryUser(file: string): Promise<{ readonly message: string }> {
  return JSON.parse(
    await inProcess(`
      if (process.getuid() === 0) process.setuid(65534);
      try { await openSqliteDatabase({ file: ${JSON.stringify(file)} }); console.log(JSON.stringify({ message: "it was opened" })); }
      catch (error) { console.log(JSON.stringify({ message: error.message })); }
    `),
  ) as { message: string };
}

const sourceFile = resolve(import.meta.dir, "../../../src/store/sqlite.ts");

/** Runs the script in a process of its own, which has openSqliteDatabase, and gives what it printed. */
async function inProcess(script: string, cwd = folder): Promise<string> {
  const child = Bun.spawn(
    [process.execPath, "-e", `const { openSqliteDatabase } = await import(${JSON.stringify(sourceFile)});\n${script}`],
    { cwd, stdout: "pipe", stderr: "pipe" },
  );
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`The process ended with ${code}: ${err}`);
  return out;
}

describe("one SQLite file and several processes", () => {
  test("six processes migrate and write at once", async () => {
    const file = newFile();
    const outputs = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        inProcess(`
          const { store } = await openSqliteDatabase({ file: ${JSON.stringify(file)} });
          await store.migrate();
          for (let n = 0; n < 5; n++) await store.change({ tokenId: null, userId: null, role: null, tenantId: null, address: null }, (writer) => writer.createTenant({ id: "t-${index}-" + n, name: "Tenant" }));
          await store.close();
          console.log("done");
        `),
      ),
    );
    expect(outputs).toEqual(Array.from({ length: 6 }, () => "done\n"));
    const { store } = await openSqliteDatabase({ file });
    expect((await store.readIdentities()).tenants).toHaveLength(30);
    expect(await store.revision()).toBe("30");
    await store.close();
  });

  test("a lock of another process is waited for while this process goes on working", async () => {
    const file = newFile();
    const { store } = await openSqliteDatabase({ file });
    await store.migrate();
    const other = new Database(file);
    other.run("begin immediate");
    // Both wait for longer than a turn of the connection may take: that is the other process's doing and no fault here.
    const written = Promise.all([
      writes(store).createTenant({ id: "one", name: "One" }),
      writes(store).createTenant({ id: "two", name: "Two" }),
    ]);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await Bun.sleep(2_300);
    clearInterval(timer);
    other.run("commit");
    other.close();
    await written;
    expect(ticks).toBeGreaterThan(10);
    expect((await store.readIdentities()).tenants).toHaveLength(2);
    await store.close();
  });

  test("a change that waits for a lock of another process blocks no read, and nothing of it is visible before it is made", async () => {
    const file = newFile();
    const { store } = await openSqliteDatabase({ file, busyTimeoutMs: 60_000 });
    await store.migrate();
    const other = new Database(file);
    other.run("begin immediate");
    let made = 0;
    const written = Promise.all(
      ["one", "two", "three"].map(async (id) => {
        await writes(store).createTenant({ id, name: id });
        made += 1;
      }),
    );
    for (let count = 0; count < 20; count++) {
      expect(await store.revision()).toBe("0");
      expect((await store.readIdentities()).tenants).toEqual([]);
      await Bun.sleep(5);
    }
    expect(made).toBe(0);
    other.run("commit");
    other.close();
    await written;
    expect((await store.readIdentities()).tenants).toHaveLength(3);
    expect(await store.revision()).toBe("3");
    await store.close();
  });

  test("only the owner can read the file", async () => {
    const file = newFile();
    await (await openSqliteDatabase({ file })).store.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("a path that looks like a URI is a path", async () => {
    const place = mkdtempSync(join(folder, "uri-"));
    for (const file of ["file:odd.db?mode=memory", "100% #1.db"]) {
      await inProcess(
        `const { store } = await openSqliteDatabase({ file: ${JSON.stringify(file)} }); await store.migrate(); await store.close();`,
        place,
      );
      expect(statSync(join(place, file)).size).toBeGreaterThan(0);
    }
  });
});

describe("SQLite in memory", () => {
  test("is a complete store that ends with the handle", async () => {
    const { store } = await openSqliteDatabase({ file: ":memory:" });
    await store.migrate();
    await writes(store).createTenant({ id: "acme", name: "Acme" });
    expect(await store.revision()).toBe("1");
    await store.close();
    const { store: next } = await openSqliteDatabase({ file: ":memory:" });
    await next.migrate();
    expect((await next.readIdentities()).tenants).toEqual([]);
    await next.close();
  });
});

interface Numbers {
  readonly numbers: { readonly id: bigint; readonly amount: bigint };
}

function memoryDb(): Kysely<Numbers> {
  const database = new Database(":memory:", { safeIntegers: true, strict: true });
  database.run("create table numbers (id bigint primary key, amount bigint not null)");
  return new Kysely<Numbers>({
    dialect: bunSqliteDialect({ database, busyTimeoutMs: 100, explain: (error) => error }),
  });
}

describe("[d2.6] a SQLite file that disappears while it is in use is reported, because revocations would not be seen any more", () => {
  const ends: Readonly<Record<string, (file: string) => void>> = {
    removed: (file) => rmSync(file),
    replaced: (file) => {
      copyFileSync(file, `${file}.backup`);
      renameSync(`${file}.backup`, file);
    },
  };
  for (const [how, end] of Object.entries(ends))
    test(how, async () => {
      const file = newFile();
      const { store } = await openSqliteDatabase({ file, cipher: openSecretCipher([new Uint8Array(32)]) });
      await store.migrate();
      await store.revision();
      await writes(store).createTenant({ id: "acme", name: "Acme" });
      const calls = openSqliteCalls({ file });
      end(file);
      const error = await store.revision().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      const changed = await writes(store)
        .createTenant({ id: "lost", name: "lost" })
        .then(
          () => null,
          (thrown: unknown) => thrown,
        );
      const draft = { tenantId: "acme", projectId: null, owner: "ann", kind: "policy", name: "asks" } as const;
      const saved = await store.drafts.saveDraft({ ...draft, text: "typed", base: null, savedAtMs: 1 }).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      const shipped = await calls.ingest([rowOf({})]).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      await calls.close();
      await store.close();
      // what would be confirmed and lost is refused, and calls wait in the ledger
      expect(changed).toMatchObject({ kind: "unusable" });
      expect(saved).toMatchObject({ kind: "unusable" });
      expect(shipped).toMatchObject({ kind: "unusable" });
      expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
      expect((error as Error).message).toContain(`${file} was ${how}`);
    });
});

describe("Kysely over bun:sqlite", () => {
  test("2^53 + 1 survives, alone and in a sum", async () => {
    const db = memoryDb();
    await db
      .insertInto("numbers")
      .values([
        { id: 1n, amount: 2n ** 53n + 1n },
        { id: 2n, amount: 2n ** 60n },
      ])
      .execute();
    expect(
      await db
        .selectFrom("numbers")
        .select("amount")
        .where("amount", "=", 2n ** 53n + 1n)
        .execute(),
    ).toEqual([{ amount: 9007199254740993n }]);
    const { total } = await db
      .selectFrom("numbers")
      .select((row) => row.fn.sum<bigint>("amount").as("total"))
      .executeTakeFirstOrThrow();
    expect(total).toBe(2n ** 60n + 2n ** 53n + 1n);
    await db.destroy();
  });

  test("fifty transactions at once on one row lose no step, and one that fails affects no other", async () => {
    const db = memoryDb();
    await db.insertInto("numbers").values({ id: 1n, amount: 5n }).execute();
    const step = (fails: boolean): Promise<void> =>
      db.transaction().execute(async (tx) => {
        const { amount } = await tx
          .selectFrom("numbers")
          .select("amount")
          .where("id", "=", 1n)
          .executeTakeFirstOrThrow();
        await Bun.sleep(1);
        await tx
          .updateTable("numbers")
          .set({ amount: amount + 1n })
          .where("id", "=", 1n)
          .execute();
        if (fails) throw new Error("on purpose");
      });
    const results = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => step(index % 5 === 0)));
    expect(results.filter((result) => result.status === "rejected")).toHaveLength(10);
    expect(await db.selectFrom("numbers").select("amount").executeTakeFirstOrThrow()).toEqual({ amount: 45n });
    await db.destroy();
  });

  test("the outer db inside a transaction fails after a second, says why, and the connection is free again", async () => {
    const db = memoryDb();
    const startedMs = performance.now();
    const attempt = db.transaction().execute(async (tx) => {
      await tx.insertInto("numbers").values({ id: 1n, amount: 1n }).execute();
      await db.selectFrom("numbers").selectAll().execute();
    });
    const error = await attempt.then(
      () => null,
      (thrown: unknown) => thrown as Error,
    );
    expect(error?.message).toContain("Inside a transaction all queries must use the transaction");
    expect(performance.now() - startedMs).toBeGreaterThan(900);
    expect(await db.selectFrom("numbers").selectAll().execute()).toEqual([]);
    await db.destroy();
  });

  test("a write reports how many rows it changed, returning gives them, and a stream comes in pieces", async () => {
    const db = memoryDb();
    const rows = Array.from({ length: 5 }, (_, index) => ({ id: BigInt(index), amount: 1n }));
    expect((await db.insertInto("numbers").values(rows).executeTakeFirst()).numInsertedOrUpdatedRows).toBe(5n);
    expect(await db.deleteFrom("numbers").where("id", "=", 4n).returning("id").execute()).toEqual([{ id: 4n }]);
    const streamed: bigint[] = [];
    for await (const row of db.selectFrom("numbers").select("id").orderBy("id").stream(3)) streamed.push(row.id);
    expect(streamed).toEqual([0n, 1n, 2n, 3n]);
    await db.destroy();
  });
});
