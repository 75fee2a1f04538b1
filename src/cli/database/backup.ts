// `dragoman backup create` and `backup verify`: all rows of the gateway's database in one file, also while it runs, and
// the check that the file is whole.
import { counted } from "../../core/text/counted.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { readSecretFile } from "../../config/secret-file.ts";
import { systemClock } from "../../core/clock.ts";
import { VERSION } from "../../core/version.ts";
import { verifyBackup, writeBackup, type WrittenBackup } from "../../store/copies/backup.ts";
import { explainedBy, openSource } from "../../store/copies/copy-places.ts";
import { using } from "../../store/database/database.ts";
import { databasePlace } from "../../store/open-database.ts";
import { StoreError } from "../../store/store-error.ts";
import { type DatabaseFlags, placeOf } from "./database.ts";
import { printJson, printLine } from "../output.ts";

export interface PassphraseFlags {
  readonly passphraseFile?: string;
}
export interface BackupFlags extends DatabaseFlags, PassphraseFlags {}

/** Throws StoreError. */
export async function create(file: string, flags: BackupFlags, environment: Environment): Promise<void> {
  const path = resolve(file);
  if (existsSync(path))
    throw new StoreError("exists", `The file ${path} exists, and a backup overwrites none. Name another file.`);
  const passphrase = passphraseOf(flags, environment);
  const place = databasePlace(placeOf(flags, environment));
  const summary = await explainedBy(place, () =>
    using(openSource(place), (database) =>
      writeBackup(database, { file: path, passphrase, program: VERSION, nowMs: systemClock.now() }),
    ),
  );
  if (flags.json === true) printJson({ file: path, encrypted: passphrase !== null, ...shown(summary) });
  else
    printLine(
      `${path} has ${countOf(summary)}, ${passphrase === null ? "not encrypted" : "encrypted"}. The master key is not in it: keep a copy of that elsewhere.`,
    );
}

/** Throws StoreError when the file is not as it was written. */
export function verify(
  file: string,
  flags: PassphraseFlags & { readonly json?: true },
  environment: Environment,
): void {
  const path = resolve(file);
  const summary = verifyBackup(path, passphraseOf(flags, environment));
  if (flags.json === true) printJson({ file: path, ...shown(summary) });
  else
    printLine(
      `${path} is whole: ${countOf(summary)}, made at ${new Date(summary.madeAtMs).toISOString()} by version ${summary.program}.`,
    );
}

/** `null` when none is given. Throws StoreError. */
export function passphraseOf({ passphraseFile }: PassphraseFlags, environment: Environment): string | null {
  if (passphraseFile === undefined) return environment.get("DRAGOMAN_BACKUP_PASSPHRASE") ?? null;
  const found = readSecretFile(resolve(passphraseFile));
  if ("problem" in found) throw new StoreError("invalid", `--passphrase-file: ${found.problem}.`);
  return found.text;
}

export const countOf = ({ rows }: Pick<WrittenBackup, "rows">): string =>
  `${counted(
    Object.values(rows).reduce((sum, count) => sum + count, 0),
    "row",
  )} of ${counted(Object.keys(rows).length, "table")} (${counted(rows["access_tokens"] ?? 0, "access token")}, ${counted(rows["call"] ?? 0, "call")})`;

const shown = ({ program, madeAtMs, database, migrations, rows }: WrittenBackup) => ({
  program,
  made_at: new Date(madeAtMs).toISOString(),
  database,
  last_migration: migrations.at(-1),
  rows,
});
