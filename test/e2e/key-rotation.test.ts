// `dragoman key rotate` on a data folder: afterwards the new key alone decrypts the stored secrets, and a gateway that
// runs meanwhile follows.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { type DatabaseOptions, openDatabase } from "../../src/store/open-database.ts";
import { runCli } from "../harness/gateway-process.ts";
import { writes } from "../harness/store-writes.ts";

const dataFolder = mkdtempSync(join(tmpdir(), "dragoman-rotation-"));
afterAll(() => rmSync(dataFolder, { recursive: true }));
const options: DatabaseOptions = { dataFolder, databaseUrl: null, environment: readEnvironment({}) };

test("a rotated key opens everything, also for a database that was open meanwhile, and the old one is needed no more", async () => {
  const running = await openDatabase(options);
  await writes(running.store).createTenant({ id: "acme", name: "Acme" });
  await writes(running.store).createResource({
    kind: "provider",
    tenantId: "acme",
    projectId: null,
    name: "mine",
    document: { api_key: "sk-kept" },
  });
  const known = await running.store.readContents();
  const rotated = await runCli(["key", "rotate", "--data", dataFolder, "--json"]);
  expect(rotated).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(rotated.stdout)).toMatchObject({ resealed: 2, unopened: [] });
  expect((await running.store.readContents(known)).resources.provider).toMatchObject([
    { document: { api_key: "sk-kept" }, fault: null },
  ]);
  await running.store.close();
  const file = join(dataFolder, "master.key");
  writeFileSync(file, `${readFileSync(file, "utf8").split("\n")[0]}\n`);
  const later = await openDatabase(options);
  expect((await later.store.readContents()).resources.provider).toMatchObject([
    { document: { api_key: "sk-kept" }, fault: null },
  ]);
  await later.store.close();
});
