// Where a run of the tests keeps its files: in memory where the machine has room for them, because the databases of the
// tests write much and need not outlive the run.
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory, which Linux has at this place. https://docs.kernel.org/filesystems/tmpfs.html */
const MEMORY = "/dev/shm";
/** Twice as much as a whole run leaves behind. */
const ENOUGH_BYTES = 8 * 2 ** 30;

/** Makes an empty folder. The caller removes it. */
export function makeScratchFolder(): string {
  const folder = mkdtempSync(join(isMemoryUsable() ? MEMORY : tmpdir(), "dragoman-run-"));
  // PostgreSQL runs as another user than root, and has a folder of its own in it
  chmodSync(folder, 0o711);
  return folder;
}

/** The tests also start programs that they write; some machines forbid that in memory. */
function isMemoryUsable(): boolean {
  if (!existsSync(MEMORY) || !existsSync("/proc/mounts")) return false;
  const mount = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .find((line) => line.split(" ")[1] === MEMORY);
  if (mount === undefined || /\bnoexec\b/.test(mount)) return false;
  try {
    accessSync(MEMORY, constants.W_OK);
  } catch {
    return false;
  }
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}
