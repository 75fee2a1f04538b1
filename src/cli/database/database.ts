// Opens the database for commands that work on it directly, even while a server runs on it: the one that a server with
// this folder and environment uses.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { resolveConfigFile } from "../../snapshot/server-options.ts";
import { databaseFile } from "../../store/data-folder.ts";
import { using } from "../../store/database/database.ts";
import { type DatabaseOptions, openDatabase, type EncryptedDatabase } from "../../store/open-database.ts";
import { namedServerOptions } from "../named-configuration.ts";
import { printJson, printLine } from "../output.ts";

export interface DatabaseFlags {
  readonly data?: string;
  readonly config?: string;
  readonly json?: true;
}

/** Throws StoreError when the database does not exist. */
export function withDatabase<T>(
  flags: DatabaseFlags,
  environment: Environment,
  work: (database: EncryptedDatabase) => Promise<T>,
): Promise<T> {
  return withOpenDatabase({ ...placeOf(flags, environment), environment }, work);
}

/** The database of a gateway that runs. Throws StoreError when it does not exist. */
export function withOpenDatabase<T>(
  place: DatabaseOptions,
  work: (database: EncryptedDatabase) => Promise<T>,
): Promise<T> {
  return using(openDatabase(place, "refuse"), work);
}

/** Creates the database when it does not exist. */
export function withAnyDatabase<T>(
  flags: DatabaseFlags,
  environment: Environment,
  work: (database: EncryptedDatabase, dataFolder: string) => Promise<T>,
): Promise<T> {
  const place = placeOf(flags, environment);
  return using(openDatabase({ ...place, environment }), (database) => work(database, place.dataFolder));
}

/**
 * `dragoman database create`: creates an empty database, even where there was one before; an existing database is left
 * as it is. Throws StoreError.
 */
export async function create(flags: DatabaseFlags, environment: Environment): Promise<void> {
  const place = placeOf(flags, environment);
  await using(openDatabase({ ...place, environment }, "replace"), () => Promise.resolve());
  const where = place.databaseUrl === null ? resolve(databaseFile(place.dataFolder)) : "the PostgreSQL database";
  if (flags.json === true) printJson({ database: where });
  else
    printLine(
      `The database exists: ${where}. The next start of the server creates the first access token if there is none.`,
    );
}

/** The configuration is read only when it matters, because it may need variables that this shell does not have. */
export function placeOf(flags: DatabaseFlags, environment: Environment): Omit<DatabaseOptions, "environment"> {
  const file = resolveConfigFile({ flags, environment });
  const named = flags.data ?? environment.dataFolder ?? "";
  const { databaseUrl } = environment;
  if (named !== "" && (databaseUrl !== null || file === null || !namesPlaces(file)))
    return { dataFolder: named, databaseUrl };
  return namedServerOptions(flags, environment);
}

/** Whether the configuration may say where the database or the ledger is. */
function namesPlaces(file: string): boolean {
  try {
    return /\b(?:database_url|ledger)\b/.test(readFileSync(file, "utf8"));
  } catch {
    return false; // A file that was not needed may be absent.
  }
}
