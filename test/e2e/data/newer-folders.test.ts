// A data folder that a newer version has used is refused, and is not changed.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HISTORY } from "../../../src/store/migrations.ts";
import { stepOfProgram } from "../../../src/store/database/contractions.ts";
import { startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const scratch = mkdtempSync(join(tmpdir(), "dragoman-newer-folders-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const config = "projects: { default: { budgets: { all: { tokens: 1000000, window: total } } } }\n";
const used = join(scratch, "used");

/** Killed while a call runs, so that the ledger has entries. */
beforeAll(async () => {
  const gateway = await startGateway({ dataFolder: used, config });
  const body = { model: "sandbox:slow-60000", messages: [{ role: "user", content: "in flight" }] };
  const running = gateway.chat(body).catch(() => null);
  await until(
    async () => (await (await fetch(`${gateway.url}/metrics`)).text()).includes("dragoman_calls_in_flight 1"),
    "the call runs",
  );
  await gateway.stop("SIGKILL");
  await running;
});

describe("a data folder that a newer version has used is not opened, and the error says what to do", () => {
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
    cpSync(used, dataFolder, { recursive: true });
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
    cpSync(used, dataFolder, { recursive: true });
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
