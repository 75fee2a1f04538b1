// The stores of calls that there are, through the one suite; and what only SQLite in a file can get wrong.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteCalls } from "../../src/store/sqlite-calls.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { rowOf } from "./call-records.ts";
import { callStoreSuite, type CallPlace } from "./call-store.suite.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-calls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

async function newFile(): Promise<string> {
  const file = join(folder, `calls-${++files}.db`);
  const store = await openSqliteStore({ file });
  await store.migrate();
  await store.close();
  return file;
}

callStoreSuite("a SQLite file", async (): Promise<CallPlace> => {
  const calls = openSqliteCalls({ file: await newFile() });
  return { calls, dispose: () => calls.close() };
});

describe("a SQLite file", () => {
  test("that another process writes to is waited for", async () => {
    const file = await newFile();
    const calls = openSqliteCalls({ file });
    const other = new Database(file);
    other.run("begin immediate");
    setTimeout(() => other.run("commit"), 150);
    await calls.ingest([rowOf()]);
    expect(await calls.usageTotals({})).toMatchObject({ calls: 1n });
    other.close();
    await calls.close();
  });

  test("that is not migrated, or gone, is an error and no end of the process; what is asked after close() is refused", async () => {
    const calls = openSqliteCalls({ file: join(folder, "missing", "calls.db") });
    expect(await calls.ingest([rowOf()]).catch((error: unknown) => error)).toMatchObject({ name: "StoreError", kind: "unusable" });
    await calls.close();
    await calls.close();
    expect(await calls.usageTotals({}).catch((error: unknown) => error)).toMatchObject({ name: "StoreError", kind: "unusable" });
    const empty = openSqliteCalls({ file: join(folder, "empty.db") });
    expect(((await empty.usageTotals({}).catch((error: unknown) => error)) as Error).message).toContain("call_hour");
    await empty.close();
  });
});
