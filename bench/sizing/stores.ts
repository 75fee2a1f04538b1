// What PostgreSQL and Valkey do for a call, beside a gateway at full rate on one core.
import { Client } from "pg";
import { startPostgres } from "../../test/harness/servers/postgres-server.ts";
import { findServer, startRedis } from "../../test/harness/servers/redis-server.ts";
import { GOVERNED } from "../subjects/governed.ts";
import { startPostgresProxy } from "./postgres-proxy.ts";
import { cpuSeconds, descendantsOf } from "../subjects/process-stats.ts";
import type { SizingBench } from "./bench.ts";
import type { StoreCost, Unmeasured } from "./figures.ts";
import { type WorkerCost, workerCosts } from "../worker-costs.ts";

/** Counts of a server since it started. */
type Counts = Omit<StoreCost, "logBytes"> & { readonly logBytes: number };

const environmentFor = (url: string): Readonly<Record<string, string>> => ({
  DATABASE_URL: url,
  DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
});

/** The cost of the server itself, and that of the gateway's workers and supervisor beside it. */
export interface PostgresFigures {
  readonly store: StoreCost;
  readonly workers: WorkerCost;
}

export async function postgresFigures(bench: SizingBench): Promise<PostgresFigures | Unmeasured> {
  const postgres = await startPostgres();
  if (postgres === null) return { unmeasured: "PostgreSQL is not installed" };
  bench.stops.push(() => postgres.dispose());
  const database = await postgres.newDatabase();
  const proxy = startPostgresProxy(database);
  bench.stops.push(async () => proxy.stop());
  const subject = await bench.gateway({ environment: environmentFor(proxy.url) });
  const client = new Client({ connectionString: database });
  await client.connect();
  const read = async (): Promise<Counts> => {
    const { rows } = await client.query<{ log: string; data: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as log, pg_database_size(current_database()) as data",
    );
    const { statements, waits, bytes } = proxy.counts();
    return {
      statements,
      messages: waits,
      networkBytes: bytes,
      cpuMicros: cpuSeconds(descendantsOf(process.pid, "postgres")) * 1e6,
      dataBytes: Number(rows[0]!.data),
      logBytes: Number(rows[0]!.log),
    };
  };
  try {
    await bench.makeCalls(subject, Math.ceil(bench.pace.calls / 10));
    await shipped(client);
    const before = await read();
    const calls = await bench.makeCalls(subject, bench.pace.calls);
    await shipped(client);
    const store = perCall(before, await read(), calls);
    await subject.stop();
    const url = await postgres.newDatabase();
    const [workers] = await workerCosts(bench.workers(true), [
      { label: "1 of 2 workers, calls kept in PostgreSQL", workers: 2, own: { environment: environmentFor(url) } },
    ]);
    return { store, workers: workers! };
  } finally {
    await client.end();
  }
}

/** Resolves when the number of calls in the database no longer grows. */
async function shipped(client: Client): Promise<void> {
  const count = async (): Promise<number> =>
    Number((await client.query<{ count: string }>("select sum(calls) as count from call_hour")).rows[0]?.count ?? 0);
  for (let before = -1, now = await count(); now !== before; before = now, now = await count()) await Bun.sleep(1500);
}

export async function valkeyFigures(bench: SizingBench): Promise<StoreCost | Unmeasured> {
  const name = (["valkey-server", "redis-server"] as const).find((each) => findServer(each) !== null);
  if (name === undefined) return { unmeasured: "neither Valkey nor Redis is installed" };
  const redis = await startRedis({ binary: findServer(name)!, flags: ["--appendonly", "no"] });
  bench.stops.push(() => redis.stop());
  const configuration = `${GOVERNED}limit_store: { driver: valkey, url: "${redis.url}" }\n`;
  const subject = await bench.gateway({ configuration });
  const client = new Bun.RedisClient(redis.url);
  const read = async (): Promise<Counts> => {
    const info = String(await client.send("INFO", []));
    const figure = (of: string): number => Number(new RegExp(`^${of}:([\\d.]+)`, "m").exec(info)?.[1] ?? 0);
    return {
      statements: figure("total_commands_processed"),
      messages: figure("total_reads_processed"),
      networkBytes: figure("total_net_input_bytes") + figure("total_net_output_bytes"),
      cpuMicros: (figure("used_cpu_user") + figure("used_cpu_sys")) * 1e6,
      dataBytes: figure("used_memory"),
      logBytes: 0,
    };
  };
  try {
    await bench.makeCalls(subject, Math.ceil(bench.pace.calls / 10));
    const before = await read();
    const calls = await bench.makeCalls(subject, bench.pace.calls);
    return { ...perCall(before, await read(), calls), logBytes: null };
  } finally {
    client.close();
    await subject.stop();
  }
}

function perCall(before: Counts, after: Counts, calls: number): StoreCost {
  const each = (of: (counts: Counts) => number): number => Math.max(0, of(after) - of(before)) / calls;
  return {
    statements: each(({ statements }) => statements),
    messages: each(({ messages }) => messages),
    networkBytes: each(({ networkBytes }) => networkBytes),
    cpuMicros: each(({ cpuMicros }) => cpuMicros),
    dataBytes: each(({ dataBytes }) => dataBytes),
    logBytes: each(({ logBytes }) => logBytes),
  };
}
