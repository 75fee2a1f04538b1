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

/** What of the system says how many cores this process may use. */
export type CoreSources = ReturnType<typeof systemSources>;

/** One worker for each core that this process may use; a part of a core counts as one. */
export function usableCores(sources: CoreSources = systemSources()): number {
  const quotas = quotaCores(sources);
  return Math.min(MAX_WORKERS, Math.max(1, Math.ceil(Math.min(sources.cores, ...quotas))));
}

/** The quota of the own control group and of each above it, in cores, for both versions of control groups. */
function quotaCores({ cgroup, readLimit }: CoreSources): readonly number[] {
  const quotas: number[] = [];
  const add = (quota: number, period: number): void => {
    if (quota > 0 && period > 0) quotas.push(quota / period);
  };
  for (const line of (cgroup ?? "0::/").split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const folder of foldersUpTo(path))
      if (controllers === "") {
        // https://docs.kernel.org/admin-guide/cgroup-v2.html, "<quota> <period>" or "max <period>"
        const [quota, period] = (readLimit(join(folder, "cpu.max")) ?? "max").trim().split(" ");
        add(Number(quota), Number(period));
      } else if (controllers.split(",").includes("cpu")) {
        // https://docs.kernel.org/scheduler/sched-bwc.html, -1 for no quota
        const read = (name: string): number => Number(readLimit(join("/", controllers, folder, name)) ?? -1);
        add(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"));
      }
  }
  return quotas;
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
