// Makes the rows of a table in one database equal to those in another one. Tables are compared in parts, by counts and
// sums that each database works out itself, and only parts that differ are copied: what was copied before an
// interruption, or has not changed since, is not copied again.
import { type Kysely, sql } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { inParts } from "../database/in-parts.ts";
import { CallPartitions } from "../calls/call-partitions.ts";
import type { Schema } from "../schema.ts";
import type { PartedTable, StoredTable } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import { codeOf } from "../../core/thrown.ts";

type Db = Kysely<Schema>;
/** Any table by its name, with any columns. */
type AnyDb = Kysely<Record<string, Row>>;
export type Row = Readonly<Record<string, unknown>>;

/** Rows that are read at once, unless the table says otherwise. A block of calls has some kilobytes. */
const PAGE = 500;
/** Rows of parts that are copied in one transaction. */
const ROWS_TOGETHER = 20_000;
/** Values of one statement; both databases take more than twice as many. */
const VALUES_AT_ONCE = 12_000;
/** So large that a sum of them over all rows is a number that both databases can hold. */
const MODULUS = 1_000_003;
const HOUR_MS = 3_600_000;

export interface Column {
  readonly name: string;
  readonly kind: "number" | "text" | "bytes";
}

/** The columns of each table, by its name. */
export type Columns = ReadonlyMap<string, readonly Column[]>;

/** What a part holds: the number of its rows, and sums by which a changed row shows. */
export interface PartDigest {
  readonly rows: number;
  readonly sums: string;
}
export type Digests = ReadonlyMap<number, PartDigest>;

export async function columnsOf(db: Db): Promise<Columns> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: false });
  return new Map(
    tables.map(({ name, columns }) => [
      name,
      columns
        .map(({ name: column, dataType }) => ({ name: column, kind: kindOf(dataType) }))
        .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    ]),
  );
}

const kindOf = (dataType: string): Column["kind"] => {
  if (/bytea|blob/i.test(dataType)) return "bytes";
  return /char|text/i.test(dataType) ? "text" : "number";
};

/** By parts; a table that has none is one part with the number 0. */
export async function digestsOf(db: Db, columns: Columns, table: StoredTable | PartedTable): Promise<Digests> {
  const of = columns.get(table.name) ?? [];
  const part = "part" in table ? `${table.part.column} / ${table.part.size}` : "0";
  const sums = of.map(({ name, kind }) => {
    const value = kind === "number" ? `("${name}" % ${MODULUS})` : `length("${name}")`;
    return `coalesce(sum(cast(${value} as bigint)), 0) as "${name}", count("${name}") as "count_${name}"`;
  });
  const { rows } = await sql
    .raw<Row>(`select ${part} as part_number, count(*) as part_rows, ${sums.join(", ")} from ${table.name} group by 1`)
    .execute(db);
  return new Map(
    rows.map(({ part_number: number, part_rows: count, ...rest }) => [
      Number(number),
      {
        rows: Number(count),
        sums: of.map(({ name }) => `${String(rest[name])}/${String(rest[`count_${name}`])}`).join(" "),
      },
    ]),
  );
}

export const rowsIn = (digests: Digests): number => [...digests.values()].reduce((sum, { rows }) => sum + rows, 0);

/** The parts that differ, in ascending order. */
export function differingParts(one: Digests, other: Digests): readonly number[] {
  const numbers = new Set([...one.keys(), ...other.keys()]);
  return [...numbers]
    .filter(
      (number) =>
        one.get(number)?.sums !== other.get(number)?.sums || one.get(number)?.rows !== other.get(number)?.rows,
    )
    .toSorted((a, b) => a - b);
}

