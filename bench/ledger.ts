// `npm run bench:ledger`: the cost of the journal in a process that is bound to one core (taskset). It measures the CPU
// time per call at full speed, and then 20,000 rows per second for some seconds while the disk is synced as in the
// gateway. `--seconds` sets how long each lasts, and `--folder` selects the disk.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/core/clock.ts";
import { newTraceId } from "../src/core/ids.ts";
import { attemptOf, bareRecord } from "../test/contract/store/call-records.ts";
import type { CallRecord } from "../src/core/record/record.ts";
import { Journal } from "../src/store/journal/journal.ts";
import { type JournalDisk, systemDisk } from "../src/store/journal/journal-disk.ts";
import { segmentPath, segmentsOf } from "../src/store/journal/journal-folder.ts";
import { newRandomName } from "../src/store/journal/journal-identity.ts";
import { missingTools, onCore } from "./subjects/process-stats.ts";

const ROWS_PER_SECOND = 20_000;
const CORE = 0;
const PACE_MS = 2;

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    folder: { type: "string", default: tmpdir() },
    bound: { type: "boolean", default: false },
  },
});

/** The record of a non-streaming call of a small model under three limits: 1.4 KB. */
function aRecord(): CallRecord {
  const limits = ["lim_requests", "lim_tokens", "bud_month"].map((id) => ({
    id,
    value: "",
    unit: "requests" as const,
    before: 3,
    reserved: 1,
    settled: 1,
    after: 4,
    wouldRefuse: false,
  }));
  const startedAtMs = systemClock.now();
  return bareRecord({
    traceId: newTraceId(startedAtMs),
    startedAtMs,
    snapshotVersion: 3,
    tokenId: "gXjv9JZ7bHQC",
    tenantId: "default",
    projectId: "default",
    modelAsked: "openai:gpt-4o",
    route: "direct",
    provider: "openai",
    model: "gpt-4o",
    stream: true,
    status: 200,
    dispositions: { temperature: "native", stream: "native", max_completion_tokens: "mapped" },
    messages: { count: 2, roles: { system: 1, user: 1 }, blocks: [], bodyCharacters: 1043 },
    attempts: [
      attemptOf({
        provider: "openai",
        spanId: null,
        usage: null,
        usageSource: null,
        headMs: 1.2341234,
        firstContentMs: 2.1234123,
        totalMs: 4.1234123,
      }),
    ],
    finishReasons: ["stop"],
    usage: { prompt_tokens: 12, completion_tokens: 200, total_tokens: 212 },
    usageSource: "provider",
    cost: { nanoUsd: 123_400, priceId: "openai/gpt-4o@2026-01-01" },
    limits,
    firstContentMs: 2.123412341234,
    totalMs: 4.1234123412,
    ownMs: 0.0912341234,
  });
}

interface Measured {
  readonly rows: number;
  readonly seconds: number;
  /** The user and system time of the process with all its threads, including those that sync the disk. */
  readonly cpuMicros: number;
  readonly syncs: number;
  readonly syncMs: readonly number[];
  /** How much later than requested the timers of the event loop ran. */
  readonly lateMs: readonly number[];
}

/** At full speed; as many calls as one turn of the event loop has at 32 busy connections share their writes. */
const ROWS_A_TURN = 32;

/** A disk that accepts everything and writes nothing, so that only the gateway's own work remains. */
const noDisk: JournalDisk = {
  ...systemDisk,
  write: (_fd, _bytes, length) => length,
  sync: () => Promise.resolve(),
  syncFolder: () => Promise.resolve(),
};

/**
 * Measures the journal on a disk, with its segments removed as a shipper does. With `perSecond` null, it runs at full
 * speed.
 */
