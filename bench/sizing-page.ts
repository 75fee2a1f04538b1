// The page docs/sizing.md, made of the figures of one run (sizing.ts).
import { figuresTable } from "../docs/markdown.ts";
import type { MemoryResult } from "./scenarios.ts";

export interface Sizing {
  readonly machine: string;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly quick: boolean;
  readonly calls: readonly CallCost[];
  readonly growth: readonly Growth[];
  readonly memory: readonly MemoryResult[];
  readonly diskBytesPerCall: number;
  /** `null` where PostgreSQL, or Redis, is not installed. */
  readonly postgres: StoreCost | null;
  readonly valkey: StoreCost | null;
}

export interface CallCost {
  readonly label: string;
  /** CPU time of all threads of the gateway for one call. */
  readonly micros: number;
}

export interface Growth extends CallCost {
  /** CPU time of the start, and resident memory after it. */
  readonly cpuMs: number;
  readonly mb: number;
}

/** What a server beside the gateway does for one call. */
export interface StoreCost {
  /** Transactions of PostgreSQL; commands of Valkey. */
  readonly requestsPerCall: number;
  readonly cpuMicrosPerCall: number;
  /** By which its data grows. */
  readonly bytesPerCall: number;
  /** To its write-ahead log; over the network in the case of Valkey. */
  readonly writtenPerCall: number;
}

export function sizingPage(sizing: Sizing): string {
  return `${[
    "# Sizing",
    `This page says what a machine needs for the gateway. \`npm run bench:sizing -- --write\` has written it from one run on ${sizing.date}: ${sizing.machine}. ${sizing.quick ? "**It was a quick run, whose figures mean nothing.** " : ""}Do not edit it. How the figures are measured is in [bench/README.md](../bench/README.md#how-it-is-measured); your machine and your calls differ, so compare the proportions, and repeat the run on your machine for the times.`,
    "## What one core carries",
    "The CPU time is that of all threads of the gateway, with the access token checked, the ledger, the log and the metrics on. Calls per second are what one core has time for; the network, the provider and the client use further time of their own.",
    callTable(sizing.calls),
    "## How the cost grows",
    "A call finds what applies to it by key, so that its cost does not depend on how much is configured for others. The first figure is a plain call of same shape; the process on one core takes turns with the others, and differences of a few per cent are the caches of the processor. The start reads all of the configuration once.",
    growthTable(sizing.growth),
    "## Memory",
    "Resident memory of the process, the same in each row but for the number of streams that are open at once.",
    memoryTable(sizing.memory),
    "## Disk",
    `A plain call takes ${whole(sizing.diskBytesPerCall)} bytes in the embedded SQLite database, with its details, tags and sums: ${(sizing.diskBytesPerCall / 1000).toFixed(1)} GB for a million calls. Rows are removed after \`calls.retention_days\`, and the database stops growing after that time. Content that a project keeps comes on top of it.`,
    "## What the servers beside it see",
    storeTable(sizing),
  ].join("\n\n")}\n`;
}

function callTable(calls: readonly CallCost[]): string {
  return figuresTable(
    ["one call", "CPU µs", "calls/s of one core"],
    calls.map(({ label, micros }) => [label, micros.toFixed(0), whole(1e6 / micros)]),
  );
}

function growthTable(growth: readonly Growth[]): string {
  const first = growth[0]!;
  return figuresTable(
    ["configured beside the call", "CPU µs a call", "compared with the first", "CPU ms to start", "MB after the start"],
    growth.map(({ label, micros, cpuMs, mb }) => [
      label,
      micros.toFixed(1),
      `${micros >= first.micros ? "+" : "−"}${Math.abs((micros / first.micros - 1) * 100).toFixed(0)} %`,
      whole(cpuMs),
      whole(mb),
    ]),
  );
}

function memoryTable(results: readonly MemoryResult[]): string {
  return figuresTable(
    ["open streams", "MB before", "MB with them", "KB for each stream", "MB after a rest"],
    results.map(({ streams, atRestMb, openMb, afterMb }) => [
      whole(streams),
      whole(atRestMb),
      whole(openMb),
      (((openMb - atRestMb) * 1000) / streams).toFixed(0),
      whole(afterMb),
    ]),
  );
}

function storeTable({ postgres, valkey }: Sizing): string {
  const row = (label: string, cost: StoreCost | null): readonly string[] =>
    cost === null
      ? [label, "not measured: it is not installed here", "", "", ""]
      : [
          label,
          cost.requestsPerCall.toFixed(4),
          cost.cpuMicrosPerCall.toFixed(1),
          whole(cost.bytesPerCall),
          whole(cost.writtenPerCall),
        ];
  return [
    "For each plain call, at full rate on one core of the gateway:",
    figuresTable(
      ["server", "transactions or commands", "CPU µs", "bytes of data", "bytes of write-ahead log, or of network"],
      [
        row("PostgreSQL, which keeps the calls", postgres),
        row("Redis or Valkey, from which five limits are leased", valkey),
      ],
    ),
  ].join("\n\n");
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
