// `dragoman restore`: brings back a backup into an empty database, or in place of a SQLite database that no gateway uses,
// and says what became of access tokens and of calls since the backup.
import { counted } from "../../core/text/counted.ts";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { systemClock } from "../../core/clock.ts";
import { verifyBackup } from "../../store/copies/backup.ts";
import { explainedBy, isSamePlace, namedPlace, openTarget, openToRead } from "../../store/copies/copy-places.ts";
import { ledgerFolderOf } from "../../store/data-folder.ts";
import { type DatabasePlace, using } from "../../store/database/database.ts";
import { isRestoring } from "../../store/database/move-marks.ts";
import { databasePlace } from "../../store/open-database.ts";
import { requireNoGateway, type Restored, restoreBackup } from "../../store/copies/restore.ts";
import { type KnownAccess, knownAccess } from "../../store/copies/restored-access.ts";
import { StoreError } from "../../store/store-error.ts";
import { countOf, passphraseOf, type PassphraseFlags } from "./backup.ts";
import { type DatabaseFlags, placeOf } from "./database.ts";
import { printJson, printLine, printTable } from "../output.ts";

export interface RestoreFlags extends DatabaseFlags, PassphraseFlags {
  readonly to?: string;
  readonly replace?: true;
  readonly newer?: readonly string[];
  readonly revokeAll?: true;
}

/** More are named with --json. */
const MOST_SHOWN = 100;

/** Throws StoreError; what was there before is then unchanged. */
export async function restore(file: string, flags: RestoreFlags, environment: Environment): Promise<void> {
  const path = resolve(file);
  const passphrase = passphraseOf(flags, environment);
  const options = placeOf(flags, environment);
  const used = resolved(databasePlace(options));
  const place = flags.to === undefined ? used : namedPlace(flags.to);
  const { lastChange } = verifyBackup(path, passphrase);
  const ledgerFolder = options.ledger?.folder ?? null;
  const known = async (): Promise<readonly KnownAccess[]> => {
    const all: KnownAccess[] = [];
    if ("file" in place && existsSync(place.file)) all.push(...(await replaced(place, flags, lastChange)));
    if (flags.to !== undefined && (!("file" in used) || existsSync(used.file)) && !isSamePlace(used, place))
      all.push(...(await usedElsewhere(used, lastChange)));
    for (const named of flags.newer ?? []) all.push(...(await newerThan(named, lastChange)));
    return all;
  };
  if ("file" in place) requireNoGateway(place.file, isSamePlace(used, place) ? ledgerFolder : null);
  // what is in the way is found before anything is filled
  await known();
  const restored = await restoreBackup({
    file: path,
    passphrase,
    place,
    known,
    revokesAll: flags.revokeAll === true,
    nowMs: systemClock.now(),
  });
  if (flags.json === true) printRestoredJson(place, restored);
  else printRestored(place, restored, ledgerFolderOf({ dataFolder: options.dataFolder, ledgerFolder }));
}

const resolved = (place: DatabasePlace): DatabasePlace => ("file" in place ? { file: resolve(place.file) } : place);

/** What the database that is to be replaced knows; nothing when it cannot be read, which may be why it is replaced. */
async function replaced(
  place: { readonly file: string },
  { replace }: RestoreFlags,
  lastChange: string | null,
): Promise<readonly KnownAccess[]> {
  try {
    return await using(openTarget(place, false), async ({ db, name, store }) => {
      if (await store.isNew()) return [];
      if (replace !== true)
        throw new StoreError(
          "conflict",
          `There is a database already: ${place.file}. With --replace it is kept under another name beside it, and what it knows about revoked tokens stays.`,
        );
      return [await knownAccess(db, name, lastChange)];
    });
  } catch (error) {
    if (replace === true && error instanceof StoreError && error.kind === "unusable") return [];
    throw error;
  }
}

