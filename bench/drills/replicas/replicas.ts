// `npm run drill:replicas`: three gateways on one real PostgreSQL and one real Redis, under load, while gateways, Redis
// and PostgreSQL are killed, frozen and restarted at random. By the provider's books no limit may be exceeded, calls
// may fail only as the settings say, and in the end every answer that a client saw has to be in the database exactly
// once (promises 2.6, 4.2, 11.2). `--short` has fewer faults; `--faults` sets how many. Exits with code 1 when a
// promise was broken.
import { parseArgs } from "node:util";
import { Client } from "pg";
import { startPostgres } from "../../../test/harness/servers/postgres-server.ts";
import { findServer, startRedis } from "../../../test/harness/servers/redis-server.ts";
import { type Clients, faultsOf, tellFaults } from "../clients.ts";
import { type Answer, callOnce, newClients, startLoad } from "./clients.ts";
import { AT_ONCE, AT_ONCE_LIMIT, drillConfig, FREE, overdrawn, routesOf, servedOf } from "./limits.ts";
import { openWorld, type World } from "./world.ts";
import { keptRows, SELECT, type StoredRow } from "../ledger-rows.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, faults: { type: "string" } },
});
const FAULTS = Number(flags.faults ?? (flags.short ? 3 : 40));
/** How often Redis comes back without its data while every gateway runs. */
const LOSSES = flags.short ? 1 : 4;
/** The short form shares its machine with tests, so its clients pause. */
const LOAD = flags.short ? { workers: 5, paceMs: 30 } : { workers: 12, paceMs: 0 };
const CALLS_AT_ONCE = 200;
const KILLED_AFTER_MS = 30;
/** The short form runs among tests, on machines that do other work at the same time. */
const SEEN_WITHIN_MS = flags.short ? 10_000 : 1000;
/** A new epoch begins after 2.5 s. */
const EPOCH_MS = 3500;
const SHIPPED_WITHIN_MS = 30_000;
/** Calls from this number on are probes, which are not part of the load. */
const FIRST_PROBE = 10_000_000;
const MOST_LINES_OF_A_KIND = 200;

const random = (fromMs: number, toMs: number): number => fromMs + Math.random() * (toMs - fromMs);
const say = (words: string): void => void process.stdout.write(`${words}\n`);

/** Each event restores what it disturbed, because a gateway that is started again needs the database. */
const EVENTS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "a gateway is killed": async (world) => {
    const index = Math.floor(Math.random() * world.gateways.length);
    await world.kill(index);
    await Bun.sleep(random(0, 500));
    await world.start(index);
  },
  "two gateways are killed": async (world) => {
    const spared = Math.floor(Math.random() * world.gateways.length);
    const killed = world.gateways.flatMap((_, index) => (index === spared ? [] : [index]));
    await Promise.all(killed.map((index) => world.kill(index)));
    await Promise.all(killed.map((index) => world.start(index)));
  },
  "a gateway stands still": async ({ gateways }) => {
    const gateway = gateways[Math.floor(Math.random() * gateways.length)]!;
    process.kill(gateway.pid, "SIGSTOP");
    await Bun.sleep(random(300, 1500));
    process.kill(gateway.pid, "SIGCONT");
  },
  "Redis is killed, and comes back with its data": async ({ redis }) => {
    await redis.kill();
    await Bun.sleep(random(0, 1000));
    await redis.restart(true);
    await Bun.sleep(EPOCH_MS);
  },
  "Redis stands still": async ({ redis }) => {
    redis.freeze();
    await Bun.sleep(random(200, 4000));
    redis.thaw();
    await Bun.sleep(500);
  },
  "PostgreSQL is stopped": async ({ postgres }) => {
    await postgres.stop();
    await Bun.sleep(random(300, 2000));
    await postgres.start();
  },
  "PostgreSQL stands still": async ({ postgres }) => {
    postgres.freeze();
    await Bun.sleep(random(300, 2000));
    postgres.thaw();
  },
};

