// `npm run bench:sizing`: measures what a machine needs for the gateway, and prints the page docs/sizing.md. --write puts
// the figures into sizing.json beside this file and makes the page of them, --quick only shows that everything works. It
// takes some fifteen minutes. What a machine lacks for a part (a program, or enough files that may be open) is said on the
// page.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chatBody } from "../load/answers.ts";
import type { OwnSetup } from "../subjects/gateway.ts";
import { GOVERNED } from "../subjects/governed.ts";
import { httpRequest, runLoad } from "../load/load.ts";
import { startMock } from "../load/mock.ts";
import {
  bindToCore,
  chooseCores,
  cpuSeconds,
  missingTools,
  mostOpenFiles,
  residentMb,
  writtenBytes,
} from "../subjects/process-stats.ts";
import { measureMemory, type MemoryResult } from "../load/scenarios.ts";
import { type SeededData, seeded } from "../load/seeded-data.ts";
import { CONNECTIONS, SizingBench, type SizingPace } from "./bench.ts";
import type { CallName, DiskUse, Growth, Sizing, Unmeasured } from "./figures.ts";
import { sizingPage } from "./page.ts";
import { postgresFigures, valkeyFigures } from "./stores.ts";
import { startServer, type Subject, underBun } from "../subjects/subject.ts";
import { workerCosts } from "../worker-costs.ts";

const PAGE = join(import.meta.dir, "..", "..", "docs", "sizing.md");
const FIGURES = join(import.meta.dir, "sizing.json");
/** Files and sockets that a gateway has open besides the two sockets of each stream. */
const OTHER_FILES = 500;
const FULL: SizingPace = {
  warmUpMs: 12_000,
  rounds: 5,
  roundMs: 2000,
  openStreams: [1000, 10_000],
  settleMs: 60_000,
  calls: 50_000,
  largest: { tokens: 100_000, tenants: 1000, policies: 10_000, limits: 10_000, ownRoutes: 1000 },
};
const QUICK: SizingPace = {
  warmUpMs: 50,
  rounds: 1,
  roundMs: 50,
  openStreams: [20, 1_000_000],
  settleMs: 100,
  calls: 50,
  largest: { tokens: 50, tenants: 5, policies: 20, limits: 20, ownRoutes: 10 },
};
/** Of a quick run, whose wish for many streams is only there to be cut. */
const QUICK_STREAMS = 40;

