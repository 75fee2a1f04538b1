// `npm run drill:move`: the real gateway under load, whose database is moved from SQLite to PostgreSQL and back, again and
// again, while the command is killed at random moments, and the gateway too between two moves. In the end every call that
// was answered has its row once, by the provider's books, and the tables of sums agree (promise 15.3). Two moves with
// `--short`. Exits with code 1 when a promise was broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Database } from "bun:sqlite";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../../test/harness/processes/gateway-process.ts";
import { connection, startPostgres } from "../../test/harness/servers/postgres-server.ts";
import { faultsOf, startLoad, tellFaults } from "./clients.ts";
import { startBookkeepingUpstream } from "./ledger/upstream.ts";
import { runKilled } from "./killed-command.ts";
import { keptRows, SELECT, type StoredRow } from "./ledger-rows.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, moves: { type: "string" } },
});
const MOVES = Number(flags.moves ?? (flags.short ? 2 : 10));
const LOAD = flags.short ? { workers: 4, paceMs: 20 } : { workers: 12, paceMs: 0 };
const KILLS = flags.short ? { mostKills: 2, withinMs: 1_500 } : { mostKills: 5, withinMs: 2_500 };
const SHIPPED_WITHIN_MS = 90_000;
const COUNTS =
  "select (select count(*) from call) as calls, (select coalesce(sum(calls), 0) from call_hour) as hours, (select coalesce(sum(calls), 0) from call_day) as days, (select coalesce(sum(calls), 0) from call_target_day) as targets";

interface Counts {
  readonly calls: number | string;
  readonly hours: number | string;
  readonly days: number | string;
  readonly targets: number | string;
}

async function main(): Promise<number> {
  const postgres = await startPostgres();
  if (postgres === null) return 0;
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const url = await postgres.newDatabase();
  const upstream = startBookkeepingUpstream();
  const key = { DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };
  const start = (isPostgres: boolean): Promise<GatewayProcess> =>
    startGateway({
      dataFolder,
      config: `providers:\n  books: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/v1" }\n`,
      environment: { ...key, ...(isPostgres && { DATABASE_URL: url }) },
    });
  let running: GatewayProcess | null = null;
  let isPostgres = false;
  const faults: string[] = [];
  try {
    running = await start(isPostgres);
    const load = startLoad(LOAD, running.firstToken!, () => running);
    for (let move = 1; move <= MOVES; move++) {
      await Bun.sleep(500);
      const asked = load.clients.asked;
      const { kills, tookMs } = await runKilled(
        ["database", "move", "--data", dataFolder, "--to", isPostgres ? `sqlite:${dataFolder}` : url],
        cleanEnvironment({ ...key, ...(isPostgres && { DATABASE_URL: url }) }),
        KILLS,
      );
      const meanwhile = load.clients.asked - asked;
      if (meanwhile < LOAD.workers) faults.push(`calls did not go on during move ${move}`);
      isPostgres = !isPostgres;
      process.stdout.write(
        `move ${move} to ${isPostgres ? "PostgreSQL" : "SQLite"}: killed ${kills} times, ${(tookMs / 1000).toFixed(1)} s, ${meanwhile} calls meanwhile\n`,
      );
      const before: GatewayProcess = running;
      running = null;
      await before.stop(Math.random() < 0.5 ? "SIGKILL" : "SIGTERM");
      rmSync(before.folder, { recursive: true, force: true });
      running = await start(isPostgres);
    }
    await Bun.sleep(500);
    await load.end();
    const outside = connection(url);
    const read = async (statement: string): Promise<readonly unknown[]> => {
      if (isPostgres) return await outside.read(statement);
      const file = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
      try {
        return file.query(statement).all();
      } finally {
        file.close();
      }
    };
    const counts = async (): Promise<Counts> => (await read(COUNTS))[0] as Counts;
    const isShipped = async (): Promise<boolean> => Number((await counts()).calls) >= load.clients.seen.size;
    const endsMs = performance.now() + SHIPPED_WITHIN_MS;
    while (!(await isShipped()) && performance.now() < endsMs) await Bun.sleep(100);
    await running.stop();
    const { calls, hours, days, targets } = await counts();
    const stored = (await read(SELECT)) as readonly StoredRow[];
    await outside.close();
    faults.push(...faultsOf(keptRows(dataFolder, stored), load.clients, upstream));
    for (const [what, sum] of [
      ["by the hour", hours],
      ["by day", days],
      ["by target", targets],
    ] as const)
      if (Number(sum) !== Number(calls)) faults.push(`the database has ${calls} calls, and ${sum} in its sums ${what}`);
    process.stdout.write(
      `${load.clients.asked} calls, ${load.clients.seen.size} answered, ${load.clients.cut.size} cut by killed gateways; the database has ${calls} rows.\n`,
    );
  } finally {
    await running?.stop("SIGKILL").catch(() => {});
    await upstream.stop();
    await postgres.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
  return tellFaults(faults);
}

process.exit(await main());
