// Pages by a stable key: the cursor is the key of the last returned row, so rows that are added or removed meanwhile do
// not shift the pages.
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import { jsonIn } from "../../core/json.ts";
import type { Page, PageRequest } from "../reader.ts";
import { toInteger } from "./columns.ts";
import { StoreError } from "../store-error.ts";

const MOST_ROWS = 1000;
/** The condition that every row meets. */
export const ANY = sql<boolean>`1 = 1`;

/** The key of a list: columns, or SQL expressions, each with its type. An absent text counts as an empty one. */
export interface ListKey {
  /** Part of the cursor, so that the cursor of another list is refused. */
  readonly list: string;
  readonly columns: readonly (readonly [column: string, type: "text" | "text or null" | "integer"])[];
  readonly newestFirst: boolean;
}

export type KeyPart = string | bigint;

export const byNewest = (list: string, time: string, id = "id"): ListKey => ({
  list,
  columns: [
    [time, "integer"],
    [id, "text"],
  ],
  newestFirst: true,
});

export const byId = (list: string): ListKey => ({ list, columns: [["id", "text"]], newestFirst: false });

const expressionsOf = ({ columns }: ListKey): readonly string[] =>
  columns.map(([column, type]) => (type === "text or null" ? `coalesce(${column}, '')` : column));

/** The condition for rows after the cursor. Throws StoreError `invalid`. */
export function afterCursor(page: PageRequest, key: ListKey): RawBuilder<boolean> {
  if (page.cursor == null) return ANY;
  const parts = parsedCursor(page.cursor, key);
  const columns = sql.raw(expressionsOf(key).join(", "));
  return sql<boolean>`(${columns}) ${sql.raw(key.newestFirst ? "<" : ">")} (${sql.join(parts)})`;
}

/** The rows of a query that are on the page, and one more, which shows whether there is another page. */
export const onPage =
  (page: PageRequest, key: ListKey) =>
  <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O> =>
    query.where(afterCursor(page, key)).orderBy(inOrderOf(key)).limit(rowLimit(page));

export function inOrderOf(key: ListKey): RawBuilder<unknown> {
  return sql.raw(
    expressionsOf(key)
      .map((expression) => `${expression}${key.newestFirst ? " desc" : ""}`)
      .join(", "),
  );
}

/** How many rows to query: one more than the page has, which shows whether there is another page. */
export function rowLimit({ limit }: PageRequest): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new StoreError("invalid", `A page must have 1 to ${MOST_ROWS} rows.`);
  return limit + 1;
}

/** The key of the row after which the page begins; `null` for the first page. Throws StoreError `invalid`. */
export function keyBefore(page: PageRequest, key: ListKey): readonly KeyPart[] | null {
  return page.cursor == null ? null : parsedCursor(page.cursor, key);
}

export function cursorAt({ list }: ListKey, parts: readonly KeyPart[]): string {
  return Buffer.from(JSON.stringify([list, ...parts.map(String)])).toString("base64url");
}

/** The page with these rows, which were queried with `onPage`. `keyOf` is for keys that are made of other columns. */
export function pageOf<Row extends object, T>(
  rows: readonly Row[],
  { limit }: PageRequest,
  key: ListKey,
  valueOf: (row: Row) => T,
  keyOf: (row: Row) => readonly KeyPart[] = (row) => keyIn(key, row),
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const nextCursor = last === undefined ? null : cursorAt(key, keyOf(last));
  return { data: shown.map(valueOf), nextCursor };
}

function keyIn({ columns }: ListKey, row: object): readonly KeyPart[] {
  const values = row as Readonly<Record<string, KeyPart | null | undefined>>;
  return columns.map(([column, type]) => {
    const value = values[column.slice(column.indexOf(".") + 1)];
    if (value == null && type !== "text or null") throw new Error(`the rows of this list have no ${column}`);
    return value ?? "";
  });
}

export async function readPage<DB, TB extends keyof DB, Row extends object, T>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: PageRequest,
  key: ListKey,
  valueOf: (row: Row) => T,
): Promise<Page<T>> {
  return pageOf<Row, T>(await query.$call(onPage(page, key)).execute(), page, key, valueOf);
}

/** The characters of both states of a change, of a row of the audit log or of a version. */
export const CHANGE_LENGTH = sql<bigint>`length(coalesce(value_before, '')) + length(coalesce(value_after, ''))`;

/** The most characters of rows that are read at once, where one of them may have millions. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** How many of the rows with these numbers of characters are read at once: the first of them, and at least one. */
export function rowsWithRoom(sizes: readonly { readonly characters: number | bigint }[]): number {
  let left = MOST_CHARACTERS;
  const beyond = sizes.findIndex(({ characters }) => (left -= Number(characters)) < 0);
  return beyond === -1 ? sizes.length : Math.max(1, beyond);
}

