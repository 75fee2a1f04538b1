// The stores of calls through their common suite; and errors that only SQLite in a file can make.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openPostgresCalls } from "../../../src/store/calls/postgres-calls.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { postgresDatabases, statement } from "../../harness/servers/postgres-server.ts";
import { addPlaces, furnishedFiles } from "./call-places.ts";
import { DAY_MS, DAY_ONE, HOUR_MS, rowOf } from "./call-records.ts";
import { callStoreSuite, type CallPlace } from "./call-store.suite.ts";
import { usageTotals } from "../../harness/usage-totals.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-calls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newFile = furnishedFiles(folder);

callStoreSuite("a SQLite file", async (): Promise<CallPlace> => {
  const database = { file: await newFile() };
  const calls = openSqliteCalls(database);
  return { calls, database, dispose: () => calls.close() };
});

const postgres = await postgresDatabases();
if (postgres !== null) {
  afterAll(() => postgres.dispose());
  let furnished: Promise<string> | null = null;
  const furnish = async (): Promise<string> => {
    const url = await postgres.newDatabase();
    const { store } = openPostgresDatabase({ url });
    await store.migrate();
    await addPlaces(store);
    await store.close();
    return url;
  };
  const newDatabase = async (): Promise<string> => await postgres.newDatabase(await (furnished ??= furnish()));
  callStoreSuite("PostgreSQL", async (): Promise<CallPlace> => {
    const database = { url: await newDatabase() };
    const calls = openPostgresCalls(database);
    return { calls, database, dispose: () => calls.close() };
  });

  describe("PostgreSQL", () => {
    test("[d11.2] rows whose block got the number of another block by chance are stored in one with another number", async () => {
      const calls = openPostgresCalls({ url: await newDatabase() });
      const [early, alike, later] = [DAY_ONE, DAY_ONE, DAY_ONE + HOUR_MS].map((startedAtMs) => rowOf({ startedAtMs }));
      const drawn = spyOn(Math, "random");
      try {
        drawn.mockReturnValueOnce(0);
        await calls.ingest([early!]);
        expect(drawn).toHaveBeenCalledTimes(1);
        // From here on records are added to the block of another hour.
        await calls.ingest([later!]);
        drawn.mockReturnValueOnce(0);
        await calls.ingest([alike!]);
      } finally {
        drawn.mockRestore();
      }
      expect(await usageTotals(calls)).toMatchObject({ calls: 3n });
      for (const { record } of [early!, alike!, later!])
        expect((await calls.findCall(record.traceId))?.record).toMatchObject({ traceId: record.traceId });
      await calls.close();
    });

    for (const isolation of ["read committed", "serializable"])
      test(`several processes that ship rows with the same sums at once wait for each other and count everything, where the database is ${isolation} by default`, async () => {
        const url = await newDatabase();
        await statement(
          url,
          `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = '${isolation}'`,
        );
        const stores = [openPostgresCalls({ url }), openPostgresCalls({ url }), openPostgresCalls({ url })];
        await Promise.all(
          stores.flatMap((calls) =>
            Array.from({ length: 10 }, () =>
              calls.ingest(
                Array.from({ length: 40 }, (_, index) =>
                  rowOf({ projectId: `p${(index * 7) % 13}`, endUser: `e${index % 5}` }),
                ),
              ),
            ),
          ),
        );
        expect(await usageTotals(stores[0]!)).toMatchObject({ calls: 1200n });
        expect(await usageTotals(stores[0]!, { endUser: "e3" })).toMatchObject({ calls: 240n });
        await Promise.all(stores.map((calls) => calls.close()));
      });
    test("[d11.3] old days are removed as whole tables, and a row that comes late makes its day anew", async () => {
      const url = await newDatabase();
      const calls = openPostgresCalls({ url });
      const days = async (): Promise<readonly unknown[]> =>
        (
          await statement(
            url,
            "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent::regclass::text in ('call', 'call_block', 'call_tag') order by 1",
          )
        ).map(({ name }) => name);
      const row = (day: number, index: number) =>
        rowOf({ startedAtMs: DAY_ONE + day * DAY_MS + index, metadata: { day } });
      const rows = [0, 1, 2].flatMap((day) => Array.from({ length: 30 }, (_, index) => row(day, index)));
      await calls.ingest(rows);
      const named = (...dates: readonly string[]) =>
        ["call", "call_block", "call_tag"].flatMap((table) => dates.map((date) => `${table}_${date}`));
      expect(await days()).toEqual(named("20260105", "20260106", "20260107"));
      while ((await calls.prune({ callsMs: null, detailsMs: DAY_ONE + DAY_MS, placesMs: null })) > 0);
      expect(await days()).toEqual([
        "call_20260105",
        ...named("20260106", "20260107").filter((name) => name.startsWith("call_2")),
        ...named("20260106", "20260107").filter((name) => name.startsWith("call_block")),
        ...named("20260105", "20260106", "20260107").filter((name) => name.startsWith("call_tag")),
      ]);
      // the day of its call is there, and that of its record is not
      const behind = row(0, 40);
      await calls.ingest([behind]);
      expect(await calls.findCall(behind.record.traceId)).toMatchObject({ record: { metadata: { day: 0 } } });
      const boundMs = DAY_ONE + 2 * DAY_MS + 10;
      while ((await calls.prune({ callsMs: boundMs, detailsMs: null, placesMs: null })) > 0);
      expect(await days()).toEqual(named("20260107"));
      const { data } = await calls.searchCalls({ limit: 100 }, { order: "oldest" });
      expect(data.map(({ traceId }) => traceId)).toEqual(rows.slice(70).map(({ record }) => record.traceId));
      expect(await calls.findCall(rows[0]!.record.traceId)).toBeNull();
      expect(await usageTotals(calls)).toMatchObject({ calls: 91n });
      // this process believed the day to be there
      const late = row(0, 5);
      await calls.ingest([late]);
      expect(await calls.findCall(late.record.traceId)).toMatchObject({ record: { metadata: { day: 0 } } });
      await calls.close();
    });
    test("a report that takes too long is ended; the writes that it could have blocked go on", async () => {
      const url = await newDatabase();
      const calls = openPostgresCalls({ url, reportTimeoutMs: 1 });
      await calls.ingest(Array.from({ length: 500 }, (_, index) => rowOf({ projectId: `p${index}` })));
      const { db, store } = openPostgresDatabase({ url });
      await db.transaction().execute(async (tx) => {
        await sql`lock table call_hour in access exclusive mode`.execute(tx);
        expect(await usageTotals(calls).catch((error: unknown) => error)).toMatchObject({
          name: "StoreError",
          kind: "busy",
        });
      });
      await calls.ingest([rowOf()]);
      await store.close();
      await calls.close();
    });
    test("an invalid address and an unreachable server are reported", async () => {
      expect(() => openPostgresCalls({ url: "mysql://x" })).toThrow("DATABASE_URL");
      const calls = openPostgresCalls({ url: "postgresql://x@127.0.0.1:1/x", connectTimeoutMs: 500 });
      expect(await calls.ingest([rowOf()]).catch((error: unknown) => error)).toMatchObject({
        name: "StoreError",
        kind: "unusable",
      });
      await calls.close();
    });
  });
}

