// Which project received the id of a thing that lives at a vendor, and with which credential (promise 12.15). Ids stand
// here as hashes. The table is part of the call store (calls.ts), whose connections are separate from the main thread.
import { type Kysely, sql } from "kysely";
import { belongsTo, ofPresentProjects } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";
import { inParts } from "../database/in-parts.ts";
import { beginWriting } from "../database/transactions.ts";
import { integer, keptIn, type KeptIn, rowOf, type RowOf, text, textOrNull, toInteger } from "../database/columns.ts";

/** The columns of an id as it was handed out to a project. */
const VENDOR_OBJECT = {
  /** SHA-256 of the id, in hexadecimal digits. */
  id_hash: text,
  tenant_id: text,
  project_id: text,
  provider_id: text,
  /** The fingerprint of the credential; empty where the provider is called without one. */
  credential: text,
  /** The vendor's own id, where the client received another one; `null` where it received the vendor's. */
  vendor_id: textOrNull,
  expires_ms: integer,
};
export type VendorObject = KeptIn<typeof VENDOR_OBJECT>;

export interface VendorObjectTable {
  /**
   * Writes them, and moves the expiry of those that are known. Skips those whose project no longer exists. A tenant has
   * a bound, beyond which what expires first makes room.
   */
  bindObjects(objects: readonly VendorObject[]): Promise<void>;
  /** Returns what is bound of these ids and has not expired. */
  boundObjects(idHashes: readonly string[], nowMs: number): Promise<readonly VendorObject[]>;
  /** Removes some of those that have expired. Returns how many, so it is to be repeated until it returns 0. */
  pruneObjects(nowMs: number): Promise<number>;
}

export interface VendorObjectSchema {
  readonly vendor_object: RowOf<typeof VENDOR_OBJECT>;
}

type Db = Kysely<VendorObjectSchema>;

const ROWS_AT_ONCE = 50;
/** A long removal would block other writers. */
const REMOVED_AT_ONCE = 500;
export const MAX_OBJECTS_OF_TENANT = 100_000;

export const createVendorObjects = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    // A project that is made again under the name of a removed one has none of its ids.
    `create table vendor_object (
      id_hash text not null, tenant_id text not null, project_id text not null, provider_id text not null,
      credential text not null, vendor_id text, expires_ms bigint not null,
      constraint vendor_object_key primary key (id_hash, project_id, provider_id, credential),
      ${belongsTo("project", "vendor_object")}
    )`,
    "create index vendor_object_by_end on vendor_object (tenant_id, expires_ms)",
  );

export async function bindObjects(
  db: Db,
  objects: readonly VendorObject[],
  mostOfTenant = MAX_OBJECTS_OF_TENANT,
): Promise<void> {
  if (objects.length === 0) return;
  await beginWriting(db).execute(async (tx) => {
    const known = inOrder(await ofPresentProjects(tx, objects));
    for (const some of inParts(known, ROWS_AT_ONCE))
      await tx
        .insertInto("vendor_object")
        .values(some.map((one) => rowOf(VENDOR_OBJECT, one)))
        .onConflict((conflict) =>
          conflict.columns(["id_hash", "project_id", "provider_id", "credential"]).doUpdateSet((of) => ({
            expires_ms: of.ref("excluded.expires_ms"),
            vendor_id: of.ref("excluded.vendor_id"),
          })),
        )
        .execute();
    for (const tenantId of new Set(known.map((one) => one.tenantId))) await makeRoom(tx, tenantId, mostOfTenant);
  });
}

/** Each once, the last one of several, in an order that is the same for all who write at once. */
function inOrder(objects: readonly VendorObject[]): readonly VendorObject[] {
  const byKey = new Map(
    objects.map((one) => [JSON.stringify([one.idHash, one.projectId, one.providerId, one.credential]), one]),
  );
  return [...byKey.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Removes what expires first of a tenant that has too many. */
async function makeRoom(db: Db, tenantId: string, most: number): Promise<void> {
  const { count } = await db
    .selectFrom("vendor_object")
    .select((of) => of.fn.countAll<bigint | number | string>().as("count"))
    .where("tenant_id", "=", tenantId)
    .executeTakeFirstOrThrow();
  const beyond = Number(count) - most;
  if (beyond <= 0) return;
  const kept = await db
    .selectFrom("vendor_object")
    .select("expires_ms")
    .where("tenant_id", "=", tenantId)
    .orderBy("expires_ms")
    .offset(sql.lit(beyond - 1))
    .limit(sql.lit(1))
    .executeTakeFirstOrThrow();
  await db
    .deleteFrom("vendor_object")
    .where("tenant_id", "=", tenantId)
    .where("expires_ms", "<=", kept.expires_ms)
    .execute();
}

export async function boundObjects(
  db: Db,
  idHashes: readonly string[],
  nowMs: number,
): Promise<readonly VendorObject[]> {
  if (idHashes.length === 0) return [];
  const rows = await db
    .selectFrom("vendor_object")
    .selectAll()
    .where("id_hash", "in", [...idHashes])
    .where("expires_ms", ">", toInteger(nowMs))
    .execute();
  return rows.map((row) => keptIn(VENDOR_OBJECT, row));
}

export async function pruneObjects(db: Db, nowMs: number): Promise<number> {
  const some = db
    .selectFrom("vendor_object")
    .select("id_hash")
    .where("expires_ms", "<=", toInteger(nowMs))
    .limit(sql.lit(REMOVED_AT_ONCE));
  const { numDeletedRows } = await db
    .deleteFrom("vendor_object")
    .where("expires_ms", "<=", toInteger(nowMs))
    .where("id_hash", "in", some)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
