// `npm run drill:database`: the real gateway on a real PostgreSQL, which is stopped, killed and frozen under load. No
// call may fail because of it, and in the end every row has to be in the database exactly once (promise 11.2). Each
// outage lasts a minute, or two seconds with `--short`. Exits with code 1 when a promise was broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { type GatewayProcess, startGateway } from "../../test/harness/processes/gateway-process.ts";
import { type PostgresServer, startPostgres } from "../../test/harness/servers/postgres-server.ts";
import { type Clients, faultsOf, startLoad, tellFaults } from "./clients.ts";
import { startBookkeepingUpstream } from "./ledger/upstream.ts";
import { keptRows, SELECT, type StoredRow } from "./ledger-rows.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, seconds: { type: "string" } },
});
const DOWN_MS = Number(flags.seconds ?? (flags.short ? 2 : 60)) * 1000;
const UP_MS = 1000;
/** The short form shares its machine with tests, so its clients pause. */
const LOAD = flags.short ? { workers: 5, paceMs: 10 } : { workers: 16, paceMs: 0 };
/** The time in which all waiting rows have to reach the database. */
const SHIPPED_WITHIN_MS = 60_000;
const ENDS_WITHIN_MS = 15_000;
const LARGEST_GROWTH_MB = 200;

/** How the database goes down and comes back. */
const OUTAGES: readonly (readonly [
  string,
  (postgres: PostgresServer) => Promise<void> | void,
  (postgres: PostgresServer) => Promise<void> | void,
])[] = [
  ["stopped", (postgres) => postgres.stop(), (postgres) => postgres.start()],
  ["killed", (postgres) => postgres.kill(), (postgres) => postgres.start()],
  ["frozen", (postgres) => postgres.freeze(), (postgres) => postgres.thaw()],
];

async function main(): Promise<number> {
  const postgres = await startPostgres();
  if (postgres === null) return 0;
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const url = await postgres.newDatabase();
  const upstream = startBookkeepingUpstream();
  const faults: string[] = [];
  let gateway: GatewayProcess | null = null;
  try {
    gateway = await startGateway({
      dataFolder,
      config: `providers:\n  books: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/v1" }\n`,
      environment: { DATABASE_URL: url, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") },
    });
    const load = startLoad(LOAD, gateway.firstToken!, () => gateway);
    await Bun.sleep(UP_MS);
    const beforeMb = gateway.rssMb();
    for (const [what, goes, comes] of OUTAGES) {
      await goes(postgres);
      const { asked } = load.clients;
      await Bun.sleep(DOWN_MS);
      process.stdout.write(
        `${what} for ${DOWN_MS / 1000} s: ${load.clients.asked - asked} calls meanwhile, ${load.clients.refused.length + load.clients.cut.size} failed; ${await unshippedBytes(gateway)} bytes wait on the disk\n`,
      );
      if (load.clients.asked - asked < LOAD.workers) faults.push(`calls did not go on while the database was ${what}`);
      await comes(postgres);
      await Bun.sleep(UP_MS);
    }
    await load.end();
    if (gateway.rssMb() - beforeMb > LARGEST_GROWTH_MB)
      faults.push(`the process grew from ${beforeMb.toFixed(0)} to ${gateway.rssMb().toFixed(0)} MB`);
    faults.push(...(await judge(load.clients, url, gateway, dataFolder, upstream)));
    postgres.freeze();
    await gateway.chat({ model: "books:m", messages: [{ role: "user", content: "0" }] });
    const startedMs = performance.now();
    const code = await gateway.stop("SIGTERM");
    const tookMs = performance.now() - startedMs;
    postgres.thaw();
    process.stdout.write(`ended after ${(tookMs / 1000).toFixed(1)} s with ${code} while the database was frozen\n`);
    if (code !== 0 || tookMs > ENDS_WITHIN_MS)
      faults.push("the process did not end by itself while the database was frozen");
  } finally {
    if (gateway !== null) {
      await gateway.stop("SIGKILL");
      rmSync(gateway.folder, { recursive: true, force: true });
    }
    rmSync(folder, { recursive: true, force: true });
    await upstream.stop();
    await postgres.dispose();
  }
  return tellFaults(faults);
}

async function judge(
  clients: Clients,
  url: string,
  gateway: GatewayProcess,
  dataFolder: string,
  upstream: ReturnType<typeof startBookkeepingUpstream>,
): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const endsMs = performance.now() + SHIPPED_WITHIN_MS;
    const count = async (): Promise<number> =>
      Number((await client.query<{ count: string }>("select count(*) as count from call")).rows[0]!.count);
    while ((await count()) < clients.asked && performance.now() < endsMs) await Bun.sleep(100);
    const { rows: stored } = await client.query<StoredRow>(SELECT);
    const { rows: sums } = await client.query<{ calls: string }>(
      "select coalesce(sum(calls), 0) as calls from call_hour",
    );
    process.stdout.write(
      `${clients.asked} calls, ${clients.seen.size} answered; the database has ${stored.length} rows.\n`,
    );
    const faults = [...faultsOf(keptRows(dataFolder, stored), clients, upstream)];
    for (const call of clients.cut) faults.push(`call ${call} was cut`);
    if (stored.length !== clients.asked)
      faults.push(`${clients.asked} calls were made, and the database has ${stored.length} rows`);
    if (Number(sums[0]!.calls) !== stored.length)
      faults.push(`the database has ${stored.length} calls, and ${sums[0]!.calls} in its sums`);
    if (gateway.output().includes("rows were lost")) faults.push("the log speaks of rows that were lost");
    return faults;
  } finally {
    await client.end();
  }
}

async function unshippedBytes(gateway: GatewayProcess): Promise<number> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^dragoman_ledger_unshipped_bytes (\d+)$/m.exec(metrics)?.[1] ?? Number.NaN);
}

process.exit(await main());
