// Sums that are made of other sums, so that reports over a long time read few rows. Of the hourly sums: those of a
// project's hour, those of a day in UTC, and those of a project's targets by hour and by day. Of the daily sums of end
// users: those of a project's day, and those of an end user's week. Triggers of the database keep them
// (roll-up-triggers.ts), whichever version of the gateway writes. What was there before them is added in the
// background, the newest first.
import { type Kysely, sql, type Transaction } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { beginWriting } from "../database/transactions.ts";
import { ROLL_UP_GROUPS, ROLL_UP_LOCK, rolledUp, type RollUpGroup } from "./roll-up-triggers.ts";

/** How many sums one step adds at least: whole hours or days, and more would keep other writers waiting. */
const ADDED_AT_ONCE = 2000;

/** The time from which on the roll-ups of a group have all sums. */
export async function rolledFrom<Schema>(db: Kysely<Schema>, { rolled }: RollUpGroup): Promise<number> {
  const { rows } = await sql<{ readonly from_ms: bigint }>`select from_ms from ${sql.table(rolled)}`.execute(db);
  return Number(rows[0]!.from_ms);
}

/** In PostgreSQL: until the transaction ends, nobody else changes sums. */
export async function lockRollUps<Schema>(tx: Transaction<Schema>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(ROLL_UP_LOCK)})`.execute(tx);
}

/** Adds some earlier sums, the newest first, and returns 0 when there are none: to be repeated until then. */
export async function rollUpNewest<Schema>(db: Kysely<Schema>, atOnce = ADDED_AT_ONCE): Promise<number> {
  for (const group of ROLL_UP_GROUPS) {
    const added = await addNewest(db, group, atOnce);
    if (added > 0) return added;
  }
  return 0;
}

async function addNewest<Schema>(db: Kysely<Schema>, group: RollUpGroup, atOnce: number): Promise<number> {
  if ((await rolledFrom(db, group)) === 0) return 0;
  const { of, rolled, rollUps } = group;
  const [table, time] = [sql.table(of.table), sql.ref(of.time)];
  return await beginWriting(db).execute(async (tx) => {
    // Who writes sums has the same lock until its end, so that each sum is added either here or by a trigger.
    if (usesPostgres(tx)) await lockRollUps(tx);
    const toMs = await rolledFrom(tx, group);
    const { rows } = await sql<{
      readonly at_ms: bigint;
    }>`select ${time} as at_ms from ${table} where ${time} < ${sql.lit(toMs)} order by ${time} desc limit 1 offset ${sql.lit(atOnce)}`.execute(
      tx,
    );
    const fromMs = Number(rows[0]?.at_ms ?? 0);
    const added = `select * from ${of.table} where ${of.time} >= ${fromMs} and ${of.time} < ${toMs}`;
    for (const rollUp of rollUps) await sql`${sql.raw(rolledUp(rollUp, of, added))}`.execute(tx);
    await sql`update ${sql.table(rolled)} set from_ms = ${sql.lit(fromMs)}`.execute(tx);
    return toMs === 0 ? 0 : atOnce;
  });
}
