// `npm run drill`: the real gateway with three upstreams that die, stall, refuse, cut answers, send garbage and
// recover. Prints for each scenario what clients saw beside what is promised; exits with code 1 when a promise was
// broken. `--short` makes fewer calls, and `--only` selects scenarios by id.
import { parseArgs } from "node:util";
import { type GatewayProcess, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { readStream } from "../../../test/harness/sse.ts";
import { LEAST_WORDS, median, type Outcome, type Scenario, SCENARIOS } from "./scenarios.ts";
import { type DrillUpstream, startDrillUpstream } from "./upstream.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, only: { type: "string" } },
});
const SHORT = 5;
/** The first calls of a process take longer in any case. */
const WARM_UP = 6;
/** The short form judges shares of its calls, so it makes enough of them to tell a share from the first few. */
const LEAST_CALLS = 10;

/** How long a slow upstream of the short form waits: long beside what any call takes on a busy machine. */
const SLOW_MS = 600;

function configuration(ports: readonly number[]): string {
  const providers = ports
    .map((port, index) => `  up${index}: { type: custom, base_url: "http://127.0.0.1:${port}/v1" }`)
    .join("\n");
  // the short form runs among tests, on machines that do other work at the same time
  const timeouts = flags.short
    ? "timeouts: { connect_ms: 1500, first_byte_ms: 1200, first_token_ms: 1200, between_chunks_ms: 5000 }"
    : "timeouts: { connect_ms: 500, first_byte_ms: 400, first_token_ms: 400, between_chunks_ms: 2000 }";
  // thousands of calls share one machine with their provider and their clients, so that a slow answer is not a fault
  const patient =
    "timeouts: { connect_ms: 5000, first_byte_ms: 20000, first_token_ms: 20000, between_chunks_ms: 20000 }";
  const breaker = (openMs: number): string =>
    `breaker: { failures: 3, ratio: 0.5, window_ms: 60000, open_ms: ${openMs} }`;
  const first = `strategy: priority, targets: [{ model: "up0:m", order: 1 }, { model: "up1:m", order: 2 }, { model: "up2:m", order: 3 }], retries: 1, ${timeouts}`;
  return `providers:
${providers}
routes:
  first: { ${first}, ${breaker(60_000)} }
  returning: { ${first}, ${breaker(500)} }
  spread: { strategy: weighted, targets: ["up0:m", "up1:m", "up2:m"], retries: 1, ${patient}, ${breaker(500)} }
  quickest: { strategy: least_latency, targets: ["up0:m", "up1:m", "up2:m"], retries: 1, ${timeouts}, ${breaker(60_000)} }
`;
}

async function callOnce(gateway: GatewayProcess, route: string, stream: boolean): Promise<Outcome> {
  const startedMs = performance.now();
  const response = await gateway.chat({
    route,
    messages: [{ role: "user", content: "Go." }],
    ...(stream && { stream: true }),
  });
  const text = await response.text();
  const told = {
    attempts: Number(response.headers.get("x-gateway-attempts")) || null,
    tookMs: performance.now() - startedMs,
  };
  if (response.status !== 200) {
    const attempts = attemptsOf(text);
    return { ...told, attempts, kind: attempts === null ? "lie" : "told", said: String(response.status), begun: false };
  }
  const words = (content: string): number => content.split(/\s+/).filter((word) => word === "word").length;
  if (!stream)
    return {
      ...told,
      kind:
        words((JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]!.message.content) ===
        LEAST_WORDS
          ? "whole"
          : "lie",
      said: "200",
      begun: true,
    };
  const read = readStream(text);
  if (read.error !== null)
    return {
      ...told,
      kind: read.done && !finished(read.events) ? "told" : "lie",
      said: String(read.error["code"]),
      begun: read.content !== "",
    };
  return {
    ...told,
    kind: read.done && words(read.content) === LEAST_WORDS ? "whole" : "lie",
    said: "200",
    begun: true,
  };
}

