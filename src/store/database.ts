// An opened database: the store that is in it, and the handle for what keeps tables of its own beside it (calls, the ledger's rows).
import type { Db } from "./kysely-reader.ts";
import type { Store } from "./store.ts";

export interface Database {
  readonly store: Store;
  /** Ends with the store. Integers are bigints. */
  readonly db: Db;
  /** Begins a sentence in messages. */
  readonly name: string;
  readonly kind: "sqlite" | "postgres";
}
