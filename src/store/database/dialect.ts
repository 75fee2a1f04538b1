// Which database is behind a connection, for statements that both databases have in forms of their own, and what both say
// each in its way.
import { type Kysely, PostgresAdapter } from "kysely";
import { codeOf, messageOf } from "../../core/thrown.ts";

/** Whether it is PostgreSQL, and not SQLite. */
export function usesPostgres(db: Pick<Kysely<never>, "getExecutor">): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/** By the code of PostgreSQL, and by the text of SQLite, which has no code for it. */
export const isMissingTable = (error: unknown): boolean =>
  codeOf(error) === "42P01" || messageOf(error).startsWith("no such table");
