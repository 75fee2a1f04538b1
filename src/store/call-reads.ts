// Reads one call with its record, and removes old calls.
import { type Kysely, sql, type RawBuilder } from "kysely";
import { removeTags } from "./call-ingest.ts";
import { summaryOf } from "./call-columns.ts";
import type { CallSchema } from "./call-schema.ts";
import type { CallScope, CallSummary, KeptSince, StoredCall } from "./calls.ts";
import { prunePlaces } from "./journal-places.ts";
import { parseClosing } from "./journal-row.ts";
import { toInteger } from "./schema.ts";

type Db = Kysely<CallSchema>;

const SCOPE_COLUMNS: readonly (readonly [keyof CallScope, string])[] = [
  ["tokenId", "token_id"],
  ["projectId", "project_id"],
  ["tenantId", "tenant_id"],
  ["userId", "user_id"],
  ["endUser", "end_user"],
  ["route", "route"],
  ["provider", "provider"],
  ["model", "model"],
];
/**
 * The first of these that is given is looked up in its index because it is the most selective; the database has no
 * statistics to know that.
 */
const INDEXED = ["tokenId", "projectId", "tenantId"] as const;

export function scopeConditions(scope: CallScope): readonly RawBuilder<boolean>[] {
  const selective = INDEXED.find((name) => scope[name] !== undefined);
  return SCOPE_COLUMNS.flatMap(([name, column]) => {
    const value = scope[name];
    if (value === undefined) return [];
    const isOther = name !== selective && (INDEXED as readonly string[]).includes(name);
    return [isOther ? sql<boolean>`${sql.ref(column)} || '' = ${value}` : sql<boolean>`${sql.ref(column)} = ${value}`];
  });
}

/**
 * The record is kept as text, because numbers of any length, as in a client's metadata, cannot be passed between
 * threads.
 */
export interface FoundCall {
  readonly summary: CallSummary;
  readonly detail: string | null;
}

export function storedCall(found: FoundCall | null): StoredCall | null {
  return found === null
    ? null
    : { summary: found.summary, record: found.detail === null ? null : parseClosing(found.detail) };
}

export async function findCall(db: Db, traceId: string, tenantId: string | undefined): Promise<FoundCall | null> {
  const row = await db
    .selectFrom("call")
    .selectAll()
    .where("trace_id", "=", traceId)
    .$if(tenantId !== undefined, (query) => query.where("tenant_id", "=", tenantId!))
    .executeTakeFirst();
  if (row === undefined) return null;
  const detail = await db.selectFrom("call_detail").select("record").where("trace_id", "=", traceId).executeTakeFirst();
  return { summary: summaryOf(row), detail: detail?.record ?? null };
}

/** The most rows of each table to remove in one go: a long removal would block other writers. */
const PRUNED_AT_ONCE = 2000;

export async function prune(db: Db, { callsMs, detailsMs, placesMs }: KeptSince): Promise<number> {
  if (callsMs !== null)
    await removeTags(
      db,
      await db
        .selectFrom("call")
        .select(["tags", "time_ms", "trace_id", "tenant_id", "project_id"])
        .where("time_ms", "<", toInteger(callsMs))
        .orderBy("time_ms")
        .limit(sql.lit(PRUNED_AT_ONCE))
        .execute(),
    );
  const remove = async (table: "call" | "call_detail", beforeMs: number | null): Promise<number> => {
    if (beforeMs === null) return 0;
    const old = db
      .selectFrom(table)
      .select("trace_id")
      .where("time_ms", "<", toInteger(beforeMs))
      .orderBy("time_ms")
      .limit(sql.lit(PRUNED_AT_ONCE));
    return Number((await db.deleteFrom(table).where("trace_id", "in", old).executeTakeFirst()).numDeletedRows);
  };
  // A detail without its call could not be found.
  const detailsBefore = callsMs === null ? detailsMs : detailsMs === null ? callsMs : Math.max(callsMs, detailsMs);
  return (
    (await remove("call_detail", detailsBefore)) +
    (await remove("call", callsMs)) +
    (placesMs === null ? 0 : await prunePlaces(db, placesMs))
  );
}
