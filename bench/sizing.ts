// `npm run bench:sizing`: measures what a machine needs for the gateway, and prints the page docs/sizing.md. --write
// puts it there, --quick only shows that everything works. It takes some ten minutes, and needs PostgreSQL, Redis and
// nginx for the parts that name them; a part whose program is missing says so.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { startPostgres } from "../test/harness/postgres-server.ts";
import { findServer, startRedis } from "../test/harness/redis-server.ts";
import { chatBody } from "./answers.ts";
import { type OwnSetup, startGateway } from "./gateway.ts";
import { GOVERNED } from "./governed.ts";
import { httpRequest, runLoad } from "./load.ts";
import { startMock } from "./mock.ts";
import {
  bindToCore,
  chooseCores,
  type Cores,
  cpuSeconds,
  descendantsOf,
  missingTools,
  mostOpenFiles,
  residentMb,
} from "./process-stats.ts";
import { measureMemory, type MemoryResult } from "./scenarios.ts";
import { type SeededData, seeded } from "./seeded-data.ts";
import { type CallCost, type Growth, type Sizing, sizingPage, type StoreCost } from "./sizing-page.ts";
import { startServer, type Subject, underBun } from "./subject.ts";

const PAGE = join(import.meta.dir, "..", "docs", "sizing.md");
const CONNECTIONS = 32;
/** Files and sockets that a gateway has open besides the two sockets of each stream. */
const OTHER_FILES = 500;

interface Pace {
  readonly warmUpMs: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly openStreams: readonly number[];
  readonly settleMs: number;
  /** Calls whose disk use is measured. */
  readonly calls: number;
  readonly largest: Required<SeededData>;
}
const FULL: Pace = {
  warmUpMs: 12_000,
  rounds: 5,
  roundMs: 2000,
  openStreams: [1000, 10_000],
  settleMs: 60_000,
  calls: 50_000,
  largest: { tokens: 100_000, tenants: 1000, policies: 10_000, limits: 10_000, ownRoutes: 1000 },
};
const QUICK: Pace = {
  warmUpMs: 50,
  rounds: 1,
  roundMs: 50,
  openStreams: [20],
  settleMs: 100,
  calls: 50,
  largest: { tokens: 50, tenants: 5, policies: 20, limits: 20, ownRoutes: 10 },
};

