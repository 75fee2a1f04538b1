// The databases that the gateway supports, each new and without rows, so that one suite runs over all of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database as Sqlite } from "bun:sqlite";
import type { SecretCipher } from "../../../src/config/secret-cipher.ts";
import type { Clock } from "../../../src/core/clock.ts";
import type { CallStore } from "../../../src/store/calls/calls.ts";
import type { DatabasePlace } from "../../../src/store/database/database.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openPostgresCalls } from "../../../src/store/calls/postgres-calls.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { connection, DATABASES_VARIABLE, type PostgresDatabases, postgresDatabases } from "./postgres-server.ts";

type Rows = readonly Readonly<Record<string, unknown>>[];

export interface EmptyDatabase {
  readonly place: DatabasePlace;
  openStore(options: { readonly cipher: SecretCipher; readonly clock: Clock }): Promise<Store>;
  openCalls(): CallStore;
  /** A statement from outside, past the store. */
  read(sql: string): Promise<Rows>;
  dispose(): void | Promise<void>;
}

export interface DatabaseKind {
  readonly name: string;
  /** True: it is not installed here, and its tests are skipped with a line that says so. */
  readonly isMissing: boolean;
  create(): Promise<EmptyDatabase>;
  dispose(): Promise<void>;
}

export const SQLITE: DatabaseKind = {
  name: "SQLite",
  isMissing: false,
  create() {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-admin-"));
    const file = join(folder, "dragoman.sqlite");
    return Promise.resolve({
      place: { file },
      openStore: async (options) => (await openSqliteDatabase({ file, ...options })).store,
      openCalls: () => openSqliteCalls({ file }),
      read(sql) {
        const database = new Sqlite(file);
        const rows = database.query(sql).all() as Rows;
        database.close();
        return Promise.resolve(rows);
      },
      dispose: () => rmSync(folder, { recursive: true, force: true }),
    });
  },
  dispose: () => Promise.resolve(),
};

/** Gives the addresses of new databases that have all tables and no row. They are made once, and then copied. */
export function migratedDatabases(server: PostgresDatabases): () => Promise<string> {
  let first: Promise<string> | null = null;
  const make = async (): Promise<string> => {
    const url = await server.newDatabase();
    const { store } = openPostgresDatabase({ url });
    await store.migrate();
    await store.close();
    return url;
  };
  return async () => await server.newDatabase(await (first ??= make()));
}

/** Their tables are there already. */
export async function allDatabases(): Promise<readonly DatabaseKind[]> {
  const chosen = process.env[DATABASES_VARIABLE];
  if (chosen === SQLITE.name) return [SQLITE];
  const server = await postgresDatabases();
  const newDatabase = server === null ? null : migratedDatabases(server);
  const postgres: DatabaseKind = {
    name: "PostgreSQL",
    isMissing: server === null,
    async create() {
      const url = await newDatabase!();
      const outside = connection(url);
      return {
        place: { url },
        openStore: (options) => Promise.resolve(openPostgresDatabase({ url, ...options }).store),
        openCalls: () => openPostgresCalls({ url }),
        read: outside.read,
        dispose: outside.close,
      };
    },
    dispose: async () => await server?.dispose(),
  };
  return chosen === postgres.name ? [postgres] : [SQLITE, postgres];
}
