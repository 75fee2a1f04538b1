// Answers kept in a SQLite file of the data folder, which the processes on it share and which outlives them. It is a cache:
// a file that is damaged is made anew, and a process that cannot write within 20 ms gives up.
import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { identityOf } from "../config/file-identity.ts";
import { writtenFileFault } from "../config/path-fault.ts";
import { messageOf } from "../core/thrown.ts";
import { removeDatabase } from "../store/data-folder.ts";
import type { AnswerCache, CacheAddress, CacheEntry, CacheFigures, CachePlace } from "./answer-cache.ts";

export interface SqliteCacheOptions {
  readonly file: string;
  readonly maxBytes: number;
}

const OWNERS_FILE = 0o600;
const SETUP = [
  "PRAGMA busy_timeout = 20",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = OFF",
  "PRAGMA secure_delete = ON",
  "CREATE TABLE IF NOT EXISTS answer (key TEXT NOT NULL PRIMARY KEY, tenant TEXT NOT NULL, route TEXT NOT NULL, asked_at REAL NOT NULL, expires_at REAL NOT NULL, used_at REAL NOT NULL, bytes INTEGER NOT NULL, body BLOB NOT NULL)",
  "CREATE INDEX IF NOT EXISTS answer_of_tenant ON answer (tenant, route)",
  "CREATE INDEX IF NOT EXISTS answer_by_use ON answer (used_at)",
  "CREATE INDEX IF NOT EXISTS answer_of_tenant_by_use ON answer (tenant, used_at)",
  "CREATE INDEX IF NOT EXISTS answer_by_end ON answer (expires_at)",
  "CREATE TABLE IF NOT EXISTS purge (tenant TEXT NOT NULL, route TEXT, key TEXT, at REAL NOT NULL)",
  "CREATE TABLE IF NOT EXISTS size (tenant TEXT NOT NULL PRIMARY KEY, entries INTEGER NOT NULL, bytes INTEGER NOT NULL)",
  "CREATE TRIGGER IF NOT EXISTS answer_added AFTER INSERT ON answer BEGIN INSERT INTO size VALUES (new.tenant, 1, new.bytes) ON CONFLICT (tenant) DO UPDATE SET entries = entries + 1, bytes = bytes + new.bytes; END",
  "CREATE TRIGGER IF NOT EXISTS answer_removed AFTER DELETE ON answer BEGIN UPDATE size SET entries = entries - 1, bytes = bytes - old.bytes WHERE tenant = old.tenant; DELETE FROM size WHERE tenant = old.tenant AND entries = 0; END",
];
/** What an entry takes beside its body, roughly. */
const ENTRY_BYTES = 512;
/** An answer that was asked for before a purge arrives within this time. */
const PURGE_KEPT_MS = 86_400_000;
/** The time of the last use is written only when it has changed by this much. */
const USED_MS = 60_000;
/** Some entries more are removed when there is no room, so that not every answer has to make room. */
const REMOVED_AT_ONCE = 64;
/** What a purge removes (`isAskedBefore`): ?1 is the tenant, ?2 the route, ?3 the key, ?4 the time of the purge, ?5 now. */
const PURGED =
  "tenant = ?1 AND (?2 IS NULL OR route = ?2) AND (?3 IS NULL OR key = ?3) AND (asked_at <= ?4 OR asked_at > ?5)";

/** Never throws: a file that cannot be opened is a store that is away, until it can be. */
export function openSqliteCache(options: SqliteCacheOptions): AnswerCache {
  return new SqliteCache(options);
}

function openOrMakeAnew(file: string): Database {
  try {
    return openFile(file);
  } catch (thrown) {
    // another process writes to it
    if (isOfKind(thrown, "SQLITE_BUSY")) throw thrown;
    try {
      // what cannot be opened as a cache is no loss
      removeDatabase(file);
      return openFile(file);
    } catch (cause) {
      throw new Error(`${file}: ${writtenFileFault(file) ?? messageOf(cause)}`, { cause });
    }
  }
}

function isOfKind(thrown: unknown, code: string): boolean {
  return thrown instanceof SQLiteError && thrown.code?.startsWith(code) === true;
}

