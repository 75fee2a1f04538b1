// Keeps a database from being changed by anybody, gateways of earlier versions included, while what is left of it is
// copied: triggers refuse changes until a time in the database, so that a move that was killed holds nothing up for long.
// https://sqlite.org/lang_createtrigger.html, https://www.postgresql.org/docs/current/sql-createtrigger.html
import { type Kysely, type RawBuilder, sql } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { runStatements } from "../database/run-statements.ts";
import { codeOf } from "../../core/thrown.ts";
import { FOREVER_MS, HELD, HELD_CODE } from "../database/move-marks.ts";
import type { Schema } from "../schema.ts";
import { COPIED_TABLES } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";

type Db = Kysely<Schema>;

const TRIGGER = "database_move_hold";
const CHANGES = ["insert", "update", "delete"] as const;
const HELD_TABLES: readonly string[] = [...COPIED_TABLES.map(({ name }) => name), "kysely_migration"];

/**
 * Writers lock tables in orders of their own. Whoever waits for less time than the server takes to look for a deadlock
 * (a second by default) gives way, so that no gateway's transaction is ended.
 */
const LOCK_TIMEOUT_MS = 300;
const GIVEN_UP_AFTER_MS = 60_000;
/** What PostgreSQL says when a lock is not free, and when two wait for each other. */
const BLOCKED: ReadonlySet<string> = new Set(["55P03", "40P01"]);

/** By the clock of the database, which alone is the same for all that use it. */
const nowSql = (db: Db): RawBuilder<bigint> =>
  sql.raw(
    usesPostgres(db)
      ? "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)"
      : "cast(unixepoch('subsec') * 1000 as integer)",
  );

/** Waits for changes that have begun, and refuses all others for this time, or until it is renewed or lifted. */
export async function holdWrites(db: Db, id: string, forMs: number): Promise<void> {
  const endsMs = performance.now() + GIVEN_UP_AFTER_MS;
  for (;;)
    try {
      return await db.transaction().execute(async (tx) => {
        await (usesPostgres(tx) ? addPostgresTriggers(tx) : addSqliteTriggers(tx));
        await setUntil(tx, id, sql`${nowSql(tx)} + ${BigInt(forMs)}`);
      });
    } catch (error) {
      if (!BLOCKED.has(codeOf(error)) || performance.now() > endsMs) throw error;
      await Bun.sleep(Math.random() * LOCK_TIMEOUT_MS);
    }
}

/** Returns false when the time was over: something may have been changed. */
export async function renewHold(db: Db, id: string, forMs: number): Promise<boolean> {
  return await changeHold(db, id, sql`until_ms = ${nowSql(db)} + ${BigInt(forMs)}`);
}

/** Holds for good. Returns false, as renewHold() does, when the time was over. */
export async function holdForever(db: Db, id: string): Promise<boolean> {
  return await changeHold(db, id, sql`until_ms = ${FOREVER_MS}, state = 'moved'`);
}

async function changeHold(db: Db, id: string, change: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows } =
    await sql`update database_move set ${change} where id = ${id} and role = 'from' and until_ms > ${nowSql(db)}`.execute(
      db,
    );
  return numAffectedRows === 1n;
}

export async function liftHold(db: Db, id: string): Promise<void> {
  await setUntil(db, id, sql`0`);
}

/** Of a database that is to be filled again. */
export async function removeHold(tx: Db): Promise<void> {
  if (usesPostgres(tx))
    return await runStatements(
      tx,
      ...HELD_TABLES.map((table) => `drop trigger if exists ${TRIGGER} on ${table}`),
      `drop function if exists ${TRIGGER}()`,
    );
  for (const table of HELD_TABLES)
    for (const change of CHANGES) await runStatements(tx, `drop trigger if exists ${TRIGGER}_${table}_${change}`);
}

async function setUntil(db: Db, id: string, until: RawBuilder<unknown>): Promise<void> {
  const { numAffectedRows } =
    await sql`update database_move set until_ms = ${until} where id = ${id} and role = 'from' and state = 'copying'`.execute(
      db,
    );
  if (numAffectedRows !== 1n)
    throw new StoreError("conflict", "Another move of this database has begun meanwhile. Run one of them only.");
}

/** The transaction has the only lock for writes already. */
async function addSqliteTriggers(tx: Db): Promise<void> {
  for (const table of HELD_TABLES)
    for (const change of CHANGES)
      await runStatements(
        tx,
        `create trigger if not exists ${TRIGGER}_${table}_${change} before ${change} on ${table} when exists (select 1 from database_move where role = 'from' and until_ms > unixepoch('subsec') * 1000) begin select raise(abort, '${HELD}'); end`,
      );
}

async function addPostgresTriggers(tx: Db): Promise<void> {
  await runStatements(
    tx,
    `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    // Conflicts with every change, and with no reading.
    `lock table ${HELD_TABLES.join(", ")} in share row exclusive mode`,
    `create or replace function ${TRIGGER}() returns trigger language plpgsql as $$ begin if exists (select 1 from database_move where role = 'from' and until_ms > extract(epoch from clock_timestamp()) * 1000) then raise exception '${HELD}' using errcode = '${HELD_CODE}'; end if; return null; end $$`,
  );
  const { rows } = await sql<{
    readonly name: string;
  }>`select c.relname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid where t.tgname = ${TRIGGER}`.execute(
    tx,
  );
  const held = new Set(rows.map(({ name }) => name));
  for (const table of HELD_TABLES.filter((name) => !held.has(name)))
    await runStatements(
      tx,
      `create trigger ${TRIGGER} before insert or update or delete on ${table} for each statement execute function ${TRIGGER}()`,
    );
}
