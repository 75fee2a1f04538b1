// Sessions of the web console over any database that Kysely supports.
import { type Kysely, sql } from "kysely";
import { byNewest, having, readFirst, readPage } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { keptIn, rowOf, toInteger } from "../database/columns.ts";
import type { Schema } from "../schema.ts";
import { CODE, type LoginCode, SESSION, type SessionFilter, type StoredSession } from "./sessions.ts";

type Db = Kysely<Schema>;

/** Failures are counted for less than this time. */
const FAILURES_KEPT_MS = 86_400_000;
const REMOVED_AT_ONCE = 200;

const NEWEST = byNewest("sessions", "started_at_ms");
const sessionOf = (row: Schema["console_sessions"]): StoredSession => keptIn(SESSION, row);

export type SessionTable = ReturnType<typeof sessionTable>;

export function sessionTable(db: Db) {
  return {
    /** Also removes some of those that have ended. */
    async openSession(session: StoredSession): Promise<void> {
      await removeEnded(db, session.startedAtMs);
      await db.insertInto("console_sessions").values(rowOf(SESSION, session)).execute();
    },
    findSession: (secretHash: string) =>
      readFirst(db.selectFrom("console_sessions").selectAll().where("secret_hash", "=", secretHash), sessionOf),
    async sessionSeen(secretHash: string, atMs: number): Promise<void> {
      await db
        .updateTable("console_sessions")
        .set({ seen_at_ms: toInteger(atMs) })
        .where("secret_hash", "=", secretHash)
        .execute();
    },
    /** Returns whether there was such a session. */
    endSession: async (id: string) =>
      (await db.deleteFrom("console_sessions").where("id", "=", id).executeTakeFirst()).numDeletedRows > 0n,
    async keepCode(code: LoginCode): Promise<void> {
      await db.insertInto("console_codes").values(rowOf(CODE, code)).execute();
    },
    /** Returns a code that has not expired, once: of several that take it at the same time, one gets it. */
    async takeCode(codeHash: string, nowMs: number): Promise<LoginCode | null> {
      await db.deleteFrom("console_codes").where("expires_at_ms", "<=", toInteger(nowMs)).execute();
      const taking = db.deleteFrom("console_codes").where("code_hash", "=", codeHash).returningAll();
      return await readFirst(taking, (row) => keptIn(CODE, row));
    },
    /** The failures of each key since the beginning of its window, or 0. */
    async loginFailures(keys: readonly string[], sinceMs: number): Promise<readonly number[]> {
      const rows = await db
        .selectFrom("login_failures")
        .select(["failure_key", "failures"])
        .where("failure_key", "in", [...keys])
        .where("since_ms", ">", toInteger(sinceMs))
        .execute();
      const counts = new Map(rows.map((row) => [row.failure_key, Number(row.failures)]));
      return keys.map((key) => counts.get(key) ?? 0);
    },
    /** Adds one to the failures of each key, and begins a new window where the last one began before `sinceMs`. */
    async addLoginFailure(keys: readonly string[], nowMs: number, sinceMs: number): Promise<void> {
      const oldest = toInteger(nowMs - FAILURES_KEPT_MS);
      await db.deleteFrom("login_failures").where("since_ms", "<", oldest).execute();
      for (const key of keys.toSorted()) await addFailure(db, key, toInteger(nowMs), toInteger(sinceMs));
    },
  };
}

export function listSessions(db: Db, page: PageRequest, filter: SessionFilter): Promise<Page<StoredSession>> {
  return readPage(db.selectFrom("console_sessions").selectAll().where(among(filter)), page, NEWEST, sessionOf);
}

/** Ends a session in a change of the store, and returns it; `null` when there is no such session. */
export function takeSession(db: Db, id: string, filter: SessionFilter): Promise<StoredSession | null> {
  const taking = db.deleteFrom("console_sessions").where("id", "=", id).where(among(filter)).returningAll();
  return readFirst(taking, sessionOf);
}

const among = ({ tenantId, userId, tokenId }: SessionFilter) =>
  having<Schema["console_sessions"]>({ tenant_id: tenantId, token_id: tokenId, user_id: userId });

async function addFailure(db: Db, key: string, now: bigint, since: bigint): Promise<void> {
  await sql`
    insert into login_failures (failure_key, failures, since_ms) values (${key}, 1, ${now})
    on conflict (failure_key) do update set
      failures = case when login_failures.since_ms <= ${since} then 1 else login_failures.failures + 1 end,
      since_ms = case when login_failures.since_ms <= ${since} then excluded.since_ms else login_failures.since_ms end
  `.execute(db);
}

async function removeEnded(db: Db, nowMs: number): Promise<void> {
  const ended = db
    .selectFrom("console_sessions")
    .select("id")
    .where("ends_at_ms", "<=", toInteger(nowMs))
    .limit(sql.lit(REMOVED_AT_ONCE));
  await db.deleteFrom("console_sessions").where("id", "in", ended).execute();
}
