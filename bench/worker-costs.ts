// What a call costs in gateways with one or several workers, measured in turns in one run: CPU time in the workers and in
// the supervisor, and what goes over the channel between them. The load is wrk, or the benchmark's own where there is none.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { childrenOf } from "../test/harness/processes/processes.ts";
import { chatBody } from "./load/answers.ts";
import { type OwnSetup, startGateway } from "./subjects/gateway.ts";
import { httpRequest, runLoad } from "./load/load.ts";
import { type Cores, cpuSeconds, residentMb, threadTimes } from "./subjects/process-stats.ts";
import type { Subject } from "./subjects/subject.ts";

export interface WorkerCost {
  readonly label: string;
  readonly workers: number;
  readonly perSecond: number;
  /** Microseconds of CPU for a call in the processes that serve. */
  readonly servingMicros: number;
  /** Of the process that serves, after the load; with several, of one of them. */
  readonly servingMb: number;
  /** `null` for a single process. */
  readonly supervisor: SupervisorCost | null;
}

export interface SupervisorCost {
  /** Microseconds of CPU for a call: of its main thread, of the busiest other one (which writes to SQLite), of all. */
  readonly mainMicros: number;
  readonly writerMicros: number;
  readonly micros: number;
  /** Messages and bytes for a call, both ways. */
  readonly messages: number;
  readonly bytes: number;
  readonly mb: number;
}

export interface WorkerSetup {
  readonly label: string;
  readonly workers: number;
  readonly own?: OwnSetup;
}

export interface WorkerBench {
  /** An existing folder for what the gateways need. */
  readonly folder: string;
  readonly mockPort: number;
  readonly cores: Cores;
  /** Each gateway has one core, and all its workers but one are stopped. Otherwise it may use every core. */
  readonly isBound: boolean;
  readonly pace: { readonly warmUpMs: number; readonly rounds: number; readonly roundMs: number };
}

/** For each worker, so that a worker has as much to do as one alone. */
const CONNECTIONS = 32;
const ANSWER = "openai-plain";

type Round = Omit<WorkerCost, "label" | "workers">;

interface Measured {
  readonly setup: WorkerSetup;
  readonly connections: number;
  readonly subject: Subject;
  readonly rounds: Round[];
}

/** Medians of the rounds, in the order of the setups. */
export async function workerCosts(bench: WorkerBench, setups: readonly WorkerSetup[]): Promise<readonly WorkerCost[]> {
  const measured: Measured[] = [];
  try {
    for (const setup of setups) {
      const { workers, own = {} } = setup;
      measured.push({
        setup,
        connections: bench.isBound ? CONNECTIONS : CONNECTIONS * workers,
        subject: await startGateway(
          join(bench.folder, `workers-${bench.isBound ? "bound" : "free"}-${measured.length}`),
          bench.mockPort,
          bench.isBound ? bench.cores.subject : null,
          { ...own, environment: { ...own.environment, DRAGOMAN_WORKERS: String(workers) } },
        ),
        rounds: [],
      });
    }
    if (bench.isBound) for (const { subject } of measured) await keepOneWorker(subject);
    for (const each of measured) await load(bench, each, bench.pace.warmUpMs);
    for (let round = 0; round < bench.pace.rounds; round++)
      for (const each of round % 2 === 0 ? measured : measured.toReversed())
        each.rounds.push(await measuredRound(bench, each));
    return measured.map(({ setup, rounds }) => ({ label: setup.label, workers: setup.workers, ...medians(rounds) }));
  } finally {
    for (const { subject } of measured) signalOthers(subject, "SIGCONT");
    await Promise.all(measured.map(({ subject }) => subject.stop()));
  }
}

/** Time in which the supervisor finds a worker silent, and gives it no more connections. */
const SILENT_MS = 4000;

async function keepOneWorker(subject: Subject): Promise<void> {
  if (signalOthers(subject, "SIGSTOP")) await Bun.sleep(SILENT_MS);
}

/** Signals all workers but the first. Returns whether there are any. */
function signalOthers({ pids: [first = 0] }: Subject, name: "SIGSTOP" | "SIGCONT"): boolean {
  const others = childrenOf(first).slice(1);
  for (const pid of others) process.kill(pid, name);
  return others.length > 0;
}

