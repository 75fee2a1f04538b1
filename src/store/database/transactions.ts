// The two kinds of transactions: one in which rows are read, decided upon and written, and one that only reads.
import type { Kysely, Transaction, TransactionBuilder } from "kysely";

/** Set explicitly because a stricter default of the database would reject a transaction that had to wait for a lock. */
export function beginWriting<Schema>(db: Kysely<Schema>): TransactionBuilder<Schema> {
  return db.transaction().setIsolationLevel("read committed");
}

/**
 * Reads that belong together see the database as it is at one moment, so that what they find agrees. `work` must use
 * its argument for every query, and must not wait for anything but the database.
 */
export async function inOneView<Schema, T>(
  db: Kysely<Schema>,
  work: (view: Transaction<Schema>) => Promise<T>,
): Promise<T> {
  return await db.transaction().setAccessMode("read only").setIsolationLevel("repeatable read").execute(work);
}
