// Removes old calls and their records.
import { type Kysely, sql } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { pruneBlocks } from "./call-blocks.ts";
import { removeTags } from "./call-ingest.ts";
import { keyBoundAt } from "./call-keys.ts";
import { dropPartitions } from "./call-partitions.ts";
import type { CallSchema } from "./call-schema.ts";
import type { KeptSince } from "./calls.ts";
import { prunePlaces } from "./journal-places.ts";

type Db = Kysely<CallSchema>;

/** The most rows of each table to remove in one go: a long removal would block other writers. */
const PRUNED_AT_ONCE = 2000;

export async function prune(db: Db, { callsMs, detailsMs, placesMs }: KeptSince): Promise<number> {
  // A record without its call could not be found.
  const recordsMs = callsMs === null ? detailsMs : detailsMs === null ? callsMs : Math.max(callsMs, detailsMs);
  return (
    (recordsMs === null ? 0 : await pruneRecords(db, recordsMs)) +
    (callsMs === null ? 0 : await pruneCalls(db, callsMs)) +
    (placesMs === null ? 0 : await prunePlaces(db, placesMs))
  );
}

async function pruneRecords(db: Db, beforeMs: number): Promise<number> {
  const dropped = usesPostgres(db) ? await dropPartitions(db, "call_block", beforeMs) : 0;
  return dropped + (await pruneBlocks(db, beforeMs, PRUNED_AT_ONCE));
}

async function pruneCalls(db: Db, beforeMs: number): Promise<number> {
  const dropped = usesPostgres(db) ? await dropDays(db, beforeMs) : 0;
  const old = await db
    .selectFrom("call")
    .select(["id", "trace_id", "tags", "tenant_id", "project_id"])
    .where("id", "<", keyBoundAt(beforeMs))
    .orderBy("id")
    .limit(sql.lit(PRUNED_AT_ONCE))
    .execute();
  if (old.length === 0) return dropped;
  await removeTags(db, old);
  const end = old.at(-1)!.id;
  await db.deleteFrom("call").where("id", "<=", end).execute();
  return dropped + old.length;
}

/** Removes whole days. */
async function dropDays(db: Db, beforeMs: number): Promise<number> {
  await dropPartitions(db, "call_tag", beforeMs);
  return await dropPartitions(db, "call", beforeMs);
}