/** Copies what is missing or differs. Calls back after each transaction. Returns how many rows were copied. */
export async function copyParts(
  source: Db,
  target: Db,
  columns: Columns,
  table: PartedTable,
  onStep: () => Promise<void>,
): Promise<number> {
  const there = await digestsOf(source, columns, table);
  const here = await digestsOf(target, columns, table);
  let copied = 0;
  for (const { from, to } of rangesOf(differingParts(there, here), there)) {
    const { column, size } = table.part;
    const bounds = sql<boolean>`${sql.ref(column)} >= ${BigInt(from) * BigInt(size)} and ${sql.ref(column)} < ${BigInt(to + 1) * BigInt(size)}`;
    if (table.isByDay && usesPostgres(target)) await provideDays(target, from, to);
    copied += await target.transaction().execute(async (tx) => {
      await sql`delete from ${sql.table(table.name)} where ${bounds}`.execute(tx);
      let rows = 0;
      for await (const page of pagesOf(source, table, bounds)) {
        await insertCopied(tx, table, page);
        rows += page.length;
      }
      return rows;
    });
    await onStep();
  }
  return copied;
}

/** Replaces all rows of these tables in one transaction. */
export async function copyWhole(source: Db, target: Db, tables: readonly StoredTable[]): Promise<void> {
  await target.transaction().execute(async (tx) => {
    for (const { name } of tables.toReversed()) await sql`delete from ${sql.table(name)}`.execute(tx);
    for (const table of tables) for await (const page of pagesOf(source, table)) await insertCopied(tx, table, page);
    await followNumbers(tx);
  });
}

/** PostgreSQL gives numbers to names by itself, and has to go on behind those that were given elsewhere. */
export async function followNumbers(db: Db): Promise<void> {
  if (!usesPostgres(db)) return;
  await sql`select setval(pg_get_serial_sequence('call_name', 'number'), (select coalesce(max(number), 0) + 1 from call_name), false)`.execute(
    db,
  );
}

/** Makes the tables that PostgreSQL needs for calls of these hours. */
export async function provideDays(db: Db, fromHour: number, toHour: number): Promise<void> {
  const hours = Array.from({ length: toHour - fromHour + 1 }, (_, index) => (fromHour + index) * HOUR_MS);
  await new CallPartitions().provide(db, hours);
}

export async function hasRows(db: Db, table: string): Promise<boolean> {
  return (await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)).rows.length > 0;
}

/** All rows, or those within bounds, in pages. */
export async function* pagesOf(
  db: Db,
  { name, key, page = PAGE }: StoredTable,
  bounds = sql<boolean>`1 = 1`,
): AsyncIterable<readonly Row[]> {
  const order = key.map((column) => sql.ref(column));
  let after = bounds;
  for (;;) {
    const paged = key.length === 0 ? sql`` : sql` order by ${sql.join(order)} limit ${sql.lit(page)}`;
    const { rows } = await sql<Row>`select * from ${sql.table(name)} where ${after}${paged}`.execute(db);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (key.length === 0 || last === undefined || rows.length < page) return;
    after = sql<boolean>`${bounds} and (${sql.join(order)}) > (${sql.join(key.map((column) => sql.val(last[column])))})`;
  }
}

export async function insertRows(db: Db, { name }: StoredTable, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const atOnce = Math.max(1, Math.floor(VALUES_AT_ONCE / Object.keys(rows[0]!).length));
  for (const some of inParts(rows, atOnce)) await (db as unknown as AnyDb).insertInto(name).values(some).execute();
}

async function insertCopied(db: Db, table: StoredTable, rows: readonly Row[]): Promise<void> {
  try {
    await insertRows(db, table, rows);
  } catch (error) {
    if (!hasUnstorableText(error)) throw error;
    throw new StoreError(
      "invalid",
      `A row of the table ${table.name} has a text with the character U+0000, which PostgreSQL cannot store. Correct that row, and run the same command again, which goes on.`,
      error,
    );
  }
}

/** Whether PostgreSQL refused the character U+0000. */
export const hasUnstorableText = (error: unknown): boolean => ["22021", "22P05"].includes(codeOf(error));

/** Neighbouring parts together, as long as they have few rows. */
function rangesOf(
  parts: readonly number[],
  digests: Digests,
): readonly { readonly from: number; readonly to: number }[] {
  const ranges: { from: number; to: number; rows: number }[] = [];
  for (const part of parts) {
    const rows = digests.get(part)?.rows ?? 0;
    const last = ranges.at(-1);
    if (last !== undefined && last.to === part - 1 && last.rows + rows <= ROWS_TOGETHER) {
      last.to = part;
      last.rows += rows;
    } else ranges.push({ from: part, to: part, rows });
  }
  return ranges;
}
