// Runs statements that are texts, such as those that make tables: one text for SQLite and PostgreSQL alike, or one that
// its file chooses by the database (dialect.ts).
import { type QueryExecutorProvider, sql } from "kysely";

export async function runStatements(db: QueryExecutorProvider, ...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
