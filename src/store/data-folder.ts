// The files of a data folder by name: which files belong to the gateway, and which of them show that there was a
// database before.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { slotsOf } from "./journal-folder.ts";

export interface DataPlace {
  readonly dataFolder: string;
  /** The folder of the journal; `ledger` in the data folder if omitted or `null`. */
  readonly ledgerFolder?: string | null;
}

const OWN_FILE = /^(dragoman\.sqlite|limits\.sqlite)(-wal|-shm|-journal|\.lock.*)?$|^master\.key$/;
const LEASES = "leases";

export function databaseFile(dataFolder: string): string {
  return join(dataFolder, "dragoman.sqlite");
}

export function ledgerFolderOf({ dataFolder, ledgerFolder }: DataPlace): string {
  return ledgerFolder ?? join(dataFolder, "ledger");
}

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
export function leftBehind(place: DataPlace): readonly string[] {
  const { dataFolder } = place;
  const ledger = ledgerFolderOf(place);
  const log = `${databaseFile(dataFolder)}-wal`;
  return [
    ...(existsSync(ledger) && slotsOf(ledger).length > 0 ? [ledger] : []),
    ...[join(dataFolder, "limits.sqlite")].filter((path) => existsSync(path)),
    ...((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0 ? [log] : []),
  ];
}
