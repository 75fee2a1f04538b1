// Every migration, from every earlier schema with rows in each of its tables: afterwards every row is there, with the values
// that it had.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIMENSION_COLUMNS } from "../../src/store/calls/call-schema.ts";
import type { Database } from "../../src/store/database/database.ts";
import { HISTORY, migrate } from "../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import { COPIED_TABLES } from "../../src/store/copies/stored-tables.ts";
import { columnsOf } from "../../src/store/copies/table-copies.ts";
import { fillDatabase, rowsOf } from "../harness/filled-database.ts";
import { postgresDatabases } from "../harness/postgres-server.ts";

const ROWS = 3;
/** The migration that sets calls aside and writes names in sums as numbers. */
const REORDERED = "0018-calls-in-order";

const folder = mkdtempSync(join(tmpdir(), "dragoman-every-migration-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});

interface Compared {
  readonly table: string;
  /** Its name after the migrations. */
  readonly now: string;
  readonly columns: readonly string[];
}

/** What stays comparable of the tables of a schema. */
async function comparedOf({ db }: Database, last: string): Promise<readonly Compared[]> {
  const isEarlier = last < REORDERED;
  const names = new Set([...COPIED_TABLES.map(({ name }) => name), "call_detail"]);
  return [...(await columnsOf(db))].flatMap(([table, columns]): readonly Compared[] => {
    if (!names.has(table)) return [];
    const all = columns.map(({ name }) => name);
    if (!isEarlier || !table.startsWith("call")) return [{ table, now: table, columns: all }];
    // Tags are made again when the call is moved (earlier-calls.test.ts).
    if (table === "call_tag") return [];
    if (table === "call" || table === "call_detail") return [{ table, now: `earlier_${table}`, columns: all }];
    if (!/hour|day/.test(table)) return [{ table, now: table, columns: all }];
    return [
      { table, now: table, columns: all.filter((name) => !(DIMENSION_COLUMNS as readonly string[]).includes(name)) },
    ];
  });
}

async function keepsEveryRow(database: Database, last: string): Promise<void> {
  const { db, name, store } = database;
  try {
    await migrate(db, name, { last });
    await fillDatabase(db, ROWS);
    const compared = await comparedOf(database, last);
    const before = await Promise.all(compared.map(({ table, columns }) => rowsOf(db, table, columns)));
    expect(before.flatMap((rows) => (rows.length === ROWS ? [] : [rows]))).toEqual([]);
    await store.migrate();
    for (const [index, { now, columns }] of compared.entries())
      expect([now, await rowsOf(db, now, columns)]).toEqual([now, before[index]!]);
  } finally {
    await store.close();
  }
}

describe("a database of every earlier schema is migrated with a row in each table", () => {
  for (const last of Object.keys(HISTORY.migrations)) {
    test(`[d15.4] SQLite after ${last}`, async () =>
      keepsEveryRow(await openSqliteDatabase({ file: join(folder, `${last}.db`) }), last));

    test.skipIf(server === null)(`[d15.4] PostgreSQL after ${last}`, async () =>
      keepsEveryRow(openPostgresDatabase({ url: await server!.newDatabase() }), last),
    );
  }
});
