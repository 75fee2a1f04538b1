// Servers that tests start end with the process that started them, however it went: a test that is killed leaves nothing behind. A shell waits for the end of
// a pipe that only that process holds.

export interface StartedServer {
  readonly pid: number;
  /** Stands in its command line, so that no other process that has got its number is ended. */
  readonly mark: string;
  readonly signal: "QUIT" | "KILL";
  /** Goes with it. */
  readonly folder: string;
}

const SCRIPT =
  'read _; if ps -o args= -p "$0" | grep -qF -- "$1"; then kill -CONT "$0"; kill "-$2" "$0"; sleep 1; fi; rm -rf "$3"';

/** Without effect on a server that has ended before, but for its folder. */
export function endWithThisProcess({ pid, mark, signal, folder }: StartedServer): void {
  Bun.spawn(["sh", "-c", SCRIPT, String(pid), mark, signal, folder], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  }).unref();
}
