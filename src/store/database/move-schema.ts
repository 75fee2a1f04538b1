// The table of marks that a move to another database leaves in both (move-marks.ts), and what makes it.
import type { Kysely } from "kysely";
import { runStatements } from "./run-statements.ts";

export interface MoveSchema {
  readonly database_move: {
    /** The same in both databases. */
    readonly id: string;
    /** `from` in the database that is left, `to` in the one that is filled. */
    readonly role: string;
    /** `copying`, and then `moved` in the one that was left and `done` in the one that was filled. */
    readonly state: string;
    /** The name of the other database, as it begins a sentence. */
    readonly other: string;
    /** Until then, by the clock of the database, it takes no changes. */
    readonly until_ms: bigint;
  };
}

export const createMoves = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table database_move (
      id text not null, role text not null, state text not null, other text not null, until_ms bigint not null,
      constraint database_move_key primary key (id, role)
    )`,
  );
