// `npm run drill:prompt-cache`: a real gateway with two targets of two keys each, before vendors that keep prompts as theirs
// do, and sessions of coding agents with twenty steps each, first without and then with `prompt_cache: auto`. Prints how much
// of the prompts the vendors read from their caches, and compares what the gateway tells of it with what they billed (promise
// 16.2). `--short` plays fewer sessions. Exits with code 1 when a promise was broken.
import { parseArgs } from "node:util";
import { table } from "../../docs/generators/markdown.ts";
import { type CachingVendor, cachingVendor } from "../../test/harness/servers/caching-vendor.ts";
import { type GatewayProcess, startGateway } from "../../test/harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../../test/harness/servers/upstream.ts";
import { until } from "../../test/harness/time/until.ts";
import { type Agent, AGENTS } from "../load/agent-conversations.ts";
import { tellFaults } from "./clients.ts";

const { values: flags } = parseArgs({ options: { short: { type: "boolean", default: false } } });
const SESSIONS = flags.short ? 4 : 25;
const STEPS = 20;
/** What a conversation of twenty steps has in the cache at least, where nothing is lost of it. */
const LEAST_RATE = 0.8;
const MODELS = { claude: "claude-sonnet-5", openai: "gpt-5" } as const;
/** In nano-dollars for a token. */
const PRICES = { prompt: 3000, read: 300, written: 3750 };

const WAYS = ["without", "with"] as const;
type Way = (typeof WAYS)[number];

const routeOf = (vendor: Agent["vendor"], way: Way): string => `${vendor}-${way}`;

function configOf(address: string): string {
  const provider = (vendor: Agent["vendor"], place: string): string =>
    `  ${vendor}-${place}:
    type: ${vendor === "claude" ? "anthropic" : "openai"}
    base_url: "${address}${vendor === "claude" ? "" : "/v1"}"
    api_keys: [${place}-first, ${place}-second]
`;
  const route = (vendor: Agent["vendor"], way: Way): string =>
    `  ${routeOf(vendor, way)}:
    targets: ["${vendor}-a:${MODELS[vendor]}", "${vendor}-b:${MODELS[vendor]}"]
    strategy: weighted
    prompt_cache: ${way === "with" ? "auto" : "false"}
`;
  const vendors = ["claude", "openai"] as const;
  return `prices:
  all: { model: "*", prompt: "3.00", completion: "15.00", cache_read: "0.30", cache_write: "3.75" }
providers:\n${vendors.flatMap((vendor) => [provider(vendor, "a"), provider(vendor, "b")]).join("")}routes:\n${vendors.flatMap((vendor) => WAYS.map((way) => route(vendor, way))).join("")}`;
}

interface World {
  readonly gateway: GatewayProcess;
  readonly upstream: FakeUpstream;
  readonly vendor: CachingVendor;
  readonly faults: string[];
}

interface Rate {
  readonly agent: Agent;
  readonly way: Way;
  readonly prompt: number;
  readonly read: number;
  readonly written: number;
}

/** Plays the sessions of an agent beside one another, each step after the one before it. */
async function played(agent: Agent, way: Way, { gateway, vendor, upstream, faults }: World): Promise<Rate> {
  vendor.forget();
  const before = { ...vendor.billed };
  const from = upstream.seen.length;
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, at) => {
      const session = `${agent.name.replaceAll(" ", "-")}-${way}-${at}`;
      for (let step = 1; step <= STEPS; step++) {
        const answer = await gateway.chat(
          { ...agent.bodyOf(session, step), model: routeOf(agent.vendor, way) },
          { path: `/api/v1${agent.path}`, headers: agent.headersOf(session) },
        );
        const text = await answer.text();
        if (answer.status !== 200) faults.push(`${agent.name}, ${way}: ${answer.status} ${text.slice(0, 200)}`);
      }
    }),
  );
  if (way === "with") keptTogether(agent, upstream.seen.slice(from), faults);
  const { prompt, read, written } = vendor.billed;
  return {
    agent,
    way,
    prompt: prompt - before.prompt,
    read: read - before.read,
    written: written - before.written,
  };
}

/** The requests of a session name it in their texts. */
function keptTogether(agent: Agent, seen: FakeUpstream["seen"], faults: string[]): void {
  const keys = new Map<string, Set<string>>();
  for (const { text, headers } of seen) {
    const session = /Mend the failing test of session ([\w-]+)/.exec(text)![1]!;
    const used = keys.get(session) ?? new Set();
    keys.set(session, used.add(headers["x-api-key"] ?? headers["authorization"] ?? ""));
  }
  for (const [session, used] of keys)
    if (used.size !== 1) faults.push(`${agent.name}: session ${session} used ${used.size} keys`);
  const all = new Set([...keys.values()].flatMap((used) => [...used]));
  if (keys.size >= 20 && all.size < 4)
    faults.push(`${agent.name}: ${keys.size} sessions used only ${all.size} of 4 keys`);
}

