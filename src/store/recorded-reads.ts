// What simulations read: the newest calls of a scope and the access tokens that made them, on a connection of their own
// that writes nothing. It is opened in the thread of simulations.
import { Kysely } from "kysely";
import { bunSqliteDialect } from "./bun-sqlite-dialect.ts";
import type { CallSchema } from "./call-schema.ts";
import type { RecordedCalls, RecordedQuery } from "./calls.ts";
import type { DatabasePlace } from "./database.ts";
import { recordedCalls, type RecordedToken, recordedTokens } from "./recorded-calls.ts";
import type { Schema } from "./schema.ts";
import { openDatabase } from "./sqlite-connection.ts";

export interface RecordedReads {
  calls(query: RecordedQuery): Promise<RecordedCalls>;
  /** By id. A token that is gone has no entry. */
  tokens(ids: readonly string[]): Promise<ReadonlyMap<string, RecordedToken>>;
  close(): Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 15_000;

/** The database has to be migrated. Throws StoreError. */
export async function openRecordedReads(place: DatabasePlace): Promise<RecordedReads> {
  if ("url" in place) {
    const { explainingPostgres, openPostgresDatabase } = await import("./postgres.ts");
    const { db, store } = openPostgresDatabase({
      url: place.url,
      poolSize: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    return explainingPostgres(
      readsOver(db, () => store.close()),
      place.url,
    );
  }
  const { database, connection } = await openDatabase(place);
  database.run("pragma query_only = on");
  const db = new Kysely<Schema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  return readsOver(db, async () => {
    await db.destroy();
    database.close();
  });
}

/** Both schemas are of one database. */
function readsOver(db: Kysely<Schema>, close: () => Promise<void>): RecordedReads {
  return {
    calls: (query) => recordedCalls(db as unknown as Kysely<CallSchema>, query),
    tokens: (ids) => recordedTokens(db, ids),
    close,
  };
}
