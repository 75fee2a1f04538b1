// What a journal keeps of itself in the file `journal.json`: its name, how far its numbers have come, and what had been moved to the database when it was written
// last. Nothing of it decides what is shipped: that is asked of the database (journal-places.ts). It keeps numbers from going back, tells a copy of the folder
// from the folder, and lets a start say what is missing. The command line reads it beside a process that runs.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { JournalDisk } from "./journal-disk.ts";
import { type JournalPlace, lockPath } from "./journal-folder.ts";

export interface ShippedUpTo extends JournalPlace {
  /** Rows that this journal has moved to the database by then, over all of its runs. */
  readonly rows: number;
  /** When the call of the last of them began, in milliseconds since 1970. */
  readonly lastMs: number;
}

/** What is known of a journal and of what the database has of it. */
export interface KnownJournal {
  readonly journal: string;
  readonly written: JournalPlace;
  readonly shipped: ShippedUpTo | null;
}

/** A journal that this folder is a copy of. */
export interface EarlierJournal extends KnownJournal {
  /** The database has said what it has of it: until then, it may have rows that the original shipped after the copy was made. */
  readonly isMet: boolean;
}

export interface JournalState extends KnownJournal {
  /** A random name, made once. A copy of the folder gets another one. */
  readonly journal: string;
  /** The lock file beside it, as the file system knows it: in a copy it is another file. */
  readonly lock: string;
  /** The first number that this journal gave; segments of earlier versions have lower ones. */
  readonly first: number;
  /**
   * The journals that this one goes on from, the oldest first. What the database had of them is remembered, because a restore of the database alone may take rows
   * away that no other journal of this folder has shipped.
   */
  readonly earlier: readonly EarlierJournal[];
}

const place = { segment: z.int().min(0), offset: z.int().min(0) };
const known = {
  journal: z.string(),
  written: z.object(place),
  shipped: z.object({ ...place, rows: z.int().min(0), lastMs: z.number() }).nullable(),
};
const schema = z.object({
  ...known,
  lock: z.string(),
  first: z.int().min(1),
  earlier: z.array(z.object({ ...known, isMet: z.boolean() })).default([]),
});

export const statePath = (folder: string): string => join(folder, "journal.json");
/** What earlier versions kept in its place: `<segment> <offset>`. */
export const earlierStatePath = (folder: string): string => join(folder, "shipped");

/** Null: there is none that can be read. */
export function readState(folder: string): JournalState | null {
  try {
    return schema.parse(JSON.parse(readFileSync(statePath(folder), "utf8")));
  } catch {
    return null;
  }
}

/** The number that an earlier version had come to; 0: it says none. What it had shipped is not believed: it may be of a journal that is gone. */
export function earlierNumber(folder: string): number {
  try {
    return Number(/^(\d{1,15}) \d+\n$/.exec(readFileSync(earlierStatePath(folder), "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** On the disk when it resolves. Rejects with the system's error. */
export async function writeState(
  disk: Pick<JournalDisk, "replace" | "remove">,
  folder: string,
  state: JournalState,
): Promise<void> {
  await disk.replace(statePath(folder), `${JSON.stringify(state)}\n`);
  // read by an earlier version that is started here again, it would pass over rows
  disk.remove(earlierStatePath(folder));
}

/** Stays the same while the folder is moved or the machine restarted, and is another one in a copy. Throws the system's error. */
export function lockIdentity(folder: string): string {
  const { ino, birthtimeNs } = statSync(lockPath(folder), { bigint: true });
  return `${ino}:${birthtimeNs}`;
}