const { values: flags, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main(flags.quick ? QUICK : FULL);

/** What every measurement uses. What is started is stopped in reverse at the end, however that comes. */
interface Bench {
  readonly folder: string;
  /** Returns a path in `folder` that no other call has returned. */
  readonly newPath: () => string;
  readonly mockPort: number;
  readonly cores: Cores;
  readonly pace: Pace;
  readonly stops: (() => Promise<unknown>)[];
}

async function main(pace: Pace): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const folder = mkdtempSync(join(tmpdir(), "dragoman-sizing-"));
  const stops: Bench["stops"] = [];
  let paths = 0;
  const newPath = (): string => join(folder, String(++paths));
  try {
    const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
    stops.push(mock.stop);
    const page = sizingPage(await measured({ folder, newPath, mockPort: mock.port, cores, pace, stops }));
    process.stdout.write(page);
    if (flags.write) writeFileSync(PAGE, page);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(bench: Bench): Promise<Sizing> {
  const calls = await callCosts(bench);
  return {
    machine: `${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Linux ${release()}, Bun ${Bun.version}`,
    date: new Date().toISOString().slice(0, 10),
    quick: flags.quick,
    calls,
    growth: await growth(bench),
    memory: await memory(bench),
    diskBytesPerCall: await diskUse(bench),
    postgres: await postgresCost(bench),
    valkey: await valkeyCost(bench),
  };
}

/** A gateway and the request that it is measured with. */
interface Variant {
  readonly label: string;
  readonly subject: Subject;
  readonly answer: string;
  readonly model?: string;
}

/** CPU µs per call of all threads, the least of some rounds that the variants take in turns. */
async function inTurns(variants: readonly Variant[], { pace }: Bench): Promise<readonly number[]> {
  const least = variants.map(() => Number.POSITIVE_INFINITY);
  for (const variant of variants) await load(variant, pace.warmUpMs);
  for (let round = 0; round < pace.rounds; round++)
    for (const [index, variant] of variants.entries())
      least[index] = Math.min(least[index]!, await load(variant, pace.roundMs));
  return least;
}

async function load({ subject, answer, model }: Variant, durationMs: number): Promise<number> {
  const target = subject.target(answer);
  const body = chatBody(model ?? target.model, answer.endsWith("-stream"));
  const request = httpRequest(subject.port, target.path, body, target.token);
  const before = cpuSeconds(subject.pids);
  const { requests } = await runLoad({ port: subject.port, request }, { connections: CONNECTIONS, durationMs });
  const micros = ((cpuSeconds(subject.pids) - before) / requests) * 1e6;
  subject.tidy();
  return micros;
}

async function gateway(bench: Bench, own: OwnSetup = {}): Promise<Subject> {
  const subject = await startGateway(bench.newPath(), bench.mockPort, bench.cores.subject, own);
  bench.stops.push(subject.stop);
  return subject;
}

async function setup(
  bench: Bench,
  data: SeededData,
  configuration = "",
): Promise<OwnSetup & Required<Pick<OwnSetup, "data">>> {
  const folder = bench.newPath();
  return { configuration, data: { folder, token: await seeded(folder, data) } };
}

async function callCosts(bench: Bench): Promise<readonly CallCost[]> {
  tell("what a core carries");
  const plain = await gateway(bench);
  const governed = await gateway(bench, await setup(bench, {}, GOVERNED));
  const variants = [
    { label: "a plain call of 1 KB each way, same shape", subject: plain, answer: "openai-plain" },
    { label: "the same, translated (Anthropic Messages)", subject: plain, answer: "anthropic-plain" },
    { label: "the same, translated (Bedrock Converse)", subject: plain, answer: "bedrock-plain" },
    { label: "the same, same shape, with three policies and five limits", subject: governed, answer: "openai-plain" },
    { label: "a stream of 200 events, same shape", subject: plain, answer: "openai-stream" },
    { label: "the same, translated (Anthropic Messages)", subject: plain, answer: "anthropic-stream" },
    { label: "the same, translated (Bedrock Converse)", subject: plain, answer: "bedrock-stream" },
  ];
  const micros = await inTurns(variants, bench);
  await stopAll([plain, governed]);
  return variants.map(({ label }, index) => ({ label, micros: micros[index]! }));
}

async function growth(bench: Bench): Promise<readonly Growth[]> {
  tell("how the cost grows");
  const { tokens, tenants, policies, limits, ownRoutes } = bench.pace.largest;
  const number = (value: number): string => value.toLocaleString("en-US");
  const cases: readonly (readonly [string, SeededData, string?])[] = [
    ["nothing else", {}],
    [`${number(tokens)} access tokens`, { tokens, tenants }],
    [`${number(policies)} policies of other projects`, { policies, tenants }],
    [`${number(limits)} limits of other projects`, { limits, tenants }],
    [`${number(ownRoutes)} routes of the same project`, { ownRoutes }],
    [`${number(tenants)} tenants`, { tenants }],
    ["three policies and five limits that apply", {}, GOVERNED],
  ];
  const variants: Variant[] = [];
  const starts: { readonly cpuMs: number; readonly mb: number }[] = [];
  for (const [label, data, configuration] of cases) {
    const subject = await gateway(bench, await setup(bench, data, configuration));
    starts.push({ cpuMs: cpuSeconds(subject.pids) * 1000, mb: residentMb(subject.pids[0]!) });
    variants.push({ label, subject, answer: "openai-plain" });
  }
  const micros = await inTurns(variants, bench);
  await stopAll(variants.map(({ subject }) => subject));
  return variants.map(({ label }, index) => ({ label, micros: micros[index]!, ...starts[index]! }));
}

async function memory(bench: Bench): Promise<readonly MemoryResult[]> {
  tell("memory of open streams");
  const results: MemoryResult[] = [];
  for (const wanted of bench.pace.openStreams) {
    const openStreams = Math.min(wanted, Math.floor((mostOpenFiles() - OTHER_FILES) / 2));
    const subject = await gateway(bench);
    results.push(await measureMemory(subject, bench.mockPort, { openStreams, settleMs: bench.pace.settleMs }));
    await stopAll([subject]);
  }
  return results;
}

/** Bytes of the data folder for each call, when every call was shipped to SQLite and the gateway has stopped. */
async function diskUse(bench: Bench): Promise<number> {
  tell("disk");
  const own = await setup(bench, {});
  const before = bytesIn(own.data.folder);
  const subject = await gateway(bench, own);
  const calls = await exactly(subject, bench.pace.calls);
  await stopAll([subject]);
  return (bytesIn(own.data.folder) - before) / calls;
}

async function postgresCost(bench: Bench): Promise<StoreCost | null> {
  const postgres = await startPostgres();
  if (postgres === null) return null;
  bench.stops.push(() => postgres.dispose());
  tell("PostgreSQL");
  const url = await postgres.newDatabase();
  const subject = await gateway(bench, {
    environment: { DATABASE_URL: url, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") },
  });
  const client = new Client({ connectionString: url });
  await client.connect();
  const read = async () => {
    const { rows } = await client.query<{ transactions: string; wal: string; bytes: string }>(
      "select xact_commit as transactions, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal, pg_database_size(current_database()) as bytes from pg_stat_database where datname = current_database()",
    );
    const { transactions, wal, bytes } = rows[0]!;
    return {
      transactions: Number(transactions),
      wal: Number(wal),
      bytes: Number(bytes),
      cpu: cpuSeconds(descendantsOf(process.pid, "postgres")),
    };
  };
  await exactly(subject, Math.ceil(bench.pace.calls / 10));
  await shipped(client);
  const before = await read();
  const calls = await exactly(subject, bench.pace.calls);
  await shipped(client);
  const after = await read();
  await client.end();
  await stopAll([subject]);
  return {
    requestsPerCall: (after.transactions - before.transactions) / calls,
    cpuMicrosPerCall: ((after.cpu - before.cpu) / calls) * 1e6,
    bytesPerCall: (after.bytes - before.bytes) / calls,
    writtenPerCall: (after.wal - before.wal) / calls,
  };
}

/** Resolves when the number of calls in the database no longer grows. */
async function shipped(client: Client): Promise<void> {
  const count = async (): Promise<number> =>
    Number((await client.query<{ count: string }>("select sum(calls) as count from call_hour")).rows[0]?.count ?? 0);
  for (let before = -1, now = await count(); now !== before; before = now, now = await count()) await Bun.sleep(1500);
}

async function valkeyCost(bench: Bench): Promise<StoreCost | null> {
  if (findServer("redis-server") === null) return null;
  tell("Valkey or Redis");
  const redis = await startRedis({ flags: ["--appendonly", "no"] });
  bench.stops.push(() => redis.stop());
  const configuration = `${GOVERNED}limit_store: { driver: valkey, url: "${redis.url}" }\n`;
  const subject = await gateway(bench, await setup(bench, {}, configuration));
  const client = new Bun.RedisClient(redis.url);
  const read = async () => {
    const info = String(await client.send("INFO", []));
    const figure = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
    return {
      requests: figure("total_commands_processed"),
      cpu: figure("used_cpu_user") + figure("used_cpu_sys"),
      bytes: figure("used_memory"),
      read: figure("total_net_input_bytes") + figure("total_net_output_bytes"),
    };
  };
  await exactly(subject, Math.ceil(bench.pace.calls / 10));
  const before = await read();
  const calls = await exactly(subject, bench.pace.calls);
  const after = await read();
  client.close();
  await stopAll([subject]);
  return {
    requestsPerCall: (after.requests - before.requests) / calls,
    cpuMicrosPerCall: ((after.cpu - before.cpu) / calls) * 1e6,
    bytesPerCall: Math.max(0, after.bytes - before.bytes) / calls,
    writtenPerCall: (after.read - before.read) / calls,
  };
}

/** Makes at least so many plain calls, and returns how many. */
async function exactly(subject: Subject, atLeast: number): Promise<number> {
  const { path, model, token } = subject.target("openai-plain");
  const request = httpRequest(subject.port, path, chatBody(model, false), token);
  let calls = 0;
  while (calls < atLeast)
    calls += (await runLoad({ port: subject.port, request }, { connections: CONNECTIONS, durationMs: 100 })).requests;
  subject.tidy();
  return calls;
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

async function stopAll(subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) await subject.stop();
}

function tell(what: string): void {
  process.stderr.write(`bench: ${what} ...\n`);
}