/** Yields random faults, but always includes kills and pairs of faults at once. */
function* events(): Generator<readonly string[]> {
  const names = Object.keys(EVENTS);
  const gateways = names.filter((name) => name.includes("gateway"));
  const others = names.filter((name) => !name.includes("gateway"));
  const one = (of: readonly string[]): string => of[Math.floor(Math.random() * of.length)]!;
  for (let turn = 0; turn < FAULTS; turn++) {
    if (turn % 4 === 0) yield ["a gateway is killed"];
    else if (turn % 4 === 1) yield ["Redis is killed, and comes back with its data"];
    else if (turn % 4 === 2) yield [one(others), "a gateway stands still"];
    else yield [one([...gateways, ...others])];
  }
}

async function atOnce(world: World, clients: Clients, route: (typeof AT_ONCE)[number]): Promise<readonly string[]> {
  const isKilled = route.endsWith("killed");
  const { gateways, projectToken } = world;
  const calls = Array.from({ length: CALLS_AT_ONCE }, (_, index) =>
    callOnce(gateways[index % gateways.length]!, projectToken, clients, { route, stream: route.startsWith("streams") }),
  );
  if (isKilled) {
    await Bun.sleep(KILLED_AFTER_MS);
    await world.kill(1);
  }
  const answers = await Promise.all(calls);
  if (isKilled) await world.start(1);
  const count = (of: (answer: Answer) => boolean): number => answers.filter(of).length;
  const served = count(({ status }) => status === 200);
  const refused = count(({ status }) => status === 429);
  // on a busy machine Redis may answer later than a call waits for it
  const unavailable = count(({ status }) => status === 503);
  const cut = count(({ status }) => status === 0);
  say(
    `${CALLS_AT_ONCE} at once against ${AT_ONCE_LIMIT}, ${route}: ${served} answered, ${refused} refused, ${unavailable} without the store, ${cut} cut; the provider was asked ${servedOf(world.upstream, route)} times`,
  );
  if (isKilled) return [];
  if (unavailable > 0) {
    await Bun.sleep(SEEN_WITHIN_MS);
    for (let more = 0; more < 2 * AT_ONCE_LIMIT; more++)
      await callOnce(gateways[more % gateways.length]!, projectToken, clients, { route, stream: false });
  }
  const isExact = servedOf(world.upstream, route) === AT_ONCE_LIMIT && served + refused + unavailable === CALLS_AT_ONCE;
  return isExact ? [] : [`${route}: exactly ${AT_ONCE_LIMIT} had to be served`];
}

/** Changes the configuration at one gateway, and measures how long each of the three takes to apply the change. */
async function changes(world: World): Promise<readonly string[]> {
  const { gateways, ownerToken } = world;
  const clients = { ...newClients(), asked: FIRST_PROBE };
  const admin = async (method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${gateways[0]!.url}/api/v1/admin/projects/default/${path}`, {
      method,
      headers: { authorization: `Bearer ${ownerToken}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
  };
  const until = async (token: string, status: number): Promise<number> => {
    const startedMs = performance.now();
    const one = async (index: number): Promise<void> => {
      const hear = async (): Promise<boolean> =>
        (await callOnce(gateways[index]!, token, clients, { route: "changing", stream: false })).status === status;
      while (!(await hear()) && performance.now() - startedMs < 10 * SEEN_WITHIN_MS) await Bun.sleep(10);
    };
    await Promise.all(gateways.map((_, index) => one(index)));
    return performance.now() - startedMs;
  };
  const { id, secret, token } = await admin("POST", "tokens", { name: "short-lived", role: "developer" });
  const text = String(secret ?? token);
  const times = { "a new token": await until(text, 200), "a new limit": 0, "a revoked token": 0 };
  await admin("POST", "limits", {
    name: "none",
    metric: "requests",
    window: "day",
    limit: 0,
    scope: { route: "changing" },
  });
  times["a new limit"] = await until(text, 429);
  await admin("POST", `tokens/${String(id)}/revoke`);
  times["a revoked token"] = await until(text, 401);
  say(
    `seen by all three: ${Object.entries(times)
      .map(([what, ms]) => `${what} after ${ms.toFixed(0)} ms`)
      .join(", ")}`,
  );
  return Object.entries(times).flatMap(([what, ms]) =>
    ms > SEEN_WITHIN_MS ? [`${what} was seen after ${ms.toFixed(0)} ms only`] : [],
  );
}

