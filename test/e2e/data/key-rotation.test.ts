// `dragoman key rotate` on a data folder: afterwards the new key alone decrypts the stored secrets, and a gateway that
// runs meanwhile follows.
import { afterAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { readEnvironment } from "../../../src/config/environment.ts";
import { holdWrites, liftHold } from "../../../src/store/copies/write-hold.ts";
import { type DatabaseOptions, openDatabase } from "../../../src/store/open-database.ts";
import type { Store } from "../../../src/store/store.ts";
import { cleanEnvironment, runCli } from "../../harness/processes/gateway-process.ts";
import { writes } from "../../harness/store-writes.ts";

const dataFolder = mkdtempSync(join(tmpdir(), "dragoman-rotation-"));
afterAll(() => rmSync(dataFolder, { recursive: true }));
const options: DatabaseOptions = { dataFolder, databaseUrl: null, environment: readEnvironment({}) };

const SECRET = "sk-kept";
const KEPT = [{ document: { api_key: SECRET }, fault: null }];

/** Two rows have the secret: the provider, and the version that made it. */
async function keepSecret(store: Store): Promise<void> {
  await writes(store).createTenant({ id: "acme", name: "Acme" });
  await writes(store).createResource({
    kind: "provider",
    tenantId: "acme",
    projectId: null,
    name: "mine",
    document: { api_key: SECRET },
  });
}

test("a rotated key opens everything, also for a database that was open meanwhile, and the old one is needed no more", async () => {
  const running = await openDatabase(options);
  await keepSecret(running.store);
  const known = await running.store.readContents();
  const rotated = await runCli(["key", "rotate", "--data", dataFolder, "--json"]);
  expect(rotated).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(rotated.stdout)).toMatchObject({ resealed: 2, unopened: [] });
  expect((await running.store.readContents(known)).resources.provider).toMatchObject(KEPT);
  await running.store.close();
  const file = join(dataFolder, "master.key");
  writeFileSync(file, `${readFileSync(file, "utf8").split("\n")[0]}\n`);
  const later = await openDatabase(options);
  expect((await later.store.readContents()).resources.provider).toMatchObject(KEPT);
  await later.store.close();
});

test("[d15.3] no key is added while a move holds the database, however often it is tried", async () => {
  const folder = mkdtempSync(join(dataFolder, "held-"));
  const file = join(folder, "master.key");
  const keys = (): readonly string[] => readFileSync(file, "utf8").trim().split("\n");
  const { db, store } = await openDatabase({ ...options, dataFolder: folder });
  try {
    await keepSecret(store);
    await sql`insert into database_move (id, role, state, other, until_ms) values ('m', 'from', 'copying', 'Another', 0)`.execute(
      db,
    );
    await holdWrites(db, "m", 600_000);
    const before = keys();
    for (let turn = 0; turn < 2; turn++) {
      const refused = await runCli(["key", "rotate", "--data", folder]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("takes no changes")]);
      expect(keys()).toEqual(before);
    }
    await liftHold(db, "m");
    expect((await runCli(["key", "rotate", "--data", folder])).code).toBe(0);
    expect(keys()).toEqual([expect.any(String), ...before]);
  } finally {
    await store.close();
  }
});

describe.each(["DRAGOMAN_MASTER_KEY", "DRAGOMAN_MASTER_KEY_FILE"])("with keys from %s", (variable) => {
  test("no key is added, which other gateways would not have: the operator's newest key encrypts, and the old one is needed no more", async () => {
    const folder = mkdtempSync(join(dataFolder, "given-"));
    const [old, fresh] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    const keyFile = join(folder, "keys");
    const given = (...keys: readonly string[]): Record<string, string> => {
      writeFileSync(keyFile, `${keys.join("\n")}\n`, { mode: 0o600 });
      return { [variable]: variable.endsWith("_FILE") ? keyFile : keys.join(",") };
    };
    const open = (environment: Record<string, string>) =>
      openDatabase({ dataFolder: folder, databaseUrl: null, environment: readEnvironment(environment) });
    const database = await open(given(old));
    await keepSecret(database.store);
    await database.store.close();
    const run = (environment: Record<string, string>) =>
      runCli(["key", "rotate", "--data", folder], cleanEnvironment(environment));
    const early = await run(given(old));
    expect(early).toMatchObject({ code: 0, stderr: "" });
    expect(early.stdout).toContain(`No key was added, because the keys come from ${variable}`);
    const later = await run(given(fresh, old));
    expect(later).toMatchObject({ code: 0, stderr: "" });
    expect(later.stdout).toContain("2 rows are encrypted with the newest master key.");
    expect(readFileSync(keyFile, "utf8")).toBe(`${fresh}\n${old}\n`);
    expect(readdirSync(folder)).not.toContain("master.key");
    const after = await open(given(fresh));
    expect((await after.store.readContents()).resources.provider).toMatchObject(KEPT);
    await after.store.close();
  });
});
