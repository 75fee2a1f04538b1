// The files of one journal: segments by number, how far they were shipped, the lock that says whose it is.
import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SEGMENT = /^(\d{8})\.log$/;
const OWNERS_FOLDER = 0o700;
const OWNERS_FILE = 0o600;

export function segmentPath(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(8, "0")}.log`);
}

/** Numbers of the segments that are there, ascending. */
export function segmentsOf(folder: string): readonly number[] {
  return readdirSync(folder).flatMap((name) => (SEGMENT.test(name) ? [Number(name.slice(0, 8))] : [])).toSorted((one, other) => one - other);
}

/** A place in the journal; everything before it has been shipped. */
export interface JournalPlace {
  readonly segment: number;
  readonly offset: number;
}

const shippedPath = (folder: string): string => join(folder, "shipped");
export const reservePath = (folder: string): string => join(folder, "reserve");
export const rejectedPath = (folder: string): string => join(folder, "rejected.jsonl");

/** What cannot be read counts as nothing shipped: rows that come twice change nothing. */
export function readShipped(folder: string): JournalPlace {
  try {
    const [, segment, offset] = /^(\d+) (\d+)\n$/.exec(readFileSync(shippedPath(folder), "utf8")) ?? [];
    if (segment !== undefined && offset !== undefined) return { segment: Number(segment), offset: Number(offset) };
  } catch {
    // as said above
  }
  return { segment: 0, offset: 0 };
}

/** On the disk when it resolves. Rejects with the system's error. */
export async function writeShipped(folder: string, { segment, offset }: JournalPlace): Promise<void> {
  const next = `${shippedPath(folder)}.next`;
  await writeFile(next, `${segment} ${offset}\n`, { mode: OWNERS_FILE, flush: true });
  await rename(next, shippedPath(folder));
}

export interface FolderLock {
  release(): void;
}

/**
 * The folder, made where it is missing, for this process alone; null: another holds it. The lock is one of the operating system's on the file `lock`, taken
 * through SQLite, and ends with the process however it ends. Throws the system's error.
 */
export function lockFolder(folder: string): FolderLock | null {
  mkdirSync(folder, { recursive: true, mode: OWNERS_FOLDER });
  return lockFile(join(folder, "lock"));
}

/** The file, made where it is missing, as a lock; null: another process holds it. Throws the system's error. */
export function lockFile(path: string): FolderLock | null {
  const database = new Database(path, { create: true });
  try {
    for (const pragma of ["busy_timeout = 0", "locking_mode = EXCLUSIVE", "journal_mode = MEMORY"]) database.run(`PRAGMA ${pragma}`);
    database.run("BEGIN EXCLUSIVE");
  } catch (thrown) {
    database.close();
    if ((thrown as { readonly code?: string }).code === "SQLITE_BUSY") return null;
    throw thrown;
  }
  return { release: () => database.close() };
}
