// The data folders of earlier versions that are kept in test/fixtures, opened by the gateway of today; and a folder that
// a newer version has used, which it refuses.
import { afterAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HISTORY } from "../../src/store/migrations.ts";
import { stepOfProgram } from "../../src/store/database/contractions.ts";
import { KEPT_FOLDERS, unpackFolder } from "../fixtures/kept-folders.ts";
import { runHere } from "../harness/command-line.ts";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../harness/gateway-process.ts";
import { until } from "../harness/until.ts";

const scratch = mkdtempSync(join(tmpdir(), "dragoman-earlier-folders-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const config = "projects: { default: { budgets: { all: { tokens: 1000000, window: total } } } }\n";
const call = { model: "sandbox:echo", messages: [{ role: "user", content: "of today" }] };

async function asked(gateway: GatewayProcess, token: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(
    args,
    cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token }),
    scratch,
  );
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

describe("the data folder of an earlier version", () => {
  for (const name of KEPT_FOLDERS)
    test(`[d15.4] ${name} is opened with its tokens, calls, usage and audit log, and serves calls`, async () => {
      const dataFolder = join(scratch, name);
      const { token, owner, revoked, calls, lastTraceId, inFlight, auditHead } = unpackFolder(name, dataFolder);
      const gateway = await startGateway({ dataFolder, config });
      try {
        expect((await gateway.chat(call, { token })).status).toBe(200);
        expect((await gateway.chat(call, { token: revoked })).status).toBe(401);
        const kept = async (): Promise<readonly { readonly trace_id: string; readonly settled: boolean }[]> =>
          JSON.parse(await asked(gateway, owner, "call", "list", "--all", "--json"));
        // The call of the revoked token has a row as well. Those of the database, the last one, which was in the ledger alone, those that were in flight, and the new one.
        await until(async () => (await kept()).length === calls + 1 + inFlight + 2, "every call is in the database");
        const all = await kept();
        expect(all.map(({ trace_id }) => trace_id)).toContain(lastTraceId);
        expect(all.filter(({ settled }) => !settled)).toHaveLength(inFlight);
        const [sums] = JSON.parse(await asked(gateway, owner, "usage", "list", "--json")) as readonly {
          readonly calls: number;
        }[];
        // The refused call is in no sum.
        expect(sums!.calls).toBe(all.length - 1);
        expect(await asked(gateway, owner, "audit", "verify", "--head", auditHead)).toContain("No row was changed");
      } finally {
        expect(await gateway.stop()).toBe(0);
      }
    });
});

describe("a data folder that a newer version has used is not opened, and the error says what to do", () => {
  const name = KEPT_FOLDERS.at(-1)!;
  const refusal = async (dataFolder: string): Promise<string> => {
    const failed = await startGateway({ dataFolder, config }).then(
      async (gateway) => {
        await gateway.stop();
        return "it has started";
      },
      (error: unknown) => (error as Error).message,
    );
    return failed;
  };

  test("[d15.4] with a schema that only newer programs can use", async () => {
    const dataFolder = join(scratch, "newer-schema");
    unpackFolder(name, dataFolder);
    const database = new Database(join(dataFolder, "dragoman.sqlite"));
    database.run(
      "insert into schema_contraction (name, oldest_step, oldest_version) values ('9000-later', 9000, '99.0.0')",
    );
    // the newer program has made each migration that this one knows
    for (const made of [...Object.keys(HISTORY.migrations), "9000-later"])
      database.run("insert or ignore into kysely_migration (name, timestamp) values (?, '2030-01-01T00:00:00.000Z')", [
        made,
      ]);
    database.close();
    const message = await refusal(dataFolder);
    expect(message).toContain("only Dragoman 99.0.0 and newer can use (from schema step 9000)");
    expect(message).toContain(`knows schema step ${stepOfProgram(HISTORY)}`);
    expect(message).toContain("Start 99.0.0 or newer, or restore a backup from before that upgrade.");
  });

  test("[d15.4] with a ledger in a newer format, which stays as it is", async () => {
    const dataFolder = join(scratch, "newer-ledger");
    unpackFolder(name, dataFolder);
    const folder = join(dataFolder, "ledger", "0");
    const segment = join(
      folder,
      readdirSync(folder)
        .filter((file) => file.endsWith(".log"))
        .toSorted()
        .at(-1)!,
    );
    const bytes = readFileSync(segment);
    bytes[3] = 2;
    writeFileSync(segment, bytes);
    const message = await refusal(dataFolder);
    expect(message).toContain("entries in format 2, which a newer version of Dragoman has written");
    expect(message).toContain("Start the newer version again");
    expect(readFileSync(segment).equals(bytes)).toBe(true);
    expect(readdirSync(folder).filter((file) => file.endsWith(".damaged"))).toEqual([]);
  });
});
