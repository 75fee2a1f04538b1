// `npm run drill:failover`: the real gateway before first targets that fail in thirty ways, each as a target with a fallback of the route or of the request, as one of
// two targets, and with hedges, plain and streamed. Prints for each way who answered, after how long, and how many requests reached the failing target; exits
// with code 1 when a promise was broken. `--only` selects ways by id, `--short` makes fewer calls and judges no times, `--write` puts the table into
// docs/routes.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packageFolder } from "../../../bin/runtime.mjs";
import { table, withGeneratedPart } from "../../../docs/generators/markdown.ts";
import { type GatewayProcess, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { readStream } from "../../../test/harness/sse.ts";
import { type FailoverUpstream, startFailoverUpstream, well, WORDS } from "./upstream.ts";
import { type Promised, type Way, WAYS } from "./ways.ts";

const { values: flags } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    only: { type: "string" },
  },
});

const SHAPES = ["route's fallback", "request's fallback", "two targets", "hedge"] as const;
type Shape = (typeof SHAPES)[number];

const CALLS = flags.short ? 6 : 20;
const PACE_MS = flags.short ? 0 : 100;
/** Most of a case is waiting; where times are judged, few run beside each other. */
const AT_ONCE = flags.short ? 32 : 8;
const OPEN_MS = 1000;
const FAILURES = 3;
const RETRIES = 1;
const HEDGE_MS = flags.short ? 1000 : 200;
/** In the short form on a machine that does other work, a healthy target may take long as well. */
const LIMIT_MS = flags.short ? 3000 : 500;
const BETWEEN_MS = flags.short ? 3000 : 1000;
/** For the gateway, the provider and the client, which share a machine. */
const OWN_TIME_MS = 400;

interface Case {
  readonly way: Way;
  readonly shape: Shape;
  readonly isStream: boolean;
  readonly id: number;
  readonly first: FailoverUpstream;
  readonly second: FailoverUpstream;
}

interface Seen {
  /** `told`: an error. `misled`: an answer that looks complete and is none. */
  readonly by: "first" | "second" | "told" | "misled";
  readonly tookMs: number;
  readonly said: string;
}

interface Judged {
  readonly of: Case;
  readonly seen: readonly Seen[];
  readonly requests: number;
  readonly faults: readonly string[];
}

function openCases(ways: readonly Way[]): readonly Case[] {
  const kinds = ways.flatMap((way) =>
    SHAPES.flatMap((shape) => [false, true].map((isStream) => ({ way, shape, isStream }))),
  );
  return kinds.map((kind, id) => ({
    ...kind,
    id,
    first: startFailoverUpstream("first", kind.way.plays),
    second: startFailoverUpstream("second", kind.way.second ?? well),
  }));
}

function configurationOf(cases: readonly Case[]): string {
  const provider = (name: string, { port }: FailoverUpstream): string =>
    `  ${name}: { type: custom, base_url: "http://127.0.0.1:${port}/v1", api_key: key, models: [m] }`;
  const route = ({ way, shape, id }: Case): string => {
    const targets = `{ model: "first${id}:m", order: 1 }`;
    const parts = [
      shape === "two targets" || shape === "hedge"
        ? `targets: [${targets}, { model: "second${id}:m", order: 2 }]`
        : `targets: [${targets}]`,
      ...(shape === "route's fallback" ? [`fallbacks: ["second${id}:m"]`] : []),
      ...(shape === "hedge" ? [`hedge: { after: ${HEDGE_MS}, max_extra: 1 }`] : []),
      `retries: ${RETRIES}`,
      `breaker: { failures: ${FAILURES}, ratio: 0.5, window_ms: 60000, open_ms: ${OPEN_MS} }`,
      // a caller with a short limit meets a route without limits of its own
      ...(way.timeoutS === undefined
        ? [
            `timeouts: { connect_ms: ${LIMIT_MS}, first_byte_ms: ${LIMIT_MS}, first_token_ms: ${LIMIT_MS}, between_chunks_ms: ${BETWEEN_MS} }`,
          ]
        : []),
    ];
    return `  r${id}: { ${parts.join(", ")} }`;
  };
  return `providers:
${cases.flatMap((one) => [provider(`first${one.id}`, one.first), provider(`second${one.id}`, one.second)]).join("\n")}
routes:
${cases.map(route).join("\n")}
`;
}

async function called(gateway: GatewayProcess, { way, shape, isStream, id }: Case): Promise<Seen> {
  const startedMs = performance.now();
  const response = await gateway.chat({
    route: `r${id}`,
    messages: [{ role: "user", content: "Go." }],
    ...(isStream && { stream: true }),
    ...(shape === "request's fallback" && { fallbacks: [`second${id}:m`] }),
    ...(way.timeoutS !== undefined && { timeout: way.timeoutS }),
  });
  const text = await response.text();
  const tookMs = performance.now() - startedMs;
  if (response.status !== 200) {
    const code = (JSON.parse(text) as { error?: { code?: string } }).error?.code;
    return { by: code === undefined ? "misled" : "told", tookMs, said: `${response.status} ${code}` };
  }
  if (!isStream) {
    const body = JSON.parse(text) as { choices: readonly { message: { content: string } }[] };
    return { by: writerOf(body.choices[0]!.message.content), tookMs, said: text.slice(0, 200) };
  }
  const { content, done, error, events } = readStream(text);
  if (error === null) return { by: done ? writerOf(content) : "misled", tookMs, said: content.slice(0, 100) };
  const looksComplete = events.some((event) => JSON.stringify(event).includes('"finish_reason":"stop"'));
  return { by: looksComplete ? "misled" : "told", tookMs, said: String(error["code"]) };
}

