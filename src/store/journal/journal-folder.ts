// The files of one journal: numbered segments, the files beside them, and the lock that shows which process owns them.
// For what the journal stores about itself, see journal-state.ts.
import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { OWNERS_FILE, OWNERS_FOLDER } from "../database/owner-only.ts";
import { codeOf } from "../../core/thrown.ts";

const SEGMENT = /^(\d{8})\.log$/;
/** Segments with unreadable bytes are kept under another name. */
const SET_ASIDE = /^\d{8}.*\.damaged$/;

export function segmentPath(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(8, "0")}.log`);
}

/** The numbers of the existing segments, ascending. */
export function segmentsOf(folder: string): readonly number[] {
  return readdirSync(folder)
    .flatMap((name) => (SEGMENT.test(name) ? [Number(name.slice(0, 8))] : []))
    .toSorted((one, other) => one - other);
}

/** The names of the files that were set aside because some of their bytes cannot be read. */
export function setAsideOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => SET_ASIDE.test(name))
    .toSorted();
}

/**
 * Where a damaged segment, or the bytes cut from its end, are kept. Several journals may have used one folder, so the
 * number does not suffice.
 */
export function setAsidePath(folder: string, segment: number, run: string, part: "whole" | "end"): string {
  return join(folder, `${String(segment).padStart(8, "0")}-${run.slice(-12)}${part === "end" ? "-end" : ""}.damaged`);
}

/** A place in a journal. The numbers of segments never decrease within one folder. */
export interface JournalPlace {
  readonly segment: number;
  readonly offset: number;
}

/** Whether a place is behind another one. */
export function isBehind(place: JournalPlace, other: JournalPlace): boolean {
  return place.segment > other.segment || (place.segment === other.segment && place.offset > other.offset);
}

export const reservePath = (folder: string): string => join(folder, "reserve");
export const rejectedPath = (folder: string): string => join(folder, "rejected.jsonl");
export const lockPath = (folder: string): string => join(folder, "lock");

/** The journals of one ledger: a folder for each process that runs at the same time. */
export function slotsOf(ledgerFolder: string): readonly string[] {
  return readdirSync(ledgerFolder)
    .filter((name) => /^\d{1,3}$/.test(name))
    .toSorted((one, other) => Number(one) - Number(other));
}

export interface FolderLock {
  release(): void;
}

/**
 * Locks the folder, which is created if missing, for this process; `null` when another process holds it. The lock is a
 * lock of the operating system on the file `lock`, taken through SQLite, and is released however the process ends.
 * Throws the system's error.
 */
export function lockFolder(folder: string): FolderLock | null {
  mkdirSync(folder, { recursive: true, mode: OWNERS_FOLDER });
  return lockFile(lockPath(folder));
}

/** Locks the file, which is created if missing; `null` when another process holds it. Throws the system's error. */
export function lockFile(path: string): FolderLock | null {
  // SQLite would make it readable by other users.
  closeSync(openSync(path, "a", OWNERS_FILE));
  const database = new Database(path, { create: true });
  try {
    for (const pragma of ["busy_timeout = 0", "locking_mode = EXCLUSIVE", "journal_mode = MEMORY"])
      database.run(`PRAGMA ${pragma}`);
    database.run("BEGIN EXCLUSIVE");
  } catch (thrown) {
    database.close();
    if (codeOf(thrown) === "SQLITE_BUSY") return null;
    throw thrown;
  }
  return { release: () => database.close() };
}
