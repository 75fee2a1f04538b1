// Processes of this machine, as /proc shows them.
import { existsSync, readdirSync, readFileSync } from "node:fs";

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, without input. */
export async function runToEnd(
  command: readonly string[],
  place: { readonly cwd?: string; readonly env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<Run> {
  const child = Bun.spawn([...command], { ...place, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** The ids of the processes that this one has started and that run. */
export function childrenOf(pid: number): readonly number[] {
  return processIds().filter((candidate) => {
    const [state, parent] = statOf(candidate);
    return parent === String(pid) && state !== "Z";
  });
}

/** Of all processes; none where the system does not show them so. */
export function processIds(): readonly number[] {
  if (!existsSync("/proc")) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export const isRunning = (pid: number): boolean => !["", "Z"].includes(statOf(pid)[0] ?? "");

function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
