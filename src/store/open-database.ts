// Opens the database that the configuration names and migrates it: PostgreSQL where there is an address, else one file
// in the data folder.
import { Database as SqliteFile } from "bun:sqlite";
import { mkdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Variables } from "../config/expansion.ts";
import { findMasterKeys, type MasterKeys, ownKeyFile } from "../config/master-key.ts";
import { pathFault } from "../config/path-fault.ts";
import { CONTAINS_ENCRYPTED, openSecretCipher, type SecretCipher } from "../config/secret-cipher.ts";
import type { CallStore } from "./calls/calls.ts";
import { ENCRYPTED_COLUMNS } from "./configuration/kysely-reencryption.ts";
import {
  databaseFile,
  dataFolderUnusable,
  type DataPlace,
  logFile,
  requireFolders,
  remainingFiles,
} from "./data-folder.ts";
import type { Database, DatabasePlace } from "./database/database.ts";
import type { EventQueue } from "./events/events.ts";
import { requireFilled, requireNotMoved } from "./database/move-marks.ts";
import { OWNERS_FOLDER } from "./database/owner-only.ts";
import { openSqliteCalls } from "./calls/sqlite-calls.ts";
import { openSqliteEvents } from "./events/sqlite-events.ts";
import { whenFree } from "./database/bun-sqlite-dialect.ts";
import { openDatabase as openSqliteConnection } from "./database/sqlite-connection.ts";
import { openSqliteDatabase } from "./sqlite.ts";
import { StoreError } from "./store-error.ts";

export interface DatabaseOptions {
  readonly dataFolder: string;
  /** The address of PostgreSQL; `null` for SQLite in the data folder. */
  readonly databaseUrl: string | null;
  /** Where the journal of this database is kept. */
  readonly ledger?: { readonly folder: string | null };
  /** Used only for the master key. */
  readonly environment: Variables;
}

export interface EncryptedDatabase extends Database {
  readonly keys: MasterKeys;
  readonly cipher: SecretCipher;
}

/**
 * What happens where there is no database: it is refused, as for a mistyped folder or address, created if none existed
 * before, or created in any case.
 */
type WhereNone = "refuse" | "make" | "replace";

/**
 * Where it creates a database, it creates the folder and, with SQLite, the master key too. Throws StoreError or
 * ConfigurationError.
 */
export async function openDatabase(
  { dataFolder, databaseUrl, environment, ledger }: DatabaseOptions,
  whereNone: WhereNone = "make",
): Promise<EncryptedDatabase> {
  const place = { dataFolder: resolve(dataFolder), ledgerFolder: ledger?.folder ?? null };
  requireFolders(place, { write: databaseUrl === null && whereNone !== "refuse" });
  const file = databaseFile(place.dataFolder);
  const lost = databaseUrl === null ? await lostDatabase(place, whereNone) : null;
  if (lost !== null) requireNone({ name: `The database ${file}`, ...lost, place, databaseUrl }, whereNone);
  try {
    // A command that needs an existing database makes no folder: with PostgreSQL it may have been given none.
    if (whereNone !== "refuse") mkdirSync(dataFolder, { recursive: true, mode: OWNERS_FOLDER });
  } catch (error) {
    throw dataFolderUnusable(place.dataFolder, pathFault(error, place.dataFolder), error);
  }
  const keys = await keysFor(lost === null ? file : null, { environment, dataFolder, databaseUrl });
  if (keys === null)
    throw new StoreError(
      "unusable",
      "PostgreSQL needs a master key: set DRAGOMAN_MASTER_KEY to 32 random bytes in base64 (openssl rand -base64 32), or DRAGOMAN_MASTER_KEY_FILE to a file with it, the same for every replica. Keep a copy of it separate from the database.",
    );
  const cipher = openSecretCipher(keys.read(), keys.file === null ? null : () => keys.read());
  const database =
    databaseUrl === null ? await openSqliteDatabase({ file, cipher }) : await openPostgres(databaseUrl, { cipher });
  try {
    if (!(await database.store.isNew())) await requireFilled(database.db, database.name);
    else if (databaseUrl !== null) {
      const remains = remainingFiles(place);
      // Another process may have created its tables meanwhile, and afterwards files in the folder.
      if (await database.store.isNew())
        requireNone({ name: database.name, loss: "is empty", remains, place, databaseUrl }, whereNone);
    }
    await database.store.migrate();
    await requireNotMoved(database.db, database.name);
  } catch (error) {
    await database.store.close();
    throw error;
  }
  return { ...database, keys, cipher };
}

/**
 * `null` where PostgreSQL has none: a key that each replica made for itself could not decrypt what the others encrypted.
 * `file` is the existing database, `null` where there is none. Throws StoreError.
 */
async function keysFor(
  file: string | null,
  { environment, dataFolder, databaseUrl }: Pick<DatabaseOptions, "environment" | "dataFolder" | "databaseUrl">,
): Promise<MasterKeys | null> {
  const find = (mayCreate: boolean): MasterKeys | null => findMasterKeys({ environment, dataFolder, mayCreate });
  if (databaseUrl !== null) return find(false);
  const found = find(false);
  if (found !== null || file === null || !(await hasEncrypted(file))) return found ?? find(true);
  // another process may have made the key and the database meanwhile
  const made = find(false);
  if (made !== null) return made;
  const key = ownKeyFile(dataFolder);
  throw new StoreError(
    "unusable",
    `The master key ${key} is missing, but the database ${file} has secrets that were encrypted with it. Put the file back from your copy, or set the key with DRAGOMAN_MASTER_KEY or DRAGOMAN_MASTER_KEY_FILE. If the key is lost, so are these secrets: to go on without them, create a new key (openssl rand -base64 32 > ${key}); the start then names each secret that it cannot decrypt.`,
  );
}

