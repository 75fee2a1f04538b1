// `dragoman backup` beside a gateway that serves calls, and `dragoman restore` into SQLite and PostgreSQL.
import { afterAll, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database as Sqlite } from "bun:sqlite";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { openTarget } from "../../../src/store/copies/copy-places.ts";
import { fillDatabase } from "../../harness/servers/filled-database.ts";
import { postgresDatabases, statement } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";

const server = await postgresDatabases();
const folder = mkdtempSync(join(tmpdir(), "dragoman-backup-e2e-"));
const dataFolder = join(folder, "data");
const file = join(folder, "copy.backup");
const passphraseFile = join(folder, "passphrase");
writeFileSync(passphraseFile, "four words, well chosen\n", { mode: 0o600 });
afterAll(async () => {
  await server?.dispose();
  rmSync(folder, { recursive: true });
});

const statusOf = async (gateway: GatewayProcess, token: string): Promise<number> => {
  const answer = await gateway.chat(
    { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] },
    { token },
  );
  await answer.text();
  return answer.status;
};
const callsIn = (path: string): number => {
  const database = new Sqlite(path);
  const row = database.query<{ calls: number }, []>("select count(*) as calls from call").get()!;
  database.close();
  return row.calls;
};
const database = join(dataFolder, "dragoman.sqlite");

test("[d15.3] a backup is made and restored, and a token that was revoked since stays revoked", async () => {
  let gateway = await startGateway({ dataFolder });
  const token = gateway.firstToken!;
  const later = await gateway.createToken("--project", "default");
  for (let call = 0; call < 3; call++) expect(await statusOf(gateway, token)).toBe(200);
  await until(() => callsIn(database) === 3, "the calls are in the database");

  const made = await runCli(["backup", file, "--data", dataFolder, "--passphrase-file", passphraseFile]);
  expect(made.stderr).toBe("");
  expect(made.stdout).toContain("3 calls), encrypted. The master key is not in it");
  const key = readFileSync(join(dataFolder, "master.key"), "utf8").trim();
  const bytes = readFileSync(file);
  expect([bytes.indexOf(key), bytes.indexOf(Buffer.from(key, "base64"))]).toEqual([-1, -1]);
  const again = await runCli(["backup", file, "--data", dataFolder, "--passphrase-file", passphraseFile]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("a backup overwrites none")]);
  const verified = await runCli(
    ["backup", "verify", file],
    cleanEnvironment({ DRAGOMAN_BACKUP_PASSPHRASE: "four words, well chosen" }),
  );
  expect(verified.stdout).toContain("is whole");

  const restore = ["restore", file, "--data", dataFolder, "--passphrase-file", passphraseFile];
  expect((await runCli([...restore, "--replace"])).stderr).toContain("A gateway runs with the data folder");
  const id = later.slice("dgm_pt_".length).slice(0, 12);
  const revoked = await runCli(["token", "revoke", id, "--data", dataFolder]);
  expect(revoked.stderr).toBe("");
  for (let call = 0; call < 2; call++) expect(await statusOf(gateway, token)).toBe(200);
  await until(() => callsIn(database) === 5, "the later calls are in the database");
  await gateway.stop();

  expect((await runCli(restore)).stderr).toContain("With --replace it is kept under another name");
  const restored = await runCli([...restore, "--replace"]);
  expect(restored.stderr).toBe("");
  expect(restored.stdout).toContain(
    "is newer than the backup: 1 token that is revoked or removed there is revoked here",
  );
  expect(readdirSync(dataFolder).filter((name) => name.startsWith("dragoman.sqlite.before-restore-")).length).toBe(1);

  gateway = await startGateway({ dataFolder });
  expect([await statusOf(gateway, token), await statusOf(gateway, later)]).toEqual([200, 401]);
  await gateway.stop();
  expect(existsSync(`${database}.restoring`)).toBe(false);
});

