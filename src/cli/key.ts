// `dragoman key rotate`: a new master key where the key file is the gateway's own, and everything that is sealed sealed again under the newest.
import type { Environment } from "../config/environment.ts";
import { addMasterKey } from "../config/master-key.ts";
import { type DatabaseFlags, withDatabase } from "./database.ts";
import { printError, printJson, printLine } from "./output.ts";

/** Gives the exit code: 1 where something does not open. */
export async function rotate(flags: DatabaseFlags, environment: Environment): Promise<number> {
  const file = await withDatabase(flags, environment, ({ keys }) => {
    if (keys.file !== null) addMasterKey(keys);
    return Promise.resolve(keys.file);
  });
  // opened again, because the keys are read with it
  const { resealed, unopened } = await withDatabase(flags, environment, ({ store }) => store.reseal());
  if (flags.json === true) printJson({ resealed, unopened, key_file: file });
  else {
    printLine(`${resealed} ${resealed === 1 ? "row is" : "rows are"} sealed under the newest master key.`);
    if (file !== null)
      printLine(
        `The new key stands first in ${file}. Keep a copy of the file; the older keys in it open backups from before.`,
      );
    for (const one of unopened) printError(`not opened: ${one}`);
  }
  return unopened.length === 0 ? 0 : 1;
}
