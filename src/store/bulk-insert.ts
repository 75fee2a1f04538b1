// Inserts many rows with one statement, whose text is built once for each number of rows: building and compiling it for
// every batch would take longer than the database does.
import { CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";

/** The most rows in one statement, because databases limit the number of its parameters. */
export const ROWS_AT_ONCE = 100;

export type InsertMany = <Returned>(
  db: Kysely<CallSchema>,
  table: string,
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
  rest: () => RawBuilder<unknown>,
) => Promise<readonly Returned[]>;

/**
 * The function inserts at most ROWS_AT_ONCE rows, which have the members `columns`, and returns what `rest` returns.
 * `rest` follows the values and must be the same for the same table and columns, and `db` must be the same database.
 */
export function openBulkInsert(): InsertMany {
  const texts = new Map<string, string>();
  return async <Returned>(...[db, table, columns, rows, rest]: Parameters<InsertMany>) => {
    if (rows.length === 0) return [];
    const key = `${table} ${rows.length}`;
    let text = texts.get(key);
    if (text === undefined) texts.set(key, (text = textOf(db, table, columns, rows.length, rest)));
    const parameters: unknown[] = [];
    for (const row of rows) for (const column of columns) parameters.push(row[column]);
    // raw() would freeze the parameters, which takes as long as everything else together.
    const { rows: returned } = await db.executeQuery<Returned>({ ...CompiledQuery.raw(text), parameters });
    return returned;
  };
}

/** Compiles the text in the database's own way. */
function textOf(
  db: Kysely<CallSchema>,
  table: string,
  columns: readonly string[],
  count: number,
  rest: () => RawBuilder<unknown>,
): string {
  const row = sql`(${sql.join(columns.map(() => sql`${null}`))})`;
  const values = sql.join(Array.from({ length: count }, () => row));
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql`insert into ${sql.table(table)} (${names}) values ${values} ${rest()}`.compile(db).sql;
}
