// Who could do what at a time in the past, where the times of changes do not tell their order.
import { expect, test } from "bun:test";
import { identitiesAsOf } from "../../../src/store/audit/audit-as-of.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { writes } from "../../harness/store-writes.ts";

test("a change that was made after a clock was set back hides no earlier one", async () => {
  let nowMs = 1000;
  const { store } = await openSqliteDatabase({ file: ":memory:", clock: { now: () => nowMs, monotonic: () => 0 } });
  try {
    await store.migrate();
    await writes(store).createTenant({ id: "acme", name: "acme" });
    await writes(store).createUser({ id: "ann", tenantId: "acme", name: "first" });
    const rename = (atMs: number, name: string) => {
      nowMs = atMs;
      return writes(store).changeUser("ann", (user) => ({ ...user, name }));
    };
    await rename(5000, "second");
    await rename(3000, "third");
    const nameAt = async (ms: number) =>
      (await identitiesAsOf(store, "acme", ms))?.users.map(({ value }) => value["name"]);
    expect(await nameAt(2000)).toEqual(["first"]);
    expect(await nameAt(6000)).toEqual(["third"]);
    expect(await nameAt(500)).toEqual([]);
  } finally {
    await store.close();
  }
});
