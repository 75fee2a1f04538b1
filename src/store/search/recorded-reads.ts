// What simulations read: the newest calls of a scope and the access tokens that made them. It is opened in the thread of
// simulations.
import type { RecordedCalls, RecordedQuery } from "../calls/calls.ts";
import type { DatabasePlace } from "../database/database.ts";
import { openReading } from "../database/reading-connection.ts";
import { recordedCalls, type RecordedToken, recordedTokens } from "./recorded-calls.ts";

export interface RecordedReads {
  calls(query: RecordedQuery): Promise<RecordedCalls>;
  /** By id. A token that is gone has no entry. */
  tokens(ids: readonly string[]): Promise<ReadonlyMap<string, RecordedToken>>;
  close(): Promise<void>;
}

/** The database has to be migrated. Throws StoreError. */
export async function openRecordedReads(place: DatabasePlace): Promise<RecordedReads> {
  const connection = await openReading(place);
  const { db } = connection;
  return connection.explaining<RecordedReads>({
    calls: (query) => recordedCalls(db, query),
    tokens: (ids) => recordedTokens(db, ids),
    close: () => connection.close(),
  });
}
