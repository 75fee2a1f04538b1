// Restores a backup into an empty database of either kind, with the tables that it was made of, which are then migrated.
// Until the end, no gateway starts on the database. A restore that was killed begins anew when it is run again, or goes on
// where all rows were there already. Login sessions and links are not brought back, and what is known of tokens since the
// backup is applied (restored-access.ts).

// Decides (records and configuration): Can a backup be restored into the other kind of database? By: `restorePostgres`.
// Rule: Yes, into an empty one: with the tables of the backup, which are then migrated. PostgreSQL refuses a text with U+0000.
import { constants, copyFileSync, existsSync, linkSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Kysely, sql } from "kysely";
import { type BackupPart, type BackupSummary, backupParts, verifyBackup } from "./backup.ts";
import { CallPartitions, PARTITIONED, type Partitioned } from "../calls/call-partitions.ts";
import { timeOfKey } from "../calls/call-keys.ts";
import { explainedBy, openTarget } from "./copy-places.ts";
import { ledgerFolderOf, removeDatabase } from "../data-folder.ts";
import { type Database, type DatabasePlace, using } from "../database/database.ts";
import { usesPostgres } from "../database/dialect.ts";
import { lockFolder, slotsOf } from "../journal/journal-folder.ts";
import { MIGRATION_NAMES, migrate, migrationsRun } from "../migrations.ts";
import { isRestoring, moveMarks, RESTORE } from "../database/move-marks.ts";
import { type AccessReport, applyKnownAccess, type KnownAccess } from "./restored-access.ts";
import type { Schema } from "../schema.ts";
import { OWN_TABLES } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import { type Columns, columnsOf, followNumbers, hasRows, hasUnstorableText, insertRows } from "./table-copies.ts";
import { digestOf } from "../../core/text/digest.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";

export interface RestoreOptions {
  readonly file: string;
  readonly passphrase: string | null;
  readonly place: DatabasePlace;
  /**
   * Reads what databases with newer contents, and other gateways, know of tokens. It is read once the database is filled,
   * because that takes long, and tokens may be revoked meanwhile.
   */
  readonly known: () => Promise<readonly KnownAccess[]>;
  /** Whether every access token is to be revoked. */
  readonly revokesAll: boolean;
  readonly nowMs: number;
}

export interface Restored {
  readonly backup: BackupSummary;
  readonly access: AccessReport;
  /** Where the database that was there before is now. */
  readonly setAside: string | null;
}

const ROWS_TOGETHER = 2_000;
/** Characters of rows that are inserted at once: what was said in a call may have megabytes. */
const LENGTH_TOGETHER = 16_000_000;
/** What the databases say of a row that breaks a rule of its table, or has a value that they cannot store. */
const REFUSED = /^(SQLITE_CONSTRAINT|2[23]...$)/;
type RowPart = Extract<BackupPart, { readonly kind: "row" }>;

/** Throws StoreError. A database that was there before is as it was until the end, and is kept under another name. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, passphrase, place } = options;
  const backup = verifyBackup(file, passphrase);
  const unknown = backup.migrations.filter((name) => !MIGRATION_NAMES.includes(name));
  if (unknown.length > 0)
    throw new StoreError(
      "unusable",
      `The backup ${file} was made by a newer version of Dragoman (${backup.program}; ${unknown.join(", ")}). Restore it with that version.`,
    );
  return "file" in place
    ? await restoreFile({ ...options, place }, backup)
    : await restorePostgres({ ...options, place }, backup);
}

async function restoreFile(
  options: RestoreOptions & { readonly place: { readonly file: string } },
  backup: BackupSummary,
): Promise<Restored> {
  const { file } = options.place;
  const unfinished = `${file}.restoring`;
  // Who has it open now is restoring too.
  if (existsSync(unfinished)) await (await openTarget({ file: unfinished }, false)).store.close();
  removeDatabase(unfinished);
  const database = await openTarget({ file: unfinished }, false);
  let access: AccessReport;
  try {
    access = await using(database, () => filled(database, options, backup));
  } catch (error) {
    removeDatabase(unfinished);
    throw error;
  }
  const setAside = await setAsideOf(file, options.nowMs);
  renameSync(unfinished, file);
  return { backup, access, setAside };
}

/**
 * Gives the database that is there a second name, under which it stays when the first one is given away: at no moment is
 * there none. Throws StoreError when a gateway uses it.
 */
