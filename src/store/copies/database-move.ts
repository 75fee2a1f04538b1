// Moves everything in one database to another one while gateways use the first. The large tables are copied as they
// change; then no changes are taken for the moment that the rest needs, both databases are compared, and the first one
// says that it was moved. What a gateway wants to write meanwhile waits in its journal, or is refused for that moment.
// Whatever interrupts the move, running it again goes on: until the end, gateways use the first database.
import { counted } from "../../core/text/counted.ts";
import { newSpanId } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";
import { inSentence, type MoveMark, moveMarks } from "../database/move-marks.ts";
import { COPIED_TABLES, PARTED_TABLES, WHOLE_TABLES } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import {
  type Columns,
  columnsOf,
  copyParts,
  copyWhole,
  differingParts,
  digestsOf,
  hasRows,
  rowsIn,
} from "./table-copies.ts";
import { holdForever, holdWrites, liftHold, removeHold, renewHold } from "./write-hold.ts";

export interface MoveOptions {
  readonly source: Database;
  /** Used by nobody else, and migrated. */
  readonly target: Database;
  /** What is happening now, for people. */
  readonly onProgress: (text: string) => void;
  /** How long the first database takes no changes when the move is killed in its last step; 30,000 by default. */
  readonly holdMs?: number;
}

/** One table after the move. */
export interface ComparedTable {
  readonly table: string;
  readonly sourceRows: number;
  readonly targetRows: number;
  readonly isEqual: boolean;
}

export interface Move {
  /** Whether an earlier one had ended already, so that nothing was to be done. */
  readonly wasDone: boolean;
  readonly tables: readonly ComparedTable[];
}

const HOLD_MS = 30_000;
/** Fewer rows than this are left to the last step. */
const FEW_ROWS = 5_000;
const MOST_ROUNDS = 5;

/** Throws StoreError; the source is then used as before. */
export async function moveDatabase(options: MoveOptions): Promise<Move> {
  const { source, target, onProgress } = options;
  const own = await moveMarks(source.db);
  const { id, state } = await begun(source, target, own);
  const columns = await columnsOf(source.db);
  if (state === "done") return { wasDone: true, tables: [] };
  if (state === "copying") {
    let before = Number.POSITIVE_INFINITY;
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      const copied = await copyLarge(options, columns, async () => {});
      onProgress(`Copied ${counted(copied, "row")} while the database is in use.`);
      // another round would find as much as this one where rows come as fast as they are copied
      if (copied < FEW_ROWS || copied > before / 2) break;
      before = copied;
    }
    await copyRest(options, columns, id);
  }
  const tables = await compare(source, target, columns);
  requireEqual(tables);
  await target.db
    .updateTable("database_move")
    .set({ state: "done" })
    .where("id", "=", id)
    .where("role", "=", "to")
    .execute();
  return { wasDone: false, tables };
}

type BegunState = "copying" | "moved" | "done";

/** Begins a move, or finds the one that was begun. */
async function begun(
  source: Database,
  target: Database,
  own: readonly MoveMark[],
): Promise<{ readonly id: string; readonly state: BegunState }> {
  const theirs = await moveMarks(target.db);
  const leaving = own.find(({ role }) => role === "from");
  const filled = theirs.find(({ role, id }) => role === "to" && id === leaving?.id);
  if (leaving?.state === "moved") {
    if (filled === undefined)
      throw new StoreError(
        "conflict",
        `${source.name} was moved to ${inSentence(leaving.other)} already, and not to ${inSentence(target.name)}. Move on from there.`,
      );
    return { id: leaving.id, state: filled.state === "done" ? "done" : "moved" };
  }
  if (leaving !== undefined && filled?.state === "copying") return { id: leaving.id, state: "copying" };
  await requireFree(source, target, own, theirs);
  const id = newSpanId();
  const mark = { id, state: "copying", until_ms: 0n };
  // The one that is to be filled comes last: without its mark, the same command begins anew.
  await source.db.transaction().execute(async (tx) => {
    await tx.deleteFrom("database_move").where("role", "=", "from").execute();
    await tx
      .insertInto("database_move")
      .values({ ...mark, role: "from", other: target.name })
      .execute();
  });
  await target.db.transaction().execute(async (tx) => {
    await removeHold(tx);
    await tx.deleteFrom("database_move").execute();
    await tx
      .insertInto("database_move")
      .values({ ...mark, role: "to", other: source.name })
      .execute();
  });
  return { id, state: "copying" };
}