function openFile(file: string): Database {
  // SQLite would make it readable by other users; it gives the files beside it the permissions of this one
  closeSync(openSync(file, "a", OWNERS_FILE));
  const database = new Database(file, { create: true, strict: true });
  try {
    for (const statement of SETUP) database.run(statement);
    return database;
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

interface Row {
  readonly route: string;
  readonly asked_at: number;
  readonly expires_at: number;
  readonly used_at: number;
  readonly body: Uint8Array;
}
type PlaceAndTime = [tenant: string, route: string | null, key: string | null, atMs: number];

class SqliteCache implements AnswerCache {
  readonly #file: string;
  readonly #maxBytes: number;
  #opened: Database | null = null;
  /** Tells the file that is open from one that another process has made in its place. */
  #identity: string | null = null;

  constructor({ file, maxBytes }: SqliteCacheOptions) {
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  get #database(): Database {
    if (this.#opened === null) {
      this.#opened = openOrMakeAnew(this.#file);
      this.#identity = identityOf(this.#file);
    }
    return this.#opened;
  }

  get(address: CacheAddress, nowMs: number): CacheEntry | null {
    return this.#using(() => this.#get(address, nowMs));
  }

  put(entry: CacheEntry, nowMs: number): void {
    const bytes = entry.body.length + ENTRY_BYTES;
    if (entry.expiresAtMs > nowMs && bytes <= this.#maxBytes)
      this.#using(() => this.#database.transaction(() => this.#put(entry, bytes, nowMs)).immediate());
  }

  purge({ tenantId, route, key }: CachePlace, atMs: number, nowMs: number): number {
    const place: PlaceAndTime = [tenantId, route ?? null, key ?? null, atMs];
    return this.#using(() => this.#database.transaction(() => this.#purge(place, nowMs)).immediate());
  }

  tenants(): readonly string[] {
    return this.#using(() =>
      this.#database
        .query<{ readonly tenant: string }, []>("SELECT DISTINCT tenant FROM answer")
        .all()
        .map(({ tenant }) => tenant),
    );
  }

  figures(): CacheFigures | null {
    try {
      return this.#using(() => this.#size());
    } catch {
      return null;
    }
  }

  close(): void {
    this.#opened?.close();
  }

  /** Damage within a file shows only when its place is read. The file is then made anew, as one that cannot be opened. */
  #using<T>(run: () => T): T {
    try {
      return run();
    } catch (thrown) {
      if (!isOfKind(thrown, "SQLITE_CORRUPT") && !isOfKind(thrown, "SQLITE_NOTADB")) throw thrown;
      this.#opened?.close();
      this.#opened = null;
      // another process may have made it anew
      if (identityOf(this.#file) === this.#identity) removeDatabase(this.#file);
      return run();
    }
  }

  #get({ tenantId, key }: CacheAddress, nowMs: number): CacheEntry | null {
    const row = this.#database
      .query<Row, [string, string, number]>(
        "SELECT route, asked_at, expires_at, used_at, body FROM answer WHERE key = ?1 AND tenant = ?2 AND expires_at > ?3",
      )
      .get(key, tenantId, nowMs);
    if (row === null) return null;
    if (nowMs - row.used_at > USED_MS) this.#noteUse(key, nowMs);
    return {
      key,
      tenantId,
      route: row.route,
      askedAtMs: row.asked_at,
      expiresAtMs: row.expires_at,
      body: row.body,
    };
  }

  /** Returns the figures of all tenants together, or of one. */
  #size(tenantId: string | null = null): CacheFigures {
    return this.#database
      .query<CacheFigures, [string | null]>(
        "SELECT coalesce(sum(entries), 0) AS entries, coalesce(sum(bytes), 0) AS bytes FROM size WHERE ?1 IS NULL OR tenant = ?1",
      )
      .get(tenantId)!;
  }

  /** When the file cannot be written now, the entry only counts as older than it is. */
  #noteUse(key: string, nowMs: number): void {
    try {
      this.#database.query("UPDATE answer SET used_at = ?1 WHERE key = ?2").run(nowMs, key);
    } catch {
      // the entry itself has been read
    }
  }

  #put({ key, tenantId, route, askedAtMs, expiresAtMs, body }: CacheEntry, bytes: number, nowMs: number): void {
    const isPurged = this.#database
      .query(
        "SELECT 1 FROM purge WHERE tenant = ?1 AND (route IS NULL OR route = ?2) AND (key IS NULL OR key = ?3) AND at >= ?4",
      )
      .get(tenantId, route, key, askedAtMs);
    if (isPurged !== null) return;
    this.#database.query("DELETE FROM answer WHERE key = ?1").run(key);
    this.#makeRoom(tenantId, bytes, nowMs);
    this.#database
      .query("INSERT INTO answer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
      .run(key, tenantId, route, askedAtMs, expiresAtMs, nowMs, bytes, body);
  }

  /** The entries go that were used the longest ago: of the tenant, where it has more than half, else of all. */
  #makeRoom(tenantId: string, bytes: number, nowMs: number): void {
    if (this.#size().bytes + bytes <= this.#maxBytes) return;
    this.#database.query("DELETE FROM answer WHERE expires_at <= ?1").run(nowMs);
    for (let held = this.#size(); held.entries > 0 && held.bytes + bytes > this.#maxBytes; held = this.#size()) {
      const isLarge = this.#size(tenantId).bytes > this.#maxBytes / 2;
      const [among, values] = isLarge ? ["WHERE tenant = ?1", [tenantId]] : ["", []];
      this.#database
        .query<unknown, string[]>(
          `DELETE FROM answer WHERE key IN (SELECT key FROM answer ${among} ORDER BY used_at LIMIT ${REMOVED_AT_ONCE})`,
        )
        .run(...values);
    }
  }

  #purge(place: PlaceAndTime, nowMs: number): number {
    const [, , , atMs] = place;
    this.#database.query("DELETE FROM purge WHERE at < ?1").run(atMs - PURGE_KEPT_MS);
    this.#database.query<unknown, PlaceAndTime>("INSERT INTO purge VALUES (?1, ?2, ?3, ?4)").run(...place);
    // the number of changes would include those of the triggers
    const { count } = this.#database
      .query<{ readonly count: number }, [...PlaceAndTime, number]>(
        `SELECT count(*) AS count FROM answer WHERE ${PURGED}`,
      )
      .get(...place, nowMs)!;
    this.#database.query<unknown, [...PlaceAndTime, number]>(`DELETE FROM answer WHERE ${PURGED}`).run(...place, nowMs);
    return count;
  }
}
