// A connection of a thread that only reads: of a SQLite file another handle, of PostgreSQL a pool of its own.
import type { DatabasePlace } from "./database.ts";
import type { Db } from "../kysely-reader.ts";
import type { Schema } from "../schema.ts";
import { openDatabase } from "./sqlite-connection.ts";

export interface ReadingConnection {
  readonly db: Db;
  /** The same queries, whose errors are StoreErrors. */
  explaining<Queries extends object>(queries: Queries): Queries;
  close(): Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 15_000;
const POOL = 2;

/** The database has to be migrated. Throws StoreError. */
export async function openReading(place: DatabasePlace): Promise<ReadingConnection> {
  if ("url" in place) {
    const { url } = place;
    const { explainingPostgres, openPostgresDatabase } = await import("../postgres.ts");
    const { db, store } = openPostgresDatabase({ url, poolSize: POOL, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    return { db, explaining: (queries) => explainingPostgres(queries, url), close: () => store.close() };
  }
  const { db, database, close } = await openDatabase<Schema>(place);
  database.run("pragma query_only = on");
  // its connection explains errors by itself
  return { db, explaining: (queries) => queries, close };
}
