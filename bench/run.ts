// `npm run bench`: measures all rows in one run on one machine, so that they can be compared. Prints Markdown; --write
// puts it into README.md and the figures into runs.json beside this file, --quick only shows that everything works, and --only selects rows by id, or
// `memory`. README.md describes the method.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startBareProxy } from "./subjects/bare.ts";
import { startGateway } from "./subjects/gateway.ts";
import { startMock } from "./load/mock.ts";
import { nginxProgram, nginxVersion, startNginx } from "./subjects/nginx.ts";
import { bindToCore, chooseCores, type Cores, missingTools } from "./subjects/process-stats.ts";
import { type BenchRun, historyTable, runOf, withRun } from "./run-history.ts";
import {
  FULL,
  measureMemory,
  measureRow,
  type MemoryResult,
  QUICK,
  type RowResult,
  type Scenario,
  SCENARIOS,
  type SubjectName,
} from "./load/scenarios.ts";
import { sameCall, startServer, type Subject, underBun } from "./subjects/subject.ts";
import { markdown, type Results, withResults } from "./table.ts";

const README = join(import.meta.dir, "README.md");
const RUNS = join(import.meta.dir, "runs.json");
const MEMORY = "memory";

const { values: flags, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    only: { type: "string" },
  },
  allowPositionals: true,
});

// the servers of the benchmark are this same script in processes of their own
if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else if (positionals[0] === "serve-bare") process.stdout.write(`port ${startBareProxy(Number(positionals[1])).port}\n`);
else await main();

async function main(): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-"));
  const running = new Set<Pick<Subject, "stop">>();
  const stopAll = async (): Promise<void> => {
    await Promise.all([...running].map((each) => each.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void stopAll().finally(() => process.exit(130)));
  try {
    const results = await measureAll(folder, running);
    const earlier = JSON.parse(readFileSync(RUNS, "utf8")) as readonly BenchRun[];
    const runs = flags.quick ? earlier : withRun(earlier, runOf(dayOf(results), results.rows, results.memory));
    const text = `${markdown(results)}\n\n${historyTable(runs)}`;
    process.stdout.write(`${text}\n`);
    if (flags.write) {
      writeFileSync(RUNS, `${JSON.stringify(runs, null, 2)}\n`);
      writeFileSync(README, withResults(readFileSync(README, "utf8"), text));
    }
  } finally {
    await stopAll();
  }
}

/** Everything that was started is in `running` until it is stopped. */
async function measureAll(folder: string, running: Set<Pick<Subject, "stop">>): Promise<Results> {
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const nginx = nginxProgram();
  const wanted = chooseRows(flags.only, nginx !== null);
  const pace = flags.quick ? QUICK : FULL;
  const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
  running.add(mock);

  const rows: RowResult[] = [];
  const measured = new Map<Scenario, RowResult>();
  for (const name of ["direct", "nginx", "bare", "gateway", "unbound"] as const) {
    const scenarios = wanted.rows.filter(({ subject }) => subject === name);
    if (scenarios.length === 0) continue;
    const subject = await startSubject(name, folder, mock.port, cores, nginx);
    running.add(subject);
    for (const [index, scenario] of scenarios.entries()) {
      tell(`${scenario.id} ...`);
      const warmUpMs = index === 0 ? pace.firstWarmUpMs : pace.warmUpMs;
      measured.set(scenario, await measureRow(scenario, subject, cores, { ...pace, warmUpMs }));
    }
    await subject.stop();
    running.delete(subject);
  }
  for (const scenario of wanted.rows) rows.push(measured.get(scenario)!);

  let memory: MemoryResult | null = null;
  if (wanted.memory) {
    tell(`${MEMORY} ...`);
    const fresh = await startGateway(join(folder, MEMORY), mock.port, cores.subject);
    running.add(fresh);
    memory = await measureMemory(fresh, mock.port, pace);
  }
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown CPU",
    cores: cpus().length,
    kernel: release(),
    bun: Bun.version,
    nginx: nginx && nginxVersion(nginx),
    date: new Date().toISOString().slice(0, 10),
  };
  return { machine, quick: flags.quick, rows, memory };
}

function dayOf({ machine: { date, cpu } }: Results): Pick<BenchRun, "date" | "machine"> {
  return { date, machine: cpu.replace(/ \d+-Core Processor$/, "") };
}

function chooseRows(
  only: string | undefined,
  withNginx: boolean,
): { readonly rows: readonly Scenario[]; readonly memory: boolean } {
  const ids = only?.split(",") ?? [...SCENARIOS.map(({ id }) => id), MEMORY];
  const unknown = ids.find((id) => id !== MEMORY && !SCENARIOS.some((scenario) => scenario.id === id));
  if (unknown !== undefined)
    throw new Error(`there is no row ${unknown}; there are ${SCENARIOS.map(({ id }) => id).join(", ")} and ${MEMORY}`);
  if (!withNginx) tell("nginx is not installed: its rows are left out");
  return {
    rows: SCENARIOS.filter(({ id, subject }) => ids.includes(id) && (withNginx || subject !== "nginx")),
    memory: ids.includes(MEMORY),
  };
}

async function startSubject(
  name: SubjectName,
  folder: string,
  mockPort: number,
  cores: Cores,
  nginx: string | null,
): Promise<Subject> {
  const ownFolder = join(folder, name);
  if (name === "nginx") return startNginx(nginx!, ownFolder, mockPort, cores.subject);
  if (name === "gateway") return startGateway(ownFolder, mockPort, cores.subject);
  if (name === "unbound") return startGateway(ownFolder, mockPort, null);
  if (name === "direct")
    return { port: mockPort, pids: [], target: sameCall, tidy: () => {}, stop: () => Promise.resolve() };
  const bare = await startServer(underBun(import.meta.path, "serve-bare", String(mockPort)), cores.subject);
  return { port: bare.port, pids: [bare.pid], target: sameCall, tidy: () => {}, stop: bare.stop };
}

function tell(words: string): void {
  process.stderr.write(`bench: ${words}\n`);
}