const { values: flags, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main(flags.quick ? QUICK : FULL);

async function main(pace: SizingPace): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const folder = mkdtempSync(join(tmpdir(), "dragoman-sizing-"));
  const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
  const bench = new SizingBench({ folder, mockPort: mock.port, cores, pace });
  try {
    const sizing = await measured(bench);
    const page = sizingPage(sizing);
    process.stdout.write(page);
    if (flags.write) {
      writeFileSync(FIGURES, `${JSON.stringify(sizing, null, 2)}\n`);
      writeFileSync(PAGE, page);
    }
  } finally {
    for (const stop of bench.stops.toReversed()) await stop();
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(bench: SizingBench): Promise<Sizing> {
  const loadBefore = loadavg()[0]!;
  const calls = await callCosts(bench);
  const workers = await boundWorkers(bench);
  const postgres = await orReason("PostgreSQL", () => postgresFigures(bench));
  const isThere = !("unmeasured" in postgres);
  return {
    machine: `${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Linux ${release()}, Bun ${Bun.version}`,
    loadBefore,
    date: new Date().toISOString().slice(0, 10),
    quick: flags.quick,
    calls,
    workers: { ...workers, postgres: isThere ? postgres.workers : postgres },
    together: await togetherOnAllCores(bench),
    growth: await growth(bench),
    memory: await memory(bench),
    streamsWanted: Math.max(...bench.pace.openStreams),
    disk: await diskUse(bench),
    postgres: isThere ? postgres.store : postgres,
    valkey: await orReason("Valkey or Redis", () => valkeyFigures(bench)),
  };
}

/** A part that another program or the system has to allow: when it fails, the page says why, and the run goes on. */
async function orReason<T extends object>(
  what: string,
  measure: () => Promise<T | Unmeasured>,
): Promise<T | Unmeasured> {
  tell(what);
  try {
    return await measure();
  } catch (thrown) {
    const [reason = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split("\n");
    process.stderr.write(`bench: ${what} could not be measured: ${reason}\n`);
    return { unmeasured: reason };
  }
}

/** A gateway and the request that it is measured with. */
interface Variant {
  readonly subject: Subject;
  readonly answer: string;
}

/** CPU µs per call of all threads, the least of some rounds that the variants take in turns. */
async function inTurns(variants: readonly Variant[], { pace }: SizingBench): Promise<readonly number[]> {
  const least = variants.map(() => Number.POSITIVE_INFINITY);
  for (const variant of variants) await load(variant, pace.warmUpMs);
  for (let round = 0; round < pace.rounds; round++)
    for (const [index, variant] of variants.entries())
      least[index] = Math.min(least[index]!, await load(variant, pace.roundMs));
  return least;
}

async function load({ subject, answer }: Variant, durationMs: number): Promise<number> {
  const { path, model, token } = subject.target(answer);
  const request = httpRequest(subject.port, path, chatBody(model, answer.endsWith("-stream")), token);
  const before = cpuSeconds(subject.pids);
  const { requests } = await runLoad({ port: subject.port, request }, { connections: CONNECTIONS, durationMs });
  const micros = ((cpuSeconds(subject.pids) - before) / requests) * 1e6;
  subject.tidy();
  return micros;
}

async function setup(
  bench: SizingBench,
  data: SeededData,
  configuration = "",
): Promise<OwnSetup & Required<Pick<OwnSetup, "data">>> {
  const folder = bench.newPath();
  return { configuration, data: { folder, token: await seeded(folder, data) } };
}

async function callCosts(bench: SizingBench): Promise<Sizing["calls"]> {
  tell("what a core carries");
  const plain = await bench.gateway();
  const governed = await bench.gateway({ configuration: GOVERNED });
  const rows: readonly (readonly [CallName, string, Subject, string])[] = [
    ["plain", "a plain call of 1 KB each way, same shape", plain, "openai-plain"],
    ["anthropic", "the same, translated (Anthropic Messages)", plain, "anthropic-plain"],
    ["bedrock", "the same, translated (Bedrock Converse)", plain, "bedrock-plain"],
    ["governed", "the same, same shape, with three policies and five limits", governed, "openai-plain"],
    ["stream", "a stream of 200 events, same shape", plain, "openai-stream"],
    ["anthropicStream", "the same, translated (Anthropic Messages)", plain, "anthropic-stream"],
    ["bedrockStream", "the same, translated (Bedrock Converse)", plain, "bedrock-stream"],
  ];
  const micros = await inTurns(
    rows.map(([, , subject, answer]) => ({ subject, answer })),
    bench,
  );
  await stopAll([plain, governed]);
  return Object.fromEntries(
    rows.map(([name, label], index) => [name, { label, micros: micros[index]! }]),
  ) as unknown as Sizing["calls"];
}

async function boundWorkers(bench: SizingBench): Promise<Pick<Sizing["workers"], "plain" | "governed">> {
  tell("what workers and their supervisor cost");
  const own = { configuration: GOVERNED };
  const [plain, governed, plainOfTwo, governedOfTwo] = await workerCosts(bench.workers(true), [
    { label: "one process", workers: 1 },
    { label: "one process, three policies and five limits", workers: 1, own },
    { label: "1 of 2 workers", workers: 2 },
    { label: "1 of 2 workers, three policies and five limits", workers: 2, own },
  ]);
  return {
    plain: { alone: plain!, ofTwo: plainOfTwo! },
    governed: { alone: governed!, ofTwo: governedOfTwo! },
  };
}

function togetherOnAllCores(bench: SizingBench): Promise<Sizing["together"]> {
  tell("one worker and two on all cores");
  return workerCosts(bench.workers(false), [
    { label: "one process", workers: 1 },
    { label: "2 workers", workers: 2 },
  ]);
}

async function growth(bench: SizingBench): Promise<readonly Growth[]> {
  tell("how the cost grows");
  const { tokens, tenants, policies, limits, ownRoutes } = bench.pace.largest;
  const number = (value: number): string => value.toLocaleString("en-US");
  const cases: readonly (readonly [string, SeededData, string?])[] = [
    ["nothing else", {}],
    [`${number(tokens)} access tokens`, { tokens, tenants }],
    [`${number(policies)} policies of other projects`, { policies, tenants }],
    [`${number(limits)} limits of other projects`, { limits, tenants }],
    [`${number(ownRoutes)} routes of the same project`, { ownRoutes }],
    [`${number(tenants)} tenants`, { tenants }],
    ["three policies and five limits that apply", {}, GOVERNED],
  ];
  const variants: (Variant & Pick<Growth, "label" | "cpuMs" | "mb">)[] = [];
  for (const [label, data, configuration] of cases) {
    const subject = await bench.gateway(await setup(bench, data, configuration));
    const cpuMs = cpuSeconds(subject.pids) * 1000;
    variants.push({ label, subject, answer: "openai-plain", cpuMs, mb: residentMb(subject.pids[0]!) });
  }
  const micros = await inTurns(variants, bench);
  await stopAll(variants.map(({ subject }) => subject));
  return variants.map(({ label, cpuMs, mb }, index) => ({ label, micros: micros[index]!, cpuMs, mb }));
}

/** As many open streams as the system allows, where it allows fewer than wanted. */
async function memory(bench: SizingBench): Promise<Sizing["memory"]> {
  const results: (MemoryResult | Unmeasured)[] = [];
  const most = flags.quick ? QUICK_STREAMS : Math.floor((mostOpenFiles() - OTHER_FILES) / 2);
  for (const openStreams of new Set(bench.pace.openStreams.map((wanted) => Math.min(wanted, most)))) {
    results.push(
      await orReason(`memory of ${openStreams} open streams`, async () => {
        const subject = await bench.gateway();
        try {
          return await measureMemory(subject, bench.mockPort, { openStreams, settleMs: bench.pace.settleMs });
        } finally {
          await subject.stop();
        }
      }),
    );
  }
  return results;
}

/** Per call, when every call was put into SQLite and the gateway has stopped. */
async function diskUse(bench: SizingBench): Promise<DiskUse> {
  tell("disk");
  const own = await setup(bench, {});
  const folder = bench.newPath();
  const keptBefore = bytesIn(own.data.folder);
  const subject = await bench.gateway(own, folder);
  const [pid = 0] = subject.pids;
  const before = { written: writtenBytes(pid), log: statSync(join(folder, "log")).size };
  const calls = await bench.makeCalls(subject, bench.pace.calls);
  const written = (writtenBytes(pid) - before.written) / calls;
  await stopAll([subject]);
  return {
    kept: (bytesIn(own.data.folder) - keptBefore) / calls,
    written: written === 0 ? null : written,
    log: (statSync(join(folder, "log")).size - before.log) / calls,
  };
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

async function stopAll(subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) await subject.stop();
}

function tell(what: string): void {
  process.stderr.write(`bench: ${what} ...\n`);
}
