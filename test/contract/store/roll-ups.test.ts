// Roll-ups are the sums of what they are made of at every moment: while calls arrive, are corrected, and come late; while what was there before them is
// added in steps; and whichever version of the gateway writes.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Kysely, PostgresAdapter, sql } from "kysely";
import { traceTimeOf } from "../../../src/core/ids.ts";
import { incomingOf, ingestCalls } from "../../../src/store/calls/call-ingest.ts";
import { type CallSchema, SUM_COLUMNS } from "../../../src/store/calls/call-schema.ts";
import type { CallInserts } from "../../../src/store/calls/call-insert.ts";
import type { LedgerRow } from "../../../src/store/journal/ledger.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { postgresInserts } from "../../../src/store/calls/postgres-inserts.ts";
import {
  createRollUpGroup,
  ROLL_UP_GROUPS,
  type RollUp,
  type TimedTable,
} from "../../../src/store/sums/roll-up-triggers.ts";
import { rolledFrom, rollUpNewest } from "../../../src/store/sums/roll-ups.ts";
import { openDatabase } from "../../../src/store/database/sqlite-connection.ts";
import { sqliteInserts } from "../../../src/store/calls/sqlite-inserts.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { DAY_ONE, HOUR_MS, recordOf } from "./call-records.ts";

/** How many groups of roll-ups a former version has. */
const FORMER_GROUPS = [0, 1] as const;
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

/** Leaves the database as a version with so many groups of roll-ups makes it; what adds the others is returned. */
async function formerSchema(wider: Kysely<CallSchema>, groups: number): Promise<() => Promise<void>> {
  const db = wider as Kysely<unknown>;
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const later = ROLL_UP_GROUPS.slice(groups);
  for (const { of, triggers, rolled, rollUps } of later) {
    for (const change of ["insert", "update", "delete"]) {
      await sql.raw(`drop trigger ${triggers}_${change}${isPostgres ? ` on ${of.table}` : ""}`).execute(db);
      if (isPostgres) await sql.raw(`drop function ${triggers}_${change}`).execute(db);
    }
    for (const table of [rolled, ...rollUps.map((rollUp) => rollUp.table)]) await db.schema.dropTable(table).execute();
  }
  return async () => {
    await db.transaction().execute(async (tx) => {
      for (const group of later) await createRollUpGroup(tx, group);
    });
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

/** What a roll-up has to hold: the sums that it is made of, from one time on. */
function addedUp(rows: readonly Row[], fromMs: number, rollUp: RollUp, of: TimedTable): Sums {
  const added: Record<string, bigint[]> = {};
  for (const row of rows) {
    const atMs = Number(row[of.time]);
    if (atMs < fromMs) continue;
    const rolled = { ...row, [rollUp.time]: atMs - (atMs % rollUp.spanMs) };
    const own = (added[keyOf(rolled, [rollUp.time, ...rollUp.dimensions])] ??= SUM_COLUMNS.map(() => 0n));
    for (const [index, column] of SUM_COLUMNS.entries()) own[index]! += wholeIn(row, column);
  }
  return added;
}

async function agree(db: Kysely<CallSchema>): Promise<void> {
  for (const group of ROLL_UP_GROUPS) {
    const fromMs = await rolledFrom(db, group);
    const sums = await rowsIn(db, group.of.table);
    for (const rollUp of group.rollUps)
      expect<Readonly<Record<string, Sums>>>({
        [rollUp.table]: Object.fromEntries(
          (await rowsIn(db, rollUp.table)).map((row) => [
            keyOf(row, [rollUp.time, ...rollUp.dimensions]),
            SUM_COLUMNS.map((column) => wholeIn(row, column)),
          ]),
        ),
      }).toEqual({ [rollUp.table]: addedUp(sums, fromMs, rollUp, group.of) });
  }
}

const action = fc.oneof(
  fc.record({ kind: fc.constant("calls" as const), from: fc.nat(200), count: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant("settled" as const), from: fc.nat(200), count: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant("step" as const), from: fc.nat(20), count: fc.constant(0) }),
);
const rowsOf = ({ from, count }: { readonly from: number; readonly count: number }) =>
  Array.from({ length: count }, (_, index) => callAt(from + index));

function rollUpSuite(name: string, isMissing: boolean, open: () => Promise<Opened>): void {
  describe.skipIf(isMissing)(name, () => {
    test("[d14.3] roll-ups are the sums of their hours at any moment, whatever arrives, is corrected or is added in steps", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...FORMER_GROUPS),
          fc.nat(150),
          fc.array(action, { minLength: 3, maxLength: 12 }),
          async (former, earlier, actions) => {
            const { db, inserts, close } = await open();
            const ingest = (rows: readonly LedgerRow[]) => ingestCalls(db, rows.map(incomingOf), undefined, inserts);
            try {
              const addGroups = await formerSchema(db, former);
              const before = rowsOf({ from: 40, count: earlier }).map(incomingOf);
              await ingestCalls(db, before, undefined, { ...inserts, lockSums: async () => {} });
              await addGroups();
              await agree(db);
              for (const one of actions) {
                if (one.kind === "step") await rollUpNewest(db, one.from);
                else await ingest(one.kind === "calls" ? rowsOf(one) : rowsOf(one).map(settled));
                await agree(db);
              }
              while ((await rollUpNewest(db, 50)) > 0);
              for (const group of ROLL_UP_GROUPS) expect(await rolledFrom(db, group)).toBe(0);
              await agree(db);
            } finally {
              await close();
            }
          },
        ),
        { numRuns: drawCount(12, 300) },
      );
    });

    test("[d14.3] gateways of this version and of the one before write beside each other and beside the steps, and no sum is lost or added twice", async () => {
      const { db, inserts, close } = await open();
      const addGroups = await formerSchema(db, FORMER_GROUPS[0]);
      const former: CallInserts = { ...inserts, lockSums: async () => {} };
      // The ledger and the steps do so as well: of transactions that wait for each other, the database ends one.
      const untilDone = async <T>(work: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await work();
          } catch (error) {
            if (!String(error).includes("deadlock")) throw error;
          }
        }
      };
      const write = (by: CallInserts, rows: readonly LedgerRow[]): Promise<void> =>
        untilDone(() => ingestCalls(db, rows.map(incomingOf), undefined, by));
      await write(former, rowsOf({ from: 0, count: 200 }));
      await addGroups();
      const steps = async (): Promise<void> => {
        while ((await untilDone(() => rollUpNewest(db, 5))) > 0);
      };
      const several = (by: CallInserts, from: number) =>
        Array.from({ length: 8 }, (_, index) => write(by, rowsOf({ from: from + index * 25, count: 40 })));
      await Promise.all([...several(inserts, 100), steps(), ...several(former, 220)]);
      await Promise.all([write(inserts, rowsOf({ from: 0, count: 400 }).map(settled)), steps()]);
      await agree(db);
      await close();
    });
  });
}

rollUpSuite("in SQLite", false, openSqlite);
rollUpSuite("in PostgreSQL", postgres === null, openPostgres);
