// Objects that are kept like the content of calls, in a real database: found by the ids of their parts in their own tenant,
// until their time is over, and removed with their project or with its content.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durableStore } from "../../../src/engine/keeping/durable-store.ts";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import { openContentStore } from "../../../src/store/calls/content-store.ts";
import type { CallStore } from "../../../src/store/calls/calls.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { writes } from "../../harness/store-writes.ts";

test("[d11.3, d12.8] an object that is kept like content ends with its retention, its project and its content", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-durable-"));
  const file = join(folder, "calls.db");
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  for (const tenant of ["acme", "other"]) await writes(store).createTenant({ id: tenant, name: tenant });
  for (const [id, tenantId] of [
    ["site", "acme"],
    ["app", "acme"],
    ["elsewhere", "other"],
  ] as const)
    await writes(store).createProject({ id, tenantId, name: id });
  const calls = openSqliteCalls({ file });
  const clock = { nowMs: 1000 };
  const asked: (readonly string[])[] = [];
  const findContents: CallStore["findContents"] = (ids) => {
    asked.push(ids);
    return calls.findContents(ids);
  };
  const contents = openContentStore({
    calls: { ...calls, findContents },
    cipher: openSecretCipher([new Uint8Array(32).fill(1)]),
    now: () => clock.nowMs,
  });
  const durable = durableStore(contents);
  const keep = (tenantId: string, projectId: string, ids: readonly string[], untilMs = 2000): Promise<void> =>
    durable.keep({ tenantId, projectId, ids, value: { said: projectId }, untilMs });
  try {
    await keep("acme", "site", ["resp_1", "msg_1"]);
    await keep("acme", "app", ["resp_2", "msg_2"]);
    // a vendor may give the same id to two tenants
    await keep("other", "elsewhere", ["resp_3", "msg_1"], 1500);
    const found = async (tenantId: string, id: string) => (await durable.find(tenantId, id))?.value ?? null;
    expect(await found("acme", "resp_1")).toEqual({ said: "site" });
    expect(await found("acme", "msg_1")).toEqual({ said: "site" });
    expect(await found("other", "msg_1")).toEqual({ said: "elsewhere" });
    expect([await found("other", "resp_1"), await found("acme", "none")]).toEqual([null, null]);
    expect(await durable.find("acme", "msg_2")).toEqual({
      ids: ["resp_2", "msg_2"],
      value: { said: "app" },
      untilMs: 2000,
    });
    await durable.remove("acme", "msg_2");
    expect(await found("acme", "resp_2")).toEqual({ said: "app" });
    await durable.remove("acme", "resp_2");
    expect([await found("acme", "resp_2"), await found("acme", "msg_2")]).toEqual([null, null]);
    // two objects of a tenant may have parts with the same id
    await keep("acme", "app", ["resp_5", "msg_1"]);
    await durable.remove("acme", "resp_5");
    expect([await found("acme", "resp_5"), await found("acme", "msg_1")]).toEqual([null, { said: "site" }]);
    // however many parts it has, they are asked for at once
    const parts = Array.from({ length: 40 }, (_, at) => `part_${at}`);
    await keep("acme", "app", ["resp_6", ...parts]);
    asked.length = 0;
    await durable.remove("acme", "resp_6");
    expect(asked.map((ids) => ids.length)).toEqual([1, 40]);
    expect(await Promise.all(["resp_6", ...parts].map((id) => found("acme", id)))).toEqual(Array(41).fill(null));
    await writes(store).removeProject("site");
    expect([await found("acme", "resp_1"), await found("acme", "msg_1")]).toEqual([null, null]);
    await keep("acme", "app", ["resp_4", "msg_4", "msg_5"]);
    const place = { tenantId: "acme", projectId: "app" };
    await contents.keep([{ ...place, traceId: "a", expiresMs: 2000, text: '{"messages":[]}' }]);
    // what is kept like content is removed with it, and is no further call
    expect([await contents.count(place), await contents.remove(place)]).toEqual([1, 1]);
    expect([await found("acme", "resp_4"), await contents.keptUntilMs("a")]).toEqual([null, null]);
    clock.nowMs = 1500;
    expect(await found("other", "msg_1")).toBeNull();
  } finally {
    await calls.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
