// `npm run bench:workers`: one worker and several in turns in one run: calls per second, and the CPU time of a call in the
// workers and in the supervisor, without limits and under five. The load is wrk, or this program's own where there is none.
// With `--bound`, each gateway has one core, and all its workers but one are stopped, so that the CPU time of a call
// compares with that of one process that has as much to do. `--quick` only shows that everything works, and `--workers`
// sets how many are several.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { figuresTable } from "../docs/markdown.ts";
import { childrenOf } from "../test/harness/processes.ts";
import { chatBody } from "./answers.ts";
import { startGateway } from "./gateway.ts";
import { GOVERNED } from "./governed.ts";
import { httpRequest, runLoad } from "./load.ts";
import { startMock } from "./mock.ts";
import { bindToCore, chooseCores, cpuSeconds, missingTools } from "./process-stats.ts";
import { startServer, type Subject, underBun } from "./subject.ts";

const { values: flags, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    bound: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const PACE = flags.quick ? { warmUpMs: 100, rounds: 1, roundMs: 150 } : { warmUpMs: 15_000, rounds: 6, roundMs: 3000 };
/** For each worker, so that a worker has as much to do as one alone. */
const CONNECTIONS = 32;
const ANSWER = "openai-plain";

/** Of one subject in one round. */
interface Round {
  readonly perSecond: number;
  /** Microseconds of CPU for a call: in the processes that serve, and in the supervisor, if there is one. */
  readonly servingMicros: number;
  readonly supervisorMicros: number | null;
}

interface Measured {
  readonly label: string;
  readonly connections: number;
  readonly subject: Subject;
  readonly rounds: Round[];
}

async function main(): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-"));
  const cores = chooseCores();
  if (flags.bound) bindToCore(process.pid, cores.load);
  const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
  const measured: Measured[] = [];
  try {
    for (const workers of ["1", flags.workers])
      for (const [limits, configuration] of [
        ["no limits", ""],
        ["three policies, five limits", GOVERNED],
      ] as const)
        measured.push({
          connections: flags.bound ? CONNECTIONS : CONNECTIONS * Number(workers),
          label: `${labelOf(Number(workers))}, ${limits}`,
          subject: await startGateway(
            join(folder, String(measured.length)),
            mock.port,
            flags.bound ? cores.subject : null,
            {
              configuration,
              environment: { DRAGOMAN_WORKERS: workers },
            },
          ),
          rounds: [],
        });
    if (flags.bound) for (const each of measured) await keepOneWorker(each);
    for (const each of measured) await load(folder, each, PACE.warmUpMs);
    for (let round = 0; round < PACE.rounds; round++)
      for (const each of round % 2 === 0 ? measured : measured.toReversed())
        each.rounds.push(await measuredRound(folder, each));
    process.stdout.write(`${table(measured)}\n`);
  } finally {
    for (const { subject } of measured) signal(subject, "SIGCONT");
    await Promise.all([mock, ...measured.map(({ subject }) => subject)].map(({ stop }) => stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Time in which the supervisor finds a worker silent, and gives it no more connections. */
const SILENT_MS = 4000;

async function keepOneWorker({ subject }: Measured): Promise<void> {
  if (signal(subject, "SIGSTOP")) await Bun.sleep(SILENT_MS);
}

/** Signals all workers but the first. Returns whether there are any. */
function signal({ pids: [first = 0] }: Subject, name: "SIGSTOP" | "SIGCONT"): boolean {
  const others = childrenOf(first).slice(1);
  for (const pid of others) process.kill(pid, name);
  return others.length > 0;
}

function labelOf(workers: number): string {
  if (workers === 1) return "1 worker";
  return flags.bound ? `1 of ${workers} workers` : `${workers} workers`;
}

async function measuredRound(folder: string, measured: Measured): Promise<Round> {
  const { subject } = measured;
  const [first = 0] = subject.pids;
  const workers = childrenOf(first);
  const serving = workers.length === 0 ? [first] : workers;
  const before = { serving: cpuSeconds(serving), first: cpuSeconds([first]) };
  const { requests, seconds } = await load(folder, measured, PACE.roundMs);
  // rows that wait are shipped in the rounds of the others
  const micros = (spent: number): number => (spent * 1e6) / requests;
  subject.tidy();
  return {
    perSecond: requests / seconds,
    servingMicros: micros(cpuSeconds(serving) - before.serving),
    supervisorMicros: workers.length === 0 ? null : micros(cpuSeconds([first]) - before.first),
  };
}

async function load(
  folder: string,
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
  const seconds = Math.round(durationMs / 1000);
  const child = Bun.spawn(
    [
      wrk,
      "-t1",
      "--timeout",
      "30s",
      `-c${connections}`,
      `-d${seconds}s`,
      "-s",
      script,
      `http://127.0.0.1:${subject.port}${path}`,
    ],
    { stdout: "pipe" },
  );
  const words = await new Response(child.stdout).text();
  const faults = /Non-2xx.*|Socket errors.*/.exec(words);
  if (faults !== null) throw new Error(`calls failed under load: ${faults[0]}`);
  const [, requests, took] = /(\d+) requests in ([\d.]+)s/.exec(words)!;
  return { requests: Number(requests), seconds: Number(took) };
}

function table(measured: readonly Measured[]): string {
  const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
  const rows = measured.map(({ label, rounds }) => {
    const supervisor = rounds.map(({ supervisorMicros }) => supervisorMicros ?? 0);
    const serving = rounds.map(({ servingMicros }) => servingMicros);
    const all = rounds.map(({ servingMicros }, index) => servingMicros + supervisor[index]!);
    return [
      label,
      median(rounds.map(({ perSecond }) => perSecond)).toFixed(0),
      median(all).toFixed(1),
      median(serving).toFixed(1),
      rounds[0]?.supervisorMicros === null ? "" : median(supervisor).toFixed(1),
    ];
  });
  return figuresTable(["", "calls/s", "CPU µs a call", "in the workers", "in the supervisor"], rows);
}

if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main();
