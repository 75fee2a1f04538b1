// The files of a data folder by name: which files belong to the gateway, and which of them show that there was a
// database before.
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { folderFault } from "../config/path-fault.ts";
import { slotsOf } from "./journal/journal-folder.ts";
import { StoreError } from "./store-error.ts";

export interface DataPlace {
  readonly dataFolder: string;
  /** The folder of the journal; `ledger` in the data folder if omitted or `null`. */
  readonly ledgerFolder?: string | null;
}

const OWN_FILE = /^(dragoman\.sqlite|limits\.sqlite|cache\.sqlite)(-wal|-shm|-journal|\.lock.*)?$|^master\.key$/;
const LEASES = "leases";

/** Removes a database of SQLite with the files that SQLite keeps beside it. Nothing may have it open. */
export function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
}

export function databaseFile(dataFolder: string): string {
  return join(dataFolder, "dragoman.sqlite");
}

/** SQLite's write-ahead log, which belongs to the database while it is open. */
export function logFile(dataFolder: string): string {
  return `${databaseFile(dataFolder)}-wal`;
}

/** The folder of what replicas of a shared limit store record of their leases. */
export function leasesFolderOf(dataFolder: string): string {
  return join(dataFolder, LEASES);
}

export function ledgerFolderOf({ dataFolder, ledgerFolder }: DataPlace): string {
  return ledgerFolder ?? join(dataFolder, "ledger");
}

/**
 * Checks both folders before anything is made or read in them. With `write`, files have to be made there. Throws
 * StoreError.
 */
export function requireFolders(place: DataPlace, { write }: { readonly write: boolean }): void {
  const { dataFolder } = place;
  const fault = folderFault(dataFolder, { write });
  if (fault !== null) throw dataFolderUnusable(dataFolder, fault);
  const ledger = ledgerFolderOf(place);
  const ledgerFault = folderFault(ledger, { write });
  if (ledgerFault !== null) throw ledgerFolderUnusable(ledger, ledgerFault);
}

const unusable = (what: string, setting: string) => (folder: string, fault: string, cause?: unknown) =>
  new StoreError(
    "unusable",
    `The ${what} ${resolve(folder)} cannot be used: ${fault}. Mend that, or name another folder with ${setting}.`,
    cause,
  );
export const dataFolderUnusable = unusable("data folder", "--data (DRAGOMAN_DATA, server.data)");
export const ledgerFolderUnusable = unusable("folder of the ledger", "ledger.folder in the configuration");

/** Every existing file and folder of the gateway. Throws the system's error. */
export function ownFiles(place: DataPlace): readonly string[] {
  const { dataFolder } = place;
  const ledger = ledgerFolderOf(place);
  const slots = existsSync(ledger)
    ? [ledger, ...slotsOf(ledger).flatMap((slot) => withContent(join(ledger, slot)))]
    : [];
  const leases = join(dataFolder, LEASES);
  return [
    ...readdirSync(dataFolder)
      .filter((name) => OWN_FILE.test(name))
      .map((name) => join(dataFolder, name)),
    ...slots,
    ...(existsSync(leases) ? withContent(leases) : []),
  ];
}

function withContent(folder: string): readonly string[] {
  return [folder, ...readdirSync(folder).map((name) => join(folder, name))];
}

/**
 * Files that a gateway creates only after it had a database. The master key is not among them, because operators may
 * put one there before the first start.
 */
export function remainingFiles(place: DataPlace): readonly string[] {
  const { dataFolder } = place;
  const ledger = ledgerFolderOf(place);
  const log = logFile(dataFolder);
  return [
    ...(existsSync(ledger) && slotsOf(ledger).length > 0 ? [ledger] : []),
    ...[join(dataFolder, "limits.sqlite")].filter((path) => existsSync(path)),
    ...((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0 ? [log] : []),
  ];
}
