// Calls that an earlier version has stored are moved into the tables of today in the background, the newest first, some
// hundred at a time. Until that is done, whatever reads calls takes them into account: a search ends where the moved
// calls end and says so with its cursor, a single call is read where it is, and a batch of the ledger moves the calls
// of its trace ids first, so that none is counted twice.

// Decides (records and configuration): What happens to calls of an earlier version? Rule: They are moved in the
// background.
import { type Kysely, sql } from "kysely";
import { type CallFigures, type FoundCall, summaryOf } from "./call-columns.ts";
import { type CallInserts, type Incoming, insertIncoming, parts } from "./call-insert.ts";
import type { CallSchema } from "./call-schema.ts";
import { tagRowsOf } from "./call-tags.ts";
import type { EarlierCall } from "./earlier-schema.ts";

type Db = Kysely<CallSchema>;

/** More would keep others waiting: in PostgreSQL the calls pass through the thread that serves calls. */
const MOVED_AT_ONCE = 500;

/** The times up to which calls have not been moved. */
export interface EarlierBounds {
  readonly lastStartMs: number;
  readonly lastEndMs: number;
}

/** `null` when every call has been moved. */
export async function earlierBounds(db: Db): Promise<EarlierBounds | null> {
  const last = await sql<{ readonly time_ms: bigint | null }>`select max(time_ms) as time_ms from earlier_call`.execute(
    db,
  );
  const startMs = last.rows[0]!.time_ms;
  if (startMs === null) return null;
  const { rows } = await sql<{
    readonly end_ms: bigint;
  }>`select (time_ms + total_ms) as end_ms from earlier_call order by (time_ms + total_ms) desc, trace_id desc limit 1`.execute(
    db,
  );
  return { lastStartMs: Number(startMs), lastEndMs: Number(rows[0]?.end_ms ?? startMs) };
}

/** Moves some calls, the newest first, and returns how many: to be repeated until it returns 0. */
export async function moveNewest(db: Db, inserts: CallInserts): Promise<number> {
  const rows = await db
    .selectFrom("earlier_call")
    .selectAll()
    .orderBy("time_ms", "desc")
    .orderBy("trace_id", "desc")
    .limit(sql.lit(MOVED_AT_ONCE))
    .execute();
  await move(db, inserts, rows);
  return rows.length;
}

/** Moves those of these calls that an earlier version has stored. */
export async function moveEarlier(db: Db, inserts: CallInserts, batch: readonly Incoming[]): Promise<void> {
  const bounds = await earlierBounds(db);
  if (bounds === null) return;
  const ids = batch
    .filter(({ figures }) => figures.time_ms <= bounds.lastStartMs)
    .map(({ figures }) => figures.trace_id);
  const rows: EarlierCall[] = [];
  for (const part of parts(ids))
    rows.push(...(await db.selectFrom("earlier_call").selectAll().where("trace_id", "in", part).execute()));
  await move(db, inserts, rows);
}

/** Sums are not changed. Another gateway may move the same calls: each is removed and inserted in one transaction. */
async function move(db: Db, inserts: CallInserts, rows: readonly EarlierCall[]): Promise<void> {
  if (rows.length === 0) return;
  const details = new Map<string, string>();
  const ids = rows.map((row) => row.trace_id).toSorted();
  for (const part of parts(ids))
    for (const { trace_id: id, record } of await db
      .selectFrom("earlier_call_detail")
      .select(["trace_id", "record"])
      .where("trace_id", "in", part)
      .execute())
      details.set(id, record);
  const batch = rows.map((row): Incoming => {
    const record = details.get(row.trace_id);
    return { figures: figuresOfEarlier(row), detail: record === undefined ? null : Buffer.from(record), asked: [] };
  });
  await insertIncoming(db, inserts, batch, async (tx, added) => {
    await inserts.tags(
      tx,
      added.flatMap(({ row }) => tagRowsOf(row)),
    );
    for (const part of parts(ids))
      for (const table of ["earlier_call", "earlier_call_detail"] as const)
        await tx.deleteFrom(table).where("trace_id", "in", part).execute();
    return added;
  });
}

export async function findEarlier(db: Db, traceId: string, tenantId: string | undefined): Promise<FoundCall | null> {
  const row = await db
    .selectFrom("earlier_call")
    .selectAll()
    .where("trace_id", "=", traceId)
    .$if(tenantId !== undefined, (query) => query.where("tenant_id", "=", tenantId!))
    .executeTakeFirst();
  if (row === undefined) return null;
  const detail = await db
    .selectFrom("earlier_call_detail")
    .select("record")
    .where("trace_id", "=", traceId)
    .executeTakeFirst();
  return { summary: summaryOf(figuresOfEarlier(row)), detail: detail?.record ?? null };
}

/** Its columns have the same names, and integers in place of numbers. All were chat completions. */
function figuresOfEarlier(row: EarlierCall): CallFigures {
  const figures = Object.entries({ ...row, operation: "", cache: 0, estimated: 0, request_hash: 0 });
  return Object.fromEntries(
    figures.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
  ) as unknown as CallFigures;
}
