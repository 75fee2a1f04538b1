// Processes that carry a mark, which is the path of a folder, in their environment or their command line. All that a test starts inherits the folder for
// temporary files of its run, also what has left its process group, as browsers and database servers do. Only Linux shows this; elsewhere nothing is found.
import { readFileSync } from "node:fs";
import { processIds } from "../harness/processes/processes.ts";

/** Ends those that run, at once, and says what they were. */
export function endMarked(mark: string): readonly string[] {
  const ended: string[] = [];
  for (const pid of markedProcesses(mark)) {
    const command = readProcessFile(pid, "cmdline").replaceAll("\0", " ").trim();
    try {
      process.kill(pid, "SIGKILL");
      ended.push(command.slice(0, 100));
    } catch {
      // it has ended by itself
    }
  }
  return ended;
}

/** Their ids, without this process. */
export function markedProcesses(mark: string): readonly number[] {
  return processIds().filter((pid) => pid !== process.pid && isMarked(pid, mark));
}

function isMarked(pid: number, mark: string): boolean {
  // a process that has ended and that nobody has waited for has neither
  return readProcessFile(pid, "environ").includes(mark) || readProcessFile(pid, "cmdline").includes(mark);
}

function readProcessFile(pid: number, name: "environ" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}
