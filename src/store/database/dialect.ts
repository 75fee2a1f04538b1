// Which database is behind a connection, for statements that both databases have in forms of their own.
import { type Kysely, PostgresAdapter } from "kysely";

/** Whether it is PostgreSQL, and not SQLite. */
export function usesPostgres(db: Pick<Kysely<never>, "getExecutor">): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
