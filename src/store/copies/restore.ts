// Restores a backup into an empty database of either kind, with the tables that it was made of, which are then migrated.
// Until the end, no gateway starts on the database, and a restore that was killed begins anew when it is run again. Login
// sessions and links are not brought back, and what is known of tokens since the backup is applied (restored-access.ts).
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Kysely, sql } from "kysely";
import { type BackupSummary, backupParts, verifyBackup } from "./backup.ts";
import { CallPartitions, PARTITIONED, type Partitioned } from "../calls/call-partitions.ts";
import { timeOfKey } from "../calls/call-keys.ts";
import { explainedBy, openTarget } from "./copy-places.ts";
import { ledgerFolderOf } from "../data-folder.ts";
import type { Database, DatabasePlace } from "../database/database.ts";
import { usesPostgres } from "../database/dialect.ts";
import { lockFolder, slotsOf } from "../journal/journal-folder.ts";
import { MIGRATION_NAMES, migrate, migrationsRun } from "../migrations.ts";
import { moveMarks } from "../database/move-marks.ts";
import { type AccessReport, applyKnownAccess, type KnownAccess } from "./restored-access.ts";
import type { Schema } from "../schema.ts";
import { ROLLED_TABLES } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import { followNumbers, hasRows, insertRows, type Row } from "./table-copies.ts";

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

/** Of the mark of a database that is being restored (move-marks.ts). */
const RESTORE = "restore";
const ROWS_TOGETHER = 2_000;

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
  for (const end of ["", "-wal", "-shm"]) rmSync(`${unfinished}${end}`, { force: true });
  const database = await openTarget({ file: unfinished }, false);
  let access: AccessReport;
  try {
    access = await filled(database, options, backup);
  } finally {
    await database.store.close();
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
  const path = `${file}.before-restore-${new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const isThere = existsSync(file);
  if (isThere) {
    await closedByLast(file);
    rmSync(path, { force: true });
    try {
      linkSync(file, path);
    } catch {
      copyFileSync(file, path); // This file system has no second names.
    }
  }
  // A log of the former database must not stand beside the new one.
  for (const end of ["-wal", "-shm"]) if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${path}${end}`);
  return isThere ? path : null;
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
  const database = await explainedBy(options.place, () => openTarget(options.place, false));
  try {
    return {
      backup,
      access: await explainedBy(options.place, () => filled(database, options, backup)),
      setAside: null,
    };
  } finally {
    await database.store.close();
  }
}

/** The database is a gateway's when this has ended, and before that none starts on it. */
async function filled(database: Database, options: RestoreOptions, backup: BackupSummary): Promise<AccessReport> {
  await prepared(database, backup);
  await fill(database.db, options);
  await database.store.migrate();
  const access = await applyKnownAccess(database, { ...options, known: await options.known() });
  await database.db.deleteFrom("database_move").where("id", "=", RESTORE).execute();
  return access;
}

/** Makes the tables of the time of the backup, without rows. Throws StoreError. */
async function prepared({ db, store, name }: Database, { migrations, rows }: BackupSummary): Promise<void> {
  if (await store.isNew()) await migrate(db, name, { last: migrations.at(-1)! });
  const run = await migrationsRun(db);
  const isRestoring = (await moveMarks(db)).some(({ id, state }) => id === RESTORE && state === "copying");
  if (!isRestoring && (await hasData(db)))
    throw new StoreError(
      "conflict",
      `${name} has the data of a gateway already, which a restore does not replace. Make an empty database, and name it with --to; with --newer, name this one, so that no token becomes valid that is revoked here.`,
    );
  if (run.join() !== migrations.join())
    throw new StoreError(
      "conflict",
      `${name} has the tables of another version than the backup. Drop this database, create an empty one, and run the same command again.`,
    );
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom("database_move").execute();
    await tx
      .insertInto("database_move")
      .values({ id: RESTORE, role: "to", state: "copying", other: "a backup", until_ms: 0n })
      .execute();
    for (const table of Object.keys(rows).toReversed()) await sql`delete from ${sql.table(table)}`.execute(tx);
  });
}

async function hasData(db: Kysely<Schema>): Promise<boolean> {
  for (const table of ["tenants", "audit_log", "call", "call_hour", "journal_place"])
    if (await hasRows(db, table)) return true;
  return false;
}

async function fill(db: Kysely<Schema>, { file, passphrase }: RestoreOptions): Promise<void> {
  const partitions = usesPostgres(db) ? new CallPartitions() : null;
  const last: [string, Row][] = [];
  let waiting: Row[] = [];
  let name = "";
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const rows = waiting;
    waiting = [];
    if (partitions !== null && PARTITIONED.includes(name as Partitioned))
      await partitions.provide(
        db,
        rows.map(({ id }) => timeOfKey(id as bigint)),
      );
    await db.transaction().execute((tx) => insertRows(tx, { name, key: [] }, rows));
  };
  for (const part of backupParts(file, passphrase)) {
    if (part.kind === "table") {
      await flush();
      ({ name } = part);
    } else if (part.kind === "row") {
      // Until they are there, rows of sums change no roll-up: these are in the backup too.
      if (ROLLED_TABLES.some((rolled) => rolled.name === part.table)) last.push([part.table, part.row]);
      else waiting.push(part.row);
      if (waiting.length >= ROWS_TOGETHER) await flush();
    }
  }
  await flush();
  for (const [table, row] of last) await insertRows(db, { name: table, key: [] }, [row]);
  await followNumbers(db);
}
