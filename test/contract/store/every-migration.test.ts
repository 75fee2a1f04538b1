// Every migration, from the schema before it with rows in each of its tables: afterwards every row is there, with the
// values that it had. Two made-up migrations stand for those of versions to come.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import type { SchemaHistory } from "../../../src/store/database/contractions.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { HISTORY, migrate } from "../../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { COPIED_TABLES } from "../../../src/store/copies/stored-tables.ts";
import { columnsOf } from "../../../src/store/copies/table-copies.ts";
import { fillDatabase, rowsOf } from "../../harness/servers/filled-database.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";

const ROWS = 3;
const NEXT_HISTORY: SchemaHistory = {
  ...HISTORY,
  migrations: {
    ...HISTORY.migrations,
    "9000-remarks": {
      async up(db) {
        await sql`alter table projects add column remark text`.execute(db);
        await sql`alter table call_hour add column retries bigint not null default 0`.execute(db);
      },
    },
    "9001-notes": {
      up: async (db) => void (await sql`create table notes (id text primary key)`.execute(db)),
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), "dragoman-every-migration-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});

async function keepsEveryRow({ db, name, store }: Database, last: string): Promise<void> {
  try {
    await migrate(db, name, { last, history: NEXT_HISTORY });
    await fillDatabase(db, ROWS);
    const columns = await columnsOf(db);
    const rowsIn = (table: string): Promise<readonly string[]> =>
      rowsOf(
        db,
        table,
        columns.get(table)!.map((column) => column.name),
      );
    const before = await Promise.all(COPIED_TABLES.map((table) => rowsIn(table.name)));
    expect(before.flatMap((rows) => (rows.length === ROWS ? [] : [rows]))).toEqual([]);
    await migrate(db, name, { history: NEXT_HISTORY });
    for (const [index, table] of COPIED_TABLES.entries())
      expect([table.name, await rowsIn(table.name)]).toEqual([table.name, before[index]!]);
    expect([...(await columnsOf(db)).keys()]).toContain("notes");
  } finally {
    await store.close();
  }
}

describe("a database of every earlier schema is migrated with a row in each table", () => {
  for (const last of Object.keys(NEXT_HISTORY.migrations)) {
    test(`[d15.4] SQLite after ${last}`, async () =>
      keepsEveryRow(await openSqliteDatabase({ file: join(folder, `${last}.db`) }), last));

    test.skipIf(server === null)(`[d15.4] PostgreSQL after ${last}`, async () =>
      keepsEveryRow(openPostgresDatabase({ url: await server!.newDatabase() }), last),
    );
  }
});
