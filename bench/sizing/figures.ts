// The figures of one run of `npm run bench:sizing`. They stand in sizing.json beside this file, from which the page
// docs/sizing.md is made.
import type { MemoryResult } from "../load/scenarios.ts";
import type { WorkerCost } from "../worker-costs.ts";

export interface Sizing {
  readonly machine: string;
  /** The load average of the minute before the run: with much more than 0, other programs took part of the machine. */
  readonly loadBefore: number;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly quick: boolean;
  readonly calls: Readonly<Record<CallName, CallCost>>;
  /** On one core, of which all workers but one use nothing. `postgres` may be null, as below. */
  readonly workers: Readonly<Record<"plain" | "governed", WorkerPair>> & { readonly postgres: WorkerCost | Unmeasured };
  /** On all cores of the machine, beside the load and the provider. */
  readonly together: readonly WorkerCost[];
  readonly growth: readonly Growth[];
  readonly memory: readonly (MemoryResult | Unmeasured)[];
  /** The number of open streams that was wanted where the system allows fewer. */
  readonly streamsWanted: number;
  readonly disk: DiskUse;
  readonly postgres: StoreCost | Unmeasured;
  readonly valkey: StoreCost | Unmeasured;
}

/** What could not be measured, and why: for example, that a program is not installed. */
export interface Unmeasured {
  readonly unmeasured: string;
}

export function isMeasured<T extends object>(figure: T | Unmeasured): figure is T {
  return !("unmeasured" in figure);
}

export type CallName = "plain" | "anthropic" | "bedrock" | "governed" | "stream" | "anthropicStream" | "bedrockStream";

export interface CallCost {
  readonly label: string;
  /** CPU time of all threads of the gateway for one call. */
  readonly micros: number;
}

/** The same calls in a gateway that is one process, and in one worker of two. */
export interface WorkerPair {
  readonly alone: WorkerCost;
  readonly ofTwo: WorkerCost;
}

export interface Growth extends CallCost {
  /** CPU time of the start, and resident memory after it. */
  readonly cpuMs: number;
  readonly mb: number;
}

/** Bytes for each plain call. */
export interface DiskUse {
  /** By which the data folder grows when all calls have been put into SQLite. */
  readonly kept: number;
  /** Handed to the disk for journal and database; `null` where the folder is in memory. */
  readonly written: number | null;
  readonly log: number;
}

/** What a server beside the gateway does for one plain call. */
export interface StoreCost {
  /** Statements of PostgreSQL; commands of Valkey, with those that its functions run. */
  readonly statements: number;
  /** Times for which the gateway waits for a reply of PostgreSQL; reads of Valkey from its connections. */
  readonly messages: number;
  readonly networkBytes: number;
  readonly cpuMicros: number;
  /** By which its data grows. */
  readonly dataBytes: number;
  /** Written to the write-ahead log; `null` without one. */
  readonly logBytes: number | null;
}
