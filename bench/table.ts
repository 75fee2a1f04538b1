// Writes results as Markdown. Each target is marked as met or missed; a rate that something else may have limited is
// marked as void.
import { EVENTS_PER_STREAM, PROTOCOLS } from "./protocols.ts";
import { isVoid, type MemoryResult, type RowResult } from "./scenarios.ts";

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
    targetTable(results),
  ].join("\n\n");
}

function plainTable(rows: readonly RowResult[], all: readonly RowResult[]): string {
  return table(
    [
      "plain, 1 KB each way",
      "requests/s",
      "CPU µs/request",
      "p50, p99 µs",
      "added p50, p99 µs",
      "of its core",
      "idle of the load's core",
    ],
    rows.map((row) => [
      row.scenario.label,
      rate(row, row.perSecond),
      micros(row.cpuMicros),
      pair(row.p50Ms, row.p99Ms),
      added(row, all, "p50Ms", "p99Ms"),
      share(row.subjectShare),
      share(row.loadIdle),
    ]),
  );
}

function streamTable(rows: readonly RowResult[], all: readonly RowResult[]): string {
  return table(
    [
      `stream of ${EVENTS_PER_STREAM} events`,
      "events/s",
      "events/s per core",
      "first event p50, p99 µs",
      "added p50, p99 µs",
      "of its core",
      "idle of the load's core",
    ],
    rows.map((row) => [
      row.scenario.label,
      rate(row, row.perSecond * EVENTS_PER_STREAM),
      eventsPerCore(row) === null ? "" : whole(eventsPerCore(row)!),
      pair(row.firstP50Ms, row.firstP99Ms),
      added(row, all, "firstP50Ms", "firstP99Ms"),
      share(row.subjectShare),
      share(row.loadIdle),
    ]),
  );
}

function memoryTable(memory: MemoryResult): string {
  return table(
    ["resident memory of the gateway", "MB"],
    [
      ["at rest", whole(memory.atRestMb)],
      [`with ${whole(memory.streams)} open streams`, whole(memory.openMb)],
      [`${memory.settleMs / 1000} s after their end`, whole(memory.afterMb)],
    ],
  );
}

interface Target {
  readonly what: string;
  readonly goal: string;
  readonly measured: string | null;
  readonly met: boolean;
}

function targetTable({ rows, memory, quick }: Results): string {
  const targets = [
    ratioTarget(rows),
    routeTarget(rows),
    ...PROTOCOLS.map(({ id, label }) => translationTarget(rows, id, label)),
    eventTarget(rows, "gateway-stream", "same shape", 300_000),
    ...PROTOCOLS.map(({ id, label }) => eventTarget(rows, `gateway-stream-${id}`, label, 200_000)),
    memoryTarget(memory),
  ];
  return table(
    ["target", "goal", "measured", ""],
    targets.map(({ what, goal, measured, met }) => [
      what,
      goal,
      measured ?? "not measured",
      measured === null || quick ? "" : met ? "met" : "**missed**",
    ]),
  );
}

function ratioTarget(rows: readonly RowResult[]): Target {
  const ours = find(rows, "gateway-plain")?.cpuMicros ?? null;
  const theirs = find(rows, "nginx-plain")?.cpuMicros ?? null;
  const ratio = ours === null || theirs === null || theirs === 0 ? null : ours / theirs;
  return {
    what: "CPU per plain request, same shape",
    goal: "at most 3 times nginx's",
    measured: ratio === null ? null : `${ratio.toFixed(1)} times`,
    met: ratio !== null && ratio <= 3,
  };
}

function routeTarget(rows: readonly RowResult[]): Target {
  const direct = find(rows, "gateway-plain")?.cpuMicros ?? null;
  const routed = find(rows, "gateway-plain-route")?.cpuMicros ?? null;
  const more = direct === null || routed === null ? null : routed - direct;
  return {
    what: "CPU that a route of three targets adds to a plain request",
    goal: "under 5 µs",
    measured: more === null ? null : `${more.toFixed(1)} µs`,
    met: more !== null && more < 5,
  };
}

function translationTarget(rows: readonly RowResult[], id: string, label: string): Target {
  const same = find(rows, "gateway-plain")?.cpuMicros ?? null;
  const translated = find(rows, `gateway-plain-${id}`)?.cpuMicros ?? null;
  const more = same === null || translated === null || same === 0 ? null : translated / same - 1;
  return {
    what: `CPU that translating a plain request adds, ${label}`,
    goal: "at most 60 % of same shape",
    measured: more === null ? null : `${Math.round(more * 100)} %`,
    met: more !== null && more <= 0.6,
  };
}

function eventTarget(rows: readonly RowResult[], id: string, shape: string, goal: number): Target {
  const row = find(rows, id);
  const measured = row === undefined ? null : eventsPerCore(row);
  return {
    what: `streamed events/s per core, ${shape}`,
    goal: `at least ${whole(goal)}`,
    measured: measured === null ? null : whole(measured),
    met: measured !== null && measured >= goal,
  };
}

function memoryTarget(memory: MemoryResult | null): Target {
  // a quick run opens fewer streams, which says nothing about this target
  const openMb = memory?.streams === 1000 ? memory.openMb : null;
  return {
    what: "resident memory with 1,000 open streams",
    goal: "under 120 MB",
    measured: openMb === null ? null : `${whole(openMb)} MB`,
    met: openMb !== null && openMb < 120,
  };
}

function find(rows: readonly RowResult[], id: string): RowResult | undefined {
  return rows.find(({ scenario }) => scenario.id === id);
}

/**
 * Divides events by the CPU time that the subject used for them. Returns null where there is no subject, or where its
 * time was too short to be measured.
 */
function eventsPerCore({ cpuMicros }: RowResult): number | null {
  return cpuMicros === null || cpuMicros === 0 ? null : EVENTS_PER_STREAM / (cpuMicros / 1e6);
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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
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
