// The CPU time and the memory of earlier runs of the benchmark, in runs.json beside this file, so that a run is shown
// beside those of other days and machines. A run is compared by its ratio to nginx's CPU time; of runs of different
// machines not even that is comparable, because what slows a kernel down is not what slows JavaScript down.
import { figuresTable } from "../docs/generators/markdown.ts";
import { type MemoryResult, type RowResult, type Scenario, SCENARIOS } from "./load/scenarios.ts";

export interface BenchRun {
  /** YYYY-MM-DD */
  readonly date: string;
  /** The model of the CPU. */
  readonly machine: string;
  /** CPU µs of a request or a stream, by the id of the row. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** Resident MB of the gateway, by the words of the table. */
  readonly memoryMb: Readonly<Record<string, number>>;
}

/** Shown beside each other. */
const COLUMNS = 4;
const RULER = { plain: "nginx-plain", stream: "nginx-stream" } as const;

export function runOf(
  { date, machine }: Pick<BenchRun, "date" | "machine">,
  rows: readonly RowResult[],
  memory: MemoryResult | null,
): BenchRun {
  return {
    date,
    machine,
    cpuMicros: Object.fromEntries(
      rows.flatMap(({ scenario, cpuMicros }) => (cpuMicros === null ? [] : [[scenario.id, rounded(cpuMicros)]])),
    ),
    memoryMb:
      memory === null
        ? {}
        : {
            "at rest": Math.round(memory.atRestMb),
            [`with ${memory.streams.toLocaleString("en-US")} open streams`]: Math.round(memory.openMb),
            [`${memory.settleMs / 1000} s after their end`]: Math.round(memory.afterMb),
          },
  };
}

/** Replaces what a run of the same day on such a machine has measured of the same rows. */
export function withRun(runs: readonly BenchRun[], run: BenchRun): readonly BenchRun[] {
  const same = runs.find(({ date, machine }) => date === run.date && machine === run.machine);
  const joined: BenchRun =
    same === undefined
      ? run
      : {
          ...run,
          cpuMicros: { ...same.cpuMicros, ...run.cpuMicros },
          memoryMb: { ...same.memoryMb, ...run.memoryMb },
        };
  return [...runs.filter((one) => one !== same), joined].toSorted((one, other) => one.date.localeCompare(other.date));
}

export function historyTable(all: readonly BenchRun[]): string {
  const runs = all.slice(-COLUMNS);
  const rows = SCENARIOS.filter(({ id }) => runs.some(({ cpuMicros }) => id in cpuMicros));
  const memory = new Set(runs.flatMap(({ memoryMb }) => Object.keys(memoryMb)));
  return [
    "Before and now, CPU µs of all threads for a request or a stream, and in brackets how many times nginx's of the same run. Compare only runs of the same machine:",
    figuresTable(
      ["", ...runs.map(({ date, machine }) => `${date}, ${machine}`)],
      [
        ...rows.map((scenario) => [
          `${scenario.kind === "stream" ? "stream: " : ""}${scenario.label}`,
          ...runs.map((run) => cell(run, scenario)),
        ]),
        ...[...memory].map((words) => [
          `memory ${words}, MB`,
          ...runs.map(({ memoryMb }) => String(memoryMb[words] ?? "")),
        ]),
      ],
    ),
  ].join("\n\n");
}

function cell({ cpuMicros }: BenchRun, { id, kind }: Scenario): string {
  const micros = cpuMicros[id];
  const nginx = cpuMicros[RULER[kind]];
  if (micros === undefined) return "";
  return nginx === undefined ? micros.toFixed(1) : `${micros.toFixed(1)} (${(micros / nginx).toFixed(1)})`;
}

const rounded = (micros: number): number => Math.round(micros * 10) / 10;
