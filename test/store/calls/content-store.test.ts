// Content of calls in a real database: without the master key its retention is still reported, and it is removed with its project.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import { openContentStore, type ContentText } from "../../../src/store/calls/content-store.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { writes } from "../../harness/store-writes.ts";

const sealerOf = (byte: number) => openSecretCipher([new Uint8Array(32).fill(byte)]);

test("[d11.3] without its key no content can be read, and its retention is still reported; what is read has all digits of its numbers; with a project its content is removed, also what arrives later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-contents-"));
  const file = join(folder, "calls.db");
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  await writes(store).createTenant({ id: "acme", name: "acme" });
  for (const id of ["site", "app"]) await writes(store).createProject({ id, tenantId: "acme", name: id });
  const calls = openSqliteCalls({ file });
  const contents = openContentStore({ calls, cipher: sealerOf(1), now: () => 1000 });
  const said = (traceId: string, projectId: string): ContentText => ({
    traceId,
    tenantId: "acme",
    projectId,
    expiresMs: 2000,
    text: '{"messages":[]}',
  });
  try {
    await contents.keep([said("a", "site"), said("b", "app")]);
    const others = openContentStore({ calls, cipher: sealerOf(2), now: () => 1000 });
    expect(await others.find("a").catch((error: unknown) => error)).toMatchObject({
      name: "StoreError",
      kind: "encryption",
    });
    expect([await others.keptUntilMs("a"), await others.keptUntilMs("none")]).toEqual([2000, null]);
    // where the master key is lost, content can be kept again once what cannot be read any more is removed
    expect(await others.keep([said("e", "app")]).catch((error: unknown) => error)).toMatchObject({
      kind: "encryption",
      message: expect.stringContaining("dragoman logs --purge-content --tenant acme"),
    });
    await others.remove({ tenantId: "acme", projectId: "app" });
    expect(await others.keep([said("e", "app")]).catch((error: unknown) => error)).toMatchObject({
      kind: "encryption",
    });
    await others.remove({ tenantId: "acme", projectId: null });
    await others.keep([said("e", "app")]);
    const text = '{"tools":[{"maximum":9223372036854775807}]}';
    await others.keep([{ ...said("f", "app"), text }]);
    expect(await others.find("e")).toMatchObject({ projectId: "app", content: { messages: [] } });
    expect(JSON.stringify((await others.find("f"))!.content)).toBe(text);
    await others.remove({ tenantId: "acme", projectId: null });
    await contents.keep([said("a", "site"), said("b", "app")]);
    await writes(store).removeProject("site");
    await contents.keep([said("c", "site"), said("d", "app")]);
    expect(await Promise.all(["a", "b", "c", "d"].map((id) => contents.keptUntilMs(id)))).toEqual([
      null,
      2000,
      null,
      2000,
    ]);
    expect(await contents.find("b")).toMatchObject({ projectId: "app", content: { messages: [] } });
  } finally {
    await calls.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("[d11.3] a tenant that was removed leaves no key behind, and one that is created again under its name has a key of its own at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-contents-"));
  const file = join(folder, "calls.db");
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  const begin = async (): Promise<void> => {
    await writes(store).createTenant({ id: "acme", name: "acme" });
    await writes(store).createProject({ id: "site", tenantId: "acme", name: "site" });
  };
  await writes(store).createTenant({ id: "other", name: "other" });
  await begin();
  const calls = openSqliteCalls({ file });
  const storeOfWorker = () => openContentStore({ calls, cipher: sealerOf(1), now: () => 1000 });
  const [one, two] = [storeOfWorker(), storeOfWorker()];
  const said = (traceId: string): ContentText => ({
    traceId,
    tenantId: "acme",
    projectId: "site",
    expiresMs: 2000,
    text: '{"messages":[]}',
  });
  try {
    await one.keep([said("a")]);
    await two.find("a");
    await writes(store).removeTenant("acme");
    // of a call that was under way
    const late = storeOfWorker();
    await late.keep([said("b")]);
    const database = new Database(file, { readonly: true });
    expect(database.query("select * from content_key").all()).toEqual([]);
    database.close();
    await begin();
    await one.keep([said("c")]);
    await late.keep([said("d")]);
    for (const reader of [one, two, late, storeOfWorker()])
      for (const traceId of ["c", "d"]) expect(await reader.find(traceId)).toMatchObject({ content: { messages: [] } });
  } finally {
    await calls.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
