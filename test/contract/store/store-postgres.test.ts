// The store in PostgreSQL through the suite of all stores, with a real server; and what only a server can get wrong.
import { afterAll, describe, expect, test } from "bun:test";
import { sql } from "kysely";
import pg from "pg";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { writes } from "../../harness/store-writes.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { startPostgres, statement } from "../../harness/servers/postgres-server.ts";
import { auditChainSuite } from "./audit-chain.suite.ts";
import { storeChangesSuite } from "./store-changes.suite.ts";
import { storeSuite, type StorePlace } from "./store.suite.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const server = await startPostgres();
afterAll(() => server?.dispose());

describe.skipIf(server === null)("with a server", () => {
  const placeAt = (url: string): StorePlace => ({
    open: async (options) => openPostgresDatabase({ url, ...options }).store,
    run: async (text) => void (await statement(url, text)),
    read: (text) => statement(url, text),
    dispose: async () => {},
  });
  const newUrl = server === null ? null : migratedDatabases(server);
  storeSuite("PostgreSQL", async () => placeAt(await server!.newDatabase()));
  storeChangesSuite("PostgreSQL", async () => placeAt(await newUrl!()));
  auditChainSuite("PostgreSQL", async () => placeAt(await newUrl!()));
});

test("a server that is not there is `unusable` for every part of the store", async () => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  const { store } = openPostgresDatabase({
    url: `postgresql://user@127.0.0.1:${port}/nothing`,
    cipher: openSecretCipher([new Uint8Array(32)]),
  });
  const place = { tenantId: "acme", projectId: null, owner: "ann", kind: "policy", name: "asks" } as const;
  for (const attempt of [
    () => store.revision(),
    () => store.sessions.findSession("hash"),
    () => store.drafts.findDraft(place),
  ])
    expect(
      await attempt().then(
        () => null,
        (error: unknown) => error,
      ),
    ).toMatchObject({ name: "StoreError", kind: "unusable" });
  await store.close();
});