/** The number of attempts that an error lists, or null where it should list some and does not. */
function attemptsOf(text: string): number | null {
  const { error } = JSON.parse(text) as { error?: { metadata?: { attempts?: unknown[] }; code?: string } };
  const count = error?.metadata?.attempts?.length ?? 0;
  return count > 0 || error?.code === "no_target_available" ? count : null;
}

function finished(events: readonly Record<string, any>[]): boolean {
  return events.some(
    (event) =>
      (event["choices"] as readonly { finish_reason: unknown }[] | undefined)?.some(
        (choice) => choice.finish_reason !== null,
      ) === true,
  );
}

async function run(
  scenario: Scenario,
  gateway: GatewayProcess,
  upstreams: readonly DrillUpstream[],
): Promise<{ readonly outcomes: readonly Outcome[]; readonly requests: readonly [number, number, number] }> {
  scenario.moods.forEach((mood, index) => upstreams[index]!.become(mood));
  const before = upstreams.map(({ seen }) => seen.requests);
  const { later } = scenario;
  if (later !== undefined)
    setTimeout(() => later.moods.forEach((mood, index) => upstreams[index]!.become(mood)), later.afterMs);
  const calls = flags.short ? Math.max(LEAST_CALLS, Math.ceil(scenario.calls / SHORT)) : scenario.calls;
  const outcomes: Outcome[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < 2 * calls) {
      outcomes.push(await callOnce(gateway, scenario.route, next++ % 2 === 1));
      if (scenario.paceMs !== undefined) await Bun.sleep(scenario.paceMs);
    }
  };
  await Promise.all(Array.from({ length: Math.min(scenario.concurrency, 2 * calls) }, worker));
  const [first = 0, second = 0, third = 0] = upstreams.map(({ seen }, index) => seen.requests - before[index]!);
  return { outcomes, requests: [first, second, third] };
}

async function main(): Promise<number> {
  const chosen =
    flags.only === undefined
      ? SCENARIOS
      : SCENARIOS.filter(({ id }) => id === "healthy" || flags.only!.split(",").includes(id));
  const rows: string[][] = [];
  let broken = 0;
  let healthyMs = 0;
  for (const scenario of chosen) {
    // each scenario has a gateway of its own, which knows nothing about its upstreams yet
    const upstreams = Array.from({ length: 3 }, () => startDrillUpstream(flags.short ? SLOW_MS : undefined));
    const gateway = await startGateway({ config: configuration(upstreams.map(({ port }) => port)) });
    try {
      for (let warmUp = 0; warmUp < WARM_UP; warmUp++) await callOnce(gateway, scenario.route, warmUp % 2 === 0);
      const { outcomes, requests } = await run(scenario, gateway, upstreams);
      if (scenario.id === "healthy") healthyMs = median(outcomes);
      const fault = scenario.promise(outcomes, flags.short ? null : healthyMs, requests);
      if (fault !== null) broken++;
      const attempts = outcomes.flatMap((outcome) => outcome.attempts ?? []);
      const mean =
        attempts.length === 0 ? "-" : (attempts.reduce((sum, count) => sum + count, 0) / attempts.length).toFixed(2);
      rows.push([
        scenario.title,
        String(outcomes.length),
        String(outcomes.filter(({ kind }) => kind !== "whole").length),
        mean,
        `${(median(outcomes) - healthyMs).toFixed(1)} ms`,
        requests.join(" / "),
        scenario.promised,
        fault ?? "kept",
      ]);
    } finally {
      await gateway.stop();
      upstreams.forEach((upstream) => upstream.stop());
    }
  }
  const header = [
    "scenario",
    "calls",
    "failures seen",
    "attempts",
    "added (median)",
    "requests to each",
    "promised",
    "",
  ];
  process.stdout.write(
    `| ${header.join(" | ")} |\n|${header.map(() => " --- |").join("")}\n${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n\n${rows.length} scenarios, ${broken} broken promises\n`,
  );
  return broken === 0 ? 0 : 1;
}

process.exit(await main());