interface UsageRow {
  readonly group: { readonly route: string };
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_hit_rate: number | null;
  readonly cache_saved_usd: string;
}

/** Compares what the gateway tells with what the vendors billed. */
async function compareBooks({ gateway, faults }: World, rates: readonly Rate[]): Promise<void> {
  const owner = await gateway.createToken("--personal", "--role", "owner");
  const rows = async (): Promise<readonly UsageRow[]> => {
    const answer = await fetch(`${gateway.url}/api/v1/admin/usage?group_by=route`, {
      headers: { authorization: `Bearer ${owner}` },
    });
    return ((await answer.json()) as { data: readonly UsageRow[] }).data;
  };
  const calls = rates.length * SESSIONS * STEPS;
  await until(
    async () => (await rows()).reduce((sum, row) => sum + row.calls, 0) === calls,
    "all calls are in the usage",
  );
  for (const row of await rows()) {
    const billed = rates
      .filter(({ agent, way }) => routeOf(agent.vendor, way) === row.group.route)
      .reduce(
        (sum, { prompt, read, written }) => ({
          prompt: sum.prompt + prompt,
          read: sum.read + read,
          written: sum.written + written,
        }),
        { prompt: 0, read: 0, written: 0 },
      );
    const saved = billed.read * (PRICES.prompt - PRICES.read) - billed.written * (PRICES.written - PRICES.prompt);
    const expected = {
      prompt_tokens: billed.prompt,
      cached_tokens: billed.read,
      cache_write_tokens: billed.written,
      cache_hit_rate: Math.floor((billed.read * 10_000) / billed.prompt) / 10_000,
      saved_nano_usd: saved,
    };
    const told = {
      prompt_tokens: row.prompt_tokens,
      cached_tokens: row.cached_tokens,
      cache_write_tokens: row.cache_write_tokens,
      cache_hit_rate: row.cache_hit_rate,
      saved_nano_usd: Math.round(Number(row.cache_saved_usd) * 1e9),
    };
    if (JSON.stringify(told) !== JSON.stringify(expected))
      faults.push(
        `${row.group.route}: the gateway tells ${JSON.stringify(told)}, the vendor ${JSON.stringify(expected)}`,
      );
  }
}

/** Where everything goes on as it should, no call has a reason why it missed. */
function judgeMisses({ gateway, faults }: World): void {
  for (const line of gateway.lines()) {
    const attempts = (line["attempts"] ?? []) as readonly { readonly prompt_cache_miss?: object }[];
    for (const { prompt_cache_miss: miss } of attempts)
      if (miss !== undefined) faults.push(`a call of ${String(line["route"])} missed: ${JSON.stringify(miss)}`);
  }
}

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`;
const rateOf = ({ read, prompt }: Rate): number => read / prompt;

async function main(): Promise<number> {
  const vendor = cachingVendor();
  const upstream = startUpstream((request) => {
    const { status, body } = vendor.answer(request);
    return Response.json(body, { status });
  });
  const gateway = await startGateway({ config: configOf(upstream.url) });
  const world: World = { gateway, upstream, vendor, faults: [] };
  const rates: Rate[] = [];
  for (const agent of AGENTS) for (const way of WAYS) rates.push(await played(agent, way, world));
  await compareBooks(world, rates);
  const code = await gateway.stop();
  if (code !== 0) world.faults.push(`the gateway ended with exit code ${code}`);
  judgeMisses(world);
  await upstream.stop();
  const rows = AGENTS.map((agent) => {
    const [without, withIt] = WAYS.map((way) => rates.find((rate) => rate.agent === agent && rate.way === way)!);
    if (rateOf(withIt!) < LEAST_RATE || rateOf(withIt!) <= rateOf(without!))
      world.faults.push(`${agent.name}: ${percent(rateOf(without!))} without, and ${percent(rateOf(withIt!))} with`);
    return [agent.name, MODELS[agent.vendor], percent(rateOf(without!)), percent(rateOf(withIt!))];
  });
  process.stdout.write(`${table(["agent", "model", "hit rate without", "hit rate with"], rows)}\n`);
  return tellFaults(world.faults);
}

process.exit(await main());
