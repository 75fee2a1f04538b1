// How many processes serve calls (`server.workers`): what may be configured, and what `auto` stands for on this machine.
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

export const MAX_WORKERS = 64;
export const EXPECTED_WORKERS = `a whole number from 1 to ${MAX_WORKERS}, or auto`;

export type WorkerCount = number | "auto";

/** `undefined` when the text is neither. */
export function parseWorkerCount(text: string): WorkerCount | undefined {
  if (text === "auto") return "auto";
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= MAX_WORKERS ? count : undefined;
}

/** What of the system says how many cores and how much memory this process may use. */
export type BoundSources = ReturnType<typeof systemSources>;

const MIB = 1_048_576;
/** About what a worker takes under load, and their supervisor (docs/sizing.md). */
const WORKER_BYTES = 256 * MIB;
const SUPERVISOR_BYTES = 192 * MIB;

/**
 * One worker for each core that this process may use, a part of a core counting as one, and no more than its memory has
 * room for: a control group that runs out of memory loses all of them.
 */
export function usableWorkers(sources: BoundSources = systemSources()): number {
  const { cores, bytes } = boundsOf(sources);
  const withRoom = Math.floor((Math.min(...bytes) - SUPERVISOR_BYTES) / WORKER_BYTES);
  return Math.min(MAX_WORKERS, Math.max(1, Math.min(withRoom, Math.ceil(Math.min(sources.cores, ...cores)))));
}

/** The bounds of the own control group and of each above it, for both versions of control groups. */
function boundsOf({ cgroup, readLimit }: BoundSources) {
  const cores: number[] = [];
  const bytes: number[] = [];
  const addCores = (quota: number, period: number): void => {
    if (quota > 0 && period > 0) cores.push(quota / period);
  };
  const addBytes = (text: string | null): void => {
    if (Number(text) > 0) bytes.push(Number(text));
  };
  for (const line of (cgroup ?? "0::/").split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    const named = controllers.split(",");
    for (const folder of foldersUpTo(path)) {
      const read = (name: string): string | null => readLimit(join("/", controllers, folder, name));
      if (controllers === "") {
        // https://docs.kernel.org/admin-guide/cgroup-v2.html, "<quota> <period>" or "max <period>", and bytes or "max"
        const [quota, period] = (read("cpu.max") ?? "max").trim().split(" ");
        addCores(Number(quota), Number(period));
        addBytes(read("memory.max"));
      }
      // https://docs.kernel.org/scheduler/sched-bwc.html, -1 for no quota
      if (named.includes("cpu"))
        addCores(Number(read("cpu.cfs_quota_us") ?? -1), Number(read("cpu.cfs_period_us") ?? -1));
      // https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, more than any machine has for no limit
      if (named.includes("memory")) addBytes(read("memory.limit_in_bytes"));
    }
  }
  return { cores, bytes };
}

/** `/a/b`, `/a` and `/`: a group has no more than the groups that it is in. */
function foldersUpTo(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  return ["/", ...parts.map((_, index) => join("/", ...parts.slice(0, index + 1)))];
}

function systemSources() {
  const read = (path: string): string | null => (existsSync(path) ? readFileSync(path, "utf8") : null);
  return {
    /** The cores of the affinity mask. */
    cores: availableParallelism(),
    /** The text of `/proc/self/cgroup`; `null` where the system has no such file. */
    cgroup: read("/proc/self/cgroup"),
    /** Reads a file below `/sys/fs/cgroup`; `null` when it does not exist. */
    readLimit: (path: string) => read(join("/sys/fs/cgroup", path)),
  };
}