test("[d15.3] a database whose tokens cannot be read is replaced, and where it cannot be asked a restore says how to go on", async () => {
  const damaged = join(folder, "damaged");
  const place = { file: join(damaged, "dragoman.sqlite") };
  const filled = await openTarget(place);
  await fillDatabase(filled.db, 3);
  await filled.store.close();
  const copy = join(folder, "before.backup");
  expect((await runCli(["backup", copy, "--data", damaged])).stderr).toBe("");
  const opened = new Sqlite(place.file);
  const { rootpage } = opened
    .query<{ rootpage: number }, []>("select rootpage from sqlite_master where name = 'access_tokens'")
    .get()!;
  opened.close();
  const handle = openSync(place.file, "r+");
  writeSync(handle, Buffer.alloc(4096, 0x5a), 0, 4096, (rootpage - 1) * 4096);
  closeSync(handle);

  const to = `sqlite:${join(folder, "elsewhere")}`;
  expect((await runCli(["restore", copy, "--data", damaged, "--to", to])).stderr).toMatch(
    /knows of revoked tokens cannot be read: .* is damaged.* To restore without that, name the database/,
  );
  const replaced = await runCli(["restore", copy, "--data", damaged, "--replace", "--revoke-all"]);
  expect([replaced.stderr, replaced.stdout]).toEqual(["", expect.stringContaining("Restored 102 rows")]);

  const empty = join(folder, "empty");
  mkdirSync(empty);
  writeFileSync(join(empty, "dragoman.sqlite"), "");
  expect((await runCli(["restore", copy, "--data", damaged, "--replace", "--newer", `sqlite:${empty}`])).stderr).toBe(
    "dragoman: --newer names a database that has no tables of the gateway. Name another one.\n",
  );
  expect((await runCli(["restore", copy, "--data", empty, "--to", to])).stderr).toBe("");
});

test.skipIf(server === null)(
  "[d15.3] a backup of SQLite is restored into PostgreSQL, where its tokens are valid",
  async () => {
    const other = join(folder, "other");
    let gateway = await startGateway({ dataFolder: other });
    const token = gateway.firstToken!;
    for (let call = 0; call < 3; call++) expect(await statusOf(gateway, token)).toBe(200);
    await until(() => callsIn(join(other, "dragoman.sqlite")) === 3, "the calls are in the database");
    const copy = join(folder, "plain.backup");
    expect((await runCli(["backup", "create", copy, "--data", other])).stdout).toContain("not encrypted");
    expect(await statusOf(gateway, token)).toBe(200);
    await gateway.stop();

    const url = await server!.newDatabase();
    const restored = await runCli(["restore", copy, "--to", url, "--data", other]);
    expect(restored.stderr).toBe("");
    gateway = await startGateway({ dataFolder: other, environment: { DATABASE_URL: url } });
    expect(await statusOf(gateway, token)).toBe(200);
    expect((await runCli(["restore", copy, "--to", url, "--data", other])).stderr).toContain("is in use by a gateway");
    const counted = async (): Promise<readonly unknown[]> => [
      ...(await statement(url, "select count(*)::int as calls from call")),
    ];
    await until(
      async () => Number((await counted()).map((row) => (row as { calls: number }).calls)) >= 4,
      "the calls arrive",
    );
    await gateway.stop();
  },
);

test.skipIf(server === null)(
  "[d15.3] a restore into the database that the gateway uses, named in other words, says that nothing newer is known",
  async () => {
    const other = join(folder, "other-words");
    const gateway = await startGateway({ dataFolder: other });
    const copy = join(folder, "other-words.backup");
    expect((await runCli(["backup", "create", copy, "--data", other])).stderr).toBe("");
    await gateway.stop();

    const url = await server!.newDatabase();
    const inOtherWords = url.replace(/\/(\w)(\w*)$/, (_, first: string, rest: string) => {
      return `/%${first.charCodeAt(0).toString(16)}${rest}`;
    });
    expect(inOtherWords).not.toBe(url);
    const restored = await runCli(
      ["restore", copy, "--to", inOtherWords, "--data", other],
      cleanEnvironment({ DATABASE_URL: url }),
    );
    expect([restored.stderr, restored.stdout]).toEqual([
      "",
      expect.stringContaining("Nothing newer than the backup is known: this token is valid again"),
    ]);
  },
);
