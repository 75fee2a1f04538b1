// The marks that a move to another database leaves in both: which database is being left, which one is being filled, and
// until when the former takes no changes. They are not moved themselves.
import { type Kysely, sql } from "kysely";
import { isMissingTable } from "./dialect.ts";
import type { MoveSchema } from "./move-schema.ts";
import type { Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";

export type MoveMark = MoveSchema["database_move"];

/** The end of no time at all: a database that was moved never takes changes again. */
export const FOREVER_MS = 2n ** 62n;

/** The id of the mark of a restore. */
export const RESTORE = "restore";

/** None where the database has no table for them, as before it is migrated. */
export async function moveMarks(db: Kysely<Schema>): Promise<readonly MoveMark[]> {
  try {
    return await db.selectFrom("database_move").selectAll().orderBy("id").execute();
  } catch (error) {
    if (isMissingTable(error)) return [];
    throw error;
  }
}

/** Whether a restore fills it and has not ended: what is in it is then the backup's, and nothing newer. */
export async function isRestoring(db: Kysely<Schema>): Promise<boolean> {
  return (await moveMarks(db)).some(({ id, state }) => id === RESTORE && state === "copying");
}

/** Throws StoreError when gateways have to use another database, or cannot use this one yet. `name` begins a sentence. */
export async function requireNotMoved(db: Kysely<Schema>, name: string): Promise<void> {
  const marks = await moveMarks(db);
  if (marks.some(isFilling)) throw notFilled(name);
  for (const { role, state, other } of marks) if (role === "from" && state === "moved") throw movedAway(name, other);
}

/**
 * Throws StoreError for a database that is being filled. To be called before it is migrated, because the remaining rows fit
 * only its present tables.
 */
export async function requireFilled(db: Kysely<Schema>, name: string): Promise<void> {
  if ((await moveMarks(db)).some(isFilling)) throw notFilled(name);
}

const isFilling = ({ role, state }: MoveMark): boolean => role === "to" && state === "copying";

export const notFilled = (name: string): StoreError =>
  new StoreError(
    "unusable",
    `${name} is not complete: a move or a restore fills it and has not ended. Run that move or restore again, which goes on.`,
  );

export const movedAway = (name: string, other: string): StoreError =>
  new StoreError(
    "unusable",
    `${name} was moved: its contents are now in ${inSentence(other)}. Start the gateway with that one (DATABASE_URL, server.database_url; --data for SQLite), or move back with dragoman database move.`,
  );

export const inSentence = (name: string): string => name.replace(/^The /, "the ");

/** The other database, when this one was moved; `null` otherwise. As an expression of a statement. */
export const movedToSql = sql<
  string | null
>`(select max(other) from database_move where role = 'from' and state = 'moved')`;

/** How a database says that it takes no changes, in messages of triggers (write-hold.ts). */
export const HELD = "dragoman_moved";
/** Of PostgreSQL, where every class of codes that begins with I to Z or 5 to 9 is free for programs. */
export const HELD_CODE = "MV001";

export const heldError = (name: string, cause: unknown): StoreError =>
  new StoreError(
    "unusable",
    `${name} takes no changes, because dragoman database move is moving it or has moved it. If it is still moving, try again in a minute; afterwards, start the gateway with the new database.`,
    cause,
  );
