// Which workers run: each holds the lock of a file in the data folder while it does. A supervisor that is killed leaves
// workers behind which end their calls; what they hold of limits is known when they have ended.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FolderLock, lockFile } from "./journal-folder.ts";
import { OWNERS_FILE } from "../database/owner-only.ts";

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

/** Returns the workers that run on the data folder, of whichever supervisor. */
export function runningHolders(dataFolder: string): readonly string[] {
  return holdersWith(dataFolder, LOCK).filter((holder) => isHolderRunning(dataFolder, holder));
}

/** Removes the files of workers that have ended. */
export function removeEndedHolders(dataFolder: string): void {
  for (const holder of holdersWith(dataFolder, LOCK))
    if (!isHolderRunning(dataFolder, holder)) rmSync(lockPath(dataFolder, holder), { force: true });
}

/** Returns the workers that have a file whose name matches; the first group of `name` is the worker. */
function holdersWith(dataFolder: string, name: RegExp): readonly string[] {
  return readdirSync(dataFolder).flatMap((each) => name.exec(each)?.[1] ?? []);
}

/** How many settlements of a worker its supervisor has applied: a number in a file that survives the supervisor. */
export type SettledFile = ReturnType<typeof openSettledFile>;

const SETTLED = /^worker-([0-9a-f]{8})\.settled$/;
const SETTLED_BYTES = 512;
/** In place of the number: the worker has ended, and everything that it held is settled. */
export const ALL_SETTLED = 2 ** 52;

function settledPath(dataFolder: string, holder: string): string {
  return join(dataFolder, `worker-${holder}.settled`);
}

/** The file is mapped into memory, so that a change is no system call. */
export function openSettledFile(dataFolder: string, holder: string) {
  const path = settledPath(dataFolder, holder);
  writeFileSync(path, new Uint8Array(SETTLED_BYTES), { mode: OWNERS_FILE });
  const bytes = Bun.mmap(path, { shared: true });
  const numbers = new Float64Array(bytes.buffer, bytes.byteOffset, 1);
  return {
    path,
    applied: (settlement: number) => void (numbers[0] = settlement),
    /** To be called when nothing of the worker is open any more. */
    remove: () => rmSync(path, { force: true }),
  };
}

/** What supervisors have applied that were killed, by worker. */
export function settledOfEarlier(dataFolder: string): ReadonlyMap<string, number> {
  return new Map(
    holdersWith(dataFolder, SETTLED).map((holder) => [holder, settledIn(settledPath(dataFolder, holder))]),
  );
}

/**
 * The number in such a file, which is removed only when everything of its worker is settled. It is 0 in a file without
 * content, which a kill or a power failure leaves when the file was just made.
 */
export function settledIn(path: string): number {
  if (!existsSync(path)) return ALL_SETTLED;
  const bytes = readFileSync(path);
  return bytes.length < Float64Array.BYTES_PER_ELEMENT ? 0 : bytes.readDoubleLE(0);
}

export function removeSettled(dataFolder: string, holder: string): void {
  rmSync(settledPath(dataFolder, holder), { force: true });
}