async function measure(perSecond: number | null, real: JournalDisk = systemDisk): Promise<Measured> {
  const folder = mkdtempSync(join(flags.folder, "dragoman-bench-"));
  const syncMs: number[] = [];
  const lateMs: number[] = [];
  const disk: JournalDisk = {
    ...real,
    async sync(fd) {
      const startedMs = performance.now();
      await real.sync(fd);
      syncMs.push(performance.now() - startedMs);
    },
  };
  const journal = new Journal({
    folder,
    run: newRandomName(),
    firstSegment: 1,
    settings: { sync: "background", onFull: "refuse" },
    disk,
    clock: systemClock,
    onFault: (words) => process.stderr.write(`${words}\n`),
    onMended: () => {},
  });
  await journal.start();
  const records = Array.from({ length: 256 }, aRecord);
  let rows = 0;
  const call = (): void => {
    const record = records[(rows / 2) % 256]!;
    void journal.close(journal.open(record), record);
    rows += 2;
  };
  for (let count = 0; count < 5000; count++) call();
  await journal.synced();
  rows = 0;
  syncMs.length = 0;
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  const endsMs = startedMs + Number(flags.seconds) * 1000;
  let releasedMs = startedMs;
  for (let nowMs = startedMs; nowMs < endsMs; nowMs = performance.now()) {
    const due = perSecond === null ? rows + ROWS_A_TURN : ((nowMs - startedMs) / 1000) * perSecond;
    while (rows < due) call();
    const asked = performance.now();
    await (perSecond === null ? new Promise((resolve) => setImmediate(resolve)) : Bun.sleep(PACE_MS));
    lateMs.push(performance.now() - asked - (perSecond === null ? 0 : PACE_MS));
    if (nowMs - releasedMs < 500) continue;
    releasedMs = nowMs;
    const segments = segmentsOf(folder);
    for (const segment of segments.slice(0, -1))
      if (await journal.mayRelease(segment)) disk.remove(segmentPath(folder, segment));
  }
  await journal.synced();
  const { user, system } = process.cpuUsage(cpu);
  const measured: Measured = {
    rows,
    seconds: (performance.now() - startedMs) / 1000,
    cpuMicros: user + system,
    syncs: syncMs.length,
    syncMs,
    lateMs,
  };
  await journal.end();
  rmSync(folder, { recursive: true, force: true });
  return measured;
}

function line(what: string, { rows, seconds, cpuMicros, syncs, syncMs, lateMs }: Measured): string {
  const at = (values: readonly number[], part: number): string =>
    (values.toSorted((one, other) => one - other)[Math.floor(values.length * part)] ?? 0).toFixed(2);
  const cells = [
    what,
    Math.round(rows / seconds).toLocaleString("en"),
    (cpuMicros / (rows / 2)).toFixed(2),
    `${Math.round((cpuMicros / seconds / 1e6) * 100)} %`,
    String(Math.round(syncs / seconds)),
    `${at(syncMs, 0.5)}, ${at(syncMs, 0.99)}`,
    `${at(lateMs, 0.5)}, ${at(lateMs, 0.99)}`,
  ];
  return `| ${cells.join(" | ")} |\n`;
}

async function main(): Promise<number> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`${missing}\n`);
    return 1;
  }
  if (!flags.bound)
    return await Bun.spawn(
      onCore(CORE, [
        ...(process.execArgv.length === 0 ? [process.execPath] : [process.execPath, ...process.execArgv]),
        import.meta.path,
        ...process.argv.slice(2),
        "--bound",
      ]),
      { stdout: "inherit", stderr: "inherit" },
    ).exited;
  process.stdout.write(
    "| one core, two rows for each call, 1.9 KB | rows/s | CPU µs/call | of the core | syncs/s | sync p50, p99 ms | event loop late p50, p99 ms |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
  );
  process.stdout.write(line("as fast as it goes, without a disk", await measure(null, noDisk)));
  process.stdout.write(line("as fast as it goes", await measure(null)));
  const paced = await measure(ROWS_PER_SECOND);
  process.stdout.write(line(`at ${ROWS_PER_SECOND.toLocaleString("en")} rows/s`, paced));
  return paced.rows / paced.seconds > ROWS_PER_SECOND * 0.98 ? 0 : 1;
}

process.exit(await main());
