// How calls are inserted into SQLite: a statement for one row, prepared once and run for each row. A statement for many
// rows takes twice the time, because SQLite finds each of its thousands of parameters by a search.
import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import { BlockWriter } from "./call-blocks.ts";
import type { CallInserts } from "./call-insert.ts";
import { SUM_COLUMNS } from "./call-schema.ts";
import { addingSums, KEYS } from "../sums/call-sums.ts";

type Insert = Statement<unknown, SQLQueryBindings[]>;

/**
 * Uses the connection of the transactions, during their turns. `explain` turns an error of SQLite into the one that is
 * thrown.
 */
export function sqliteInserts(database: Database, explain: (error: unknown) => unknown): CallInserts {
  const statements = new Map<string, Insert>();
  const prepared = (table: string, columns: readonly string[], rest: string): Insert =>
    statements.getOrInsertComputed(table, () =>
      database.prepare(
        `insert into "${table}" (${names(columns)}) values (${columns.map(() => "?").join(", ")}) ${rest}`,
      ),
    );
  const explained = async <T>(run: () => T): Promise<T> => {
    try {
      return run();
    } catch (error) {
      throw explain(error);
    }
  };
  return {
    blocks: new BlockWriter(),
    withTables: (_db, _timesMs, run) => run(),
    calls: (_, rows) =>
      explained(() => {
        if (rows.length === 0) return new Set();
        // All rows have their members in one order, that of rowOf().
        const insert = prepared("call", Object.keys(rows[0]!), "on conflict (id) do nothing");
        return new Set(rows.filter((row) => insert.run(...Object.values(row)).changes === 0));
      }),
    tags: (_, rows) =>
      explained(() => {
        if (rows.length === 0) return;
        const insert = prepared(
          "call_tag",
          ["tag", "id", "tenant_id", "project_id"],
          "on conflict (tag, id) do nothing",
        );
        for (const { tag, id, tenant_id, project_id } of rows) insert.run(tag, id, tenant_id, project_id);
      }),
    // SQLite has one writer at a time.
    lockSums: async () => {},
    addUp: (_, table, rows) =>
      explained(() => {
        if (rows.length === 0) return;
        const raise = prepared(table, [...KEYS[table], ...SUM_COLUMNS], addingSums(table));
        for (const { key, sums } of rows) raise.run(...KEYS[table].map((column) => key[column]!), ...sums);
      }),
  };
}

const names = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join(", ");
