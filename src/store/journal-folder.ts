// The files of one journal: segments by number, what stands beside them, and the lock that says whose they are. What the journal keeps of itself: journal-state.ts.
import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { OWNERS_FILE, OWNERS_FOLDER } from "./owner-only.ts";

const SEGMENT = /^(\d{8})\.log$/;
/** Segments that hold what cannot be read are kept under another name. */
const SET_ASIDE = /^\d{8}.*\.damaged$/;

export function segmentPath(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(8, "0")}.log`);
}

/** Numbers of the segments that are there, ascending. */
export function segmentsOf(folder: string): readonly number[] {
  return readdirSync(folder)
    .flatMap((name) => (SEGMENT.test(name) ? [Number(name.slice(0, 8))] : []))
    .toSorted((one, other) => one - other);
}

/** Names of the files that were set aside because something in them cannot be read. */
export function setAsideOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => SET_ASIDE.test(name))
    .toSorted();
}

/** Where a damaged segment, or the bytes that were cut from its end, are kept. Several journals may have stood in one folder, so that a number alone would not do. */
export function setAsidePath(folder: string, segment: number, run: string, part: "whole" | "end"): string {
  return join(folder, `${String(segment).padStart(8, "0")}-${run.slice(-12)}${part === "end" ? "-end" : ""}.damaged`);
}

/** A place in a journal. Numbers of segments never go back within one folder. */
export interface JournalPlace {
  readonly segment: number;
  readonly offset: number;
}

export const reservePath = (folder: string): string => join(folder, "reserve");
export const rejectedPath = (folder: string): string => join(folder, "rejected.jsonl");
export const lockPath = (folder: string): string => join(folder, "lock");

/** Journals of one ledger: a folder for each process that runs at the same time. */
export function slotsOf(ledgerFolder: string): readonly string[] {
  return readdirSync(ledgerFolder)
    .filter((name) => /^\d{1,2}$/.test(name))
    .toSorted((one, other) => Number(one) - Number(other));
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
  return lockFile(lockPath(folder));
}

/** The file, made where it is missing, as a lock; null: another process holds it. Throws the system's error. */
export function lockFile(path: string): FolderLock | null {
  // SQLite would make it readable by others
  closeSync(openSync(path, "a", OWNERS_FILE));
  const database = new Database(path, { create: true });
  try {
    for (const pragma of ["busy_timeout = 0", "locking_mode = EXCLUSIVE", "journal_mode = MEMORY"])
      database.run(`PRAGMA ${pragma}`);
    database.run("BEGIN EXCLUSIVE");
  } catch (thrown) {
    database.close();
    if ((thrown as { readonly code?: string }).code === "SQLITE_BUSY") return null;
    throw thrown;
  }
  return { release: () => database.close() };
}
