// The transaction in which rows are read, decided upon and written.
import type { Kysely, TransactionBuilder } from "kysely";

/** Set explicitly because a stricter default of the database would reject a transaction that had to wait for a lock. */
export function beginWriting<Schema>(db: Kysely<Schema>): TransactionBuilder<Schema> {
  return db.transaction().setIsolationLevel("read committed");
}
