// Changes of many rows in SQLite, which answers at once: other work of the thread has its turns between the statements.
import { expect, test } from "bun:test";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import { storedSample } from "../harness/sample-tokens.ts";
import { longestTurnShare } from "../harness/time/cpu-time.ts";

const TOKENS = 3000;

test("[d5.8] the removal of a project with all that is in it holds up nothing else, and readers wait for it", async () => {
  const { store } = await openSqliteDatabase({ file: ":memory:" });
  try {
    await store.migrate();
    await store.change(LOCAL_ACTOR, async (writer) => {
      await writer.createTenant({ id: "acme", name: "Acme" });
      await writer.createProject({ id: "site", tenantId: "acme", name: "Site" });
      for (let index = 0; index < TOKENS; index++)
        await writer.createToken(storedSample({ id: String(index).padStart(12, "A") }));
    });
    const found: Promise<unknown>[] = [];
    const share = await longestTurnShare(async () => {
      const removing = store.change(LOCAL_ACTOR, (writer) => writer.removeProject("site"));
      found.push(store.findProject("site"));
      await removing;
    });
    // a tenth of it would still be many slices
    expect(share).toBeLessThan(0.3);
    expect(await found[0]).toBeNull();
    expect((await store.readIdentities()).tokens).toEqual([]);
  } finally {
    await store.close();
  }
});
