// `dragoman database move`: copies the database of the gateway to another one, PostgreSQL or SQLite, while gateways use
// it, and makes the other one its successor.
import { dirname, resolve } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { explainedBy, isSamePlace, namedPlace, openSource, openTarget } from "../../store/copies/copy-places.ts";
import { type Database, type DatabasePlace, using } from "../../store/database/database.ts";
import { type Move, moveDatabase } from "../../store/copies/database-move.ts";
import { databasePlace } from "../../store/open-database.ts";
import { StoreError } from "../../store/store-error.ts";
import { type DatabaseFlags, placeOf } from "./database.ts";
import { printJson, printLine, printTable } from "../output.ts";

export interface MoveFlags extends DatabaseFlags {
  readonly to: string;
}

/** Throws StoreError; gateways then go on with the database that they use. */
export async function move(flags: MoveFlags, environment: Environment): Promise<void> {
  const target = namedPlace(flags.to);
  const used = databasePlace(placeOf(flags, environment));
  const source = "file" in used ? { file: resolve(used.file) } : used;
  if (isSamePlace(source, target))
    throw new StoreError("invalid", "--to names the database that is to be moved. Name another one.");
  const onProgress = (text: string): void => {
    if (flags.json !== true) printLine(text);
  };
  await using(openSource(source), (from) =>
    using(
      ofTarget(target, () => openTarget(target)),
      async (to) =>
        shown(await explained({ source, target, from }, () => moveDatabase({ source: from, target: to, onProgress })), {
          to,
          target,
          isJson: flags.json === true,
        }),
    ),
  );
}

async function ofTarget<T>(target: DatabasePlace, run: () => Promise<T>): Promise<T> {
  try {
    return await explainedBy(target, run);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(
      error.kind,
      `The database of --to cannot take the data: ${error.message} Gateways go on with the database that they use.`,
      error,
    );
  }
}

interface Moving {
  readonly source: DatabasePlace;
  readonly target: DatabasePlace;
  readonly from: Database;
}

/** An error of a driver does not say of which database it is: the one that answers now is not the one. */
async function explained<T>({ source, target, from }: Moving, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const rethrown = async (): Promise<T> => {
      throw error;
    };
    const answers = await from.store.isNew().then(
      () => true,
      () => false,
    );
    return answers ? await ofTarget(target, rethrown) : await explainedBy(source, rethrown);
  }
}

interface Shown {
  readonly to: Database;
  readonly target: DatabasePlace;
  readonly isJson: boolean;
}

function shown({ tables, wasDone }: Move, { to, target, isJson }: Shown): void {
  if (isJson) {
    printJson({
      database: "file" in target ? target.file : to.name.replace(/^The database /, ""),
      was_done: wasDone,
      tables: tables.map(({ table, sourceRows, targetRows, isEqual }) => ({
        table,
        rows: sourceRows,
        rows_in_copy: targetRows,
        equal: isEqual,
      })),
    });
    return;
  }
  if (wasDone) printLine(`The database was moved before. ${nextStep(target)}`);
  else {
    printTable(
      ["TABLE", "ROWS", "ROWS IN THE COPY"],
      tables
        .filter(({ sourceRows, targetRows }) => sourceRows + targetRows > 0)
        .map(({ table, sourceRows, targetRows }) => [table, String(sourceRows), String(targetRows)]),
    );
    printLine(`All ${tables.length} tables are equal. ${nextStep(target)}`);
  }
}

const nextStep = (target: DatabasePlace): string =>
  "file" in target
    ? `Now restart each gateway without DATABASE_URL and with --data ${dirname(target.file)}: until then its calls wait in its journal, and it takes no changes.`
    : "Now restart each gateway with DATABASE_URL set to the new database, and with the data folder and the master key that it has: until then its calls wait in its journal, and it takes no changes.";
