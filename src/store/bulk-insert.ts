// Inserts many rows with one statement, whose text is built once for each number of rows: building and compiling it for
// every batch would take longer than the database does.
import { CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import { memoizePerObject } from "../core/memoization.ts";
import type { CallSchema } from "./call-schema.ts";

/** The most rows in one statement, because databases limit the number of its parameters. */
export const ROWS_AT_ONCE = 100;

/** The texts of statements, which live as long as the connection. */
const textsOf = memoizePerObject((_adapter: object) => new Map<string, string>());

/**
 * Inserts at most ROWS_AT_ONCE rows, which have the members `columns`, and returns what `rest` returns. `rest` follows
 * the values and must be the same for the same table and columns.
 */
export async function insertMany<Returned>(
  db: Kysely<CallSchema>,
  table: string,
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
  rest: () => RawBuilder<unknown>,
): Promise<readonly Returned[]> {
  if (rows.length === 0) return [];
  const parameters: unknown[] = [];
  for (const row of rows) for (const column of columns) parameters.push(row[column]);
  // raw() would freeze the parameters, which takes as long as everything else together.
  const { rows: returned } = await db.executeQuery<Returned>({
    ...CompiledQuery.raw(textOf(db, table, columns, rows.length, rest)),
    parameters,
  });
  return returned;
}

/** Compiles the text in the database's own way. */
function textOf(
  db: Kysely<CallSchema>,
  table: string,
  columns: readonly string[],
  count: number,
  rest: () => RawBuilder<unknown>,
): string {
  const { adapter } = db.getExecutor();
  const known = textsOf(adapter);
  const key = `${table} ${count}`;
  let text = known.get(key);
  if (text === undefined) {
    const row = sql`(${sql.join(columns.map(() => sql`${null}`))})`;
    const values = sql.join(Array.from({ length: count }, () => row));
    text =
      sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) values ${values} ${rest()}`.compile(
        db,
      ).sql;
    known.set(key, text);
  }
  return text;
}
