// Reads that belong together see the database as it is at one moment, so that what they find agrees.
import type { Kysely, Transaction } from "kysely";

/** `work` must use its argument for every query, and must not wait for anything but the database. */
export async function inOneView<Schema, T>(
  db: Kysely<Schema>,
  work: (view: Transaction<Schema>) => Promise<T>,
): Promise<T> {
  return await db.transaction().setAccessMode("read only").setIsolationLevel("repeatable read").execute(work);
}
