// CPU time and memory of processes and cores from /proc (https://docs.kernel.org/filesystems/proc.html), and binding
// processes to cores with taskset. Linux only.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

const TASKSET = "taskset";
const TICKS_PER_SECOND = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout ?? "") || 100;

/** Returns why nothing can be measured on this machine, or null. */
export function missingTools(): string | null {
  if (!existsSync("/proc/self/stat"))
    return "there is no /proc; the benchmark reads the CPU time of processes there, as Linux has it";
  return Bun.which(TASKSET) === null ? `${TASKSET} is not installed (package util-linux)` : null;
}

/**
 * Returns the user and system time of these processes with all their threads, in seconds. The resolution is one tick,
 * usually 10 ms.
 */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS_PER_SECOND;
}

/** Returns the same for one process, split into the serving thread and all others, which have to be still running. */
export function threadSeconds(pid: number): { readonly serving: number; readonly others: number } {
  const serving = ticksOf(`${pid}/task/${pid}`) / TICKS_PER_SECOND;
  return { serving, others: cpuSeconds([pid]) - serving };
}

/** Returns the seconds of a process, of its main thread, and of each other thread that runs, by the thread's id. */
export function threadTimes(pid: number): {
  readonly all: number;
  readonly main: number;
  readonly others: ReadonlyMap<string, number>;
} {
  const seconds = (task: string): number => {
    try {
      return ticksOf(`${pid}/task/${task}`) / TICKS_PER_SECOND;
    } catch {
      // The thread has ended since it was listed.
      return 0;
    }
  };
  const others = readdirSync(`/proc/${pid}/task`).filter((task) => task !== String(pid));
  return {
    all: cpuSeconds([pid]),
    main: seconds(String(pid)),
    others: new Map(others.map((task) => [task, seconds(task)])),
  };
}

function ticksOf(pid: number | string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // the name in parentheses may contain anything; utime and stime are the fields 14 and 15
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Returns the process and its direct children. */
export function familyOf(pid: number): readonly number[] {
  return [
    pid,
    ...readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .split(" ")
      .filter((word) => word.trim() !== "")
      .map(Number),
  ];
}

/** Returns the processes of this program name that were started by `pid` or by one that it started. */
export function descendantsOf(pid: number, name: string): readonly number[] {
  const running = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  const parents = new Map<number, { readonly parent: number; readonly name: string }>();
  for (const entry of running) {
    const stat = existsSync(`/proc/${entry}/stat`) ? readFileSync(`/proc/${entry}/stat`, "utf8") : "";
    const [, program = "", parent = ""] = /\((.*)\) \S (\d+)/.exec(stat) ?? [];
    parents.set(Number(entry), { parent: Number(parent), name: program });
  }
  const isBelow = (of: number): boolean => of === pid || (parents.has(of) && isBelow(parents.get(of)!.parent));
  return [...parents].filter(([each, { name: program }]) => program === name && isBelow(each)).map(([each]) => each);
}

/** Returns how many files and sockets a process may have open on this machine. */
export function mostOpenFiles(): number {
  const limit = /Max open files\s+\d+\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return limit === undefined || limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
}

/** Returns the bytes that a process has given to its disks so far; 0 where all its files are in memory. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);
}

/** Resident memory, in MB of 10^6 bytes. */
export function residentMb(pid: number): number {
  return (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) * 1024) / 1e6;
}

export interface CoreTime {
  readonly idle: number;
  readonly total: number;
}

/** Returns the time of a core since the machine started, in ticks. */
export function coreTime(core: number): CoreTime {
  const line =
    readFileSync("/proc/stat", "utf8")
      .split("\n")
      .find((each) => each.startsWith(`cpu${core} `)) ?? "";
  // user nice system idle iowait irq softirq steal; guest time is contained in user
  const times = line.split(" ").slice(1, 9).map(Number);
  return { idle: times[3]! + times[4]!, total: times.reduce((sum, each) => sum + each, 0) };
}

/** Returns the share of time between two readings in which a core was idle, from 0 to 1. */
export function idleShare(before: CoreTime, after: CoreTime): number {
  return after.total === before.total ? 1 : (after.idle - before.idle) / (after.total - before.total);
}

export interface Cores {
  /** The core of what is measured. */
  readonly subject: number;
  /**
   * The core of the load generator and the mock. It equals `subject` on a machine with one core, where only the memory
   * figures are meaningful.
   */
  readonly load: number;
}

/** Returns the first two cores that this process may use. */
export function chooseCores(): Cores {
  const list = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  const cores = list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return { subject: cores[0] ?? 0, load: cores[1] ?? cores[0] ?? 0 };
}

/** Binds all threads of the process, and those that it starts later. */
export function bindToCore(pid: number, core: number): void {
  const done = spawnSync(TASKSET, ["-acp", String(core), String(pid)], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`taskset failed: ${done.stderr}`);
}

/** Returns a command line that runs on one core. */
export function onCore(core: number, command: readonly string[]): string[] {
  return [TASKSET, "-c", String(core), ...command];
}

/** Returns a command line that may run on every core, although this process is bound to one. */
export function onAnyCore(command: readonly string[]): string[] {
  return [TASKSET, "-c", `0-${cpus().length - 1}`, ...command];
}
