// How calls are inserted into SQLite: a statement for one row, prepared once and run for each row. A statement for many
// rows takes twice the time, because SQLite finds each of its thousands of parameters by a search.
import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import { raisedSum, type SumRow } from "./call-columns.ts";
import type { CallInserts, SumTable } from "./call-ingest.ts";
import { CALL_COLUMNS, DETAIL_COLUMNS, SUM_COLUMNS, TAG_COLUMNS } from "./call-schema.ts";

type Insert = Statement<unknown, SQLQueryBindings[]>;

/**
 * Uses the connection of the transactions, during their turns. `explain` turns an error of SQLite into the one that is
 * thrown.
 */
export function sqliteInserts(database: Database, explain: (error: unknown) => unknown): CallInserts {
  const statements = new Map<string, Insert>();
  const prepared = (table: string, columns: readonly string[], rest: string): Insert => {
    const known = statements.get(table);
    if (known !== undefined) return known;
    const statement = database.prepare<unknown, SQLQueryBindings[]>(
      `insert into "${table}" (${names(columns)}) values (${columns.map(() => "?").join(", ")}) ${rest}`,
    );
    statements.set(table, statement);
    return statement;
  };
  const explained = async <T>(run: () => T): Promise<T> => {
    try {
      return run();
    } catch (error) {
      throw explain(error);
    }
  };
  return {
    calls: (_, rows) =>
      explained(() => {
        const insert = prepared("call", CALL_COLUMNS, "on conflict (trace_id) do nothing");
        return rows.filter(({ columns }) => insert.run(...CALL_COLUMNS.map((column) => columns[column])).changes > 0);
      }),
    details: (_, rows) =>
      explained(() => {
        const insert = prepared("call_detail", DETAIL_COLUMNS, "on conflict (trace_id) do nothing");
        for (const { columns, detail } of rows) insert.run(columns.trace_id, columns.time_ms, detail);
      }),
    tags: (_, rows) =>
      explained(() => {
        if (rows.length === 0) return;
        const insert = prepared("call_tag", TAG_COLUMNS, "on conflict (tag, time_ms, trace_id) do nothing");
        for (const row of rows) insert.run(...TAG_COLUMNS.map((column) => row[column]));
      }),
    addUp: (_, table, rows) =>
      explained(() => {
        if (rows.length === 0) return;
        const raise = sumsInto(table, rows[0]!);
        for (const row of rows) raise.run(...bindingsOf(row));
      }),
  };

  function sumsInto(table: SumTable, { key }: SumRow): Insert {
    const keys = Object.keys(key);
    return prepared(
      table,
      [...keys, ...SUM_COLUMNS],
      `on conflict (${names(keys)}) do update set ${SUM_COLUMNS.map((column) => raisedSum(table, column)).join(", ")}`,
    );
  }
}

const names = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join(", ");

function bindingsOf({ key, sums }: SumRow): SQLQueryBindings[] {
  return [...Object.values(key), ...sums];
}
