// Records of calls that two gateways remove at once.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KyselyPlugin } from "kysely";
import { pruneBlocks } from "../../../src/store/calls/call-blocks.ts";
import { firstKeyAt } from "../../../src/store/calls/call-keys.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";

const HOUR_MS = 3_600_000;

test("[d11.3] a removal goes on where another gateway has removed a block that it was about to shorten", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-blocks-"));
  const file = join(folder, "dragoman.sqlite");
  const [one, other] = [await openSqliteDatabase({ file }), await openSqliteDatabase({ file })];
  try {
    await one.store.migrate();
    const blockAt = (ms: number) => ({
      id: firstKeyAt(ms),
      first_ms: BigInt(ms),
      last_ms: BigInt(ms + 10),
      records: 1n,
      body: Bun.zstdCompressSync(Buffer.from("\n{}")),
    });
    await one.db
      .insertInto("call_block")
      .values([blockAt(HOUR_MS), blockAt(HOUR_MS + 5)])
      .execute();
    let isFound = false;
    const removing: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (!isFound) await other.db.deleteFrom("call_block").where("id", "=", firstKeyAt(HOUR_MS)).execute();
        isFound = true;
        return result;
      },
    };
    expect(await pruneBlocks(one.db.withPlugin(removing), HOUR_MS + 6, 100)).toBe(1);
  } finally {
    await one.store.close();
    await other.store.close();
    rmSync(folder, { recursive: true });
  }
});
