// What the limits of one process have counted, kept over a restart in a SQLite file of its own in the data folder, so
// that a slow, shared or unavailable database of records does not affect it.
import { Database } from "bun:sqlite";
import { closeSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { pathFault } from "../../config/path-fault.ts";
import type { LimitRule } from "../../core/configured/limit.ts";
import { type FolderLock, lockFile } from "./journal-folder.ts";
import { isHolderRunning, runningHolders } from "./limit-holders.ts";
import { newRandomName } from "./journal-identity.ts";
import { OWNERS_FILE } from "../database/owner-only.ts";
import { StoreError } from "../store-error.ts";

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
  /** The process that counted beside the one that kept the counts; omitted when it kept them itself. */
  readonly run?: string | undefined;
  /** The order of the operations, as in `CountedHere`. */
  readonly stamp: number;
  /** What the account counted at that time. */
  readonly total: number;
}

/** What one process counted while another one kept the counts. */
export interface CountsBeside {
  readonly run: string;
  /** What was kept when the process began. */
  readonly before: readonly KeptCount[];
  /** The same accounts and further ones, as the process wrote them last. */
  readonly counted: readonly KeptCount[];
}

/** What a call held of an account through a worker, or used of it once that was settled, as the journal states it. */
export interface JournalledHold extends Pick<LimitRule, "tenantId" | "id" | "unit" | "kind" | "window"> {
  readonly value: string;
  /** As in JournalledCount. */
  readonly run?: string | undefined;
  readonly holder: string;
  /** The order of the reservation; divided by 1000 it is its time in milliseconds since 1970. */
  readonly stamp: number;
  /** As in `CountedHere`. */
  readonly settlement?: number | undefined;
  readonly units: number;
}

export interface CountStore {
  /** Names this process among those that count in the file. */
  readonly run: string;
  read(): readonly KeptCount[];
  /**
   * The time since when entries of a journal may be newer than what was written, in milliseconds since 1970; 0 when
   * nothing is kept.
   */
  keptAtMs(): number;
  /** Whether this process keeps the counts in the file, by the last `hold`. The one that opens a file first does. */
  readonly isHeld: boolean;
  /** Returns true when this process keeps the counts in the file from now on. Returns false when another process does. */
  hold(): boolean;
  /** Writes all rows, and removes what the named processes counted beside, or does nothing. Throws the error of the disk. */
  write(rows: readonly KeptCount[], added: readonly string[]): void;
  /**
   * Returns what is kept, and stores it as what this process begins with beside another one. Throws the error of the
   * disk.
   */
  beginBeside(nowMs: number): readonly KeptCount[];
  /** Writes what this process counts beside another one: all rows or none. Throws the error of the disk. */
  writeBeside(rows: readonly KeptCount[]): void;
  /** All processes that count beside the one that keeps the counts, and those that have ended and were not added. */
  besideRuns(): readonly string[];
  /** All workers that run, whose supervisor may have ended. */
  runningHolders(): readonly string[];
  /** Whether this worker runs, whose supervisor may have ended. */
  isHolderRunning(holder: string): boolean;
  /** What processes counted beside another one that have ended, and whose counts have not been added to the kept ones. */
  endedBeside(): readonly CountsBeside[];
  close(): void;
}

/** The file in a data folder. */
export interface LimitCounts extends CountStore {
  /** The file was missing or empty, and `markComplete` has not been called since: earlier counts are unknown. */
  readonly isNew: boolean;
  /** Marks the file as holding everything that was counted. */
  markComplete(): void;
}

/** The version of a file that has everything that was counted. SQLite gives a new file the version 0. */
const COMPLETE = 1;

const TABLES = [
  "CREATE TABLE IF NOT EXISTS limit_count (rule TEXT NOT NULL, value TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (rule, value)) WITHOUT ROWID",
  // The processes that count beside the one that keeps the counts.
  "CREATE TABLE IF NOT EXISTS limit_run (run TEXT NOT NULL PRIMARY KEY, since_ms REAL NOT NULL) WITHOUT ROWID",
  // `state` is null for an account that such a process has not changed since it began.
  "CREATE TABLE IF NOT EXISTS limit_count_beside (run TEXT NOT NULL, rule TEXT NOT NULL, value TEXT NOT NULL, before TEXT, state TEXT, PRIMARY KEY (run, rule, value)) WITHOUT ROWID",
];
const NOTHING = '{"parts":[]}';

/** Throws StoreError when the file cannot be opened, is damaged, or does not belong to the gateway. */
export function openLimitCounts(file: string): LimitCounts {
  try {
    return openCounts(file);
  } catch (fault) {
    const message = pathFault(fault, file);
    throw new StoreError(
      "unusable",
      `The counts of limits cannot be read from ${file}: ${message}. Move ${file}, ${file}-wal and ${file}-shm away and start again: budgets are then counted from the rows of calls, and sliding limits start at zero.`,
      fault,
    );
  }
}

