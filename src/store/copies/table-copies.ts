// Makes the rows of a table in one database equal to those in another one. Tables are compared in parts, by counts and
// sums that each database works out itself, and only parts that differ are copied: what was copied before an
// interruption, or has not changed since, is not copied again.
import { type Kysely, type RawBuilder, sql } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { inParts } from "../database/in-parts.ts";
import { ANY, pagesOf, type TableRow, type StoredTable } from "../database/pages.ts";
import { CallPartitions } from "../calls/call-partitions.ts";
import type { Schema } from "../schema.ts";
import type { PartedTable } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import { codeOf } from "../../core/thrown.ts";

type Db = Kysely<Schema>;
/** Any table by its name, with any columns. */
type AnyDb = Kysely<Record<string, TableRow>>;

/** Rows of parts that are copied in one transaction. */
const ROWS_TOGETHER = 20_000;
/** A part with more rows than this that differs is compared in so many smaller ones, so that few rows are copied again. */
const DIVIDED_FROM = 2_000;
const DIVISIONS = 16;
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

/** Rows of which the column of their table's parts has a value from `from` on and below `to`. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Parts of a part, counted from its start. */
interface SmallerParts extends Range {
  readonly size: number;
}

const isWithin = ({ part }: PartedTable, { from, to }: Range): RawBuilder<boolean> =>
  sql<boolean>`${sql.ref(part.column)} >= ${from} and ${sql.ref(part.column)} < ${to}`;

/** By parts. */
export function digestsOf(db: Db, columns: Columns, table: StoredTable | PartedTable): Promise<Digests> {
  // a table without parts is one with the number 0
  return digestsBy(db, columns, table, "part" in table ? `${table.part.column} / ${table.part.size}` : "0", ANY);
}

/** By a whole number, of the rows that meet the condition. */
async function digestsBy(
  db: Db,
  columns: Columns,
  table: StoredTable,
  part: string,
  condition: RawBuilder<boolean>,
): Promise<Digests> {
  const of = columns.get(table.name) ?? [];
  const sums = of.map(({ name, kind }) => {
    const value = kind === "number" ? `("${name}" % ${MODULUS})` : `length("${name}")`;
    return `coalesce(sum(cast(${value} as bigint)), 0) as "${name}", count("${name}") as "count_${name}"`;
  });
  const selected = sql.raw(`${part} as part_number, count(*) as part_rows, ${sums.join(", ")}`);
  const { rows } =
    await sql<TableRow>`select ${selected} from ${sql.table(table.name)} where ${condition} group by 1`.execute(db);
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
  let copied = 0;
  for (const range of rangesOf(await differences(source, target, columns, table))) {
    const bounds = isWithin(table, range);
    if (table.isByDay && usesPostgres(target))
      await provideDays(target, hourOf(table, range.from), hourOf(table, range.to - 1n));
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

/** Of a table whose parts are hours. */
const hourOf = ({ part }: PartedTable, value: bigint): number => Number(value / BigInt(part.size));

/** A part that differs, and how many rows it has in the source. */
interface Difference extends Range {
  readonly rows: number;
}

/** Returns what differs, in ascending order. A part of which both databases have rows, and many, is compared in smaller ones. */
async function differences(
  source: Db,
  target: Db,
  columns: Columns,
  table: PartedTable,
  smaller?: SmallerParts,
): Promise<readonly Difference[]> {
  const digests = (db: Db): Promise<Digests> =>
    smaller === undefined
      ? digestsOf(db, columns, table)
      : digestsBy(
          db,
          columns,
          table,
          `(${table.part.column} - ${smaller.from}) / ${smaller.size}`,
          isWithin(table, smaller),
        );
  const there = await digests(source);
  const here = await digests(target);
  const size = smaller?.size ?? table.part.size;
  const found: Difference[] = [];
  for (const number of differingParts(there, here)) {
    const from = (smaller?.from ?? 0n) + BigInt(number) * BigInt(size);
    const end = from + BigInt(size);
    const to = smaller !== undefined && smaller.to < end ? smaller.to : end;
    const rows = there.get(number)?.rows ?? 0;
    if (size > DIVISIONS && rows > DIVIDED_FROM && here.has(number)) {
      const next = { from, to, size: Math.ceil(size / DIVISIONS) };
      found.push(...(await differences(source, target, columns, table, next)));
    } else found.push({ from, to, rows });
  }
  return found;
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

export async function insertRows(db: Db, { name }: StoredTable, rows: readonly TableRow[]): Promise<void> {
  if (rows.length === 0) return;
  const atOnce = Math.max(1, Math.floor(VALUES_AT_ONCE / Object.keys(rows[0]!).length));
  for (const some of inParts(rows, atOnce)) await (db as unknown as AnyDb).insertInto(name).values(some).execute();
}

async function insertCopied(db: Db, table: StoredTable, rows: readonly TableRow[]): Promise<void> {
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
function rangesOf(parts: readonly Difference[]): readonly Range[] {
  const ranges: { from: bigint; to: bigint; rows: number }[] = [];
  for (const { from, to, rows } of parts) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to === from && last.rows + rows <= ROWS_TOGETHER) {
      last.to = to;
      last.rows += rows;
    } else ranges.push({ from, to, rows });
  }
  return ranges;
}
