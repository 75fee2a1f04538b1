// The content of calls as rows: inserted, found by trace id, and removed when their retention ends or their tenant asks
// for it. The content is encrypted before it gets here.
import { type Kysely, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import { type CallStore, CONTENT, type StoredContent } from "./calls.ts";
import { keptIn, rowOf, toInteger } from "../columns.ts";
import { ofPresentProjects } from "../database/place-tables.ts";

type Db = Kysely<CallSchema>;

const ROWS_AT_ONCE = 50;
/** A long removal would block other writers. */
const REMOVED_AT_ONCE = 500;

export async function contentKey(db: Db, tenantId: string, sealed: string): Promise<string> {
  await db
    .insertInto("content_key")
    .values({ tenant_id: tenantId, sealed })
    .onConflict((conflict) => conflict.column("tenant_id").doNothing())
    .execute();
  return (
    await db.selectFrom("content_key").select("sealed").where("tenant_id", "=", tenantId).executeTakeFirstOrThrow()
  ).sealed;
}

export async function keepContents(db: Db, contents: readonly StoredContent[]): Promise<void> {
  if (contents.length === 0) return;
  await db.transaction().execute(async (tx) => {
    // Content that waited while its project or tenant was removed is dropped too.
    const known = await ofPresentProjects(tx, contents);
    for (let at = 0; at < known.length; at += ROWS_AT_ONCE)
      await tx
        .insertInto("call_content")
        .values(known.slice(at, at + ROWS_AT_ONCE).map((one) => rowOf(CONTENT, one)))
        .onConflict((conflict) => conflict.column("trace_id").doNothing())
        .execute();
  });
}

export async function findContent(db: Db, traceId: string): Promise<StoredContent | null> {
  const row = await db.selectFrom("call_content").selectAll().where("trace_id", "=", traceId).executeTakeFirst();
  return row === undefined ? null : keptIn(CONTENT, row);
}

export async function countContents(
  db: Db,
  { tenantId, projectId }: Parameters<CallStore["countContents"]>[0],
): Promise<number> {
  const counted = await db
    .selectFrom("call_content")
    .select((of) => of.fn.countAll<bigint | number | string>().as("calls"))
    .where("tenant_id", "=", tenantId)
    .$if(projectId !== null, (query) => query.where("project_id", "=", projectId!))
    .executeTakeFirstOrThrow();
  return Number(counted.calls);
}

export async function removeContents(db: Db, which: Parameters<CallStore["removeContents"]>[0]): Promise<number> {
  const some = db
    .selectFrom("call_content")
    .select("trace_id")
    .$if("expiredMs" in which, (query) =>
      query
        .where("expires_ms", "<=", toInteger((which as { readonly expiredMs: number }).expiredMs))
        .orderBy("expires_ms"),
    )
    .$if("tenantId" in which, (query) =>
      query.where("tenant_id", "=", (which as { readonly tenantId: string }).tenantId),
    )
    .$if("projectId" in which && which.projectId !== null, (query) =>
      query.where("project_id", "=", (which as { readonly projectId: string }).projectId),
    )
    .$if("traceIds" in which, (query) =>
      query.where("trace_id", "in", [...(which as { readonly traceIds: readonly string[] }).traceIds]),
    )
    .limit(sql.lit(REMOVED_AT_ONCE));
  return Number((await db.deleteFrom("call_content").where("trace_id", "in", some).executeTakeFirst()).numDeletedRows);
}
