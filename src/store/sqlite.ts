// The store in one SQLite file, the default: a server and the command line share it through the write-ahead log.
// https://www.sqlite.org/wal.html
import { resolve } from "node:path";
import type { SecretCipher } from "../config/secret-cipher.ts";
import type { Clock } from "../core/clock.ts";
import type { Database as OpenDatabase } from "./database/database.ts";
import { kyselyStore } from "./kysely-store.ts";
import type { Schema } from "./schema.ts";
import { openDatabase, type SqliteFile, whileInPlace } from "./database/sqlite-connection.ts";
import type { Store } from "./store.ts";

export interface SqliteOptions extends SqliteFile {
  /** If omitted, documents with secrets can be neither stored nor decrypted. */
  readonly cipher?: SecretCipher;
  readonly clock?: Clock;
}

/**
 * Opens the file without changing the schema: call migrate() first. Throws StoreError `unusable` or `busy`, whose
 * message names the file and the cure.
 */
export async function openSqliteDatabase(options: SqliteOptions): Promise<OpenDatabase> {
  const { db, connection, close } = await openDatabase<Schema>(options);
  const store = kyselyStore(db, {
    databaseName: connection.name,
    cipher: options.cipher ?? null,
    ...(options.clock !== undefined && { clock: options.clock }),
    close,
  });
  return {
    db,
    name: connection.name,
    kind: "sqlite",
    store: options.file === ":memory:" ? store : storeInPlace(resolve(options.file), store),
  };
}

/**
 * A file that is removed, or replaced from a backup, stays open here without a name: a token that the command line
 * revokes in the new file would stay valid here, without any sign of it. A change would be confirmed, and lost with the
 * removed file.
 */
function storeInPlace(path: string, store: Store): Store {
  const drafts = whileInPlace(path, store.drafts, ["saveDraft"]);
  return whileInPlace(path, { ...store, drafts }, ["revision", "change", "note", "reencrypt"]);
}
