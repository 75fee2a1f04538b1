// Records what a replica has really used of its leases in a place that survives the process: after a kill the next
// start reports it to the store, and leased units that were not spent become free again. Each process has one file,
// mapped into memory, so that a change is a store to memory instead of a system call.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FolderLock, lockFile } from "../../store/journal/journal-folder.ts";
import { OWNERS_FILE, OWNERS_FOLDER } from "../../store/database/owner-only.ts";
import type { AccountKind } from "./protocol.ts";

export interface JournalledAccount {
  readonly key: string;
  readonly kind: AccountKind;
  readonly windowMs: number;
  readonly limit: number;
}

export interface LeaseJournal {
  /** Returns a place, or -1 when none is free: the units then stay charged until their window ends. */
  open(account: JournalledAccount, bucket: number, units: number): number;
  write(place: number, units: number): void;
  change(place: number, units: number): void;
  /** Sets whether the place also says that nothing is charged to the account in later buckets. */
  endsWith(place: number, isLast: boolean): void;
  close(place: number): void;
}

export interface JournalledBucket extends JournalledAccount {
  readonly bucket: number;
  readonly units: number;
  /** Nothing is charged to the account in later buckets, except in those that have a place of their own. */
  readonly isLast: boolean;
}

export interface FoundJournal {
  readonly replica: string;
  /** Changes while its process lives. */
  readonly beat: number;
  readonly buckets: readonly JournalledBucket[];
  /**
   * Locks the journal, or returns `null` when its process lives, even if that process had no CPU to change its beat.
   * While the lock is held, no other process reports the same journal to the store.
   */
  lock(): FolderLock | null;
  remove(): void;
}

export interface JournalFile extends LeaseJournal {
  /** Shows other processes that this one lives. */
  beat(): void;
  /** Removes the file when everything is reported. */
  remove(): void;
}

const RECORD_BYTES = 512;
const HEAD_BYTES = 512;
const PLACES = 4096;
const NUMBERS = 4;
const TEXT_AT = NUMBERS * 8 + 2;
const STATE_FREE = 0;
const STATE_USED = 1;
const STATE_LAST = 2;
const SUFFIX = ".leases";
const LOCK_SUFFIX = ".lock";

export const noJournal: LeaseJournal = {
  open: () => -1,
  write: () => {},
  change: () => {},
  endsWith: () => {},
  close: () => {},
};

export function openJournalFile(folder: string, replica: string): JournalFile {
  mkdirSync(folder, { recursive: true, mode: OWNERS_FOLDER });
  const file = join(folder, `${replica}${SUFFIX}`);
  const lockedFile = join(folder, `${replica}${LOCK_SUFFIX}`);
  const lock = lockFile(lockedFile);
  writeFileSync(file, new Uint8Array(HEAD_BYTES + PLACES * RECORD_BYTES), { mode: OWNERS_FILE });
  const bytes = Bun.mmap(file, { shared: true });
  const numbers = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const encoder = new TextEncoder();
  const free: number[] = [];
  for (let place = PLACES - 1; place >= 0; place--) free.push(place);
  const at = (place: number): number => (HEAD_BYTES + place * RECORD_BYTES) / 8;
  return {
    open({ key, kind, windowMs, limit }, bucket, units) {
      const text = encoder.encode(JSON.stringify([key, kind, windowMs]));
      const place = text.length > RECORD_BYTES - TEXT_AT ? undefined : free.pop();
      if (place === undefined) return -1;
      const byte = HEAD_BYTES + place * RECORD_BYTES;
      bytes.set(text, byte + TEXT_AT);
      bytes[byte + NUMBERS * 8] = text.length & 255;
      bytes[byte + NUMBERS * 8 + 1] = text.length >> 8;
      numbers[at(place) + 1] = bucket;
      numbers[at(place) + 2] = units;
      numbers[at(place) + 3] = limit;
      // Written last: a record that is only partly written does not count.
      numbers[at(place)] = STATE_USED;
      return place;
    },
    write(place, units) {
      numbers[at(place) + 2] = units;
    },
    change(place, units) {
      numbers[at(place) + 2]! += units;
    },
    endsWith(place, isLast) {
      numbers[at(place)] = isLast ? STATE_LAST : STATE_USED;
    },
    close(place) {
      numbers[at(place)] = STATE_FREE;
      free.push(place);
    },
    beat() {
      numbers[0]! += 1;
    },
    remove() {
      for (const each of [file, lockedFile]) rmSync(each, { force: true });
      lock?.release();
    },
  };
}

/** The journals of other processes in the folder, whether these live or not. */
export function findJournals(folder: string, except: string): readonly FoundJournal[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX) && name !== `${except}${SUFFIX}`)
    .flatMap((name) => {
      const file = join(folder, name);
      const found = readJournal(file);
      const replica = name.slice(0, -SUFFIX.length);
      const lockedFile = join(folder, `${replica}${LOCK_SUFFIX}`);
      const remove = (): void => [file, lockedFile].forEach((each) => rmSync(each, { force: true }));
      return found === null ? [] : [{ ...found, replica, lock: () => lockFile(lockedFile), remove }];
    });
}

function readJournal(file: string): { readonly beat: number; readonly buckets: readonly JournalledBucket[] } | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    // Another process has removed the file meanwhile.
    return null;
  }
  if (bytes.length < HEAD_BYTES) return null;
  const buckets: JournalledBucket[] = [];
  for (let byte = HEAD_BYTES; byte + RECORD_BYTES <= bytes.length; byte += RECORD_BYTES) {
    const state = bytes.readDoubleLE(byte);
    if (state !== STATE_USED && state !== STATE_LAST) continue;
    const length = bytes.readUInt16LE(byte + NUMBERS * 8);
    const [key, kind, windowMs] = JSON.parse(bytes.toString("utf8", byte + TEXT_AT, byte + TEXT_AT + length)) as [
      string,
      AccountKind,
      number,
    ];
    buckets.push({
      key,
      kind,
      windowMs,
      bucket: bytes.readDoubleLE(byte + 8),
      units: bytes.readDoubleLE(byte + 16),
      limit: bytes.readDoubleLE(byte + 24),
      isLast: state === STATE_LAST,
    });
  }
  return { beat: bytes.readDoubleLE(0), buckets };
}
