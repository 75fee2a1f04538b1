// The content of calls as rows: inserted, found by trace id, and removed when their retention ends or their tenant asks
// for it. The content is encrypted before it gets here.
import { type Kysely, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import { type CallStore, CONTENT, type ContentKey, KEPT_OBJECT, type StoredContent } from "./calls.ts";
import { keptIn, rowOf, toInteger } from "../database/columns.ts";
import { inParts } from "../database/in-parts.ts";
import { ofPresentProjects } from "../database/place-tables.ts";
import { beginWriting } from "../database/transactions.ts";

type Db = Kysely<CallSchema>;

const ROWS_AT_ONCE = 50;
/** A long removal would block other writers. */
const REMOVED_AT_ONCE = 500;

export async function contentKey(db: Db, tenantId: string, sealed: string): Promise<string | null> {
  // a call may end after its tenant was removed
  await sql`insert into content_key (tenant_id, sealed) select id, ${sealed} from tenants where id = ${tenantId} on conflict (tenant_id) do nothing`.execute(
    db,
  );
  const stored = await db
    .selectFrom("content_key")
    .select("sealed")
    .where("tenant_id", "=", tenantId)
    .executeTakeFirst();
  return stored?.sealed ?? null;
}

export async function keepContents(
  db: Db,
  contents: readonly StoredContent[],
  keys: readonly ContentKey[],
): Promise<boolean> {
  if (contents.length === 0) return true;
  return await beginWriting(db).execute(async (tx) => {
    // Content that waited while its project or tenant was removed is dropped too.
    const known = await ofPresentProjects(tx, contents);
    if (known.length > 0 && !(await areStored(tx, new Set(known.map(({ tenantId }) => tenantId)), keys))) return false;
    for (const some of inParts(known, ROWS_AT_ONCE))
      await tx
        .insertInto("call_content")
        .values(some.map((one) => rowOf(CONTENT, one)))
        .onConflict((conflict) => conflict.column("trace_id").doNothing())
        .execute();
    return true;
  });
}

/** Whether the keys of these tenants are the stored ones: a tenant may have been removed and created again. */
async function areStored(tx: Db, tenantIds: ReadonlySet<string>, keys: readonly ContentKey[]): Promise<boolean> {
  const stored = await tx
    .selectFrom("content_key")
    .selectAll()
    .where("tenant_id", "in", [...tenantIds])
    .execute();
  const sealed = new Map(stored.map((row) => [row.tenant_id, row.sealed]));
  const used = new Map(keys.map((key) => [key.tenantId, key.sealed]));
  return [...tenantIds].every((id) => sealed.has(id) && sealed.get(id) === used.get(id));
}

export async function findContents(db: Db, traceIds: readonly string[]): Promise<readonly StoredContent[]> {
  if (traceIds.length === 0) return [];
  const rows = await db.selectFrom("call_content").selectAll().where("trace_id", "in", traceIds).execute();
  return rows.map((row) => keptIn(CONTENT, row));
}

export async function countContents(
  db: Db,
  { tenantId, projectId }: Parameters<CallStore["countContents"]>[0],
): Promise<number> {
  const counted = await db
    .selectFrom("call_content")
    .select((of) => of.fn.countAll<bigint | number | string>().as("calls"))
    .where("tenant_id", "=", tenantId)
    .where("trace_id", "not like", `${KEPT_OBJECT}%`)
    .$if(projectId !== null, (query) => query.where("project_id", "=", projectId!))
    .executeTakeFirstOrThrow();
  return Number(counted.calls);
}

/** A key that opens nothing may be under a master key that is lost, and the tenant could never keep content again. */
async function removeIdleKey(db: Db, tenantId: string): Promise<void> {
  await db
    .deleteFrom("content_key")
    .where("tenant_id", "=", tenantId)
    .where((of) =>
      of.not(of.exists(of.selectFrom("call_content").select("trace_id").where("tenant_id", "=", tenantId))),
    )
    .execute();
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
  const removed = await db.deleteFrom("call_content").where("trace_id", "in", some).executeTakeFirst();
  if ("tenantId" in which && which.projectId === null) await removeIdleKey(db, which.tenantId);
  return Number(removed.numDeletedRows);
}
