// Reads calls: one with its record, and what a caller's scope means in the call tables.
import { type Kysely, type RawBuilder, sql } from "kysely";
import { recordIn, textOfBlock } from "./call-blocks.ts";
import { type FoundCall, numbersIn, summaryIn } from "./call-columns.ts";
import { findKey, timeOfKey } from "./call-keys.ts";
import { namesOf, numbersOf } from "./call-names.ts";
import type { CallSchema, FoundRow } from "./call-schema.ts";
import { type CallScope, type CallSummary, DIMENSIONS, type LastUse, type StoredCall } from "./calls.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";

type Db = Kysely<CallSchema>;

/** The dimensions that are names; the end user is text. */
const NAMED = Object.values(DIMENSIONS).filter(({ scoped }) => scoped !== "endUser");
/** Their members of a scope. */
export const SCOPE_NAMES: ReadonlySet<string> = new Set(NAMED.map(({ scoped }) => scoped));
/**
 * The first of these that is given is looked up in its index because it is the most selective; the database has no
 * statistics to know that. The key of sums begins with the tenant.
 */
const INDEXED = {
  calls: ["tokenId", "projectId", "tenantId"],
  sums: ["tenantId"],
} as const satisfies Readonly<Record<string, readonly (keyof CallScope)[]>>;

/** Each token is looked up by itself: a query with groups would read all of their calls. */
export async function lastUses(db: Db, tokenIds: readonly string[]): Promise<readonly LastUse[]> {
  const numbers = await numbersOf(db, tokenIds);
  const known = tokenIds.filter((id) => numbers.has(id));
  if (known.length === 0) return [];
  const values = sql.join(known.map((id) => sql`(${sql.lit(numbers.get(id)!)})`));
  const { rows } = await sql<{
    readonly number: bigint | number;
    readonly last: bigint | null;
  }>`with token (number) as (values ${values}) select number, (select max(id) from call where token_id = token.number) as last from token`.execute(
    db,
  );
  const lasts = new Map(rows.map(({ number, last }) => [Number(number), last]));
  return known.flatMap((tokenId) => {
    const last = lasts.get(numbers.get(tokenId)!) ?? null;
    return last === null ? [] : [{ tokenId, timeMs: timeOfKey(last) }];
  });
}

/** `null` when a name of the scope has never occurred. */
export async function scopeConditions(
  db: Db,
  scope: CallScope,
  of: keyof typeof INDEXED,
): Promise<readonly RawBuilder<boolean>[] | null> {
  const numbers = await numbersOf(
    db,
    NAMED.flatMap(({ scoped }) => scope[scoped] ?? []),
  );
  const indexed: readonly (keyof CallScope)[] = INDEXED[of];
  const selective = indexed.find((name) => scope[name] !== undefined);
  const conditions: RawBuilder<boolean>[] = [];
  for (const { column, scoped } of NAMED) {
    const given = scope[scoped];
    if (given === undefined) continue;
    const number = numbers.get(given);
    if (number === undefined) return null;
    const value = BigInt(number);
    const isOther = scoped !== selective && indexed.includes(scoped);
    conditions.push(
      isOther ? sql<boolean>`${withoutIndex(column, value)} = ${value}` : sql<boolean>`${sql.ref(column)} = ${value}`,
    );
  }
  if (scope.endUser !== undefined) conditions.push(sql<boolean>`end_user = ${scope.endUser}`);
  return conditions;
}

/** An expression with the column's value, for which the database uses no index. */
export function withoutIndex(column: string, value: bigint | string): RawBuilder<unknown> {
  return typeof value === "string" ? sql`${sql.ref(column)} || ''` : sql`${sql.ref(column)} + 0`;
}

export function storedCall(found: FoundCall | null): StoredCall | null {
  return found === null
    ? null
    : { summary: found.summary, record: found.detail === null ? null : parseCallRecord(found.detail) };
}

export async function findCall(db: Db, traceId: string, tenantId: string | undefined): Promise<FoundCall | null> {
  const key = await findKey(db, traceId);
  const row =
    key === null ? undefined : await db.selectFrom("call").selectAll().where("id", "=", key).executeTakeFirst();
  if (row === undefined) return null;
  const summary = summaryIn(row, await namesOf(db, numbersIn(row)));
  if (tenantId !== undefined && summary.tenantId !== tenantId) return null;
  return { summary, detail: await recordOf(db, row) };
}

async function recordOf(db: Db, row: Pick<FoundRow, "block_id" | "trace_id">): Promise<string | null> {
  if (row.block_id === null) return null;
  const block = await db.selectFrom("call_block").select("body").where("id", "=", row.block_id).executeTakeFirst();
  return block === undefined ? null : recordIn(textOfBlock(block.body), row.trace_id);
}

export async function summariesOf(db: Db, rows: readonly FoundRow[]): Promise<readonly CallSummary[]> {
  const nameOf = await namesOf(db, rows.flatMap(numbersIn));
  return rows.map((row) => summaryIn(row, nameOf));
}
