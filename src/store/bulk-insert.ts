// Many rows in one statement, whose text is made once for each number of rows: to build and compile it anew for every batch takes longer than the database does.
import { CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";

/** So many rows in one statement at most: databases bound the number of its parameters. */
export const ROWS_AT_ONCE = 100;

const texts = new WeakMap<object, Map<string, string>>();

/** `rest`: what stands behind the values; the same for the same table and columns. Rows have the members `columns`. At most ROWS_AT_ONCE rows. Gives what `rest` returns. */
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
  // not through raw(), which freezes them: that takes as long as all the rest
  const { rows: returned } = await db.executeQuery<Returned>({
    ...CompiledQuery.raw(textOf(db, table, columns, rows.length, rest)),
    parameters,
  });
  return returned;
}

/** By the database's own way to compile. */
function textOf(
  db: Kysely<CallSchema>,
  table: string,
  columns: readonly string[],
  count: number,
  rest: () => RawBuilder<unknown>,
): string {
  const { adapter } = db.getExecutor();
  let known = texts.get(adapter);
  if (known === undefined) texts.set(adapter, (known = new Map<string, string>()));
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
