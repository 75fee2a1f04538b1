// The store in PostgreSQL through the suite of all stores, with a real server; and what only a server can get wrong.
import { afterAll, describe } from "bun:test";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import { startPostgres, statement } from "../harness/postgres-server.ts";
import { storeChangesSuite } from "./store-changes.suite.ts";
import { storeSuite, type StorePlace } from "./store.suite.ts";

const server = await startPostgres();
afterAll(() => server?.dispose());

describe.skipIf(server === null)("with a server", () => {
  const newDatabase = async (): Promise<StorePlace> => {
    const url = await server!.newDatabase();
    return {
      open: async (options) => openPostgresDatabase({ url, ...options }).store,
      run: async (sql) => void (await statement(url, sql)),
      read: (sql) => statement(url, sql),
      dispose: async () => {},
    };
  };
  storeSuite("PostgreSQL", newDatabase);
  storeChangesSuite("PostgreSQL", newDatabase);
});
