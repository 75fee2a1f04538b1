// How calls are inserted into PostgreSQL: one statement for many rows, whose parameters are one array for each column.
// The statement is the same for any number of rows. https://www.postgresql.org/docs/current/functions-array.html
import { CompiledQuery, type Transaction } from "kysely";
import { BlockWriter } from "./call-blocks.ts";
import type { CallInserts } from "./call-insert.ts";
import { POSTGRES_TYPES } from "./call-tables.ts";
import { CallPartitions } from "./call-partitions.ts";
import { CALL_COLUMN_TYPES, CALL_COLUMNS } from "./call-column-types.ts";
import { type CallSchema, SUM_COLUMNS } from "./call-schema.ts";
import { inParts } from "../database/in-parts.ts";
import { lockRollUps } from "../sums/roll-up-triggers.ts";
import { addingSums, KEYS, type SumTable } from "../sums/call-sums.ts";

interface Columns {
  readonly table: string;
  /** Names and types in PostgreSQL. */
  readonly columns: readonly (readonly [name: string, type: string])[];
  readonly rest: string;
}

const CALLS: Columns = {
  table: "call",
  columns: CALL_COLUMNS.map((name) => [name, POSTGRES_TYPES[CALL_COLUMN_TYPES[name]]]),
  rest: "on conflict (id) do nothing returning trace_id",
};
const TAGS: Columns = {
  table: "call_tag",
  columns: [
    ["tag", "text"],
    ["id", "int8"],
    ["tenant_id", "int4"],
    ["project_id", "int4"],
  ],
  rest: "on conflict (tag, id) do nothing",
};
const sumsOf = (table: SumTable): Columns => ({
  table,
  columns: [
    ...KEYS[table].map((key) => [key, key.endsWith("_ms") ? "int8" : key === "end_user" ? "text" : "int4"] as const),
    ...SUM_COLUMNS.map((column) => [column, "int8"] as const),
  ],
  rest: addingSums(table),
});
const SUMS: Readonly<Record<SumTable, Columns>> = {
  call_hour: sumsOf("call_hour"),
  call_user_day: sumsOf("call_user_day"),
};

/** Rows for one statement: more would make its parameters needlessly large. */
const ROWS_AT_ONCE = 1000;

export function postgresInserts(): CallInserts {
  const partitions = new CallPartitions();
  return {
    blocks: new BlockWriter(),
    withTables: (db, timesMs, run) => partitions.providing(db, timesMs, run),
    async calls(tx, rows) {
      const added = await insertAll<{ readonly trace_id: string }>(tx, CALLS, rows);
      const ids = new Set(added.map(({ trace_id: id }) => id));
      return new Set(rows.filter((row) => !ids.has(row.trace_id)));
    },
    tags: async (tx, rows) => void (await insertAll(tx, TAGS, rows)),
    lockSums: lockRollUps,
    addUp: async (tx, table, rows) =>
      void (await insertAll(
        tx,
        SUMS[table],
        rows.map(({ key, sums }) => ({
          ...key,
          ...Object.fromEntries(SUM_COLUMNS.map((column, index) => [column, sums[index]!])),
        })),
      )),
  };
}

async function insertAll<Returned>(
  tx: Transaction<CallSchema>,
  { table, columns, rest }: Columns,
  rows: readonly object[],
): Promise<readonly Returned[]> {
  const returned: Returned[] = [];
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  const text = `insert into "${table}" (${columns.map(([name]) => `"${name}"`).join(", ")}) select * from unnest(${arrays}) ${rest}`;
  for (const part of inParts(rows as readonly Readonly<Record<string, unknown>>[], ROWS_AT_ONCE)) {
    const parameters = columns.map(([name]) => part.map((row) => row[name]));
    // raw() would freeze the parameters, which takes as long as everything else together.
    returned.push(...(await tx.executeQuery<Returned>({ ...CompiledQuery.raw(text), parameters })).rows);
  }
  return returned;
}