async function judge(world: World, clients: Clients): Promise<readonly string[]> {
  const codes = await world.end();
  const faults = codes.flatMap((code, index) => (code === 0 ? [] : [`gateway ${index} ended with ${code}`]));
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<StoredRow>(SELECT);
    const kept = keptRows(world.dataFolders[0]!, rows);
    faults.push(...faultsOf(kept, clients, world.upstream), ...overdrawn(world.upstream));
    const { rows: sums } = await client.query<{ calls: string }>(
      "select coalesce(sum(calls), 0) as calls from call_hour",
    );
    if (Number(sums[0]!.calls) !== rows.length)
      faults.push(`the database has ${rows.length} calls, and ${sums[0]!.calls} in its sums`);
    say(
      `${clients.asked} calls: ${clients.seen.size} answered to the last byte, ${clients.cut.size} cut; the provider was asked ${world.upstream.asked.size} times; the database has ${rows.length} rows, ${kept.filter(({ settled }) => !settled).length} of them unsettled`,
    );
  } finally {
    await client.end();
  }
  const lines = Map.groupBy(
    world
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{") && !line.includes('"msg":"call"')),
    (line) => String((JSON.parse(line) as { readonly msg: unknown }).msg),
  );
  for (const [msg, of] of lines) {
    if (of.length > MOST_LINES_OF_A_KIND) faults.push(`the log says ${of.length} times: ${msg}`);
    if (msg === "unexpected error outside of any call") faults.push(`${msg}: ${of[0]}`);
  }
  say([...lines].map(([msg, of]) => `${of.length} x ${msg.split("\n")[0]}`).join("; "));
  return faults;
}

async function shipped(world: World, clients: Clients): Promise<void> {
  const endsMs = performance.now() + SHIPPED_WITHIN_MS;
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  const count = async (): Promise<number> =>
    Number((await client.query<{ count: string }>("select count(*) as count from call")).rows[0]!.count);
  while ((await count()) < clients.seen.size && performance.now() < endsMs) await Bun.sleep(100);
  await client.end();
}

async function play(world: World): Promise<readonly string[]> {
  const clients = newClients();
  const faults: string[] = [];
  for (const route of AT_ONCE) faults.push(...(await atOnce(world, clients, route)));
  faults.push(...(await changes(world)));
  let round = 0;
  const load = startLoad(
    LOAD,
    (gateway, turn) => {
      const routes = routesOf(round, round >= FAULTS);
      const route = routes[Math.floor(turn / world.gateways.length) % routes.length]!;
      return callOnce(gateway, world.projectToken, clients, {
        route,
        stream: Math.random() < 0.5,
        isFree: FREE.has(route),
      });
    },
    world.gateways,
  );
  const pass = async (names: readonly string[], run: () => Promise<unknown>): Promise<void> => {
    const { asked } = clients;
    const startedMs = performance.now();
    await Bun.sleep(random(200, 600));
    await run();
    await Bun.sleep(random(200, 600));
    say(
      `${names.join(", ")}: ${clients.asked - asked} calls in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
    );
    round += 1;
  };
  for (const names of events()) await pass(names, () => Promise.all(names.map((name) => EVENTS[name]!(world))));
  for (let loss = 0; loss < LOSSES; loss++)
    await pass(["Redis comes back without its data"], async () => {
      await world.redis.restart(false);
      await Bun.sleep(EPOCH_MS);
    });
  await load.end();
  await shipped(world, clients);
  if (clients.seen.size < FAULTS * 20) faults.push(`only ${clients.seen.size} calls were answered`);
  return [...faults, ...(await judge(world, clients))];
}

async function main(): Promise<number> {
  if (findServer("redis-server") === null) {
    if (process.env["DRAGOMAN_CI"] === "1") throw new Error("Redis is not installed, and CI may not skip its tests");
    say("skipped: Redis is not installed (apt install redis-server)");
    return 0;
  }
  const postgres = await startPostgres();
  if (postgres === null) return 0;
  const redis = await startRedis();
  try {
    const world = await openWorld(postgres, redis, (upstream) => drillConfig(upstream, FAULTS + LOSSES + 1));
    try {
      return tellFaults(await play(world));
    } finally {
      await world.dispose();
    }
  } finally {
    await redis.stop();
    await postgres.dispose();
  }
}

process.exit(await main());
