// The store of calls in ClickHouse through the common suite of these stores; and what only a server with an HTTP
// interface can do to it: take rows and not say so, be away, be slow.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallStore, RecordedQuery } from "../../src/store/calls.ts";
import { type ClickHouseCalls, openClickHouseCalls } from "../../src/store/clickhouse-calls.ts";
import { openClickHouse } from "../../src/store/clickhouse-client.ts";
import { rawSql } from "../../src/store/clickhouse-sql.ts";
import { openSqliteCalls } from "../../src/store/sqlite-calls.ts";
import { startClickHouse } from "../harness/clickhouse-server.ts";
import { furnishedFiles } from "./call-places.ts";
import { DAY_MS, DAY_ONE, HOUR_MS, newTraceId, rowOf } from "./call-records.ts";
import { callStoreSuite, type CallPlace } from "./call-store.suite.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-clickhouse-calls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = furnishedFiles(folder);
const newBase = async (): Promise<CallStore> => openSqliteCalls({ file: await newFile() });
const RANGE = { fromMs: DAY_ONE + HOUR_MS, toMs: DAY_ONE + 3 * DAY_MS } as const;

/** Passes requests on, as long as `answer` returns nothing. */
function between(url: string, answer: (body: string, pass: () => Promise<Response>) => Promise<Response> | null) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = await request.text();
      const pass = (): Promise<Response> =>
        fetch(url, {
          method: "POST",
          body,
          headers: { "x-clickhouse-database": request.headers.get("x-clickhouse-database")! },
        });
      return await (answer(body, pass) ?? pass());
    },
  });
  return { url: `${server.url.origin}${new URL(url).pathname}`, close: () => server.stop(true) };
}

