// `dragoman key rotate`: adds a new master key when the gateway has its own key file, and encrypts all stored secrets
// again under the newest key.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { addMasterKey } from "../../config/master-key.ts";
import { LOCAL_ACTOR } from "../../store/records.ts";
import { type DatabaseFlags, withDatabase } from "./database.ts";
import { printError, printJson, printLine } from "../output.ts";

/** Returns the exit code: 1 when a secret cannot be decrypted. */
export async function rotate(flags: DatabaseFlags, environment: Environment): Promise<number> {
  const { file, variable, isAdded } = await withDatabase(flags, environment, async ({ keys, store }) => {
    // without this check, each attempt would add a key while the database takes no changes
    await store.change(LOCAL_ACTOR, () => Promise.resolve(), { dryRun: true });
    return { file: keys.file, variable: keys.variable, isAdded: addMasterKey(keys) };
  });
  // The database is opened again, because its keys are read when it is opened.
  const { rows: resealed, unopened } = await withDatabase(flags, environment, ({ store }) => store.reencrypt());
  if (flags.json === true) printJson({ resealed, unopened, key_file: file, key_added: isAdded });
  else {
    printLine(`${counted(resealed, "row is", "rows are")} encrypted with the newest master key.`);
    printLine(
      isAdded
        ? `The new key is the first in ${file}. Keep a copy of the file: its older keys are needed for older backups.`
        : `No key was added, because the keys come from ${variable}: put a new key before the old one there, on every gateway, and run this again.`,
    );
    for (const one of unopened) printError(`could not be decrypted: ${one}`);
  }
  return unopened.length === 0 ? 0 : 1;
}
