// What simulations read: the newest calls of a scope and the access tokens that made them. It is opened in the thread of
// simulations.
import type { RecordedQuery } from "../calls/calls.ts";
import type { DatabasePlace } from "../database/database.ts";
import { openReading } from "../database/reading-connection.ts";
import { recordedCalls, recordedTokens } from "./recorded-calls.ts";

export type RecordedReads = Awaited<ReturnType<typeof openRecordedReads>>;

/** The database has to be migrated. Throws StoreError. */
export async function openRecordedReads(place: DatabasePlace) {
  const connection = await openReading(place);
  const { db } = connection;
  return connection.explaining({
    calls: (query: RecordedQuery) => recordedCalls(db, query),
    /** By id. A token that is gone has no entry. */
    tokens: (ids: readonly string[]) => recordedTokens(db, ids),
    close: () => connection.close(),
  });
}
