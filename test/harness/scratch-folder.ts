// Where a run of the tests keeps its files: in memory where the machine has room for them, because the databases of the
// tests write much and need not outlive the run.
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory, which Linux has at this place. https://docs.kernel.org/filesystems/tmpfs.html */
const MEMORY = "/dev/shm";
/** More than the files of the processes that run at the same time, which are removed as each of them ends. */
const ENOUGH_BYTES = 3 * 2 ** 30;
/** Where there is less, tests of stores fail because the disk is full. */
const LITTLE_BYTES = 2 ** 30;

/** Makes an empty folder. The caller removes it. */
export function makeScratchFolder(): string {
  const parent = isMemoryUsable() ? MEMORY : tmpdir();
  if (freeBytes(parent) < LITTLE_BYTES)
    console.log(`${parent} has less than 1 GiB left, which the tests may need; TMPDIR names another folder`);
  const folder = mkdtempSync(join(parent, "dragoman-run-"));
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
  return freeBytes(MEMORY) >= ENOUGH_BYTES;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
