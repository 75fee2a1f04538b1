// The queues of events through their common suite; and what happens when the database is unavailable.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openPostgresEvents } from "../../../src/store/events/postgres-events.ts";
import { openSqliteEvents } from "../../../src/store/events/sqlite-events.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { eventQueueSuite, type QueuePlace, someEvent } from "./event-queue.suite.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-events-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

eventQueueSuite("a SQLite file", async (): Promise<QueuePlace> => {
  const file = join(folder, `events-${++files}.db`);
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  return { store, open: (options) => openSqliteEvents({ file, ...options }), dispose: () => store.close() };
});

describe("a SQLite file that was removed", () => {
  test("accepts no event, so that it waits in memory and is not lost with the file", async () => {
    const file = join(folder, `events-${++files}.db`);
    const { store } = await openSqliteDatabase({ file });
    await store.migrate();
    const queue = openSqliteEvents({ file });
    expect(await queue.append([someEvent()])).toBe(1);
    rmSync(file);
    expect(await queue.append([someEvent()]).catch((error: unknown) => error)).toMatchObject({
      name: "StoreError",
      kind: "unusable",
    });
    await queue.close();
    await store.close();
  });
});

const server = await postgresDatabases();
afterAll(() => server?.dispose());

describe.skipIf(server === null)("with a server", () => {
  const newDatabase = server === null ? null : migratedDatabases(server);
  eventQueueSuite("PostgreSQL", async (): Promise<QueuePlace> => {
    const url = await newDatabase!();
    const { store } = openPostgresDatabase({ url });
    return { store, open: (options) => openPostgresEvents({ url, ...options }), dispose: () => store.close() };
  });
});
