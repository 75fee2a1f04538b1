// Which workers run: each holds the lock of a file in the data folder while it does. A supervisor that is killed leaves
// workers behind which end their calls; what they hold of limits is known when they have ended.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type FolderLock, lockFile } from "./journal-folder.ts";

const LOCK = /^worker-([0-9a-f]{8})\.lock$/;
const NAME_CHARACTERS = 8;
const ATTEMPTS = 50;
const ATTEMPT_EVERY_MS = 10;

/** The name under which journals and counts know a worker, by its id. */
export function holderOf(workerId: string): string {
  return workerId.slice(0, NAME_CHARACTERS);
}

function lockPath(dataFolder: string, holder: string): string {
  return join(dataFolder, `worker-${holder}.lock`);
}

/** To be called by the worker before it reserves anything. The lock is released however the process ends. */
export async function lockHolder(dataFolder: string, holder: string): Promise<FolderLock> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const lock = lockFile(lockPath(dataFolder, holder));
    // Another process may just have looked whether this one runs, and have removed the file.
    if (lock !== null && existsSync(lockPath(dataFolder, holder))) return lock;
    lock?.release();
    await Bun.sleep(ATTEMPT_EVERY_MS);
  }
  throw new Error(`the lock of worker ${holder} cannot be taken in ${dataFolder}`);
}

export function isHolderRunning(dataFolder: string, holder: string): boolean {
  const path = lockPath(dataFolder, holder);
  if (!existsSync(path)) return false;
  const lock = lockFile(path);
  lock?.release();
  return lock === null;
}

/** Removes the files of workers that have ended. */
export function removeEndedHolders(dataFolder: string): void {
  for (const name of readdirSync(dataFolder)) {
    const holder = LOCK.exec(name)?.[1];
    if (holder !== undefined && !isHolderRunning(dataFolder, holder))
      rmSync(lockPath(dataFolder, holder), { force: true });
  }
}
