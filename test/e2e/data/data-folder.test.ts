// The data folder of the real process: its file permissions, and a start after its database was lost.
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-data-"));
const postgres = await postgresDatabases();
afterAll(async () => {
  await postgres?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

async function worked(dataFolder: string, config = ""): Promise<GatewayProcess> {
  const gateway = await startGateway({ dataFolder, config });
  if (gateway.firstToken !== null)
    expect((await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] })).status).toBe(
      200,
    );
  return gateway;
}

/** Everything below, with what others may do with it. */
function rightsOfOthers(path: string): readonly (readonly [path: string, rights: string])[] {
  const found = statSync(path);
  const own = [path, (found.mode & 0o077).toString(8)] as const;
  return found.isDirectory() ? [own, ...readdirSync(path).flatMap((name) => rightsOfOthers(join(path, name)))] : [own];
}

describe("rights", () => {
  test("the data folder is readable by its owner alone, while the process runs and afterwards; restored files with wider rights are corrected, and logged before the gateway listens", async () => {
    const dataFolder = join(folder, "rights");
    const umask = process.umask(0o022);
    try {
      const config = "projects: { default: { budgets: { b: { tokens: 100000, window: total } } } }\n";
      const gateway = await worked(dataFolder, config);
      expect(rightsOfOthers(dataFolder).filter(([, rights]) => rights !== "0")).toEqual([]);
      await gateway.stop("SIGKILL");
      expect(rightsOfOthers(dataFolder).filter(([, rights]) => rights !== "0")).toEqual([]);
      const files = rightsOfOthers(dataFolder)
        .map(([path]) => path)
        .filter((path) => path !== dataFolder && !path.endsWith("reserve"));
      expect(files.length).toBeGreaterThan(8);
      for (const path of files) chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
      const restored = await startGateway({ dataFolder, config });
      expect(restored.output().indexOf("could read files")).toBeWithin(0, restored.output().indexOf("listens on"));
      await restored.stop("SIGTERM");
      const told = restored.lines().find(({ msg }) => String(msg).includes("could read files of the data folder"))!;
      expect(told["files"]).toEqual(
        expect.arrayContaining(
          ["master.key", "dragoman.sqlite", "limits.sqlite", "ledger", "ledger/0"].map((name) =>
            join(dataFolder, name),
          ),
        ),
      );
      expect(rightsOfOthers(dataFolder).filter(([, rights]) => rights !== "0")).toEqual([]);
    } finally {
      process.umask(umask);
    }
  });
});

describe("a database that was lost", () => {
  for (const [what, lose] of [
    ["missing", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file, 0)],
  ] as const) {
    test(`[d11.2] one that is ${what} beside files of an earlier gateway is not silently created anew, and the refusal says how to go on`, async () => {
      const dataFolder = join(folder, what);
      await (await worked(dataFolder)).stop("SIGTERM");
      const file = join(dataFolder, "dragoman.sqlite");
      const backup = readFileSync(file);
      for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
      lose(file);
      for (const command of [
        ["serve", "--port", "0", "--data", dataFolder],
        ["token", "create", "--data", dataFolder],
      ]) {
        const { code, stderr } = await runCli(command);
        expect(code).toBe(2);
        for (const words of [
          file,
          what,
          join(dataFolder, "ledger"),
          join(dataFolder, "limits.sqlite"),
          "backup",
          "--data",
          "DATABASE_URL",
          `dragoman database create --data ${dataFolder}`,
        ])
          expect(stderr).toContain(words);
      }
      expect(existsSync(file)).toBe(what === "empty");
      // the backup, put in its place
      writeFileSync(file, backup);
      const restored = await startGateway({ dataFolder });
      expect(restored.firstToken).toBeNull();
      await restored.stop("SIGTERM");
      // or an empty one, by decision
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
      expect((await runCli(["database", "create", "--data", dataFolder])).code).toBe(0);
      const anew = await startGateway({ dataFolder });
      expect(anew.firstToken).not.toBeNull();
      await anew.stop("SIGTERM");
      expect(
        anew.lines().find(({ msg }) => String(msg).includes("older than what the ledger has shipped")),
      ).toMatchObject({ rows: 1, lost: 1 });
    });
  }

  test.skipIf(postgres === null)(
    "[d11.2] an empty PostgreSQL database beside files of an earlier gateway is not initialized either",
    async () => {
      const dataFolder = join(folder, "postgres");
      const environment = async (): Promise<Record<string, string>> => ({
        DATABASE_URL: await postgres!.newDatabase(),
        DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 3).toString("base64"),
      });
      const own = await environment();
      const gateway = await startGateway({ dataFolder, environment: own });
      const token = gateway.firstToken!;
      const ask = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] };
      expect((await gateway.chat(ask)).status).toBe(200);
      await gateway.stop("SIGTERM");

      const lost = await environment();
      for (const command of [
        ["serve", "--port", "0", "--data", dataFolder],
        ["token", "create", "--data", dataFolder],
      ]) {
        const { code, stderr } = await runCli(command, cleanEnvironment(lost));
        expect(code).toBe(2);
        for (const words of [
          new URL(lost["DATABASE_URL"]!).pathname,
          "is empty",
          join(dataFolder, "ledger"),
          "backup",
          "DATABASE_URL",
          `dragoman database create --data ${dataFolder}`,
        ])
          expect(stderr).toContain(words);
      }
      // the right one
      const again = await startGateway({ dataFolder, environment: own });
      expect(again.firstToken).toBeNull();
      expect((await again.chat(ask, { token })).status).toBe(200);
      await again.stop("SIGTERM");
      // or the empty one, by decision
      expect((await runCli(["database", "create", "--data", dataFolder], cleanEnvironment(lost))).code).toBe(0);
      const anew = await startGateway({ dataFolder, environment: lost });
      expect(anew.firstToken).not.toBeNull();
      await anew.stop("SIGTERM");
      // what only looks at a database makes none
      const other = await environment();
      const looked = await runCli(["token", "list", "--data", join(folder, "none")], cleanEnvironment(other));
      expect(looked.code).toBe(2);
      expect(looked.stderr).toContain("no tables of the gateway");
    },
  );

  test("a first start that ended before it had made its database starts again, also with a master key that was put there", async () => {
    const dataFolder = join(folder, "first");
    await (await worked(dataFolder)).stop("SIGTERM");
    for (const name of readdirSync(dataFolder).filter((each) => each !== "master.key"))
      rmSync(join(dataFolder, name), { recursive: true });
    writeFileSync(join(dataFolder, "dragoman.sqlite"), "");
    const gateway = await startGateway({ dataFolder });
    expect(gateway.firstToken).not.toBeNull();
    await gateway.stop("SIGTERM");
  });
});
