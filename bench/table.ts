// Writes results as Markdown. Each target is marked as met or missed; a rate that something else may have limited is
// marked as void.
import { figuresTable } from "../docs/generators/markdown.ts";
import { EVENTS_PER_STREAM } from "./load/protocols.ts";
import { isVoid, type MemoryResult, type RowResult } from "./load/scenarios.ts";
import { eventsPerCore, find, targetsOf, targetTable } from "./targets.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  readonly bun: string;
  readonly nginx: string | null;
  /** YYYY-MM-DD */
  readonly date: string;
}

export interface Results {
  readonly machine: Machine;
  readonly quick: boolean;
  readonly rows: readonly RowResult[];
  readonly memory: MemoryResult | null;
}

const MICROS = 1000;

export function markdown(results: Results): string {
  const { machine, rows, memory } = results;
  const plain = rows.filter(({ scenario }) => scenario.kind === "plain");
  const streams = rows.filter(({ scenario }) => scenario.kind === "stream");
  return [
    `${machine.date}, ${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, Bun ${machine.bun}, ${machine.nginx ?? "without nginx (not installed: its rows are left out)"}.`,
    ...(results.quick ? ["Quick run: it shows that the benchmark works, and its figures mean nothing."] : []),
    ...(plain.length > 0 ? [plainTable(plain, rows)] : []),
    ...(streams.length > 0 ? [streamTable(streams, rows)] : []),
    ...(memory === null ? [] : [memoryTable(memory)]),
    targetTable(targetsOf(results), !results.quick),
  ].join("\n\n");
}

function plainTable(rows: readonly RowResult[], all: readonly RowResult[]): string {
  return figuresTable(
    [
      "plain, 1 KB each way",
      "requests/s",
      "CPU µs/request",
      "of the main thread",
      "p50, p99 µs",
      "added p50, p99 µs",
      "of its core",
      "idle of the load's core",
    ],
    rows.map((row) => [
      row.scenario.label,
      rate(row, row.perSecond),
      micros(row.cpuMicros),
      micros(row.servingMicros),
      pair(row.p50Ms, row.p99Ms),
      added(row, all, "p50Ms", "p99Ms"),
      share(row.subjectShare),
      share(row.loadIdle),
    ]),
  );
}

function streamTable(rows: readonly RowResult[], all: readonly RowResult[]): string {
  return figuresTable(
    [
      `stream of ${EVENTS_PER_STREAM} events`,
      "events/s",
      "events/s per core",
      "CPU µs/stream",
      "first event p50, p99 µs",
      "added p50, p99 µs",
      "of its core",
      "idle of the load's core",
    ],
    rows.map((row) => [
      row.scenario.label,
      rate(row, row.perSecond * EVENTS_PER_STREAM),
      eventsPerCore(row) === null ? "" : whole(eventsPerCore(row)!),
      micros(row.cpuMicros),
      pair(row.firstP50Ms, row.firstP99Ms),
      added(row, all, "firstP50Ms", "firstP99Ms"),
      share(row.subjectShare),
      share(row.loadIdle),
    ]),
  );
}

function memoryTable(memory: MemoryResult): string {
  return figuresTable(
    ["resident memory of the gateway", "MB"],
    [
      ["at rest", whole(memory.atRestMb)],
      [`with ${whole(memory.streams)} open streams`, whole(memory.openMb)],
      [`${memory.settleMs / 1000} s after their end`, whole(memory.afterMb)],
    ],
  );
}

function rate(row: RowResult, perSecond: number): string {
  return isVoid(row) ? "void" : whole(perSecond);
}

function added(
  row: RowResult,
  all: readonly RowResult[],
  p50: "p50Ms" | "firstP50Ms",
  p99: "p99Ms" | "firstP99Ms",
): string {
  const floor = find(all, row.scenario.floor);
  return floor === undefined || floor === row ? "" : pair(row[p50] - floor[p50], row[p99] - floor[p99]);
}

function pair(oneMs: number, otherMs: number): string {
  return `${whole(oneMs * MICROS)}, ${whole(otherMs * MICROS)}`;
}

function micros(value: number | null): string {
  return value === null ? "" : value.toFixed(1);
}

function share(value: number | null): string {
  return value === null ? "" : `${Math.round(value * 100)} %`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

const START = "<!-- results: written by npm run bench -- --write -->";
const END = "<!-- end of the results -->";

/** Replaces the text between the markers. Throws when they are missing. */
export function withResults(readme: string, results: string): string {
  const start = readme.indexOf(START);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`the text has no place for results between ${START} and ${END}`);
  return `${readme.slice(0, start + START.length)}\n\n${results}\n\n${readme.slice(end)}`;
}
