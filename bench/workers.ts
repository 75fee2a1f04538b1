// `npm run bench:workers`: one worker and several in turns in one run: calls per second, and the CPU time of a call in the
// workers and in the supervisor, without limits and under five. With `--bound`, each gateway has one core, and all its
// workers but one are stopped, so that the CPU time of a call compares with that of one process that has as much to do.
// `--quick` only shows that everything works, and `--workers` sets how many are several.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { figuresTable } from "../docs/generators/markdown.ts";
import { GOVERNED } from "./subjects/governed.ts";
import { startMock } from "./load/mock.ts";
import { bindToCore, chooseCores, missingTools } from "./subjects/process-stats.ts";
import { startServer, underBun } from "./subjects/subject.ts";
import { type WorkerCost, workerCosts } from "./worker-costs.ts";

const { values: flags, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    bound: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const PACE = flags.quick ? { warmUpMs: 100, rounds: 1, roundMs: 150 } : { warmUpMs: 15_000, rounds: 6, roundMs: 3000 };

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
  try {
    const setups = [1, Number(flags.workers)].flatMap((workers) => [
      { label: `${labelOf(workers)}, no limits`, workers },
      { label: `${labelOf(workers)}, three policies, five limits`, workers, own: { configuration: GOVERNED } },
    ]);
    const bench = { folder, mockPort: mock.port, cores, isBound: flags.bound, pace: PACE };
    process.stdout.write(`${table(await workerCosts(bench, setups))}\n`);
  } finally {
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function labelOf(workers: number): string {
  if (workers === 1) return "1 worker";
  return flags.bound ? `1 of ${workers} workers` : `${workers} workers`;
}

function table(costs: readonly WorkerCost[]): string {
  return figuresTable(
    ["", "calls/s", "CPU µs a call", "in the workers", "in the supervisor", "of its main thread", "messages a call"],
    costs.map(({ label, perSecond, servingMicros, supervisor }) => [
      label,
      perSecond.toFixed(0),
      (servingMicros + (supervisor?.micros ?? 0)).toFixed(1),
      servingMicros.toFixed(1),
      supervisor?.micros.toFixed(1) ?? "",
      supervisor?.mainMicros.toFixed(1) ?? "",
      supervisor?.messages.toFixed(2) ?? "",
    ]),
  );
}

if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main();
