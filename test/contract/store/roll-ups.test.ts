// Roll-ups are the sums of what they are made of at every moment: while calls arrive, are corrected, and come late, and
// whoever else writes.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Kysely, sql } from "kysely";
import { traceTimeOf } from "../../../src/core/ids.ts";
import { incomingOf, ingestCalls } from "../../../src/store/calls/call-ingest.ts";
import { type CallSchema, SUM_COLUMNS } from "../../../src/store/calls/call-schema.ts";
import type { CallInserts } from "../../../src/store/calls/call-insert.ts";
import type { LedgerRow } from "../../../src/store/journal/ledger.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { postgresInserts } from "../../../src/store/calls/postgres-inserts.ts";
import { ROLL_UPS, type RollUp } from "../../../src/store/sums/roll-up-triggers.ts";
import { openDatabase } from "../../../src/store/database/sqlite-connection.ts";
import { sqliteInserts } from "../../../src/store/calls/sqlite-inserts.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { DAY_ONE, HOUR_MS, recordOf } from "./call-records.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-roll-ups-"));
const postgres = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres?.dispose();
});

interface Opened {
  readonly db: Kysely<CallSchema>;
  readonly inserts: CallInserts;
  readonly close: () => Promise<void>;
}

let files = 0;
async function openSqlite(): Promise<Opened> {
  const { db, database, connection, close } = await openDatabase<CallSchema>({
    file: join(folder, `${++files}.db`),
  });
  await migrate(db, "the test");
  return { db, inserts: sqliteInserts(database, connection.explain), close };
}

async function openPostgres(): Promise<Opened> {
  const { db, store } = openPostgresDatabase({ url: await postgres!.newDatabase(), poolSize: 5 });
  await store.migrate();
  return {
    db: db as unknown as Kysely<CallSchema>,
    inserts: postgresInserts(),
    close: () => store.close(),
  };
}

const beginningOf = (index: number): number => DAY_ONE + ((index * 7919) % 216) * HOUR_MS;

/** Calls of nine days, with few callers, so that sums have several calls; some cost as much as a number can say. */
const callAt = (index: number): LedgerRow => ({
  record: recordOf({
    traceId: traceTimeOf(beginningOf(index)) + Bun.hash(String(index)).toString(16).padStart(20, "7"),
    startedAtMs: beginningOf(index),
    tenantId: index % 7 === 0 ? "other" : "acme",
    projectId: `p${index % 3}`,
    tokenId: `t${index % 2}`,
    model: `m${index % 4}`,
    operation: index % 8 === 0 ? "embeddings" : "chat.completions",
    endUser: index % 3 === 0 ? null : `e${index % 5}`,
    status: index % 5 === 0 ? 502 : 200,
    tokens: [index, index % 9 === 0 ? Number.MAX_SAFE_INTEGER - index : 1],
    costNanoUsd: index % 4 === 0 ? null : Number.MAX_SAFE_INTEGER - index,
    totalMs: (index * 997) % 200_000,
  }),
  settled: index % 6 !== 0,
});

/** The call as it is known when its process has not ended before. */
const settled = (row: LedgerRow): LedgerRow => ({
  record: { ...row.record, status: 200, totalMs: row.record.totalMs + 1 },
  settled: true,
});

type Sums = Readonly<Record<string, readonly bigint[]>>;
type Row = Readonly<Record<string, bigint | number | string>>;

const keyOf = (row: Row, columns: readonly string[]): string => columns.map((column) => row[column]).join();

async function rowsIn(db: Kysely<CallSchema>, table: string): Promise<readonly Row[]> {
  return (await sql<Row>`select * from ${sql.table(table)}`.execute(db)).rows;
}

const wholeIn = (row: Row, column: string): bigint =>
  row[column] === undefined
    ? BigInt(row[`${column}_high`]!) * 1_000_000_000n + BigInt(row[`${column}_low`]!)
    : BigInt(row[column]);

/** What a roll-up has to hold: the sums that it is made of. */
function addedUp(rows: readonly Row[], { of, time, spanMs, dimensions }: RollUp): Sums {
  const added: Record<string, bigint[]> = {};
  for (const row of rows) {
    const atMs = Number(row[of.time]);
    const own = (added[keyOf({ ...row, [time]: atMs - (atMs % spanMs) }, [time, ...dimensions])] ??= SUM_COLUMNS.map(
      () => 0n,
    ));
    for (const [index, column] of SUM_COLUMNS.entries()) own[index]! += wholeIn(row, column);
  }
  return added;
}

async function agree(db: Kysely<CallSchema>): Promise<void> {
  for (const rollUp of ROLL_UPS)
    expect<Readonly<Record<string, Sums>>>({
      [rollUp.table]: Object.fromEntries(
        (await rowsIn(db, rollUp.table)).map((row) => [
          keyOf(row, [rollUp.time, ...rollUp.dimensions]),
          SUM_COLUMNS.map((column) => wholeIn(row, column)),
        ]),
      ),
    }).toEqual({ [rollUp.table]: addedUp(await rowsIn(db, rollUp.of.table), rollUp) });
}

const action = fc.record({
  isSettled: fc.boolean(),
  from: fc.nat(200),
  count: fc.integer({ min: 1, max: 30 }),
});
const rowsOf = ({ from, count }: { readonly from: number; readonly count: number }) =>
  Array.from({ length: count }, (_, index) => callAt(from + index));

function rollUpSuite(name: string, isMissing: boolean, open: () => Promise<Opened>): void {
  describe.skipIf(isMissing)(name, () => {
    test("[d14.3] roll-ups are the sums of their hours at any moment, whatever arrives or is corrected", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 12 }), async (actions) => {
          const { db, inserts, close } = await open();
          try {
            for (const { isSettled, ...some } of actions) {
              const rows = isSettled ? rowsOf(some).map(settled) : rowsOf(some);
              await ingestCalls(db, rows.map(incomingOf), undefined, inserts);
              await agree(db);
            }
          } finally {
            await close();
          }
        }),
        { numRuns: drawCount(12, 300) },
      );
    });

    test("[d14.3] gateways write beside each other, and no sum is lost or added twice", async () => {
      const { db, inserts, close } = await open();
      // The ledger does so as well: of transactions that wait for each other, the database ends one.
      const write = async (rows: readonly LedgerRow[]): Promise<void> => {
        for (;;) {
          try {
            return await ingestCalls(db, rows.map(incomingOf), undefined, inserts);
          } catch (error) {
            if (!String(error).includes("deadlock")) throw error;
          }
        }
      };
      await write(rowsOf({ from: 0, count: 200 }));
      await Promise.all(Array.from({ length: 16 }, (_, index) => write(rowsOf({ from: 100 + index * 20, count: 40 }))));
      await Promise.all([0, 100, 200, 300].map((from) => write(rowsOf({ from, count: 150 }).map(settled))));
      await agree(db);
      await close();
    });
  });
}

rollUpSuite("in SQLite", false, openSqlite);
rollUpSuite("in PostgreSQL", postgres === null, openPostgres);