/** As `readPage`, for rows that may be long: the page ends earlier where they are. `length` is that of a row. */
export async function readPageOfLong<DB, TB extends keyof DB, Row extends object, T>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: PageRequest,
  key: ListKey,
  valueOf: (row: Row) => T,
  length: RawBuilder<bigint>,
): Promise<Page<T>> {
  const sizes = await query
    .clearSelect()
    .select(length.as("characters"))
    .$call(onPage(page, key))
    .$castTo<{ readonly characters: bigint }>()
    .execute();
  const limit = Math.min(page.limit, Math.max(1, rowsWithRoom(sizes)));
  return await readPage(query, { ...page, limit }, key, valueOf);
}

/** The value of the first row of a query; `null` where it has none. */
export async function readFirst<Row, T>(
  query: { executeTakeFirst(): Promise<Row | undefined> },
  valueOf: (row: Row) => T,
): Promise<T | null> {
  const row = await query.executeTakeFirst();
  return row === undefined ? null : valueOf(row);
}

function parsedCursor(cursor: string, key: ListKey): readonly KeyPart[] {
  const refused = new StoreError("invalid", "The cursor is not from this list.");
  if (cursor.length > 4096) throw refused;
  const parts = jsonIn(Buffer.from(cursor, "base64url").toString("utf8"));
  if (!Array.isArray(parts) || parts[0] !== key.list || parts.length !== key.columns.length + 1) throw refused;
  return key.columns.map(([, type], index) => {
    const part: unknown = parts[index + 1];
    if (typeof part !== "string" || (type === "integer" && !/^-?\d{1,19}$/.test(part))) throw refused;
    if (type !== "integer") return part;
    const number = BigInt(part);
    if (BigInt.asIntN(64, number) !== number) throw refused;
    return number;
  });
}

/**
 * Whether each of the columns of a row has its value, which may be null. Columns whose value is undefined may have any.
 */
export function having<Row = Readonly<Record<string, unknown>>>(values: {
  readonly [Column in keyof Row & string]?: string | bigint | null | undefined;
}): RawBuilder<boolean> {
  const conditions = Object.entries<string | bigint | null | undefined>(values).flatMap(([column, value]) => {
    if (value === undefined) return [];
    return [value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`];
  });
  return conditions.length === 0 ? ANY : sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

/**
 * Whether a row is the one, or one of those, with these values: none can be left open by mistake. Throws TypeError for an
 * undefined value, which no type lets through: without its condition, a change would reach the rows of others.
 */
export function exactly<Row>(values: {
  readonly [Column in keyof Row & string]?: string | bigint | null;
}): RawBuilder<boolean> {
  for (const [column, value] of Object.entries<unknown>(values))
    if (value === undefined) throw new TypeError(`The condition on ${column} has no value.`);
  return having<Row>(values);
}

/** Whether the time in a column is in a span of which both ends may be open. */
export function during(
  column: string,
  { fromMs, toMs }: { readonly fromMs?: number | undefined; readonly toMs?: number | undefined },
): RawBuilder<boolean> {
  const from = fromMs === undefined ? ANY : sql<boolean>`${sql.ref(column)} >= ${toInteger(fromMs)}`;
  return toMs === undefined ? from : sql<boolean>`${from} and ${sql.ref(column)} < ${toInteger(toMs)}`;
}

/** A `like` condition in which the search text has no wildcards. Without a text, anything matches. */
export function containing(columns: readonly string[], search: string | undefined): RawBuilder<boolean> {
  if (search === undefined) return ANY;
  const pattern = `%${search.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  // the database changes the case of both: SQLite knows that of ASCII alone
  return sql<boolean>`(${sql.join(
    columns.map((column) => sql`lower(coalesce(${sql.ref(column)}, '')) like lower(${pattern}) escape '\\'`),
    sql` or `,
  )})`;
}

/** Any row, by the names of its columns. */
export type TableRow = Readonly<Record<string, unknown>>;

export interface StoredTable {
  readonly name: string;
  /** The columns by which it is read in pages, of which none is null; empty for tables that are read at once. */
  readonly key: readonly string[];
  /** How many rows are read at once; 500 by default. */
  readonly page?: number;
}

/** Rows of a whole table that are read at once, unless the table says otherwise. A block of calls has some kilobytes. */
const PAGE = 500;

/** All rows of a table, or those within bounds, in pages: together they may be more than the memory holds. */
export async function* pagesOf<Of>(
  db: Kysely<Of>,
  { name, key, page = PAGE }: StoredTable,
  bounds = ANY,
): AsyncIterable<readonly TableRow[]> {
  const order = key.map((column) => sql.ref(column));
  let after = bounds;
  for (;;) {
    const paged = key.length === 0 ? sql`` : sql` order by ${sql.join(order)} limit ${sql.lit(page)}`;
    const { rows } = await sql<TableRow>`select * from ${sql.table(name)} where ${after}${paged}`.execute(db);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (key.length === 0 || last === undefined || rows.length < page) return;
    after = sql<boolean>`${bounds} and (${sql.join(order)}) > (${sql.join(key.map((column) => sql.val(last[column])))})`;
  }
}
