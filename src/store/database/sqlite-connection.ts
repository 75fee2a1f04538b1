// A connection to a SQLite file, for the store and for the threads of calls and events: pragmas, errors that name the
// file and the cure, and the check that the file is still in place. https://www.sqlite.org/wal.html
import { Database } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Kysely } from "kysely";
import { bunSqliteDialect, whenFree } from "./bun-sqlite-dialect.ts";
import { HELD, heldError } from "./move-marks.ts";
import { OWNERS_FILE } from "./owner-only.ts";
import { StoreError } from "../store-error.ts";
import { identityOf } from "../../config/file-identity.ts";
import { codeOf } from "../../core/thrown.ts";

export interface SqliteFile {
  /**
   * Path of the file, which is created if missing; its folder has to exist. `:memory:` for a database that ends with
   * the connection.
   */
  readonly file: string;
  /** How long to wait for a lock of another process; 10,000 by default. */
  readonly busyTimeoutMs?: number;
  /** No other process may have the file open, or open it until the connection is closed. */
  readonly isAlone?: boolean;
}

/**
 * The same object, whose methods of these names are rejected with StoreError `unusable` once the path leads to another file
 * than now.
 */
export function whileInPlace<Of extends object>(path: string, of: Of, names: readonly (keyof Of & string)[]): Of {
  const opened = identityOf(path);
  const checked = names.map((name) => {
    const method = of[name] as (...args: readonly unknown[]) => unknown;
    const called = async (...args: readonly unknown[]): Promise<unknown> => {
      const now = identityOf(path);
      if (now !== opened)
        throw new StoreError(
          "unusable",
          `The database ${path} was ${now === null ? "removed" : "replaced"} while it was in use. Changes there have no effect here: restart the gateway.`,
        );
      return await method(...args);
    };
    return [name, called] as const;
  });
  return { ...of, ...Object.fromEntries(checked) };
}

/** Opens a separate connection to the file. Throws StoreError. */
export async function openDatabase<Schema>({ file, busyTimeoutMs = 10_000, isAlone = false }: SqliteFile) {
  const path = file === ":memory:" ? file : resolve(file);
  const connection = {
    name: `The database ${path}`,
    busyTimeoutMs,
    explain: (error: unknown) => explained(error, path, busyTimeoutMs),
  };
  if (path !== ":memory:") createFile(path, connection.explain);
  const database = await whenFree(
    () => new Database(path, { create: true, readwrite: true, safeIntegers: true, strict: true }),
    connection,
  );
  try {
    const run = (sql: string): Promise<unknown> => whenFree(() => database.run(sql), connection);
    await run("pragma busy_timeout = 0");
    // Before the file is read: the first statement then takes the lock, and keeps it.
    if (isAlone) await run("pragma locking_mode = exclusive");
    const mode = await whenFree(() => journalMode(database), connection);
    // This write detects a read-only file now instead of at the first token: `begin immediate` succeeds on it.
    await run("begin immediate");
    await run("pragma user_version = 1");
    await run("rollback");
    if (mode !== "wal" && path !== ":memory:")
      throw new StoreError(
        "unusable",
        `${connection.name} does not support a write-ahead log, which several processes need. Put the file on a local disk, not on a network file system.`,
      );
    await run("pragma foreign_keys = on");
    // Every commit reaches the disk, so that a confirmed revocation survives a power failure. Writes are rare here.
    await run("pragma synchronous = full");
  } catch (error) {
    database.close();
    throw error;
  }
  const db = new Kysely<Schema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  const close = async (): Promise<void> => {
    await db.destroy();
    database.close(); // Kysely closes only what it has used
  };
  return { db, database, connection, close };
}

function journalMode(database: Database): string | undefined {
  const statement = database.prepare<{ journal_mode: string }, []>("pragma journal_mode = wal");
  try {
    return statement.get()?.journal_mode;
  } finally {
    statement.finalize();
  }
}

/** Only the owner may read it. SQLite gives the files beside it the same mode. */
function createFile(path: string, explain: (error: unknown) => unknown): void {
  try {
    closeSync(openSync(path, "wx", OWNERS_FILE));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw explain(error);
  }
}

/**
 * Adds the file and the cure to the error. Errors that are not the fault of the file (a constraint, a misspelt query)
 * stay unchanged.
 */
function explained(error: unknown, path: string, busyTimeoutMs: number): unknown {
  const code = codeOf(error);
  if (error instanceof Error && error.message === HELD) return heldError(`The database ${path}`, error);
  const unusable = (what: string, cure: string): StoreError =>
    new StoreError("unusable", `The database ${path} ${what}. ${cure}`, error);
  const access = `Give the user that runs Dragoman write access to the file and to its folder ${dirname(path)}, where SQLite creates two more files, or use another file.`;
  if (code === "ENOENT" || code === "ENOTDIR")
    return unusable(
      `cannot be created: the folder ${dirname(path)} does not exist`,
      `Create the folder (mkdir -p ${dirname(path)}), or name another file.`,
    );
  if (code === "EISDIR") return unusable("is a folder", "Use a file in it.");
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code.startsWith("SQLITE_READONLY"))
    return unusable("cannot be written", access);
  if (code.startsWith("SQLITE_CANTOPEN"))
    return unusable("cannot be opened", `It must be a file, not a folder. ${access}`);
  if (code === "SQLITE_NOTADB")
    return unusable(
      "is not a SQLite database",
      "Use another file, or move this one away: a new database is then created.",
    );
  if (code.startsWith("SQLITE_CORRUPT"))
    return unusable("is damaged", "Restore a backup, with its files that end in -wal and -shm if it has them.");
  if (code === "SQLITE_FULL" || code === "ENOSPC")
    return unusable("cannot grow: the disk is full", "Free space; nothing that was committed is lost.");
  if (code.startsWith("SQLITE_IOERR"))
    return unusable(`could not be read or written (${code})`, "Check the disk and the system's log.");
  if (code.startsWith("SQLITE_BUSY"))
    return new StoreError(
      "busy",
      `The database ${path} was locked by another process for ${busyTimeoutMs} ms. Find that process (fuser ${path}), and end it or wait for it.`,
      error,
    );
  return error;
}