/** Who wrote a whole answer. One with words of both, or with too few, misleads. */
function writerOf(content: string): Seen["by"] {
  const isWhole = (name: string): boolean => content.trim() === `${name} `.repeat(WORDS).trim();
  if (isWhole("first")) return "first";
  return isWhole("second") ? "second" : "misled";
}

function promisedOf({ way, shape, isStream }: Case): Promised {
  if (way.ofTargets !== undefined && (shape === "two targets" || shape === "hedge")) return way.ofTargets;
  return isStream ? way.stream : way.plain;
}

function isKept(promised: Promised, { by }: Seen, isOpen: boolean): boolean {
  if (promised === "either") return by === "first" || by === "second";
  // once its breaker is open, no answer is begun by the failing target
  return by === promised || (promised === "told" && isOpen && by === "second");
}

/** How many requests may reach the failing target: those that open its breaker, and one for each pause that doubles. */
function mostRequests({ way, shape }: Case, elapsedMs: number): number {
  if (way.isToldToWait === true) return 1;
  if (!way.isCounted || (way.isSilent === true && shape === "hedge")) return Number.POSITIVE_INFINITY;
  let most = FAILURES + RETRIES + (way.wellBefore ?? 0);
  for (let [pauseMs, passedMs] = [OPEN_MS, OPEN_MS]; passedMs <= elapsedMs; pauseMs *= 2, passedMs += pauseMs)
    most += 1;
  return most;
}

function limitOf({ way }: Case): number {
  return way.timeoutS === undefined ? Math.max(LIMIT_MS, BETWEEN_MS) : (way.timeoutS * 1000) / 2;
}

async function judged(gateway: GatewayProcess, of: Case): Promise<Judged> {
  const startedMs = performance.now();
  const seen: Seen[] = [];
  for (let call = 0; call < CALLS; call++) {
    seen.push(await called(gateway, of));
    await Bun.sleep(PACE_MS);
  }
  const promised = promisedOf(of);
  const requests = of.first.requests();
  const faults = seen
    .filter((one, at) => !isKept(promised, one, of.way.isCounted && at > 0))
    .map(({ by, said }) => `answered by ${by} in place of ${promised}: ${said}`);
  const most = mostRequests(of, performance.now() - startedMs);
  if (requests > most) faults.push(`${requests} requests reached the failing target in place of at most ${most}`);
  const slowestMs = Math.max(...seen.map(({ tookMs }) => tookMs));
  if (!flags.short && slowestMs > limitOf(of) + OWN_TIME_MS)
    faults.push(`an answer took ${Math.round(slowestMs)} ms, more than one limit of ${limitOf(of)} ms`);
  return { of, seen, requests, faults: [...new Set(faults)] };
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2);

function tableOf(ways: readonly Way[], all: readonly Judged[]): string {
  const row = (way: Way): readonly string[] => {
    const own = all.filter(({ of }) => of.way === way);
    const by = (isStream: boolean): string => {
      const parties = own.filter(({ of }) => of.isStream === isStream).flatMap(({ seen }) => seen.map((one) => one.by));
      const words: Readonly<Record<Seen["by"], string>> = {
        first: "first",
        second: "second",
        told: "an error",
        misled: "**misled**",
      };
      return [...new Set(parties)]
        .toSorted()
        .map((party) => `${words[party]} ${parties.filter((one) => one === party).length}`)
        .join(", ");
    };
    const slowest = (isStream: boolean): string =>
      seconds(
        Math.max(
          ...own.filter(({ of }) => of.isStream === isStream).flatMap(({ seen }) => seen.map(({ tookMs }) => tookMs)),
        ),
      );
    const requests = SHAPES.map((shape) =>
      String(Math.max(...own.filter(({ of }) => of.shape === shape).map((one) => one.requests))),
    );
    const isMisled = own.some(({ seen }) => seen.some(({ by: party }) => party === "misled"));
    return [way.title, by(false), by(true), slowest(false), slowest(true), ...requests, isMisled ? "yes" : "no"];
  };
  const header = [
    "the first target",
    "answered, plain",
    "answered, streamed",
    "slowest plain, s",
    "slowest streamed, s",
    ...SHAPES.map((shape) => `requests: ${shape}`),
    "misled",
  ];
  return table(header, ways.map(row));
}

async function main(): Promise<number> {
  const ways = flags.only === undefined ? WAYS : WAYS.filter(({ id }) => flags.only!.split(",").includes(id));
  const cases = openCases(ways);
  const gateway = await startGateway({ config: configurationOf(cases) });
  const all: Judged[] = [];
  try {
    const waiting = [...cases];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        all.push(await judged(gateway, next));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    await gateway.stop();
    for (const { first, second } of cases) for (const upstream of [first, second]) upstream.stop();
  }
  const shown = tableOf(ways, all);
  process.stdout.write(`${CALLS} calls of each shape, one after the other\n\n${shown}\n\n`);
  if (flags.write) {
    const page = join(packageFolder, "docs/routes.md");
    writeFileSync(page, withGeneratedPart(readFileSync(page, "utf8"), "failover", shown));
  }
  const broken = all.flatMap(({ of, faults }) =>
    faults.map((fault) => `${of.way.id}, ${of.shape}, ${of.isStream ? "streamed" : "plain"}: ${fault}`),
  );
  for (const one of broken) process.stdout.write(`BROKEN: ${one}\n`);
  process.stdout.write(`${broken.length} broken promises\n`);
  return broken.length === 0 ? 0 : 1;
}

process.exit(await main());
