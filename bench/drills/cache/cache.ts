// `npm run drill:cache`: a real gateway with the response cache, and two tenants whose tokens ask equal and nearly equal
// questions at once while clients leave and read slowly, streams break off, answers are purged, and the store is full, away
// or holds garbage, over restarts. No answer may reach a client that it is not for, and each request that the provider has
// accepted is paid for by exactly one call (promises 13.4 and 13.5). `--short` does less, `--calls` sets how many calls each
// step makes. Exits with code 1 when a promise was broken.
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { type GatewayProcess, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { findServer, type RedisServer, startRedis } from "../../../test/harness/servers/redis-server.ts";
import { type Asker, Clients } from "./clients.ts";
import { tellFaults } from "../clients.ts";
import { type EchoUpstream, startEchoUpstream } from "./upstream.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, calls: { type: "string" } },
});
const CALLS = Number(flags.calls ?? (flags.short ? 150 : 3000));
const TENANTS = ["alpha", "bravo"] as const;

const configOf = (port: number, cache: string): string => `
cache: ${cache}
providers:
  echo:
    type: custom
    base_url: "http://127.0.0.1:${port}/v1"
    models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.000002" } }]
route_defaults: { breaker: { failures: 10000 } }
tenants: { alpha: { settings: { cache_allowed: true } }, bravo: { settings: { cache_allowed: true } } }
projects:
  alpha-one: { settings: { cache: { ttl_s: 600, scope: tenant } } }
  alpha-two: { settings: { cache: { ttl_s: 600, scope: tenant } } }
  bravo-one: { settings: { cache: { ttl_s: 600, scope: project } } }
  bravo-two: { settings: { cache: { ttl_s: 600 } } }
`;

interface World {
  readonly dataFolder: string;
  readonly upstream: EchoUpstream;
  gateway: GatewayProcess;
  owner: string;
}

/** Answers are shared in the whole tenant alpha; in bravo by one project, and by each token of the other. */
async function openAskers(world: World): Promise<readonly Asker[]> {
  world.owner = await world.gateway.createToken("--personal", "--role", "owner");
  const askers: Asker[] = [];
  for (const tenant of TENANTS) {
    await made(world, "/tenants", { id: tenant });
    for (const project of [`${tenant}-one`, `${tenant}-two`]) {
      await made(world, "/projects", { id: project, tenant_id: tenant });
      for (const name of ["a", "b"]) {
        const { token } = await made(world, `/projects/${project}/tokens`, { name });
        const circle = tenant === "alpha" ? tenant : project === "bravo-one" ? project : `${project} ${name}`;
        askers.push({ tenant, token: token as string, circle });
      }
    }
  }
  return askers;
}