const clickhouse = await startClickHouse();
if (clickhouse !== null) {
  afterAll(() => clickhouse.dispose());
  callStoreSuite(
    "ClickHouse",
    async (): Promise<CallPlace> => {
      const calls = await openClickHouseCalls({ url: clickhouse.newDatabase() }, await newBase());
      const recorded = () =>
        Promise.resolve({ calls: (query: RecordedQuery) => calls.recorded(query), close: () => Promise.resolve() });
      return { calls, recorded, dispose: () => calls.close() };
    },
    { mostOfAnHour: null, prunedAtOnce: null },
  );

  describe("ClickHouse", () => {
    const opened = async (url: string): Promise<ClickHouseCalls> => await openClickHouseCalls({ url }, await newBase());

    test("[d11.2] a batch that was stored, and of which the answer was lost, is sent again and counts once, before rows are merged and after", async () => {
      const url = clickhouse.newDatabase();
      const lost = new Set<string>();
      const { url: lossy, close } = between(url, (body, pass) => {
        const table = /^insert into (call|call_detail) /.exec(body)?.[1];
        if (table === undefined || lost.has(table)) return null;
        lost.add(table);
        return pass().then(() => new Response("the answer was lost", { status: 502 }));
      });
      const calls = await opened(lossy);
      const rows = Array.from({ length: 40 }, () => rowOf());
      for (const table of ["call_detail", "call"]) {
        expect(await calls.ingest(rows).catch((error: unknown) => error)).toMatchObject({ kind: "unusable" });
        expect([...lost]).toContain(table);
      }
      await calls.ingest(rows);
      expect(await calls.usageTotals({})).toMatchObject({ calls: 40n });
      // As two gateways store them that have both found nothing.
      const database = openClickHouse({ url });
      await database.run(rawSql("insert into call select * from call"));
      expect(await database.read(rawSql("select count() as rows from call"))).toEqual([{ rows: "80" }]);
      expect(await calls.usageTotals({})).toMatchObject({ calls: 40n });
      expect((await calls.searchCalls({ limit: 100 }, { order: "newest" })).data).toHaveLength(40);
      await database.run(rawSql("optimize table call final"));
      expect(await calls.usageTotals({})).toMatchObject({ calls: 40n });
      await calls.close();
      await close();
    });

    test("[d11.2] a settled row of another time replaces the unsettled one, before rows are merged and after", async () => {
      const url = clickhouse.newDatabase();
      const calls = await opened(url);
      const traceId = newTraceId();
      await calls.ingest([rowOf({ traceId, startedAtMs: DAY_ONE }, false)]);
      await calls.ingest([rowOf({ traceId, startedAtMs: DAY_ONE + DAY_MS, costNanoUsd: 7 })]);
      const told = async () => await calls.usageTotals({});
      expect(await told()).toMatchObject({ calls: 1n, costNanoUsd: 7n });
      await openClickHouse({ url }).run(rawSql("optimize table call final"));
      expect(await told()).toMatchObject({ calls: 1n, costNanoUsd: 7n });
      await calls.ingest([rowOf({ traceId, startedAtMs: DAY_ONE }, false)]);
      expect(await told()).toMatchObject({ calls: 1n, costNanoUsd: 7n });
      await calls.close();
    });

    test("[d11.3] old days are removed as whole partitions and their sums stay exact, also when several gateways remove them at once", async () => {
      const url = clickhouse.newDatabase();
      const stores = [await opened(url), await opened(url), await opened(url)];
      const [calls] = stores;
      await calls!.ingest(
        Array.from({ length: 300 }, (_, index) =>
          rowOf({ startedAtMs: DAY_ONE + index * (HOUR_MS / 4), endUser: `e${index % 3}`, costNanoUsd: index }),
        ),
      );
      const report = async () => await calls!.usage({ limit: 100 }, { by: ["day", "end_user"], order: "group" });
      const inHours = async () => (await calls!.usage({ limit: 100 }, { by: ["model"], order: "cost", ...RANGE })).data;
      const before = [(await report()).data, await inHours()];
      const prune = async (store: ClickHouseCalls): Promise<void> => {
        while ((await store.prune({ callsMs: DAY_ONE + 2 * DAY_MS + 5, detailsMs: null, placesMs: null })) > 0);
      };
      await Promise.all(stores.map(prune));
      await Promise.all(stores.map(prune));
      expect([(await report()).data, await inHours()]).toEqual(before);
      const database = openClickHouse({ url });
      const days = await database.read(
        rawSql(
          "select distinct table, partition from system.parts where database = currentDatabase() and active and table in ('call', 'call_detail') order by all",
        ),
      );
      const kept = [2, 3].map((day) => String(DAY_ONE / DAY_MS + day));
      expect(days).toEqual(["call", "call_detail"].flatMap((table) => kept.map((partition) => ({ table, partition }))));
      await Promise.all(stores.map((store) => store.close()));
    });

    test("tables of a later version are refused with the cure", async () => {
      const url = clickhouse.newDatabase();
      const calls = await opened(url);
      await openClickHouse({ url }).run(rawSql("insert into schema_version values (9)"));
      expect(await opened(url).catch((error: unknown) => error)).toMatchObject({
        kind: "unusable",
        message: expect.stringContaining("Start the version of the gateway that made them"),
      });
      await calls.close();
    });
  });
}

// These need no ClickHouse: a file of tests without any is a fault.
describe("the client of ClickHouse", () => {
  const refusalOf = async (url: string, timeoutMs?: number): Promise<unknown> =>
    await openClickHouse({ url, ...(timeoutMs !== undefined && { timeoutMs }) })
      .read(rawSql("select 1"))
      .catch((error: unknown) => error);

  test("a server that is away, is slow or refuses is an error of the store, and so is an address that is none", async () => {
    expect(await refusalOf("http://127.0.0.1:1/x")).toMatchObject({ name: "StoreError", kind: "unusable" });
    const slow = between("http://127.0.0.1:1/x", () => new Promise(() => {}));
    expect(await refusalOf(slow.url, 50)).toMatchObject({ name: "StoreError", kind: "busy" });
    await slow.close();
    const refusing = between("http://127.0.0.1:1/x", () => Promise.resolve(new Response("no", { status: 403 })));
    expect(await refusalOf(refusing.url)).toMatchObject({ name: "StoreError", kind: "unusable" });
    await refusing.close();
    expect(() => openClickHouse({ url: "ftp://x" })).toThrow("http://user:password@host:8123/database");
  });
});
