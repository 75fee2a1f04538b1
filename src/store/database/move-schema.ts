// The table of marks that a move to another database leaves in both (move-marks.ts), and what makes it.
import type { Kysely } from "kysely";

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

export async function createMoves(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("database_move")
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("other", "text", (column) => column.notNull())
    .addColumn("until_ms", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("database_move_key", ["id", "role"])
    .execute();
}