describe.skipIf(server === null)("a server that is unreachable, frozen or cut off", () => {
  const newUrl = server === null ? null : migratedDatabases(server);
  const opened = async () => {
    const url = await newUrl!();
    const database = openPostgresDatabase({ url, statementTimeoutMs: 300, connectTimeoutMs: 500 });
    return { url, store: database.store };
  };
  const failure = (attempt: Promise<unknown>): Promise<unknown> =>
    attempt.then(
      () => null,
      (error: unknown) => error,
    );

  test("a connection that is cut within a transaction, between two statements, fails that change and nothing else", async () => {
    const { url, store } = await opened();
    const faults: unknown[] = [];
    const note = (fault: unknown): void => void faults.push(fault);
    process.on("uncaughtException", note);
    const failed = await failure(
      store.change(LOCAL_ACTOR, async (writer) => {
        await statement(
          url,
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        );
        await Bun.sleep(100);
        return writer.listTenants({ limit: 1 });
      }),
    );
    process.off("uncaughtException", note);
    expect(String(failed)).toContain("cannot be reached");
    expect(faults).toEqual([]);
    expect(await store.revision()).toBeString();
    await store.close();
  });

  test("a connection that is cut while a change is committed leaves open whether the change was made", async () => {
    const { url, store } = await opened();
    await statement(
      url,
      "create function cut() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(5); return null; end $$",
    );
    await statement(
      url,
      "create constraint trigger cut after insert on tenants deferrable initially deferred for each row execute function cut()",
    );
    const failed = await failure(writes(store).createTenant({ id: "acme", name: "Acme" }));
    expect(failed).toMatchObject({ name: "StoreError", kind: "uncertain" });
    expect(await store.revision()).toBe("0");
    await store.close();
  });

  test("a change is announced by notification, also after every connection was cut, and lost notifications lose no change", async () => {
    const { url, store } = await opened();
    const other = openPostgresDatabase({ url }).store;
    let told = 0;
    const end = store.watch(() => void told++);
    await until(() => told >= 1); // it has begun to listen
    let before = told;
    await writes(other).createTenant({ id: "a", name: "a" });
    await until(() => told > before);
    before = told;
    await statement(
      url,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await until(() => told > before); // it is back, and tells what may have been missed
    before = told;
    await writes(other)
      .createTenant({ id: "b", name: "b" })
      .catch(() => writes(other).createTenant({ id: "b", name: "b" }));
    await until(() => told > before);
    expect(await store.revision()).toBe(await other.revision());
    end();
    await store.close();
    await other.close();
  });

  test("a frozen one is an error in time, and works again afterwards", async () => {
    const { store } = await opened();
    server!.freeze();
    const startedMs = performance.now();
    const error = await failure(store.revision());
    server!.thaw();
    expect(error).toMatchObject({ name: "StoreError" });
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    // a new connection may take longer than it is waited for, until the server has caught up
    expect(await untilFound(() => store.revision().catch(() => null))).toBe("0");
    await store.close();
  });

  test("a connection on which an answer was late is never used again: its statement may still begin, and its transaction would be the next one's", async () => {
    const { url, store } = await opened();
    server!.freeze();
    // a change, whose `begin` is not answered, and a read
    const errors = await Promise.all([
      failure(writes(store).createTenant({ id: "lost", name: "lost" })),
      failure(store.revision()),
    ]);
    server!.thaw();
    for (const error of errors) expect(error).toMatchObject({ name: "StoreError" });
    // each of them on whatever connection the pool has
    for (let count = 0; count < 8; count++) {
      expect(await store.revision()).toBe(String(count));
      expect((await store.readIdentities()).tenants).toHaveLength(count);
      await writes(store).createTenant({ id: `t${count}`, name: "kept" });
    }
    expect(await statement(url, "select count(*)::int as kept from tenants")).toEqual([{ kept: 8 }]);
    const open =
      "select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'";
    expect(await statement(url, open)).toEqual([{ open: 0 }]);
    await store.close();
  });

  test("[d2.6] a connection to a server that was demoted is not used again: the address may lead to its successor by now", async () => {
    const { db, store } = openPostgresDatabase({ url: await newUrl!(), poolSize: 1 });
    await sql`set default_transaction_read_only = on`.execute(db);
    const refused = await writes(store)
      .createTenant({ id: "acme", name: "Acme" })
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(refused).toMatchObject({ kind: "unusable", message: expect.stringContaining("(25006)") });
    await writes(store).createTenant({ id: "acme", name: "Acme" });
    await store.close();
  });

  test("a stopped one is `unusable` with the cure and without the password, and works on when it is back", async () => {
    const url = new URL(await server!.newDatabase());
    url.password = "not-to-be-told";
    const { store } = openPostgresDatabase({ url: url.href });
    await store.migrate();
    await server!.stop();
    const error = (await failure(store.revision())) as Error;
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain(`${url.host}${url.pathname} cannot be reached`);
    expect(JSON.stringify([error.message, error.stack])).not.toContain("not-to-be-told");
    await server!.start();
    expect(await store.revision()).toBe("0");
    await store.close();
  });

  test("a lock that is held for too long is `busy`", async () => {
    const { url, store } = await opened();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("begin");
    await client.query("update revisions set counter = counter");
    expect(await failure(writes(store).createTenant({ id: "a", name: "a" }))).toMatchObject({ kind: "busy" });
    await client.query("rollback");
    await client.end();
    await writes(store).createTenant({ id: "a", name: "a" });
    await store.close();
  });

  test("a wait that is too long for a connection in use is reported as busy, and not as unreachable", async () => {
    const url = await server!.newDatabase();
    const { store } = openPostgresDatabase({ url, poolSize: 1, connectTimeoutMs: 300, statementTimeoutMs: 5000 });
    await store.migrate();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("begin");
    await client.query("update revisions set counter = counter");
    const holding = writes(store).createTenant({ id: "a", name: "a" });
    await Bun.sleep(50);
    const error = (await failure(store.revision())) as Error;
    expect(error).toMatchObject({ name: "StoreError", kind: "busy" });
    expect(error.message).toContain("are in use");
    expect(error.message).not.toContain("cannot be reached");
    await client.query("rollback");
    await client.end();
    await holding;
    await store.close();
  });

  test("writers of several replicas wait for each other, also where the database is serializable by default", async () => {
    const url = await server!.newDatabase();
    await statement(
      url,
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
    );
    const stores = [0, 1, 2].map(() => openPostgresDatabase({ url }).store);
    await stores[0]!.migrate();
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        writes(stores[index % 3]!).createTenant({ id: `t${index}`, name: "one of many" }),
      ),
    );
    expect((await stores[0]!.readContents()).identities.tenants).toHaveLength(60);
    expect(await stores[1]!.revision()).toBe("60");
    for (const store of stores) await store.close();
  });

  test("an invalid address is refused without being repeated", () => {
    for (const url of ["mysql://user:hidden@host/db", "hidden", "postgresql://"]) {
      const attempt = (): unknown => openPostgresDatabase({ url });
      expect(attempt).toThrow("expected postgresql://user:password@host:port/database");
      expect(attempt).not.toThrow("hidden");
    }
  });
});