/** A database that has nothing, or the one from which the source was once moved. Throws StoreError. */
async function requireFree(
  source: Database,
  target: Database,
  own: readonly MoveMark[],
  theirs: readonly MoveMark[],
): Promise<void> {
  const left = theirs.find(({ role, state }) => role === "from" && state === "moved");
  if (left !== undefined && own.some(({ role, id }) => role === "to" && id === left.id)) return;
  if (theirs.some(({ role, state }) => role === "to" && state === "copying"))
    throw new StoreError(
      "conflict",
      `${target.name} is the unfinished copy of another database. Go on with that move, or name an empty database.`,
    );
  for (const { name } of COPIED_TABLES) {
    if (name === "revisions") continue;
    if (await hasRows(target.db, name))
      throw new StoreError(
        "conflict",
        `${target.name} has the data of a gateway already (the table ${name} has rows), which a move does not replace. Name an empty database. ${source.name} is used as before.`,
      );
  }
}

async function copyLarge(
  { source, target }: MoveOptions,
  columns: Columns,
  onStep: () => Promise<void>,
): Promise<number> {
  let copied = 0;
  for (const table of PARTED_TABLES) copied += await copyParts(source.db, target.db, columns, table, onStep);
  return copied;
}

/** The end was not reached within the time for which the source took no changes. */
class HoldLapsed extends Error {}

async function copyRest(options: MoveOptions, columns: Columns, id: string): Promise<void> {
  let holdMs = options.holdMs ?? HOLD_MS;
  for (;;) {
    try {
      await copyHeld(options, columns, id, holdMs);
      return;
    } catch (error) {
      if (!(error instanceof HoldLapsed)) {
        await liftHold(options.source.db, id).catch(() => {});
        throw error;
      }
      holdMs *= 2;
      options.onProgress("The rest took longer than expected, and is copied again.");
    }
  }
}

async function copyHeld(options: MoveOptions, columns: Columns, id: string, holdMs: number): Promise<void> {
  const { source, target, onProgress } = options;
  const renew = async (): Promise<void> => {
    if (!(await renewHold(source.db, id, holdMs))) throw new HoldLapsed();
  };
  const startedMs = performance.now();
  await holdWrites(source.db, id, holdMs);
  const copied = await copyLarge(options, columns, renew);
  await renew();
  await copyWhole(source.db, target.db, WHOLE_TABLES);
  await renew();
  requireEqual(await compare(source, target, columns));
  if (!(await holdForever(source.db, id))) throw new HoldLapsed();
  onProgress(
    `Copied ${copied === 1 ? "the last row" : `the last ${copied} rows`} and the configuration in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`,
  );
}

async function compare(source: Database, target: Database, columns: Columns): Promise<readonly ComparedTable[]> {
  const tables: ComparedTable[] = [];
  for (const table of COPIED_TABLES) {
    const [one, other] = [await digestsOf(source.db, columns, table), await digestsOf(target.db, columns, table)];
    tables.push({
      table: table.name,
      sourceRows: rowsIn(one),
      targetRows: rowsIn(other),
      isEqual: differingParts(one, other).length === 0,
    });
  }
  return tables;
}

/** Throws StoreError, which names the tables that differ. */
function requireEqual(tables: readonly ComparedTable[]): void {
  const differing = tables.filter(({ isEqual }) => !isEqual);
  if (differing.length === 0) return;
  throw new StoreError(
    "conflict",
    `The databases differ after copying: ${differing
      .map(
        ({ table, sourceRows, targetRows }) =>
          `${table} (${counted(sourceRows, "row")}, and ${targetRows} in the copy)`,
      )
      .join(", ")}. Does another program write to one of them? Run the same command again.`,
  );
}