async function made({ gateway, owner }: World, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Asks while answers of both tenants are purged, in different ways. */
async function underPurges(world: World, clients: Clients): Promise<void> {
  const asking = clients.ask(CALLS);
  let isOver = false;
  void asking.then(() => (isOver = true));
  for (let purge = 0; !isOver; purge++) {
    await Bun.sleep(20);
    const tenant = TENANTS[purge % 2]!;
    const body = purge % 4 < 2 ? {} : { route: "direct" };
    await clients.purging(tenant, async () => void (await made(world, `/tenants/${tenant}/cache/purge`, body)));
  }
  await asking;
}

async function restart(world: World, cache: string): Promise<void> {
  world.gateway = await startGateway({ config: configOf(world.upstream.port, cache), dataFolder: world.dataFolder });
}

interface Paid {
  readonly paid: number;
  readonly faults: readonly string[];
}

/** Reads the log of a gateway that has ended: which calls were paid for, and rows that contradict themselves. */
function paidIn(gateway: GatewayProcess): Paid {
  const faults: string[] = [];
  let paid = 0;
  for (const line of gateway.lines()) {
    if (line["msg"] !== "call" || line["provider"] !== "echo") continue;
    const cache = line["cache"] as { readonly outcome: string; readonly saved_nano_usd?: number } | undefined;
    const cost = Number(line["cost_nano_usd"] ?? 0);
    if (cost > 0) paid += 1;
    if (cache === undefined || cache.outcome === "bypass")
      faults.push(`a call went past the cache: ${JSON.stringify(line)}`);
    else if (cache.outcome === "hit" && cost > 0) faults.push(`a hit has cost ${cost}`);
    else if (cache.outcome === "hit" && line["status"] === 200 && cache.saved_nano_usd !== 50_000)
      faults.push(`a hit has saved ${cache.saved_nano_usd}`);
    else if (cache.outcome === "miss" && line["status"] === 200 && cost !== 50_000 && cost !== 0)
      faults.push(`a miss has cost ${cost}`);
  }
  return { paid, faults };
}

/** One phase with one store: asks, purges, disturbs, and compares the books. */
async function phase(
  name: string,
  world: World,
  clients: Clients,
  cache: string,
  disturb: () => Promise<void> = async () => {},
): Promise<void> {
  const before = world.upstream.accepted();
  await clients.ask(CALLS);
  await underPurges(world, clients);
  await disturb();
  await clients.ask(CALLS);
  const { gateway } = world;
  const code = await gateway.stop("SIGTERM");
  const { paid, faults } = paidIn(gateway);
  const asked = world.upstream.accepted() - before;
  clients.tally.faults.push(...faults.slice(0, 5).map((fault) => `${name}: ${fault}`));
  if (code !== 0) clients.tally.faults.push(`${name}: the gateway ended with exit code ${code}`);
  if (paid !== asked)
    clients.tally.faults.push(`${name}: the provider accepted ${asked} requests, and ${paid} calls paid`);
  process.stdout.write(`${name}: the provider accepted ${asked} requests, and ${paid} calls paid for them\n`);
  await restart(world, cache);
}

/** Overwrites what is kept while the gateway runs. */
function spoil(dataFolder: string): void {
  const database = new Database(join(dataFolder, "cache.sqlite"));
  database.run("PRAGMA busy_timeout = 5000");
  database.run("UPDATE answer SET body = randomblob(length(body)) WHERE rowid % 2 = 0");
  // an answer that is moved to the place of another one
  database.run("UPDATE answer SET body = (SELECT body FROM answer AS other WHERE other.rowid <> answer.rowid LIMIT 1)");
  database.close();
}

async function withValkey(world: World, clients: Clients): Promise<void> {
  const binary = findServer("redis-server");
  if (binary === null || flags.short) return;
  let server: RedisServer = await startRedis({ binary });
  const cache = `{ store: valkey, url: "${server.url}" }`;
  await world.gateway.stop();
  await restart(world, cache);
  await phase("Valkey, full", world, clients, cache, async () => {
    const redis = new Redis(server.url);
    await redis.config("SET", "maxmemory", "1");
    redis.disconnect();
  });
  await phase("Valkey, away and back", world, clients, cache, async () => {
    const { port } = server;
    await server.stop();
    await clients.ask(CALLS);
    server = await startRedis({ binary, port });
  });
  await world.gateway.stop();
  await server.stop();
  await restart(world, "{ store: memory }");
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const upstream = startEchoUpstream();
  const memory = "{ store: memory, max_bytes: 1048576 }";
  const sqlite = "{ store: sqlite, max_bytes: 1048576 }";
  const gateway = await startGateway({ config: configOf(upstream.port, memory), dataFolder });
  const world: World = { dataFolder, upstream, gateway, owner: "" };
  const clients = new Clients(() => world.gateway, upstream, await openAskers(world));
  await phase("memory", world, clients, sqlite);
  await phase("SQLite, with garbage", world, clients, sqlite, () => Promise.resolve(spoil(dataFolder)));
  await world.gateway.stop("SIGKILL");
  await restart(world, sqlite);
  await phase("SQLite, after it was killed", world, clients, memory);
  await withValkey(world, clients);
  await world.gateway.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
  const { calls, left, failed, outcomes, faults } = clients.tally;
  if ((outcomes["hit"] ?? 0) < calls / 10) faults.push(`of ${calls} calls only ${outcomes["hit"] ?? 0} were hits`);
  process.stdout.write(
    `${calls} calls: ${outcomes["hit"] ?? 0} hits, ${outcomes["miss"] ?? 0} misses, ${failed} failed with the provider, ${left} clients left. The provider was asked ${upstream.serial()} times.\n`,
  );
  return tellFaults(faults);
}

process.exit(await main());
