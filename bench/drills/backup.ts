// `npm run drill:backup`: the real gateway under load, which is backed up while the command is killed at random moments,
// and then restored in the same way after a token was revoked. No row of the backup is missing or doubled, the sums
// agree, the token stays revoked, and a file is either whole or not there (promise 15.3). Two rounds with `--short`.
// Exits with code 1 when a promise was broken.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Database } from "bun:sqlite";
import { verifyBackup } from "../../src/store/copies/backup.ts";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../test/harness/processes/gateway-process.ts";
import { startLoad, tellFaults } from "./clients.ts";
import { startBookkeepingUpstream } from "./ledger/upstream.ts";
import { runKilled } from "./killed-command.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, rounds: { type: "string" } },
});
const ROUNDS = Number(flags.rounds ?? (flags.short ? 2 : 10));
const LOAD = flags.short ? { workers: 4, paceMs: 20 } : { workers: 12, paceMs: 0 };
const KILLS = flags.short ? { mostKills: 2, withinMs: 800 } : { mostKills: 5, withinMs: 1_500 };
const LOADED_MS = 700;

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const environment = cleanEnvironment({ DRAGOMAN_BACKUP_PASSPHRASE: "a passphrase of the drill" });
  const upstream = startBookkeepingUpstream();
  const start = (): Promise<GatewayProcess> =>
    startGateway({
      dataFolder,
      config: `providers:\n  books: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/v1" }\n`,
    });
  let running: GatewayProcess | null = null;
  const faults: string[] = [];
  try {
    running = await start();
    const load = startLoad(LOAD, running.firstToken!, () => running);
    for (let round = 1; round <= ROUNDS; round++) {
      const token = await running.createToken("--project", "default");
      await Bun.sleep(LOADED_MS);
      const before = traceIds(dataFolder);
      const file = join(folder, `${round}.backup`);
      const made = await runKilled(["backup", "create", file, "--data", dataFolder], environment, KILLS).catch(
        (error: unknown) => {
          // A command that was killed after its last step has left a whole file, which is not overwritten.
          if (existsSync(file)) return { kills: 1 };
          throw error;
        },
      );
      verifyBackup(file, "a passphrase of the drill");
      const id = token.slice("dgm_pt_".length).slice(0, 12);
      const revoked = await runCli(["token", "revoke", id, "--data", dataFolder]);
      if (revoked.code !== 0) throw new Error(revoked.stderr);
      await Bun.sleep(LOADED_MS);
      const stopped: GatewayProcess = running;
      running = null;
      await stopped.stop(Math.random() < 0.5 ? "SIGKILL" : "SIGTERM");
      rmSync(stopped.folder, { recursive: true, force: true });
      const restored = await runKilled(["restore", file, "--replace", "--data", dataFolder], environment, KILLS);
      running = await start();
      const answer = await running.chat({ model: "books:m", messages: [{ role: "user", content: "0" }] }, { token });
      await answer.text();
      if (answer.status !== 401) faults.push(`a revoked token was answered with ${answer.status} in round ${round}`);
      const now = traceIds(dataFolder);
      const missing = [...before].filter((traceId) => !now.has(traceId));
      if (missing.length > 0) faults.push(`${missing.length} rows of the backup are missing in round ${round}`);
      process.stdout.write(
        `round ${round}: the backup with ${before.size} calls was killed ${made.kills} times, the restore ${restored.kills} times\n`,
      );
    }
    await load.end();
    const last: GatewayProcess = running;
    running = null;
    await last.stop();
    faults.push(...load.clients.refused.map((told) => `a call was refused: ${told}`), ...sumFaults(dataFolder));
    process.stdout.write(`${load.clients.asked} calls, ${load.clients.seen.size} answered\n`);
  } finally {
    await running?.stop("SIGKILL").catch(() => {});
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return tellFaults(faults);
}

/** Throws when one stands there twice. */
function traceIds(dataFolder: string): ReadonlySet<string> {
  const rows = read<{ readonly id: string }>(dataFolder, "select trace_id as id from call");
  const ids = new Set(rows.map(({ id }) => id));
  if (ids.size !== rows.length) throw new Error("a trace id stands twice in the database");
  return ids;
}

function sumFaults(dataFolder: string): readonly string[] {
  const [counts] = read<Record<string, number>>(
    dataFolder,
    "select (select count(*) from call) as calls, (select sum(calls) from call_hour) as hours, (select sum(calls) from call_day) as days",
  );
  const { calls, hours, days } = counts!;
  return calls === hours && calls === days
    ? []
    : [`the database has ${calls} calls, and ${hours} and ${days} in its sums`];
}

function read<T>(dataFolder: string, statement: string): readonly T[] {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  try {
    return database.query<T, []>(statement).all();
  } finally {
    database.close();
  }
}

process.exit(await main());
