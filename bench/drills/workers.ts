// `npm run drill:workers`: a gateway with several workers under load. Its workers are killed, made to hang, stopped for a
// while and restarted one after the other, at random. At the end the limits have to be exact by the provider's books, the
// ledger has to equal them, and no connection may have been lost in a restart (promises 13.1 and 13.2). `--short` does
// less, `--rounds` and `--workers` set how much. Exits with code 1 when a promise was broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { GatewayProcess } from "../../test/harness/processes/gateway-process.ts";
import { until } from "../../test/harness/time/until.ts";
import { childrenOf, isRunning } from "../../test/harness/processes/processes.ts";
import { callAlone, startWorkers } from "../../test/harness/workers.ts";
import { faultsOf, type Load, startLoad, tellFaults } from "./clients.ts";
import { type BookkeepingUpstream, startBookkeepingUpstream } from "./ledger/upstream.ts";
import { countedCalls, type KeptRow, keptRows } from "./ledger-rows.ts";

const { values: flags } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    rounds: { type: "string" },
    workers: { type: "string", default: "2" },
  },
});
const ROUNDS = Number(flags.rounds ?? (flags.short ? 1 : 12));
const WORKERS = Number(flags.workers);
/** The short form shares its machine with tests, so its clients pause. */
const LOAD = flags.short ? { workers: 10, paceMs: 10 } : { workers: 24, paceMs: 0 };
const MIN_CALM_MS = 100;
const MAX_CALM_MS = 600;
const STOPPED_MS = 3000;
/** The model `few` has so many requests in all, and `slots` so many calls at once. */
const FEW = 150;
const SLOTS = 4;
const BUDGET = 1_000_000_000;

/** What is done to the gateway. Each resolves when all workers serve again. */
type Disturbance = "kill" | "hang" | "stop" | "restart";
const DISTURBANCES: readonly Disturbance[] = ["kill", "restart", "hang", "kill", "stop", "restart"];

const configOf = (port: number): string => `
providers:
  books: { type: custom, base_url: "http://127.0.0.1:${port}/v1" }
limits:
  few: { metric: requests, limit: ${FEW}, window: day, scope: { model: "books:few" } }
  slots: { metric: concurrency, limit: ${SLOTS}, scope: { model: "books:slots" } }
budgets:
  all: { tokens: ${BUDGET}, window: total }
`;
const MODELS = ["books:m", "books:few", "books:slots", "books:m"] as const;
const modelOf = (call: number): string => MODELS[call % MODELS.length]!;

/** The first number from `least` on of a call to this model. */
function numberFor(model: string, least: number): number {
  let call = least;
  while (modelOf(call) !== model) call += 1;
  return call;
}

class Drill {
  readonly gateway: GatewayProcess;
  readonly load: Load;
  readonly replacedMs: number[] = [];
  readonly faults: string[] = [];
  /** How many workers were restarted in turn. */
  restarts = 0;

  constructor(gateway: GatewayProcess, load: Load) {
    this.gateway = gateway;
    this.load = load;
  }

  async disturb(what: Disturbance): Promise<void> {
    const workers = childrenOf(this.gateway.pid);
    const victim = workers[Math.floor(Math.random() * workers.length)]!;
    if (what === "restart") return await this.#restart(workers);
    if (what === "stop") {
      process.kill(victim, "SIGSTOP");
      await Bun.sleep(STOPPED_MS);
      if (!isRunning(victim)) this.faults.push("a worker that was stopped was not left alone");
      process.kill(victim, "SIGCONT");
    } else {
      const served = this.#served();
      process.kill(victim, what === "kill" ? "SIGKILL" : "SIGUSR1");
      await until(() => !isRunning(victim), `the worker that was to ${what} has ended`);
      const endedMs = performance.now();
      await until(() => this.#served() > served, "the worker was replaced");
      this.replacedMs.push(performance.now() - endedMs);
    }
    await this.load.settled();
  }

  async #restart(old: readonly number[]): Promise<void> {
    const before = this.load.clients.cut.size;
    const restarted = this.#restarted();
    process.kill(this.gateway.pid, "SIGUSR2");
    await until(() => this.#restarted() > restarted, "all workers were restarted");
    await until(() => old.every((pid) => !isRunning(pid)), "the old workers have ended");
    await this.load.settled();
    this.restarts += old.length;
    const lost = this.load.clients.cut.size - before;
    if (lost > 0) this.faults.push(`${lost} connections were lost in a planned restart`);
  }

  #served(): number {
    return this.#lines("a worker serves calls");
  }

