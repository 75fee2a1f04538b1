// An opened database: its store, and the handle for the modules that keep their own tables in it (calls, ledger rows).
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { Db } from "../kysely-reader.ts";
import type { Store } from "../store.ts";

/** Where a database is: a file of SQLite, or the address of PostgreSQL. */
export type DatabasePlace = { readonly file: string } | { readonly url: string };

export interface Database {
  readonly store: Store;
  /** Closed with the store. Integers are bigints. */
  readonly db: Db;
  /** Begins a sentence in messages. */
  readonly name: string;
  readonly kind: "sqlite" | "postgres";
}

/** Closes the database when the work has ended, in whatever way. Throws what the opening or the work throws. */
export async function using<D extends Pick<Database, "store">, T>(
  opened: MaybePromise<D>,
  work: (database: D) => Promise<T>,
): Promise<T> {
  const database = await opened;
  try {
    return await work(database);
  } finally {
    await database.store.close();
  }
}