async function measuredRound(bench: WorkerBench, measured: Measured): Promise<Round> {
  const { subject } = measured;
  const [first = 0] = subject.pids;
  const workers = childrenOf(first);
  const serving = workers.length === 0 ? [first] : workers;
  const hasSupervisor = workers.length > 0;
  const before = {
    serving: cpuSeconds(serving),
    supervisor: threadTimes(first),
    channel: hasSupervisor ? await channelCounts(subject) : null,
  };
  const { requests, seconds } = await load(bench, measured, bench.pace.roundMs);
  // Rows that wait are shipped in the rounds of the others.
  const micros = (spent: number): number => (spent * 1e6) / requests;
  const servingMicros = micros(cpuSeconds(serving) - before.serving);
  const supervisor = threadTimes(first);
  const channel = before.channel === null ? null : await channelCounts(subject);
  subject.tidy();
  return {
    perSecond: requests / seconds,
    servingMicros,
    servingMb: residentMb(serving[0]!),
    supervisor:
      channel === null
        ? null
        : {
            mainMicros: micros(supervisor.main - before.supervisor.main),
            writerMicros: micros(busiest(supervisor.others, before.supervisor.others)),
            micros: micros(supervisor.all - before.supervisor.all),
            messages: (channel.messages - before.channel!.messages) / requests,
            bytes: (channel.bytes - before.channel!.bytes) / requests,
            mb: residentMb(first),
          },
  };
}

/** The most that one thread has used between two readings. */
function busiest(after: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): number {
  return Math.max(0, ...[...after].map(([thread, seconds]) => seconds - (before.get(thread) ?? 0)));
}

/** What has gone over the channels of all workers, both ways. */
async function channelCounts({ port }: Subject): Promise<{ readonly messages: number; readonly bytes: number }> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: "close" } });
  const text = await response.text();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^dragoman_worker_${name}_total\\{.*\\} (\\d+)$`, "gm"))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return { messages: sum("messages"), bytes: sum("bytes") };
}

async function load(
  { folder }: WorkerBench,
  { subject, connections }: Measured,
  durationMs: number,
): Promise<{ readonly requests: number; readonly seconds: number }> {
  const { path, model, token } = subject.target(ANSWER);
  const body = chatBody(model, false);
  const wrk = Bun.which("wrk");
  if (wrk === null || durationMs < 1000) {
    const request = httpRequest(subject.port, path, body, token);
    return await runLoad({ port: subject.port, request }, { connections, durationMs });
  }
  const script = join(folder, "post.lua");
  writeFileSync(
    script,
    `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body)}\nwrk.headers["authorization"] = "Bearer ${token}"\nwrk.headers["content-type"] = "application/json"\n`,
  );
  const address = `http://127.0.0.1:${subject.port}${path}`;
  const flags = ["-t1", "--timeout", "30s", `-c${connections}`, `-d${Math.round(durationMs / 1000)}s`, "-s", script];
  const child = Bun.spawn([wrk, ...flags, address], { stdout: "pipe" });
  const words = await new Response(child.stdout).text();
  const faults = /Non-2xx.*|Socket errors.*/.exec(words);
  if (faults !== null) throw new Error(`calls failed under load: ${faults[0]}`);
  const [, requests, took] = /(\d+) requests in ([\d.]+)s/.exec(words)!;
  return { requests: Number(requests), seconds: Number(took) };
}

function medians(rounds: readonly Round[]): Round {
  const median = (of: (round: Round) => number): number =>
    rounds.map(of).toSorted((a, b) => a - b)[rounds.length >> 1]!;
  const supervised = (of: (cost: SupervisorCost) => number): number => median(({ supervisor }) => of(supervisor!));
  return {
    perSecond: median(({ perSecond }) => perSecond),
    servingMicros: median(({ servingMicros }) => servingMicros),
    servingMb: median(({ servingMb }) => servingMb),
    supervisor:
      rounds[0]!.supervisor === null
        ? null
        : {
            mainMicros: supervised(({ mainMicros }) => mainMicros),
            writerMicros: supervised(({ writerMicros }) => writerMicros),
            micros: supervised(({ micros }) => micros),
            messages: supervised(({ messages }) => messages),
            bytes: supervised(({ bytes }) => bytes),
            mb: supervised(({ mb }) => mb),
          },
  };
}