function openCounts(file: string): LimitCounts {
  // SQLite would make it readable by other users; it gives the files beside it the permissions of this one.
  closeSync(openSync(file, "a", OWNERS_FILE));
  const database = new Database(file, { create: true, strict: true });
  database.run("PRAGMA busy_timeout = 50");
  // The last write survives the death of the process; only a crash of the machine may lose the last seconds.
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = NORMAL");
  const isNew =
    database.query<{ readonly user_version: number }, []>("PRAGMA user_version").get()!.user_version !== COMPLETE;
  for (const table of TABLES) database.run(table);
  const put = database.query<unknown, [string, string, string]>(
    "INSERT INTO limit_count (rule, value, state) VALUES (?1, ?2, ?3) ON CONFLICT (rule, value) DO UPDATE SET state = excluded.state",
  );
  const read = (): KeptCount[] => database.query<KeptCount, []>("SELECT rule, value, state FROM limit_count").all();
  // Damage is detected now instead of when a count is read.
  for (const { state } of read()) JSON.parse(state ?? "null");
  const { quick_check: verdict } = database.query<{ readonly quick_check: string }, []>("PRAGMA quick_check(1)").get()!;
  if (verdict !== "ok") throw new Error(verdict);
  let lock: FolderLock | null = lockFile(`${file}.lock`);
  const beside = new BesideCounts(database, file);
  const drop = database.query<unknown, [string, string]>("DELETE FROM limit_count WHERE rule = ?1 AND value = ?2");
  const writeAll = database.transaction((rows: readonly KeptCount[], added: readonly string[]) => {
    for (const { rule, value, state } of rows) {
      if (state === null) drop.run(rule, value);
      else put.run(rule, value, state);
    }
    for (const run of added) beside.remove(run);
  });
  return {
    isNew,
    run: beside.own,
    markComplete: () => database.run(`PRAGMA user_version = ${COMPLETE}`),
    read,
    keptAtMs() {
      const kept = database
        .query<{ readonly stamp: number | null }, []>(
          "SELECT max(json_extract(state, '$.stamp')) AS stamp FROM limit_count",
        )
        .get();
      return Math.min((kept?.stamp ?? 0) / 1000, beside.writtenMs());
    },
    get isHeld() {
      return lock !== null;
    },
    hold: () => (lock ??= lockFile(`${file}.lock`)) !== null,
    write(rows, added) {
      writeAll(rows, added);
      for (const run of added) beside.forget(run);
    },
    beginBeside: (nowMs) => beside.begin(nowMs, read),
    writeBeside: (rows) => beside.write(rows),
    besideRuns: () => beside.runs(),
    runningHolders: () => runningHolders(dirname(file)),
    isHolderRunning: (holder) => isHolderRunning(dirname(file), holder),
    endedBeside: () => beside.ended(),
    close() {
      database.close();
      lock?.release();
      lock = null;
      beside.close();
    },
  };
}

/** What processes count beside the one that keeps the counts: each has rows and a lock of its own. */
class BesideCounts {
  readonly own = newRandomName();
  readonly #database: Database;
  readonly #file: string;
  readonly #locks = new Map<string, FolderLock>();

  constructor(database: Database, file: string) {
    this.#database = database;
    this.#file = file;
  }

  begin(nowMs: number, read: () => KeptCount[]): readonly KeptCount[] {
    const { own } = this;
    this.#isRunning(own);
    return this.#database
      .transaction(() => {
        this.#database.run("INSERT INTO limit_run (run, since_ms) VALUES (?1, ?2)", [own, nowMs]);
        this.#database.run(
          "INSERT INTO limit_count_beside (run, rule, value, before, state) SELECT ?1, rule, value, state, NULL FROM limit_count",
          [own],
        );
        return read();
      })
      .immediate();
  }

  write(rows: readonly KeptCount[]): void {
    const put = this.#database.query<unknown, [string, string, string, string]>(
      "INSERT INTO limit_count_beside (run, rule, value, before, state) VALUES (?1, ?2, ?3, NULL, ?4) ON CONFLICT (run, rule, value) DO UPDATE SET state = excluded.state",
    );
    this.#database.transaction(() => {
      for (const { rule, value, state } of rows) put.run(this.own, rule, value, state ?? NOTHING);
    })();
  }

  ended(): readonly CountsBeside[] {
    return this.runs()
      .filter((run) => run !== this.own && !this.#isRunning(run))
      .map((run) => this.#countsOf(run));
  }

  runs(): readonly string[] {
    return this.#database
      .query<{ readonly run: string }, []>("SELECT run FROM limit_run")
      .all()
      .map(({ run }) => run);
  }

  #countsOf(run: string): CountsBeside {
    const rows = this.#database
      .query<KeptCount & { readonly before: string | null }, [string]>(
        "SELECT rule, value, before, state FROM limit_count_beside WHERE run = ?1",
      )
      .all(run);
    return {
      run,
      before: rows.map(({ rule, value, before }) => ({ rule, value, state: before })),
      counted: rows.map(({ rule, value, before, state }) => ({ rule, value, state: state ?? before })),
    };
  }

  /** Milliseconds since 1970 from which on some process may not have written its counts; infinite when there is none. */
  writtenMs(): number {
    const { ms } = this.#database
      .query<{ readonly ms: number | null }, []>(
        "SELECT min(coalesce((SELECT max(json_extract(state, '$.stamp')) / 1000 FROM limit_count_beside AS counted WHERE counted.run = limit_run.run), since_ms)) AS ms FROM limit_run",
      )
      .get()!;
    return ms ?? Number.POSITIVE_INFINITY;
  }

  remove(run: string): void {
    this.#database.run("DELETE FROM limit_count_beside WHERE run = ?1", [run]);
    this.#database.run("DELETE FROM limit_run WHERE run = ?1", [run]);
  }

  /** Removes the lock of a process whose rows have been removed. */
  forget(run: string): void {
    this.#locks.get(run)?.release();
    this.#locks.delete(run);
    rmSync(this.#lockPath(run), { force: true });
  }

  close(): void {
    for (const lock of this.#locks.values()) lock.release();
    this.#locks.clear();
  }

  #lockPath(run: string): string {
    return `${this.#file}.${run}.lock`;
  }

  /** Takes the lock of a process that has ended, and keeps it until its rows have been removed. */
  #isRunning(run: string): boolean {
    if (this.#locks.has(run)) return false;
    const lock = lockFile(this.#lockPath(run));
    if (lock !== null) this.#locks.set(run, lock);
    return lock === null;
  }
}
