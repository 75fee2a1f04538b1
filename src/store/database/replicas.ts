// The gateways that share a database: each registers itself there, repeatedly while it lives. The table is part of the
// call store (calls.ts), whose connections are separate from the main thread: a write that waits for a disk or a
// network delays no call.
import type { Kysely } from "kysely";
import { integer, keptIn, type KeptIn, rowOf, type RowOf, text, toInteger } from "./columns.ts";
import { runStatements } from "./run-statements.ts";

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

export const createReplicas = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table gateway_replica (
      id text primary key, name text not null, version text not null, fingerprint text not null,
      beat bigint not null, seen_ms bigint not null, schema_step bigint not null
    )`,
  );

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
