// Pages by a stable key: the cursor is the key of the last returned row, so rows that are added or removed meanwhile do
// not shift the pages.
import { sql, type RawBuilder } from "kysely";
import type { Page, PageRequest } from "../reader.ts";
import { StoreError } from "../store.ts";

const MOST_ROWS = 1000;

/** The key of a list: SQL expressions that are never null, each with its type. */
export interface ListKey {
  /** Part of the cursor, so that the cursor of another list is refused. */
  readonly list: string;
  readonly columns: readonly (readonly [expression: string, type: "text" | "integer"])[];
  readonly newestFirst: boolean;
}

export type KeyPart = string | bigint;

/** The condition for rows after the cursor. Throws StoreError `invalid`. */
export function afterCursor(page: PageRequest, key: ListKey): RawBuilder<boolean> {
  if (page.cursor == null) return sql<boolean>`1 = 1`;
  const parts = parsedCursor(page.cursor, key);
  const columns = sql.raw(key.columns.map(([expression]) => expression).join(", "));
  return sql<boolean>`(${columns}) ${sql.raw(key.newestFirst ? "<" : ">")} (${sql.join(parts)})`;
}

export function inOrderOf({ columns, newestFirst }: ListKey): RawBuilder<unknown> {
  return sql.raw(columns.map(([expression]) => `${expression}${newestFirst ? " desc" : ""}`).join(", "));
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

export function pageOf<Row, T>(
  rows: readonly Row[],
  { limit }: PageRequest,
  key: ListKey,
  keyOf: (row: Row) => readonly KeyPart[],
  valueOf: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const nextCursor = last === undefined ? null : cursorAt(key, keyOf(last));
  return { data: shown.map(valueOf), nextCursor };
}

function parsedCursor(cursor: string, key: ListKey): readonly KeyPart[] {
  const refused = new StoreError("invalid", "The cursor is not from this list.");
  if (cursor.length > 4096) throw refused;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    throw refused;
  }
  if (!Array.isArray(parts) || parts[0] !== key.list || parts.length !== key.columns.length + 1) throw refused;
  return key.columns.map(([, type], index) => {
    const part: unknown = parts[index + 1];
    if (typeof part !== "string" || (type === "integer" && !/^-?\d{1,19}$/.test(part))) throw refused;
    if (type === "text") return part;
    const number = BigInt(part);
    if (BigInt.asIntN(64, number) !== number) throw refused;
    return number;
  });
}

/** A `like` condition in which the search text has no wildcards. */
export function containing(columns: readonly string[], search: string): RawBuilder<boolean> {
  const pattern = `%${search.toLowerCase().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  return sql<boolean>`(${sql.join(
    columns.map((column) => sql`lower(coalesce(${sql.ref(column)}, '')) like ${pattern} escape '\\'`),
    sql` or `,
  )})`;
}
