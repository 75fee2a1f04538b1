// The content of calls as rows: inserted, found by trace id, and removed when their retention ends or their tenant asks
// for it. The content is encrypted before it gets here.
import { type Kysely, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import type { CallStore, StoredContent } from "./calls.ts";
import { fromInteger, toInteger } from "../columns.ts";

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
    const { rows: projects } = await sql<{
      readonly id: string;
      readonly tenant_id: string;
    }>`select id, tenant_id from projects where id in (${sql.join([...new Set(contents.map(({ projectId }) => projectId))])})`.execute(
      tx,
    );
    const tenants = new Map(projects.map(({ id, tenant_id: tenantId }) => [id, tenantId]));
    // Content that waited while its project or tenant was removed is dropped too.
    const known = contents.filter(({ projectId, tenantId }) => tenants.get(projectId) === tenantId);
    for (let at = 0; at < known.length; at += ROWS_AT_ONCE) {
      const rows = known.slice(at, at + ROWS_AT_ONCE).map(({ traceId, tenantId, projectId, expiresMs, body }) => ({
        trace_id: traceId,
        tenant_id: tenantId,
        project_id: projectId,
        expires_ms: toInteger(expiresMs),
        body,
      }));
      await tx
        .insertInto("call_content")
        .values(rows)
        .onConflict((conflict) => conflict.column("trace_id").doNothing())
        .execute();
    }
  });
}

export async function findContent(db: Db, traceId: string): Promise<StoredContent | null> {
  const row = await db.selectFrom("call_content").selectAll().where("trace_id", "=", traceId).executeTakeFirst();
  return row === undefined
    ? null
    : {
        traceId,
        tenantId: row.tenant_id,
        projectId: row.project_id,
        expiresMs: fromInteger(row.expires_ms),
        body: new Uint8Array(row.body),
      };
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
