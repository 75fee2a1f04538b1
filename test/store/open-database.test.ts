// Opening the database of a data folder: beside another process that makes it, and without the master key that it needs.
import { Database as SqliteFile } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src/core/thrown.ts";
import { openSource } from "../../src/store/copies/copy-places.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { type EncryptedDatabase, openDatabase } from "../../src/store/open-database.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const optionsFor = (dataFolder: string, variables: Record<string, string> = {}) => ({
  dataFolder,
  databaseUrl: null,
  environment: { get: (name: string) => variables[name] },
});
const opens = async (opening: Promise<EncryptedDatabase>): Promise<void> => (await opening).store.close();

const refusalOf = async (opening: Promise<EncryptedDatabase>): Promise<string> =>
  opening.then(
    () => "it was opened",
    (thrown: unknown) => messageOf(thrown),
  );

describe("a folder in which another process makes the database", () => {
  /** The log has content before the first table is there, as while another process writes its first transaction. */
  function begun(name: string): { readonly dataFolder: string; readonly other: SqliteFile } {
    const dataFolder = join(folder, name);
    mkdirSync(dataFolder);
    const other = new SqliteFile(join(dataFolder, "dragoman.sqlite"), { create: true });
    other.run("pragma journal_mode = wal");
    other.run("pragma user_version = 1");
    expect(statSync(join(dataFolder, "dragoman.sqlite-wal")).size).toBeGreaterThan(0);
    return { dataFolder, other };
  }

  test("[d11.2] is not taken for one whose database was lost", async () => {
    const { dataFolder, other } = begun("making");
    const opening = openDatabase(optionsFor(dataFolder));
    other.run("create table made (id text)");
    await opens(opening);
    other.close();
  });

  test("[d11.2] is refused where the tables never come", async () => {
    const { dataFolder, other } = begun("lost");
    expect(await refusalOf(openDatabase(optionsFor(dataFolder)))).toContain("a gateway has run here before");
    other.close();
  });
});

test("[d15.3] a database that a move or a restore fills is refused before its tables are changed", async () => {
  const dataFolder = join(folder, "filling");
  await opens(openDatabase(optionsFor(dataFolder)));
  const file = join(dataFolder, "dragoman.sqlite");
  const filling = new SqliteFile(file);
  filling.run("insert into database_move values ('restore', 'to', 'copying', 'a backup', 0)");
  // its tables are those of another version, which nothing may migrate while rows of that version come
  filling.run("delete from kysely_migration");
  const cure = "a move or a restore fills it and has not ended. Run that move or restore again";
  for (const whereNone of ["make", "refuse"] as const)
    expect(await refusalOf(openDatabase(optionsFor(dataFolder), whereNone))).toContain(cure);
  expect(await openSource({ file }).then(() => "it was opened", messageOf)).toContain(cure);
  expect(filling.query("select count(*) as run from kysely_migration").get()).toEqual({ run: 0 });
  filling.close();
});

describe("a database whose master key is missing", () => {
  async function made(
    name: string,
    withSecret: boolean,
  ): Promise<{ readonly dataFolder: string; readonly key: string }> {
    const dataFolder = join(folder, name);
    const { store } = await openDatabase(optionsFor(dataFolder));
    await store.change(LOCAL_ACTOR, async (writer) => {
      await writer.createTenant({ id: "acme", name: "acme" });
      if (withSecret)
        await writer.createResource({
          kind: "provider",
          tenantId: "acme",
          projectId: null,
          name: "mine",
          document: { type: "custom", base_url: "http://127.0.0.1:9/v1", api_key: "sk-very-secret-key" },
        });
    });
    await store.close();
    return { dataFolder, key: join(dataFolder, "master.key") };
  }

  test("is refused where it has secrets, with the file and the cure, and no key is made", async () => {
    const { dataFolder, key } = await made("secrets", true);
    renameSync(key, `${key}.copy`);
    for (const whereNone of ["make", "refuse"] as const) {
      const refusal = await refusalOf(openDatabase(optionsFor(dataFolder), whereNone));
      expect(refusal).toContain(`The master key ${key} is missing`);
      expect(refusal).toMatch(/from your copy.*DRAGOMAN_MASTER_KEY.*openssl rand -base64 32 > /);
      expect(existsSync(key)).toBe(false);
    }
    // a new key, by decision
    writeFileSync(key, `${Buffer.alloc(32, 5).toString("base64")}\n`, { mode: 0o600 });
    await opens(openDatabase(optionsFor(dataFolder)));
    rmSync(key);
    // another one, from a variable
    await opens(openDatabase(optionsFor(dataFolder, { DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 6).toString("base64") })));
    // or the copy
    renameSync(`${key}.copy`, key);
    await opens(openDatabase(optionsFor(dataFolder)));
  });

  test("is refused as well where another process holds the lock of the database at first", async () => {
    const { dataFolder, key } = await made("locked", true);
    rmSync(key);
    const other = new SqliteFile(join(dataFolder, "dragoman.sqlite"), { readwrite: true });
    other.run("pragma locking_mode = exclusive");
    other.run("begin immediate");
    other.run("rollback");
    const refusal = refusalOf(openDatabase(optionsFor(dataFolder)));
    // what does not wait for the lock is over by now
    await new Promise(setImmediate);
    expect(existsSync(key)).toBe(false);
    other.close();
    expect(await refusal).toContain(`The master key ${key} is missing`);
    expect(existsSync(key)).toBe(false);
  });

  test("gets a new one where it has no secret", async () => {
    const { dataFolder, key } = await made("none", false);
    rmSync(key);
    await opens(openDatabase(optionsFor(dataFolder)));
    expect(existsSync(key)).toBe(true);
  });
});