  #restarted(): number {
    return this.#lines("all workers have been restarted");
  }

  #lines(message: string): number {
    return this.gateway.output().split(`"msg":"${message}"`).length;
  }
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const upstream = startBookkeepingUpstream();
  const gateway = await startWorkers(WORKERS, { dataFolder, config: configOf(upstream.port) });
  const load = startLoad(
    { ...LOAD, modelOf, isAlone: true, mayRefuse: (call, status) => status === 429 && modelOf(call) !== "books:m" },
    gateway.firstToken!,
    () => gateway,
  );
  const drill = new Drill(gateway, load);
  for (let round = 0; round < ROUNDS; round++)
    for (const what of DISTURBANCES) {
      await Bun.sleep(MIN_CALM_MS + Math.random() * (MAX_CALM_MS - MIN_CALM_MS));
      await drill.disturb(what);
    }
  await load.end();
  const used = await usedOfBudget(gateway, numberFor("books:m", load.clients.asked));
  const workers = childrenOf(gateway.pid);
  if (workers.length !== WORKERS) drill.faults.push(`${workers.length} workers run at the end`);
  const code = await gateway.stop("SIGTERM");
  if (code !== 0) drill.faults.push(`the gateway ended with exit code ${code}`);
  if (workers.some(isRunning)) drill.faults.push("a worker runs although the gateway has ended");
  await upstream.stop();
  const rows = keptRows(dataFolder);
  const { calls, inSums } = countedCalls(dataFolder);
  if (calls !== inSums) drill.faults.push(`the database has ${calls} calls, and ${inSums} in its sums`);
  rmSync(gateway.folder, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  drill.faults.push(...ledgerFaults(rows, drill.load, upstream), ...limitFaults(rows, upstream, used));
  tell(drill, rows, upstream);
  return tellFaults(drill.faults);
}

/** What the budget has counted, by the headers of one more call. */
async function usedOfBudget(gateway: GatewayProcess, call: number): Promise<number> {
  const response = await callAlone(gateway, {
    model: "books:m",
    messages: [{ role: "user", content: String(call) }],
    metadata: { call: String(call) },
  });
  await response.text();
  return BUDGET - Number(response.headers.get("x-ratelimit-remaining-tokens"));
}

function ledgerFaults(rows: readonly KeptRow[], { clients }: Load, upstream: BookkeepingUpstream): readonly string[] {
  const arrivals = [...upstream.models.values()].flatMap((book) => book.arrivals.map(({ call }) => call));
  const twice = arrivals.length - new Set(arrivals).size;
  return [
    ...faultsOf(rows, clients, upstream),
    ...(twice === 0 ? [] : [`${twice} calls were sent to the provider twice`]),
  ];
}

/** Returns the limits that were not exact: by the provider's books, and by the ledger. */
function limitFaults(rows: readonly KeptRow[], { models }: BookkeepingUpstream, used: number): readonly string[] {
  const faults: string[] = [];
  const few = rows.filter(({ call, status }) => modelOf(call) === "books:few" && status !== 429).length;
  if (few !== FEW) faults.push(`the ledger has ${few} calls under a limit of ${FEW}`);
  const sent = models.get("few")?.arrivals.length ?? 0;
  if (sent > FEW) faults.push(`the provider got ${sent} calls under a limit of ${FEW}`);
  const atOnce = models.get("slots")?.mostAtOnce ?? 0;
  // the few calls of the short form may never be as many at once
  if (flags.short ? atOnce > SLOTS : atOnce !== SLOTS)
    faults.push(`the provider had ${atOnce} calls at once under a limit of ${SLOTS}`);
  const tokens = rows.reduce((sum, row) => sum + (row.promptTokens ?? 0) + (row.completionTokens ?? 0), 0);
  if (tokens !== used) faults.push(`the budget has counted ${used} tokens, and the ledger ${tokens}`);
  return faults;
}

function tell(
  { load: { clients }, replacedMs, restarts }: Drill,
  rows: readonly KeptRow[],
  upstream: BookkeepingUpstream,
): void {
  const unsettled = rows.filter(({ settled }) => !settled).length;
  process.stdout.write(
    `${ROUNDS} rounds with ${WORKERS} workers, ${clients.asked} calls on connections of their own: ${clients.seen.size} answered to the last byte, ${clients.cut.size} cut by kills. The provider was asked ${upstream.asked.size} times.\n` +
      `${replacedMs.length} workers were killed or hung, and replaced within ${Math.round(Math.max(0, ...replacedMs))} ms; ${restarts} were restarted in turn. The ledger has ${rows.length} rows, ${unsettled} of them unsettled.\n`,
  );
}

process.exit(await main());
