// What a journal stores about itself in the file `journal.json`: its name, how far its numbers have come, and what had
// been shipped to the database at the last write. None of this decides what is shipped: that is read from the database
// (journal-places.ts). It keeps numbers from decreasing, distinguishes a copy of the folder from the original, and lets
// a start report what is missing. The command line reads it beside a running process.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { JournalDisk } from "./journal-disk.ts";
import { type JournalPlace, lockPath } from "./journal-folder.ts";

export interface ShippedUpTo extends JournalPlace {
  /** Rows that this journal had shipped to the database by then, over all of its runs. */
  readonly rows: number;
  /** When the call of the last of these rows began, in milliseconds since 1970. */
  readonly lastMs: number;
}

/** What is known of a journal and of what the database has of it. */
export interface KnownJournal {
  readonly journal: string;
  readonly written: JournalPlace;
  readonly shipped: ShippedUpTo | null;
}

/** A journal of which this folder is a copy. */
export interface EarlierJournal extends KnownJournal {
  /**
   * Whether the database has answered what it has of this journal. Until then, it may have rows that the original
   * shipped after the copy was made.
   */
  readonly isMet: boolean;
}

export interface JournalState extends KnownJournal {
  /** A random name, made once. A copy of the folder gets another one. */
  readonly journal: string;
  /** The identity of the lock file in the file system. A copy has a different file. */
  readonly lock: string;
  /** The first number that this journal assigned. */
  readonly first: number;
  /**
   * The journals that this one continues, the oldest first. What the database had of them is stored, because a restore
   * of the database may remove rows that no other journal of this folder has shipped.
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

/** `null` when there is no readable state. */
export function readState(folder: string): JournalState | null {
  try {
    return schema.parse(JSON.parse(readFileSync(statePath(folder), "utf8")));
  } catch {
    return null;
  }
}

/** On the disk when it resolves. Rejects with the system's error. */
export async function writeState(
  disk: Pick<JournalDisk, "replace">,
  folder: string,
  state: JournalState,
): Promise<void> {
  await disk.replace(statePath(folder), `${JSON.stringify(state)}\n`);
}

/** Unchanged when the folder is moved or the machine restarted, and different in a copy. Throws the system's error. */
export function lockIdentity(folder: string): string {
  const { ino, birthtimeNs } = statSync(lockPath(folder), { bigint: true });
  return `${ino}:${birthtimeNs}`;
}
