// In PostgreSQL the tables of single calls are partitioned by day (in UTC), so that old calls are removed by dropping
// tables. https://www.postgresql.org/docs/current/ddl-partitioning.html
import { type Kysely, type RawBuilder, sql } from "kysely";
import { firstKeyAt, MOST_MS } from "./call-keys.ts";
import type { CallSchema } from "./call-schema.ts";
import { beginWriting } from "../database/transactions.ts";
import { codeOf } from "../../core/thrown.ts";

type Db = Kysely<CallSchema>;

const DAY_MS = 86_400_000;
/** Each is partitioned by its column `id`. */
export const PARTITIONED = ["call", "call_tag", "call_block"] as const;
export type Partitioned = (typeof PARTITIONED)[number];
/** Gateways create and drop partitions one at a time. */
const LOCK = 7_205_759;
/** A report that reads the table may delay a removal; removals may not delay reports. */
const LOCK_TIMEOUT_MS = 2000;
const MISSING = "23514";
const LOCK_NOT_FREE = "55P03";

const dayOf = (timeMs: number): number => Math.floor(timeMs / DAY_MS);
const nameOf = (table: Partitioned, day: number): string =>
  `${table}_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll("-", "").replace("+", "")}`;

/** The last day that a key can hold has no end. */
const endOf = (day: number): RawBuilder<unknown> =>
  (day + 1) * DAY_MS < MOST_MS ? sql`${sql.lit(firstKeyAt((day + 1) * DAY_MS))}` : sql`maxvalue`;

/** The days that have partitions, as far as one gateway knows. */
export class CallPartitions {
  readonly #days = new Set<number>();

  /** Creates what is missing for rows of these times. */
  async provide(db: Db, timesMs: readonly number[]): Promise<void> {
    const missing = [...new Set(timesMs.map(dayOf))].filter((day) => !this.#days.has(day));
    if (missing.length === 0) return;
    await createPartitions(db, missing);
    for (const day of missing) this.#days.add(day);
  }

  /** Runs a transaction with rows of these times, and once more where a partition that it needs was dropped before. */
  async providing(db: Db, timesMs: readonly number[], run: () => Promise<void>): Promise<void> {
    await this.provide(db, timesMs);
    try {
      await run();
    } catch (error) {
      if (codeOf(error) !== MISSING) throw error;
      this.#days.clear();
      await this.provide(db, timesMs);
      await run();
    }
  }
}

async function createPartitions(db: Db, days: readonly number[]): Promise<void> {
  await beginWriting(db).execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(tx);
    for (const day of days.toSorted((a, b) => a - b))
      for (const table of PARTITIONED) {
        const name = sql.table(nameOf(table, day));
        const { rows } = await sql<{
          readonly there: string | null;
        }>`select to_regclass(${nameOf(table, day)})::text as there`.execute(tx);
        if (rows[0]?.there != null) continue;
        // Attached, because `create ... partition of` would wait for every report that reads the table.
        await sql`create table ${name} (like ${sql.table(table)} including all)`.execute(tx);
        await sql`alter table ${sql.table(table)} attach partition ${name} for values from (${sql.lit(firstKeyAt(day * DAY_MS))}) to (${endOf(day)})`.execute(
          tx,
        );
      }
  });
}

/** Drops the partitions of days that ended before this time. Returns how many rows they had, about. */
export async function dropPartitions(db: Db, table: Partitioned, beforeMs: number): Promise<number> {
  const { rows } = await sql<{
    readonly name: string;
    readonly rows: bigint | number;
  }>`select c.relname as name, greatest(c.reltuples, 1)::int8 as rows from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${table}::regclass and c.relname < ${nameOf(table, dayOf(beforeMs))} order by c.relname limit 10`.execute(
    db,
  );
  let removed = 0;
  for (const one of rows) {
    if (!(await isDropped(db, table, one.name))) break;
    removed += Number(one.rows);
  }
  return removed;
}

/** False when something reads the table for long. */
async function isDropped(db: Db, table: Partitioned, name: string): Promise<boolean> {
  try {
    await beginWriting(db).execute(async (tx) => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(tx);
      await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(tx);
      // triggers refuse a removal from a database that is being moved, or was (write-hold.ts), and see no table that goes
      await sql`delete from ${sql.table(table)} where false`.execute(tx);
      await sql`drop table if exists ${sql.table(name)}`.execute(tx);
    });
    return true;
  } catch (error) {
    if (codeOf(error) === LOCK_NOT_FREE) return false;
    throw error;
  }
}