/** What the database knows that the gateway uses; nothing where that is an empty one. */
async function usedElsewhere(place: DatabasePlace, lastChange: string | null): Promise<readonly KnownAccess[]> {
  try {
    return await accessIn(place, lastChange);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(
      error.kind,
      `What the database that the gateway uses knows of revoked tokens cannot be read: ${error.message} To restore without that, name the database that is to be filled with --data or DATABASE_URL, in place of --to.`,
      error,
    );
  }
}

async function newerThan(named: string, lastChange: string | null): Promise<readonly KnownAccess[]> {
  const place = namedPlace(named, "--newer");
  if ("file" in place && !existsSync(place.file))
    throw new StoreError("unusable", `There is no database ${place.file}.`);
  const known = await accessIn(place, lastChange);
  if (known.length === 0)
    throw new StoreError("unusable", "--newer names a database that has no tables of the gateway. Name another one.");
  return known;
}

/** Nothing where the database has no tables of the gateway, or is, by whatever name, the one that is being filled. */
async function accessIn(place: DatabasePlace, lastChange: string | null): Promise<readonly KnownAccess[]> {
  return await explainedBy(place, () =>
    using(openToRead(place), async ({ db, name, store }) =>
      (await store.isNew()) || (await isRestoring(db)) ? [] : [await knownAccess(db, name, lastChange)],
    ),
  );
}

function printRestoredJson(place: DatabasePlace, { backup, access, setAside }: Restored): void {
  printJson({
    database: "file" in place ? place.file : "postgresql",
    set_aside: setAside,
    made_at: new Date(backup.madeAtMs).toISOString(),
    rows: backup.rows,
    newer: access.newer,
    revoked: access.revoked,
    changed: access.changed,
    uncertain: access.uncertain,
  });
}

function printRestored(place: DatabasePlace, { backup, access, setAside }: Restored, ledger: string): void {
  printLine(`Restored ${countOf(backup)} as of ${new Date(backup.madeAtMs).toISOString()}.`);
  if (setAside !== null) printLine(`The database that was there before is now ${setAside}.`);
  printLine("Sessions of the console have ended, and links that were not used are gone.");
  if (access.newer.length > 0)
    printLine(
      `${access.newer.join(" and ")} is newer than the backup: ${counted(access.revoked.length, "token that is", "tokens that are")} revoked or removed there ${access.revoked.length === 1 ? "is" : "are"} revoked here, and ${access.changed === 1 ? "1 has the rights and secrets that it has there" : `${access.changed} have the rights and secrets that they have there`}.`,
    );
  else if (access.revoked.length > 0)
    printLine(`${counted(access.revoked.length, "token is", "tokens are")} revoked now.`);
  if (access.uncertain.length > 0) {
    printLine(
      `${access.newer.length === 0 ? "Nothing newer than the backup is known" : "A database that was moved away does not know what was revoked after the move (name the one that does with --newer)"}: ${access.uncertain.length === 1 ? "this token is valid again even if it was" : `these ${access.uncertain.length} tokens are valid again even if they were`} revoked since. Revoke them one by one (dragoman token revoke), or restore again with --revoke-all.`,
    );
    printTable(
      ["TOKEN", "NAME"],
      access.uncertain.slice(0, MOST_SHOWN).map(({ id, name }) => [id, name]),
    );
    if (access.uncertain.length > MOST_SHOWN)
      printLine(`${access.uncertain.length - MOST_SHOWN} more are listed with --json.`);
  }
  printLine(
    existsSync(ledger)
      ? `The ledger in ${ledger} is not changed: the next start ships again what its files still have and the backup lacks, once each, and its log says how many rows are lost.`
      : `There is no ledger in ${dirname(ledger)}: calls after the backup are not in the database.`,
  );
  if ("url" in place)
    printLine("Now start the gateway with DATABASE_URL set to this database, and with the master key that it had.");
  else printLine(`Now start the gateway with --data ${dirname(place.file)}, and with the master key that it had.`);
}
