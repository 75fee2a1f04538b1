// Rows in every table of a database, made from its columns, so that whatever copies a database is tested with all of it.
import { type Kysely, sql } from "kysely";
import { firstKeyAt } from "../../../src/store/calls/call-keys.ts";
import { WATCHED } from "../../../src/store/migrations.ts";
import type { Schema } from "../../../src/store/schema.ts";
import { COPIED_TABLES, type PartedTable } from "../../../src/store/copies/stored-tables.ts";
import { columnsOf, followNumbers, insertRows, provideDays } from "../../../src/store/copies/table-copies.ts";
import type { TableRow, StoredTable } from "../../../src/store/database/pages.ts";
import { usesPostgres } from "../../../src/store/database/dialect.ts";
import { ROLL_UPS } from "../../../src/store/sums/roll-up-triggers.ts";

type Db = Kysely<Schema>;

/** What references lead to; the first row of each table has the number 0. */
const REFERENCES: Readonly<Record<string, (row: number) => unknown>> = {
  tenant_id: () => "id-0",
  project_id: () => "id-0",
  user_id: () => "id-0",
  token_id: () => "id-0",
  event_id: (row) => `id-${row}`,
  version: (row) => BigInt(row),
  kind: () => "project",
  role: () => "developer",
  permissions: () => "[]",
  models: () => "[]",
  routes: () => "[]",
  tools: () => "[]",
  ip_ranges: () => "[]",
};
/** Where the references of the table are none. */
const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, (row: number) => unknown>>>> = {
  revisions: { name: (row) => (row === 0 ? WATCHED : `name-${row}`) },
  access_tokens: { user_id: () => null, permissions: () => "[]" },
  version_changes: { value_before: () => null, value_after: () => "{}" },
  memberships: { user_id: (row) => `id-${row}` },
  provider_drains: { tenant_id: (row) => `id-${row}` },
  content_key: { tenant_id: (row) => `tenant-${row}` },
};
const FIRST_MS = 1_795_000_000_000;

/** Replaces what is there by so many rows in each table, all alike in databases of any kind. */
export async function fillDatabase(db: Db, rows: number): Promise<void> {
  const columns = await columnsOf(db);
  if (usesPostgres(db)) {
    const hour = Math.floor(FIRST_MS / 3_600_000);
    await provideDays(db, hour, hour);
  }
  await db.transaction().execute(async (tx) => {
    for (const { name } of COPIED_TABLES.toReversed()) await sql`delete from ${sql.table(name)}`.execute(tx);
    for (const table of COPIED_TABLES) {
      const of = columns.get(table.name) ?? [];
      const made = Array.from({ length: rows }, (_, row) =>
        Object.fromEntries(of.map(({ name, kind }) => [name, valueOf(table, name, kind === "number", row)])),
      );
      await insertRows(tx, table, made);
    }
    await followNumbers(tx);
  });
}

function valueOf(table: StoredTable | PartedTable, column: string, isNumber: boolean, row: number): unknown {
  const own = EXCEPTIONS[table.name]?.[column];
  if (own !== undefined) return own(row);
  if (column === "body" && /block|content/.test(table.name)) return Buffer.from([0, 255, row, 10]);
  if (isNumber && "part" in table && table.part.column === column) return partNumber(column, row);
  if (isNumber) return BigInt(row);
  return REFERENCES[column]?.(row) ?? (column === "document" ? `{"näme":"✓ ${row}"}` : `${column}-${row}`);
}

function partNumber(column: string, row: number): bigint {
  if (column === "id") return firstKeyAt(FIRST_MS) + BigInt(row);
  return column === "sequence" ? BigInt(row) : BigInt(FIRST_MS) + BigInt(row) * 86_400_000n;
}

/** The rows of a table with these columns alone, in an order that does not depend on the database. */
export async function rowsOf(db: Db, table: string, columns: readonly string[]): Promise<readonly string[]> {
  const { rows } =
    await sql<TableRow>`select ${sql.join(columns.map((name) => sql.ref(name)))} from ${sql.table(table)}`.execute(db);
  return rows.map(textOf).toSorted();
}

/** All rows of all tables that are copied and of the roll-ups, in an order that does not depend on the database. */
export async function allRows(db: Db): Promise<Readonly<Record<string, readonly string[]>>> {
  const all: Record<string, readonly string[]> = {};
  for (const name of [...COPIED_TABLES.map((copied) => copied.name), ...ROLL_UPS.map(({ table }) => table)]) {
    const { rows } = await sql<TableRow>`select * from ${sql.table(name)}`.execute(db);
    all[name] = rows.map(textOf).toSorted();
  }
  return all;
}

const textOf = (row: TableRow): string =>
  JSON.stringify(
    Object.keys(row)
      .toSorted()
      .map((column) => {
        const value = row[column];
        if (value instanceof Uint8Array) return [column, Buffer.from(value).toString("hex")];
        return [column, typeof value === "bigint" || typeof value === "number" ? String(value) : value];
      }),
  );
