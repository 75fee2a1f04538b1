// The gateways that share a database: each registers itself there, repeatedly while it lives. The table is part of the
// call store (calls.ts), whose connections are separate from the main thread: a write that waits for a disk or a
// network delays no call.
import type { Kysely } from "kysely";
import { integer, keptIn, type KeptIn, rowOf, type RowOf, text, toInteger } from "../columns.ts";

/** The columns of a gateway that runs, whose members are in Replica. */
const REPLICA = {
  /** Identifies one run of a process. */
  id: text,
  /** `host:pid`, for people. */
  name: text,
  version: text,
  /** Of the configuration file that the replica uses. */
  fingerprint: text,
  /** A different number each time: clocks of machines differ, so only a changing row proves that the replica lives. */
  beat: integer,
  seen_ms: integer,
  /** The last migration that its program knows, by number. */
  schema_step: integer,
};
export type Replica = KeptIn<typeof REPLICA>;

export interface ReplicaTable {
  /**
   * Registers this replica, removes rows that have not changed since they were read, and returns the other rows that
   * are left.
   */
  registerReplica(own: Replica, gone: readonly Pick<Replica, "id" | "beat">[]): Promise<readonly Replica[]>;
  unregisterReplica(id: string): Promise<void>;
}

export interface ReplicaSchema {
  readonly gateway_replica: RowOf<typeof REPLICA>;
}

export async function createReplicas(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("gateway_replica")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("version", "text", (column) => column.notNull())
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("beat", "bigint", (column) => column.notNull())
    .addColumn("seen_ms", "bigint", (column) => column.notNull())
    .addColumn("schema_step", "bigint", (column) => column.notNull())
    .execute();
}

export async function registerReplica(
  db: Kysely<ReplicaSchema>,
  own: Replica,
  gone: readonly Pick<Replica, "id" | "beat">[],
): Promise<readonly Replica[]> {
  const { id, ...changing } = rowOf(REPLICA, own);
  await db
    .insertInto("gateway_replica")
    .values({ id, ...changing })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(changing))
    .execute();
  for (const one of gone)
    await db.deleteFrom("gateway_replica").where("id", "=", one.id).where("beat", "=", toInteger(one.beat)).execute();
  const rows = await db
    .selectFrom("gateway_replica")
    .selectAll()
    .where("id", "!=", id)
    .orderBy("name")
    .orderBy("id")
    .execute();
  return rows.map((row) => keptIn(REPLICA, row));
}

export async function unregisterReplica(db: Kysely<ReplicaSchema>, id: string): Promise<void> {
  await db.deleteFrom("gateway_replica").where("id", "=", id).execute();
}
