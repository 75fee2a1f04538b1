// The store in PostgreSQL through the suite of all stores, with a real server; and what only a server can get wrong.
import { afterAll, describe } from "bun:test";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import { startPostgres, statement } from "../harness/postgres-server.ts";
import { storeSuite, type StorePlace } from "./store.suite.ts";

const server = await startPostgres();
afterAll(() => server?.dispose());

describe.skipIf(server === null)("with a server", () => {
  storeSuite("PostgreSQL", async (): Promise<StorePlace> => {
    const url = await server!.newDatabase();
    return {
      open: async (options) => openPostgresDatabase({ url, ...options }).store,
      run: async (sql) => void (await statement(url, sql)),
      dispose: async () => {},
    };
  });
});