describe("a SQLite file", () => {
  test("[d9.3] what a call asks for does not wait behind reports", async () => {
    const calls = openSqliteCalls({ file: await newFile() });
    await calls.ingest(Array.from({ length: 200 }, (_, index) => rowOf({ startedAtMs: DAY_ONE + index * DAY_MS })));
    const ended: string[] = [];
    const report = async (): Promise<void> => {
      await calls.usage({ limit: 100 }, { by: ["token", "day"], order: "group" });
      ended.push("report");
    };
    // both threads of reports have been started
    await Promise.all([report(), report()]);
    await calls.boundObjects(["a".repeat(64)], DAY_ONE);
    const reports = Array.from({ length: 40 }, report);
    await calls.boundObjects(["a".repeat(64)], DAY_ONE);
    ended.push("call");
    await Promise.all(reports);
    expect(ended.indexOf("call")).toBeLessThan(ended.length - 1);
    await calls.close();
  });

  test("that another process writes to is waited for", async () => {
    const file = await newFile();
    const calls = openSqliteCalls({ file });
    const other = new Database(file);
    other.run("begin immediate");
    setTimeout(() => other.run("commit"), 150);
    await calls.ingest([rowOf()]);
    expect(await usageTotals(calls)).toMatchObject({ calls: 1n });
    other.close();
    await calls.close();
  });

  test("that is not migrated, or gone, is an error and does not end the process; queries after close() are refused", async () => {
    const calls = openSqliteCalls({ file: join(folder, "missing", "calls.db") });
    expect(await calls.ingest([rowOf()]).catch((error: unknown) => error)).toMatchObject({
      name: "StoreError",
      kind: "unusable",
    });
    await calls.close();
    await calls.close();
    expect(await usageTotals(calls).catch((error: unknown) => error)).toMatchObject({
      name: "StoreError",
      kind: "unusable",
    });
    const empty = openSqliteCalls({ file: join(folder, "empty.db") });
    expect(((await usageTotals(empty).catch((error: unknown) => error)) as Error).message).toContain(
      "call_project_hour",
    );
    await empty.close();
  });
});
