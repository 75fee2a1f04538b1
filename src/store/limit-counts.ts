// What the limits of one process have counted, kept over a restart in a SQLite file of its own in the data folder, so
// that a slow, shared or unavailable database of records does not affect it.
import { Database } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import type { LimitRule } from "../core/limit.ts";
import { type FolderLock, lockFile } from "./journal-folder.ts";
import { OWNERS_FILE } from "./owner-only.ts";
import { StoreError } from "./store.ts";

/** A count by its rule and the value of its scope. */
export interface KeptCount {
  readonly rule: string;
  readonly value: string;
  /** `null` when nothing counts any more. */
  readonly state: string | null;
}

/** The latest count of an account in the journal: it may be newer than what was kept before a process was killed. */
export interface JournalledCount extends Pick<LimitRule, "tenantId" | "id" | "unit" | "kind" | "window"> {
  readonly value: string;
  /** The order of the operations, as in `CountedHere`. */
  readonly stamp: number;
  /** What the account counted at that time. */
  readonly total: number;
}

export interface CountKeeper {
  read(): readonly KeptCount[];
  /** The time of the latest kept count, in milliseconds since 1970; 0 when nothing is kept. */
  keptAtMs(): number;
  /**
   * Returns true when this process keeps its counts in the file. Returns false when another process does; this one then
   * writes nothing.
   */
  hold(): boolean;
  /** Writes all rows or none. Throws the error of the disk. It is synchronous because it is short. */
  write(rows: readonly KeptCount[]): void;
  close(): void;
}

/** The file in a data folder. */
export interface LimitCounts extends CountKeeper {
  /** The file was missing or empty, and `known` has not been called since: earlier counts are unknown. */
  readonly isNew: boolean;
  /** Marks the file as holding everything that was counted. */
  known(): void;
}

/**
 * Versions of a file that lacks what was counted before it was made, and of one that does not. Files of earlier
 * releases have 0.
 */
const UNKNOWN = 1;
const KNOWN = 2;

/** Throws StoreError when the file cannot be opened, is damaged, or does not belong to the gateway. */
export function openLimitCounts(file: string): LimitCounts {
  try {
    return openCounts(file);
  } catch (fault) {
    const words = fault instanceof Error ? fault.message : String(fault);
    throw new StoreError(
      "unusable",
      `What limits have counted cannot be read from ${file}: ${words}. Move ${file}, ${file}-wal and ${file}-shm to another place and start again: budgets are then counted from the rows of calls, and limits that slide from nothing.`,
      fault,
    );
  }
}

function openCounts(file: string): LimitCounts {
  // SQLite would make it readable by other users; it gives the files beside it the permissions of this one.
  closeSync(openSync(file, "a", OWNERS_FILE));
  const database = new Database(file, { create: true, strict: true });
  // The last write survives the death of the process; only a crash of the machine may lose the last seconds.
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = NORMAL");
  database.run("PRAGMA busy_timeout = 50");
  if (database.query("SELECT 1 FROM sqlite_master WHERE name = 'limit_count'").get() === null)
    database.run(`PRAGMA user_version = ${UNKNOWN}`);
  const isNew =
    database.query<{ readonly user_version: number }, []>("PRAGMA user_version").get()!.user_version === UNKNOWN;
  database.run(
    "CREATE TABLE IF NOT EXISTS limit_count (rule TEXT NOT NULL, value TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (rule, value)) WITHOUT ROWID",
  );
  const put = database.query<unknown, [string, string, string]>(
    "INSERT INTO limit_count (rule, value, state) VALUES (?1, ?2, ?3) ON CONFLICT (rule, value) DO UPDATE SET state = excluded.state",
  );
  // Damage is detected now instead of when a count is read.
  for (const { state } of database.query<KeptCount, []>("SELECT rule, value, state FROM limit_count").all())
    JSON.parse(state ?? "null");
  const { quick_check: verdict } = database.query<{ readonly quick_check: string }, []>("PRAGMA quick_check(1)").get()!;
  if (verdict !== "ok") throw new Error(verdict);
  let lock: FolderLock | null = lockFile(`${file}.lock`);
  const drop = database.query<unknown, [string, string]>("DELETE FROM limit_count WHERE rule = ?1 AND value = ?2");
  const writeAll = database.transaction((rows: readonly KeptCount[]) => {
    for (const { rule, value, state } of rows) {
      if (state === null) drop.run(rule, value);
      else put.run(rule, value, state);
    }
  });
  return {
    isNew,
    known: () => database.run(`PRAGMA user_version = ${KNOWN}`),
    read: () => database.query<KeptCount, []>("SELECT rule, value, state FROM limit_count").all(),
    keptAtMs: () =>
      (database
        .query<{ readonly stamp: number | null }, []>(
          "SELECT max(json_extract(state, '$.stamp')) AS stamp FROM limit_count",
        )
        .get()?.stamp ?? 0) / 1000,
    hold: () => (lock ??= lockFile(`${file}.lock`)) !== null,
    write: (rows) => writeAll(rows),
    close() {
      database.close();
      lock?.release();
    },
  };
}