async function setAsideOf(file: string, nowMs: number): Promise<string | null> {
  const path = freePath(`${file}.before-restore-${new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`);
  const isThere = existsSync(file);
  if (isThere) {
    await closedByLast(file);
    try {
      linkSync(file, path);
    } catch {
      copyFileSync(file, path, constants.COPYFILE_EXCL); // This file system has no second names.
    }
  }
  // A log of the former database must not stand beside the new one.
  for (const end of ["-wal", "-shm"]) if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${path}${end}`);
  return isThere ? path : null;
}

/** The path, or the first with a number behind it that no file has: several restores may be made within a second. */
function freePath(path: string): string {
  for (let count = 1; ; count++) {
    const free = count === 1 ? path : `${path}-${count}`;
    if (!existsSync(free)) return free;
  }
}

/** Puts what is in its log into the file. A damaged database stays as it is. Throws StoreError when it is in use. */
async function closedByLast(file: string): Promise<void> {
  try {
    await (await openTarget({ file }, false)).store.close();
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "unusable") throw error;
  }
}

/** Throws StoreError when a process uses the folder of this file as its data folder. */
export function requireNoGateway(file: string, ledgerFolder: string | null): void {
  const ledger = ledgerFolderOf({ dataFolder: dirname(file), ledgerFolder });
  if (!existsSync(ledger)) return;
  for (const slot of slotsOf(ledger)) {
    const lock = lockFolder(join(ledger, slot));
    if (lock === null)
      throw new StoreError(
        "conflict",
        `A gateway runs with the data folder ${dirname(file)}. Stop it, restore, and start it again.`,
      );
    lock.release();
  }
}

async function restorePostgres(
  options: RestoreOptions & { readonly place: { readonly url: string } },
  backup: BackupSummary,
): Promise<Restored> {
  const access = await explainedBy(options.place, () =>
    using(openTarget(options.place, false), (database) => filled(database, options, backup)),
  );
  return { backup, access, setAside: null };
}

/** The database is a gateway's when this has ended, and before that none starts on it. */
async function filled(database: Database, options: RestoreOptions, backup: BackupSummary): Promise<AccessReport> {
  const { db, store } = database;
  if (!(await isFilledWith(database, backup))) {
    await prepared(database, options.file, backup);
    await fill(db, options);
    await db
      .updateTable("database_move")
      .set({ other: markOf(backup) })
      .where("id", "=", RESTORE)
      .execute();
  }
  await store.migrate();
  const { revision } = backup;
  const access = await applyKnownAccess(database, { ...options, revision, known: await options.known() });
  await db.deleteFrom("database_move").where("id", "=", RESTORE).execute();
  return access;
}

/** Whether an earlier restore of this backup was killed when all rows were there. The tables may be migrated since then. */
async function isFilledWith({ db, store }: Database, backup: BackupSummary): Promise<boolean> {
  if (await store.isNew()) return false;
  return (await moveMarks(db)).some(({ id, other }) => id === RESTORE && other === markOf(backup));
}

/** What a database says of a backup once it has all of its rows. */
function markOf({ program, madeAtMs, migrations, rows, lastChange }: BackupSummary): string {
  return `The backup ${digestOf([program, madeAtMs, migrations, rows, lastChange])}`;
}

/** Makes the tables of the time of the backup, without rows. Throws StoreError. */
async function prepared(
  { db, store, name }: Database,
  file: string,
  { migrations, rows, columns }: BackupSummary,
): Promise<void> {
  if (await store.isNew()) await migrate(db, name, { last: migrations.at(-1)! });
  const run = await migrationsRun(db);
  if (!(await isRestoring(db)) && (await hasData(db)))
    throw new StoreError(
      "conflict",
      `${name} has the data of a gateway already, which a restore does not replace. Make an empty database, and name it with --to; with --newer, name this one, so that no token becomes valid that is revoked here.`,
    );
  if (run.join() !== migrations.join())
    throw new StoreError(
      "conflict",
      `${name} has the tables of another version than the backup. Drop this database, create an empty one, and run the same command again.`,
    );
  requireColumns(file, columns, await columnsOf(db));
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom("database_move").execute();
    await tx
      .insertInto("database_move")
      .values({ id: RESTORE, role: "to", state: "copying", other: "a backup", until_ms: 0n })
      .execute();
    for (const table of Object.keys(rows).toReversed()) await sql`delete from ${sql.table(table)}`.execute(tx);
  });
}

/** Throws StoreError unless the database has each of these columns, of that kind. */
function requireColumns(file: string, columns: Columns, known: Columns): void {
  for (const [table, named] of columns) {
    const there = OWN_TABLES.includes(table) ? undefined : known.get(table);
    const strange = named.find(({ name, kind }) => !there?.some((one) => one.name === name && one.kind === kind));
    const what =
      there === undefined
        ? `the table ${table}`
        : strange && `the column ${strange.name} of the table ${table} as ${strange.kind}`;
    if (what !== undefined)
      throw new StoreError(
        "invalid",
        `The backup ${file} has ${what}, and a database of its version has none. Use a file that dragoman backup has written.`,
      );
  }
}

async function hasData(db: Kysely<Schema>): Promise<boolean> {
  for (const table of ["tenants", "audit_log", "call", "call_hour", "journal_place"])
    if (await hasRows(db, table)) return true;
  return false;
}

async function fill(db: Kysely<Schema>, { file, passphrase }: RestoreOptions): Promise<void> {
  const partitions = usesPostgres(db) ? new CallPartitions() : null;
  let waiting: RowPart[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    const parts = waiting;
    waiting = [];
    length = 0;
    const [first] = parts;
    if (first === undefined) return;
    if (partitions !== null && PARTITIONED.includes(first.table as Partitioned))
      await partitions.provide(
        db,
        parts.map(({ row }) => timeOfKey(row["id"] as bigint)),
      );
    await insertRestored(db, file, parts);
  };
  for (const part of backupParts(file, passphrase)) {
    if (part.kind === "table") await flush();
    else if (part.kind === "row") {
      waiting.push(part);
      length += part.length;
      if (waiting.length >= ROWS_TOGETHER || length >= LENGTH_TOGETHER) await flush();
    }
  }
  await flush();
  await followNumbers(db);
}

/** Rows of one table, at least one. Throws StoreError `invalid` where the database refuses one. */
async function insertRestored(db: Kysely<Schema>, file: string, parts: readonly RowPart[]): Promise<void> {
  const { table, line } = parts[0]!;
  try {
    const rows = parts.map(({ row }) => row);
    await db.transaction().execute((tx) => insertRows(tx, { name: table, key: [] }, rows));
  } catch (error) {
    if (!REFUSED.test(codeOf(error))) throw error;
    const cure = hasUnstorableText(error)
      ? "PostgreSQL cannot store the character U+0000: restore the backup into SQLite, and correct that row there."
      : "Use a file that dragoman backup has written.";
    throw new StoreError(
      "invalid",
      `The database refuses a row of the table ${table} in lines ${line} to ${parts.at(-1)!.line} of the backup ${file} (${messageOf(error)}). ${cure}`,
      error,
    );
  }
}