/** Waits for a lock of another process, so that no key is made because nobody could look. Throws StoreError. */
async function hasEncrypted(file: string): Promise<boolean> {
  const { database, connection } = await openSqliteConnection({ file });
  try {
    return await whenFree(
      () =>
        ENCRYPTED_COLUMNS.some(([table, column]) => {
          const isThere = database.query("select 1 from pragma_table_info(?) where name = ?").get(table, column);
          const contains = `select 1 from "${table}" where "${column}" glob ? limit 1`;
          return isThere !== null && database.query(contains).get(CONTAINS_ENCRYPTED) !== null;
        }),
      connection,
    );
  } finally {
    database.close();
  }
}

export function databasePlace({
  dataFolder,
  databaseUrl,
}: Pick<DatabaseOptions, "dataFolder" | "databaseUrl">): DatabasePlace {
  return databaseUrl === null ? { file: databaseFile(dataFolder) } : { url: databaseUrl };
}

/** The calls in the same database, on connections of their own. */
export async function openCalls({
  dataFolder,
  databaseUrl,
}: Pick<DatabaseOptions, "dataFolder" | "databaseUrl">): Promise<CallStore> {
  if (databaseUrl === null) return openSqliteCalls({ file: databaseFile(dataFolder) });
  return (await import("./calls/postgres-calls.ts")).openPostgresCalls({ url: databaseUrl });
}

/** The event queue in the same database, on connections of its own. */
export async function openEvents({
  dataFolder,
  databaseUrl,
}: Pick<DatabaseOptions, "dataFolder" | "databaseUrl">): Promise<EventQueue> {
  if (databaseUrl === null) return openSqliteEvents({ file: databaseFile(dataFolder) });
  return (await import("./events/postgres-events.ts")).openPostgresEvents({ url: databaseUrl });
}

/** The driver takes 20 ms and some megabytes to load, so it is loaded only where it is used. */
async function openPostgres(
  url: string,
  options: { readonly cipher: ReturnType<typeof openSecretCipher> },
): Promise<Database> {
  const { openPostgresDatabase } = await import("./postgres.ts");
  return openPostgresDatabase({ url, ...options });
}

interface NoDatabase {
  /** Begins a sentence. */
  readonly name: string;
  readonly loss: string;
  /** What a gateway that had a database has left. */
  readonly remains: readonly string[];
  readonly place: DataPlace;
  readonly databaseUrl: string | null;
}

/** A lost database is not silently replaced: every tenant, token and setting would be gone. Throws StoreError. */
function requireNone(
  { name, loss, remains, place: { dataFolder }, databaseUrl }: NoDatabase,
  whereNone: WhereNone,
): void {
  if (remains.length > 0 && whereNone !== "replace") {
    const others =
      databaseUrl === null
        ? "set the right folder with --data (DRAGOMAN_DATA), or the PostgreSQL database that was used with DATABASE_URL"
        : "set the database that was used with DATABASE_URL, or the right folder with --data (DRAGOMAN_DATA)";
    throw new StoreError(
      "unusable",
      `${name} ${loss}, but a gateway has run here before: there is ${remains.map((path) => resolve(path)).join(" and ")}. Restore a backup of the database, or ${others}. To start with an empty database, without the previous tenants, tokens and settings, run: dragoman database create --data ${dataFolder}. Calls that are still in the ledger are then shipped to it.`,
    );
  }
  if (whereNone === "refuse")
    throw new StoreError(
      "unusable",
      databaseUrl === null
        ? `There is no database in ${dataFolder}. Set the server's data folder with --data (DRAGOMAN_DATA); the first start of the server creates the database.`
        : `${name} has no tables of the gateway. Set the server's database with DATABASE_URL; the first start of the server creates the tables.`,
    );
}

/** How long another process may take to make its first tables, whose log is there before them. */
const MAKING_MS = 2000;
const LOOK_EVERY_MS = 20;

/**
 * `null` where there is a database. The files are looked for before the database is: what another process makes at the
 * same time is there only after its tables, but for the log.
 */
async function lostDatabase(place: DataPlace, whereNone: WhereNone) {
  const log = logFile(place.dataFolder);
  for (let looks = 0; ; looks++) {
    const remains = remainingFiles(place);
    const loss = lossOf(databaseFile(place.dataFolder));
    if (loss === null) return null;
    const mayBeMaking = loss === IS_EMPTY && remains.every((path) => path === log) && remains.length > 0;
    if (whereNone === "replace" || !mayBeMaking || looks * LOOK_EVERY_MS >= MAKING_MS) return { loss, remains };
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

const IS_EMPTY = "is empty";

/** `null` when the file has content, or cannot be a database, which is reported when it is opened. */
function lossOf(file: string): string | null {
  try {
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return "is missing";
    if (size === 0) return IS_EMPTY;
    using database = new SqliteFile(file, { readonly: true });
    const { count } = database
      .query<{ readonly count: number }, []>("select count(*) as count from sqlite_schema")
      .get()!;
    return count === 0 ? IS_EMPTY : null;
  } catch {
    return null;
  }
}
