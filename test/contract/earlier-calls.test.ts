// Calls that an earlier version has stored: sums, lists, single calls and the ledger are right before, while and after
// they are moved.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Kysely, sql } from "kysely";
import type { CallRecord } from "../../src/core/record.ts";
import { bunSqliteDialect } from "../../src/store/database/bun-sqlite-dialect.ts";
import { figuresOf } from "../../src/store/calls/call-columns.ts";
import { tagOf } from "../../src/store/calls/call-tags.ts";
import type { CallStore, LogOrder } from "../../src/store/calls/calls.ts";
import type { LedgerRow } from "../../src/store/journal/ledger.ts";
import { migrate } from "../../src/store/migrations.ts";
import { openPostgresCalls } from "../../src/store/calls/postgres-calls.ts";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import type { Schema } from "../../src/store/schema.ts";
import { openDatabase } from "../../src/store/database/sqlite-connection.ts";
import { openSqliteCalls } from "../../src/store/calls/sqlite-calls.ts";
import { postgresDatabases } from "../harness/postgres-server.ts";
import { DAY_MS, DAY_ONE, HOUR_MS, recordOf } from "./call-records.ts";

const BEFORE = "0017-replicas";
const folder = mkdtempSync(join(tmpdir(), "dragoman-earlier-"));
const postgres = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres?.dispose();
});

const hex = (index: number): string => Bun.hash(String(index)).toString(16).padStart(32, "5");
const OLD: readonly LedgerRow[] = Array.from({ length: 1100 }, (_, index) => ({
  record: recordOf({
    traceId: hex(index),
    startedAtMs: DAY_ONE + Math.floor(index / 3) * 120_000,
    totalMs: (index * 7919) % 60_000,
    projectId: `p${index % 3}`,
    tokenId: `t${index % 5}`,
    endUser: index % 4 === 0 ? `e${index % 7}` : null,
    status: index % 10 === 0 ? 502 : 200,
    code: index % 10 === 0 ? "upstream_error" : null,
    tokens: [index, 1],
    costNanoUsd: index % 6 === 0 ? null : index,
    metadata: index % 9 === 0 ? { team: "search" } : null,
  }),
  settled: index !== 700,
}));

/** Writes rows as the earlier version did: calls, records, tags, and the sums of each call by itself. */
async function writeOld(wider: Kysely<Schema>): Promise<void> {
  const db = wider as unknown as Kysely<Record<string, Record<string, unknown>>>;
  for (let at = 0; at < OLD.length; at += 50) {
    const rows = OLD.slice(at, at + 50).map(({ record, settled }) => {
      const {
        operation: _operation,
        cache: _cache,
        estimated: _estimated,
        request_hash: _hash,
        ...row
      } = figuresOf(record, settled);
      return { record, row };
    });
    await db
      .insertInto("call")
      .values(
        rows.map(({ row }) =>
          Object.fromEntries(
            Object.entries(row).map(([name, value]) => [name, typeof value === "number" ? BigInt(value) : value]),
          ),
        ),
      )
      .execute();
    // details of the first calls are past their retention
    const details = rows.filter(({ record }) => OLD.findIndex((one) => one.record === record) >= 100);
    if (details.length > 0)
      await db
        .insertInto("call_detail")
        .values(
          details.map(({ record, row }) => ({
            trace_id: row.trace_id,
            time_ms: BigInt(row.time_ms),
            record: JSON.stringify(record),
          })),
        )
        .execute();
  }
  await sql`insert into call_tag (tag, time_ms, trace_id, tenant_id, project_id) select 'meta:team=search', time_ms, trace_id, tenant_id, project_id from call where tags <> ''`.execute(
    db,
  );
  const figures = sql.raw(
    "count(*), sum(case when status >= 400 then 1 else 0 end), 0, sum(prompt_tokens), sum(completion_tokens), 0, 0, coalesce(sum(cost_nano_usd), 0), sum(total_ms), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0",
  );
  const columns = sql.raw(
    "tenant_id, project_id, token_id, user_id, route, provider, model, calls, errors, unpriced, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, total_ms, within_100_ms, within_250_ms, within_500_ms, within_1000_ms, within_2500_ms, within_5000_ms, within_10000_ms, within_30000_ms, within_60000_ms, within_120000_ms, beyond",
  );
  const by = sql.raw("tenant_id, project_id, token_id, user_id, route, provider, model");
  await sql`insert into call_hour (hour_ms, ${columns}) select time_ms - time_ms % ${sql.lit(HOUR_MS)}, ${by}, ${figures} from call group by 1, ${by}`.execute(
    db,
  );
  await sql`insert into call_user_day (day_ms, end_user, ${columns}) select time_ms - time_ms % ${sql.lit(DAY_MS)}, end_user, ${by}, ${figures} from call where end_user <> '' group by 1, end_user, ${by}`.execute(
    db,
  );
}

