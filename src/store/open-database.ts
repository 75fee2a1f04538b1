// Opens the database that the configuration names, brought up to date: PostgreSQL where there is an address, else one file in the data folder.
import { Database as SqliteFile } from "bun:sqlite";
import { mkdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Variables } from "../config/expansion.ts";
import { findMasterKeys, type MasterKeys } from "../config/master-key.ts";
import { openSealer, type Sealer } from "../config/sealing.ts";
import type { CallStore } from "./calls.ts";
import { databaseFile, type DataPlace, leftBehind } from "./data-folder.ts";
import type { Database } from "./database.ts";
import type { EventQueue } from "./events.ts";
import { OWNERS_FOLDER } from "./owner-only.ts";
import { openSqliteCalls } from "./sqlite-calls.ts";
import { openSqliteEvents } from "./sqlite-events.ts";
import { openSqliteDatabase } from "./sqlite.ts";
import { StoreError } from "./store.ts";

export interface DatabaseOptions {
  readonly dataFolder: string;
  /** Of PostgreSQL; null: SQLite in the data folder. */
  readonly databaseUrl: string | null;
  /** Where the journal stands that belongs to it. */
  readonly ledger?: { readonly folder: string | null };
  /** For the master key alone. */
  readonly environment: Variables;
}

export interface SealedDatabase extends Database {
  readonly keys: MasterKeys;
  readonly sealer: Sealer;
}

/** A database that is there already: a folder or an address that was mistyped does not become one. Throws StoreError, ConfigurationError. */
export async function openExistingDatabase(options: DatabaseOptions): Promise<SealedDatabase> {
  return await opened(options, "open");
}

/**
 * Folder, database and, with SQLite, master key are made when they are not there. `mayReplace`: also where one has been before. Throws StoreError,
 * ConfigurationError.
 */
export async function openDatabase(options: DatabaseOptions, mayReplace = false): Promise<SealedDatabase> {
  return await opened(options, mayReplace ? "replace" : "make");
}

/** What is done where there is no database: it is refused, made where none has been before, or made in any case. */
type WhereNone = "open" | "make" | "replace";

async function opened(
  { dataFolder, databaseUrl, environment, ledger }: DatabaseOptions,
  whereNone: WhereNone,
): Promise<SealedDatabase> {
  const place = { dataFolder: resolve(dataFolder), ledgerFolder: ledger?.folder ?? null };
  const file = databaseFile(place.dataFolder);
  const loss = databaseUrl === null ? lossOf(file) : null;
  if (loss !== null)
    demandNone({ name: `The database ${file}`, loss, left: leftBehind(place), place, databaseUrl }, whereNone);
  try {
    mkdirSync(dataFolder, { recursive: true, mode: OWNERS_FOLDER });
  } catch (error) {
    throw new StoreError(
      "unusable",
      `The data folder ${resolve(dataFolder)} cannot be made (${(error as NodeJS.ErrnoException).code}). Name another with --data (DRAGOMAN_DATA).`,
      error,
    );
  }
  // a key that each replica made for itself would open nothing of the others
  const keys = findMasterKeys({ environment, dataFolder, mayCreate: databaseUrl === null });
  if (keys === null)
    throw new StoreError(
      "unusable",
      "With PostgreSQL the master key has to be given: set DRAGOMAN_MASTER_KEY to 32 random bytes in base64 (openssl rand -base64 32), or DRAGOMAN_MASTER_KEY_FILE to a file with it, the same for every replica. Keep a copy apart from the database.",
    );
  const sealer = openSealer(keys.read(), keys.file === null ? null : () => keys.read());
  const database =
    databaseUrl === null ? await openSqliteDatabase({ file, sealer }) : await openPostgres(databaseUrl, { sealer });
  try {
    if (databaseUrl !== null && (await database.store.isNew())) {
      const left = leftBehind(place);
      // another process may have made its tables meanwhile, and what it leaves in the folder after them
      if (await database.store.isNew())
        demandNone({ name: database.name, loss: "is empty", left, place, databaseUrl }, whereNone);
    }
    await database.store.migrate();
  } catch (error) {
    await database.store.close();
    throw error;
  }
  return { ...database, keys, sealer };
}

/** The calls that are in the same database, on connections of their own. */
export async function openCalls({
  dataFolder,
  databaseUrl,
}: Pick<DatabaseOptions, "dataFolder" | "databaseUrl">): Promise<CallStore> {
  if (databaseUrl === null) return openSqliteCalls({ file: databaseFile(dataFolder) });
  return (await import("./postgres-calls.ts")).openPostgresCalls({ url: databaseUrl });
}

/** The queue of events in the same database, on connections of its own. */
export async function openEvents({
  dataFolder,
  databaseUrl,
}: Pick<DatabaseOptions, "dataFolder" | "databaseUrl">): Promise<EventQueue> {
  if (databaseUrl === null) return openSqliteEvents({ file: databaseFile(dataFolder) });
  return (await import("./postgres-events.ts")).openPostgresEvents({ url: databaseUrl });
}

/** The driver takes 20 ms and some megabytes to load, which nobody without it pays. */
async function openPostgres(
  url: string,
  options: { readonly sealer: ReturnType<typeof openSealer> },
): Promise<Database> {
  const { openPostgresDatabase } = await import("./postgres.ts");
  return openPostgresDatabase({ url, ...options });
}

interface NoDatabase {
  /** Begins a sentence. */
  readonly name: string;
  readonly loss: string;
  /** What a gateway has left that had one. */
  readonly left: readonly string[];
  readonly place: DataPlace;
  readonly databaseUrl: string | null;
}

/** A database that was lost is not begun anew without a word: every tenant, token and setting would be gone. Throws StoreError. */
function demandNone({ name, loss, left, place: { dataFolder }, databaseUrl }: NoDatabase, whereNone: WhereNone): void {
  if (left.length > 0 && whereNone !== "replace") {
    const others =
      databaseUrl === null
        ? "name the right folder with --data (DRAGOMAN_DATA), or the PostgreSQL that was used with DATABASE_URL"
        : "name the database that was used with DATABASE_URL, or the right folder with --data (DRAGOMAN_DATA)";
    throw new StoreError(
      "unusable",
      `${name} ${loss}, though a gateway has been at work here: there is ${left.map((path) => resolve(path)).join(" and ")}. Put a backup of the database in its place; or ${others}. To begin with an empty database, without the tenants, tokens and settings that there were, run: dragoman database create --data ${dataFolder}. Calls that still stand in the ledger go to that one then.`,
    );
  }
  if (whereNone === "open")
    throw new StoreError(
      "unusable",
      databaseUrl === null
        ? `There is no database in ${dataFolder}. Name the server's data folder with --data (DRAGOMAN_DATA); the first start of the server makes it.`
        : `${name} holds no tables of the gateway. Name the server's database with DATABASE_URL; the first start of the server makes them.`,
    );
}

/** Null: something is in it, or it cannot be one, which is told when it is opened. */
function lossOf(file: string): string | null {
  try {
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return "is missing";
    if (size === 0) return "is empty";
    const database = new SqliteFile(file, { readonly: true });
    const tables = database
      .query<{ readonly count: number }, []>("select count(*) as count from sqlite_schema")
      .get()!.count;
    database.close();
    return tables === 0 ? "is empty" : null;
  } catch {
    return null;
  }
}
