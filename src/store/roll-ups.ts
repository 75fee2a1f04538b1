// Sums that are made of the hourly sums, so that reports over many hours read few rows: those of a project's hour
// (`call_project_hour`), and those of a day in UTC with all dimensions (`call_day`). Triggers of the database keep them
// (roll-up-triggers.ts), whichever version of the gateway writes. What was there before them is added in the
// background, the newest hours first.
import { type Kysely, PostgresAdapter, sql, type Transaction } from "kysely";
import { ROLL_UP_LOCK, rolledUp, ROLL_UPS } from "./roll-up-triggers.ts";

interface RollUpSchema {
  readonly call_rolled: { readonly from_ms: bigint };
}

/** How many hourly sums one step adds at least: whole hours, and more would keep other writers waiting. */
const ADDED_AT_ONCE = 2000;

/** The time from which on all hourly sums are in the roll-ups. */
export async function rolledFrom<Schema>(db: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<RollUpSchema["call_rolled"]>`select from_ms from call_rolled`.execute(db);
  return Number(rows[0]!.from_ms);
}

/** In PostgreSQL: until the transaction ends, nobody else changes sums. */
export async function lockRollUps<Schema>(tx: Transaction<Schema>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(ROLL_UP_LOCK)})`.execute(tx);
}

/** Adds some earlier hours, the newest first, and returns 0 when there are none: to be repeated until then. */
export async function rollUpNewest<Schema>(db: Kysely<Schema>, atOnce = ADDED_AT_ONCE): Promise<number> {
  if ((await rolledFrom(db)) === 0) return 0;
  return await db.transaction().execute(async (tx) => {
    // Who writes sums has the same lock until its end, so that each sum is added either here or by a trigger.
    if (tx.getExecutor().adapter instanceof PostgresAdapter) await lockRollUps(tx);
    const toMs = await rolledFrom(tx);
    const { rows } = await sql<{
      readonly hour_ms: bigint;
    }>`select hour_ms from call_hour where hour_ms < ${sql.lit(toMs)} order by hour_ms desc limit 1 offset ${sql.lit(atOnce)}`.execute(
      tx,
    );
    const fromMs = Number(rows[0]?.hour_ms ?? 0);
    for (const rollUp of ROLL_UPS)
      await sql`${sql.raw(rolledUp(rollUp, `select * from call_hour where hour_ms >= ${fromMs} and hour_ms < ${toMs}`))}`.execute(
        tx,
      );
    await sql`update call_rolled set from_ms = ${sql.lit(fromMs)}`.execute(tx);
    return toMs === 0 ? 0 : atOnce;
  });
}