const records = OLD.map(({ record }) => record);
const endOf = (record: CallRecord): number => record.startedAtMs + record.totalMs;

/** The ids of the whole list, and how often a page ended where the moved calls end. */
async function listed(
  calls: CallStore,
  order: LogOrder,
  filter: object,
  onPage: () => Promise<unknown>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await calls.searchCalls({ limit: 200, cursor }, { order, ...filter });
    found.push(...page.data.map(({ traceId }) => traceId));
    if (page.nextCursor === null) return found;
    cursor = page.nextCursor;
    await onPage();
  }
}

function expected(order: LogOrder, holds: (record: CallRecord) => boolean): readonly string[] {
  const at = (record: CallRecord): number => (order === "ended" ? endOf(record) : record.startedAtMs);
  return records
    .filter(holds)
    .toSorted((a, b) => (order === "newest" ? at(b) - at(a) : at(a) - at(b)))
    .map(({ traceId }) => traceId);
}

const timesOf = (ids: readonly string[], order: LogOrder): readonly number[] =>
  ids.map((id) => {
    const record = records.find(({ traceId }) => traceId === id)!;
    return order === "ended" ? endOf(record) : record.startedAtMs;
  });

function upgradeSuite(name: string, open: () => Promise<CallStore>): void {
  describe(`${name}: calls of an earlier version`, () => {
    const sumOf = (field: (record: CallRecord) => number): bigint =>
      records.reduce((sum, record) => sum + BigInt(field(record)), 0n);
    const sumsAreRight = async (calls: CallStore): Promise<void> => {
      expect(await calls.usageTotals({})).toMatchObject({
        calls: 1100n,
        promptTokens: sumOf(({ usage }) => usage!.prompt_tokens),
        costNanoUsd: sumOf(({ cost }) => cost?.nanoUsd ?? 0),
      });
      expect(await calls.usageTotals({ endUser: "e0" })).toMatchObject({
        calls: BigInt(records.filter(({ endUser }) => endUser === "e0").length),
      });
      const byProject = await calls.usage({ limit: 10 }, { by: ["project"], order: "group" });
      expect(byProject.data.map(({ group, sums }) => [...group, sums.calls])).toEqual(
        ["p0", "p1", "p2"].map((project) => [
          project,
          BigInt(records.filter(({ projectId }) => projectId === project).length),
        ]),
      );
      const sinceMs = DAY_ONE + 6 * HOUR_MS + 1_234_567;
      const [spent] = await calls.spent({ tenantId: "acme", projectId: "p1", sinceMs, by: ["token"] });
      const [token] = spent!.values;
      expect(spent!.calls).toBe(
        BigInt(
          records.filter(
            ({ projectId, tokenId, startedAtMs }) => projectId === "p1" && tokenId === token && startedAtMs >= sinceMs,
          ).length,
        ),
      );
    };
    const singleCallsAreRight = async (calls: CallStore): Promise<void> => {
      const { record } = OLD[501]!;
      expect(await calls.findCall(record.traceId, "acme")).toMatchObject({
        summary: { traceId: record.traceId, timeMs: record.startedAtMs, projectId: record.projectId },
        record: { traceId: record.traceId, usage: record.usage },
      });
      expect(await calls.findCall(OLD[5]!.record.traceId)).toMatchObject({
        summary: { promptTokens: 5 },
        record: null,
      });
      expect(await calls.findCall(record.traceId, "other")).toBeNull();
    };

    test("[d9.3] before they are moved, a list says with its cursor that it has not ended, and everything else is right", async () => {
      const calls = await open();
      await sumsAreRight(calls);
      await singleCallsAreRight(calls);
      for (const order of ["newest", "oldest", "ended"] as const) {
        const page = await calls.searchCalls({ limit: 5 }, { order });
        expect([order, page.data, page.nextCursor === null, page.searchedToMs === null]).toEqual([
          order,
          [],
          false,
          false,
        ]);
        const again = await calls.searchCalls({ limit: 5, cursor: page.nextCursor }, { order });
        expect([again.data, again.nextCursor]).toEqual([[], page.nextCursor]);
      }
      const later = recordOf({ startedAtMs: DAY_ONE + 30 * DAY_MS });
      await calls.ingest([{ record: later, settled: true }]);
      for (const filter of [{ order: "newest" }, { order: "oldest", fromMs: DAY_ONE + 29 * DAY_MS }] as const)
        expect((await calls.searchCalls({ limit: 1 }, filter)).data.map(({ traceId }) => traceId)).toEqual([
          later.traceId,
        ]);
      expect(
        (await calls.searchCalls({ limit: 5 }, { order: "ended", endedFromMs: DAY_ONE + 29 * DAY_MS })).data.map(
          ({ traceId }) => traceId,
        ),
      ).toEqual([later.traceId]);
      await calls.close();
    });

    test("[d9.3] [d11.2] while they are moved, lists are complete, and afterwards nothing has changed", async () => {
      for (const [order, filter, holds] of [
        ["newest", {}, () => true],
        ["oldest", {}, () => true],
        ["ended", {}, () => true],
        ["newest", { projectId: "p1" }, ({ projectId }: CallRecord) => projectId === "p1"],
        ["newest", { tags: [tagOf("meta", "team=search")] }, ({ metadata }: CallRecord) => metadata !== null],
      ] as const) {
        const calls = await open();
        const wanted = expected(order, holds);
        const found = await listed(calls, order, filter, () => calls.moveEarlier());
        expect([order, timesOf(found, order)]).toEqual([order, timesOf(wanted, order)]);
        expect(new Set(found)).toEqual(new Set(wanted));
        while ((await calls.moveEarlier()) > 0);
        expect(new Set(await listed(calls, order, filter, async () => {}))).toEqual(new Set(wanted));
        await sumsAreRight(calls);
        await singleCallsAreRight(calls);
        await calls.close();
      }
    });

    test("[d11.2] a row that comes again changes nothing, and a settled one replaces the one that was charged with its reservation", async () => {
      const calls = await open();
      await Promise.all([calls.ingest(OLD.slice(0, 50)), calls.ingest(OLD.slice(30, 80)), calls.moveEarlier()]);
      await sumsAreRight(calls);
      const { record } = OLD[700]!;
      await calls.ingest([{ record: { ...record, usage: null, cost: null }, settled: true }]);
      expect(await calls.findCall(record.traceId)).toMatchObject({ summary: { settled: true, promptTokens: 0 } });
      expect(await calls.usageTotals({})).toMatchObject({
        calls: 1100n,
        promptTokens: sumOf(({ usage }) => usage!.prompt_tokens) - 700n,
      });
      while ((await calls.moveEarlier()) > 0);
      await calls.ingest(OLD);
      expect(await calls.usageTotals({})).toMatchObject({ calls: 1100n });
      while ((await calls.prune({ callsMs: DAY_ONE + 365 * DAY_MS, detailsMs: null, placesMs: null })) > 0);
      expect((await calls.searchCalls({ limit: 5 }, { order: "oldest" })).data).toEqual([]);
      expect(await calls.findCall(record.traceId)).toBeNull();
      await calls.close();
    });
  });
}

let files = 0;
upgradeSuite("a SQLite file", async () => {
  const file = join(folder, `calls-${++files}.db`);
  const { database, connection } = await openDatabase({ file });
  const db = new Kysely<Schema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  await migrate(db, "the test", { last: BEFORE });
  await writeOld(db);
  await migrate(db, "the test");
  await db.destroy();
  database.close();
  return openSqliteCalls({ file });
});
if (postgres !== null)
  upgradeSuite("PostgreSQL", async () => {
    const url = await postgres.newDatabase();
    const { store, db } = openPostgresDatabase({ url });
    await migrate(db, "the test", { last: BEFORE });
    await writeOld(db);
    await store.migrate();
    await store.close();
    return openPostgresCalls({ url });
  });
