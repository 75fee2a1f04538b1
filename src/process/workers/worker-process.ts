// One worker as the supervisor sees it: its process, its channel, and how it is doing.
import { readFileSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import type { WorkerChannel } from "./messages.ts";

/** `starting` until it listens. */
type WorkerState = "starting" | "listening" | "ended";

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface SpawnOptions {
  readonly id: string;
  /** Its place among the workers, from 0; its replacement has the same. */
  readonly slot: number;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** The clock ticks of /proc: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const TICK_MS = 10;
/** The fields of utime and stime, counted from the one after the name, which may contain anything. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

export class WorkerProcess {
  readonly id: string;
  readonly slot: number;
  readonly startedMs: number;
  readonly ended: Promise<WorkerEnd>;
  /** Resolves when it listens; its resolver is `hasListened`. */
  readonly listens: Promise<void>;
  readonly hasListened: () => void;
  /** Resolves when it no longer listens; its resolver is `hasLeft`. */
  readonly left: Promise<void>;
  readonly hasLeft: () => void;
  channel: WorkerChannel | null = null;
  state: WorkerState = "starting";
  /** Where its journal is; `null` before the worker has said it. */
  ledgerFolder: string | null = null;
  callsInFlight = 0;
  /** It has listened. */
  hasServed = false;
  /** The supervisor has asked it to end. */
  isLeaving = false;
  /** How many calls it cut at its end. */
  cut = 0;
  /** It has not sent a beat for a while. */
  isSilent = false;
  /** The time of the last beat, and the CPU that its main thread had used then. */
  lastBeatMs: number;
  cpuAtBeatMs = 0;
  readonly #child: Bun.Subprocess;

  constructor({ id, slot, command, environment, clock }: SpawnOptions) {
    this.id = id;
    this.slot = slot;
    this.startedMs = this.lastBeatMs = clock.monotonic();
    this.#child = Bun.spawn([...command], {
      env: { ...environment },
      // What a worker has to say goes through the supervisor's log, but for what it says without a channel.
      stdio: ["ignore", "inherit", "inherit"],
    });
    ({ promise: this.listens, resolve: this.hasListened } = Promise.withResolvers<void>());
    ({ promise: this.left, resolve: this.hasLeft } = Promise.withResolvers<void>());
    this.ended = this.#child.exited.then(() => {
      this.state = "ended";
      return {
        code: this.#child.exitCode,
        signal: this.#child.signalCode === null ? null : String(this.#child.signalCode),
      };
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  beat(callsInFlight: number, nowMs: number): void {
    this.callsInFlight = callsInFlight;
    this.lastBeatMs = nowMs;
    this.cpuAtBeatMs = this.mainThreadCpuMs();
    this.isSilent = false;
  }

  /** The CPU time of its main thread, in steps of 10 ms; 0 when it has ended. */
  mainThreadCpuMs(): number {
    try {
      const text = readFileSync(`/proc/${this.pid}/task/${this.pid}/stat`, "latin1");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK_MS;
    } catch {
      return 0;
    }
  }
}
