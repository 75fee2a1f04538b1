// Answers kept in a SQLite file of the data folder, which the processes on it share and which outlives them. It is a cache:
// a file that is damaged is made anew, and a process that cannot write at once does not wait.
import { Database } from "bun:sqlite";
import { closeSync, openSync, rmSync } from "node:fs";
import type { AnswerCache, CacheEntry, CachePlace } from "./answer-cache.ts";

export interface SqliteCacheOptions {
  readonly file: string;
  readonly maxBytes: number;
}

interface Row {
  readonly tenant: string;
  readonly route: string;
  readonly asked_at: number;
  readonly expires_at: number;
  readonly body: Uint8Array;
}

const OWNERS_FILE = 0o600;
const TABLES = [
  "CREATE TABLE IF NOT EXISTS answer (key TEXT NOT NULL PRIMARY KEY, tenant TEXT NOT NULL, route TEXT NOT NULL, asked_at REAL NOT NULL, expires_at REAL NOT NULL, used_at REAL NOT NULL, bytes INTEGER NOT NULL, body BLOB NOT NULL)",
  "CREATE INDEX IF NOT EXISTS answer_of_tenant ON answer (tenant, route)",
  "CREATE INDEX IF NOT EXISTS answer_by_use ON answer (used_at)",
  "CREATE INDEX IF NOT EXISTS answer_by_end ON answer (expires_at)",
  "CREATE TABLE IF NOT EXISTS purge (tenant TEXT NOT NULL, route TEXT, key TEXT, at REAL NOT NULL)",
  // one row: the sum of the bytes of all answers
  "CREATE TABLE IF NOT EXISTS size (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, bytes INTEGER NOT NULL)",
  "INSERT OR IGNORE INTO size VALUES (1, 0, 0)",
  "CREATE TRIGGER IF NOT EXISTS answer_added AFTER INSERT ON answer BEGIN UPDATE size SET entries = entries + 1, bytes = bytes + new.bytes; END",
  "CREATE TRIGGER IF NOT EXISTS answer_removed AFTER DELETE ON answer BEGIN UPDATE size SET entries = entries - 1, bytes = bytes - old.bytes; END",
];
/** What an entry takes beside its body, roughly. */
const ENTRY_BYTES = 512;
/** An answer that was asked for before a purge arrives within this time. */
const PURGE_KEPT_MS = 86_400_000;
/** The time of the last use is written only when it has changed by this much. */
const USED_MS = 60_000;
/** Some entries more are removed when there is no room, so that not every answer has to make room. */
const REMOVED_AT_ONCE = 64;

export function openSqliteCache(options: SqliteCacheOptions): AnswerCache {
  try {
    return openFile(options);
  } catch {
    // what cannot be opened as a cache is no loss
    for (const end of ["", "-wal", "-shm"]) rmSync(options.file + end, { force: true });
    return openFile(options);
  }
}

function openFile({ file, maxBytes }: SqliteCacheOptions): AnswerCache {
  // SQLite would make it readable by other users; it gives the files beside it the permissions of this one
  closeSync(openSync(file, "a", OWNERS_FILE));
  const database = new Database(file, { create: true, strict: true });
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA secure_delete = ON");
  database.run("PRAGMA busy_timeout = 20");
  for (const table of TABLES) database.run(table);
  const select = database.query<Row & { readonly used_at: number }, [string, string, number]>(
    "SELECT tenant, route, asked_at, expires_at, used_at, body FROM answer WHERE key = ?1 AND tenant = ?2 AND expires_at > ?3",
  );
  const use = database.query<unknown, [number, string]>("UPDATE answer SET used_at = ?1 WHERE key = ?2");
  const isPurged = database.query<unknown, [string, string, string, number]>(
    "SELECT 1 FROM purge WHERE tenant = ?1 AND (route IS NULL OR route = ?2) AND (key IS NULL OR key = ?3) AND at >= ?4",
  );
  const remove = database.query<unknown, [string]>("DELETE FROM answer WHERE key = ?1");
  const removeExpired = database.query<unknown, [number]>("DELETE FROM answer WHERE expires_at <= ?1");
  const removeOldest = database.query<unknown, []>(
    `DELETE FROM answer WHERE key IN (SELECT key FROM answer ORDER BY used_at LIMIT ${REMOVED_AT_ONCE})`,
  );
  const insert = database.query<unknown, [string, string, string, number, number, number, number, Uint8Array]>(
    "INSERT INTO answer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
  );
  const size = database.query<{ readonly entries: number; readonly bytes: number }, []>(
    "SELECT entries, bytes FROM size",
  );
  const put = database.transaction((entry: CacheEntry, nowMs: number) => {
    const { key, tenantId, route, askedAtMs, expiresAtMs, body } = entry;
    if (isPurged.get(tenantId, route, key, askedAtMs) !== null) return;
    const bytes = body.length + ENTRY_BYTES;
    if (bytes > maxBytes) return;
    remove.run(key);
    if (size.get()!.bytes + bytes > maxBytes) removeExpired.run(nowMs);
    for (let held = size.get()!; held.entries > 0 && held.bytes + bytes > maxBytes; held = size.get()!)
      removeOldest.run();
    insert.run(key, tenantId, route, askedAtMs, expiresAtMs, nowMs, bytes, body);
  });
  const purge = database.transaction((place: CachePlace, nowMs: number): number => {
    const { tenantId } = place;
    const route = place.route ?? null;
    const key = place.key ?? null;
    database.query("DELETE FROM purge WHERE at < ?1").run(nowMs - PURGE_KEPT_MS);
    database.query("INSERT INTO purge VALUES (?1, ?2, ?3, ?4)").run(tenantId, route, key, nowMs);
    const where = "tenant = ?1 AND (?2 IS NULL OR route = ?2) AND (?3 IS NULL OR key = ?3) AND asked_at <= ?4";
    // the number of changes would include those of the triggers
    const { count } = database
      .query<{ readonly count: number }, [string, string | null, string | null, number]>(
        `SELECT count(*) AS count FROM answer WHERE ${where}`,
      )
      .get(tenantId, route, key, nowMs)!;
    database.query(`DELETE FROM answer WHERE ${where}`).run(tenantId, route, key, nowMs);
    return count;
  });
  return {
    get({ tenantId, key }, nowMs) {
      const row = select.get(key, tenantId, nowMs);
      if (row === null) return null;
      if (nowMs - row.used_at > USED_MS) noteUse(() => use.run(nowMs, key));
      return {
        key,
        tenantId: row.tenant,
        route: row.route,
        askedAtMs: row.asked_at,
        expiresAtMs: row.expires_at,
        body: row.body,
      };
    },
    put(entry, nowMs) {
      if (entry.expiresAtMs > nowMs) put.immediate(entry, nowMs);
    },
    purge: (place, nowMs) => purge.immediate(place, nowMs),
    tenants: () =>
      database
        .query<{ readonly tenant: string }, []>("SELECT DISTINCT tenant FROM answer")
        .all()
        .map(({ tenant }) => tenant),
    figures() {
      try {
        return size.get();
      } catch {
        return null;
      }
    },
    close: () => database.close(),
  };
}

/** When the file cannot be written now, the entry only counts as older than it is. */
function noteUse(write: () => void): void {
  try {
    write();
  } catch {
    // the entry itself has been read
  }
}
