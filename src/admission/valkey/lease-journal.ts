// Records what a replica has really used of its leases in a place that survives the process: after a kill the next
// start reports it to the store, and leased units that were not spent become free again. Each process has one file,
// mapped into memory, so that a change is a store to memory instead of a system call. A change that is stated
// elsewhere, by an entry of the ledger or by the number of settlements of a worker, is kept apart until it is stated: a
// process that is killed between the two has made the change if, and only if, the other place states it.
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type FolderLock, lockFile } from "../../store/journal/journal-folder.ts";
import { entriesEnd } from "../../store/journal/journal-recovery.ts";
import type { CountsBesideLedger } from "../../store/journal/ledger.ts";
import { settledIn } from "../../store/journal/limit-holders.ts";
import { OWNERS_FILE, OWNERS_FOLDER } from "../../store/database/owner-only.ts";
import type { AccountKind } from "./protocol.ts";

export interface JournalledAccount {
  readonly key: string;
  readonly kind: AccountKind;
  readonly windowMs: number;
  readonly limit: number;
}

export interface LeaseJournal extends CountsBesideLedger {
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
  /**
   * Locks the journal, or returns `null` when its process lives, even if that process had no CPU to change its beat.
   * While the lock is held, no other process reports the same journal to the store.
   */
  lock(): FolderLock | null;
  /** To be called with the lock: nothing changes any more. */
  buckets(): readonly JournalledBucket[];
  remove(): void;
}

export interface JournalFile extends LeaseJournal {
  /** Shows other processes that this one lives. */
  beat(): void;
  /** Removes the file when everything is reported. */
  remove(): void;
}

/**
 * The head: the beat, how many changes are expected, the segment of the journal that states them and the journal's
 * folder, or NO_SEGMENT and the file with the number of settlements that states them.
 */
const HEAD_BYTES = 512;
const BEAT = 0;
const EXPECTED = 1;
const SEGMENT = 2;
const PATH_LENGTH = 3;
const PATH_AT = 32;
const NO_SEGMENT = -1;
const RECORD_BYTES = 512;
const PLACES = 4096;
/** An expected change: the offset or number that has to be reached, the record, its state and its units. */
const CHANGE_NUMBERS = 4;
const CHANGES_AT = HEAD_BYTES + PLACES * RECORD_BYTES;
/** When so many changes are expected, they count before the ledger has them. */
const MOST_CHANGES = 4096;
const FILE_BYTES = CHANGES_AT + MOST_CHANGES * CHANGE_NUMBERS * 8;
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
  expect: () => {},
  arrived: () => {},
};

const at = (place: number): number => (HEAD_BYTES + place * RECORD_BYTES) / 8;
const changeAt = (change: number): number => CHANGES_AT / 8 + change * CHANGE_NUMBERS;

function setRecord(numbers: Float64Array, place: number, state: number, units: number): void {
  numbers[at(place) + 2] = units;
  numbers[at(place)] = state;
}

/** Makes the expected changes that are stated as far as this offset or number; the others are dropped. */
function applyChanges(numbers: Float64Array, reached: number): void {
  for (let change = 0; change < numbers[EXPECTED]!; change++) {
    const from = changeAt(change);
    if (numbers[from]! <= reached) setRecord(numbers, numbers[from + 1]!, numbers[from + 2]!, numbers[from + 3]!);
  }
  numbers[EXPECTED] = 0;
}

export function openJournalFile(folder: string, replica: string): JournalFile {
  mkdirSync(folder, { recursive: true, mode: OWNERS_FOLDER });
  const file = join(folder, `${replica}${SUFFIX}`);
  const lockedFile = join(folder, `${replica}${LOCK_SUFFIX}`);
  const lock = lockFile(lockedFile);
  writeFileSync(file, new Uint8Array(FILE_BYTES), { mode: OWNERS_FILE });
  const bytes = Bun.mmap(file, { shared: true });
  const numbers = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const encoder = new TextEncoder();
  const free: number[] = [];
  for (let place = PLACES - 1; place >= 0; place--) free.push(place);
  /** Where the state that each record is expected to have is written; its units follow. */
  const expected = new Map<number, number>();
  const closed: number[] = [];
  /** Where the entry ends that states what is changed now; `null` when the ledger has stated it. */
  let statedAt: number | null = null;
  const stateOf = (place: number): number => numbers[expected.get(place) ?? at(place)]!;
  const unitsOf = (place: number): number =>
    expected.has(place) ? numbers[expected.get(place)! + 1]! : numbers[at(place) + 2]!;
  const put = (place: number, state: number, units: number): void => {
    if (statedAt === null) {
      setRecord(numbers, place, state, units);
      return;
    }
    if (numbers[EXPECTED] === MOST_CHANGES) takeExpected();
    const from = changeAt(numbers[EXPECTED]!);
    numbers[from] = statedAt;
    numbers[from + 1] = place;
    numbers[from + 2] = state;
    numbers[from + 3] = units;
    // Written last: a change that is only partly written does not count.
    numbers[EXPECTED]! += 1;
    expected.set(place, from + 2);
  };
  const takeExpected = (): void => {
    applyChanges(numbers, Number.POSITIVE_INFINITY);
    expected.clear();
  };
  let keptPath = "";
  const keepsPath = (path: string): boolean => {
    if (path === keptPath) return true;
    const text = encoder.encode(resolve(path));
    if (text.length > HEAD_BYTES - PATH_AT) return false;
    bytes.set(text, PATH_AT);
    numbers[PATH_LENGTH] = text.length;
    keptPath = path;
    return true;
  };
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
      numbers[at(place) + 3] = limit;
      // The state is written last: a record that is only partly written does not count.
      put(place, STATE_USED, units);
      return place;
    },
    write(place, units) {
      put(place, stateOf(place), units);
    },
    change(place, units) {
      put(place, stateOf(place), unitsOf(place) + units);
    },
    endsWith(place, isLast) {
      put(place, isLast ? STATE_LAST : STATE_USED, unitsOf(place));
    },
    close(place) {
      put(place, STATE_FREE, 0);
      closed.push(place);
      if (statedAt === null) free.push(...closed.splice(0));
    },
    expect(stated) {
      const isEntry = "journal" in stated;
      if (!keepsPath(isEntry ? stated.journal : stated.settledFile)) return;
      numbers[SEGMENT] = isEntry ? stated.place.segment : NO_SEGMENT;
      statedAt = isEntry ? stated.place.offset : stated.settlement;
    },
    arrived() {
      statedAt = null;
      takeExpected();
      free.push(...closed.splice(0));
    },
    beat() {
      numbers[BEAT]! += 1;
    },
    remove() {
      for (const each of [file, lockedFile]) rmSync(each, { force: true });
      lock?.release();
    },
  };
}

/** The journals of other processes in the folder, whether these live or not. */
export function findJournals(folder: string, except: string): readonly FoundJournal[] {
  return replicasIn(folder)
    .filter((replica) => replica !== except)
    .flatMap((replica): FoundJournal[] => {
      const file = join(folder, `${replica}${SUFFIX}`);
      const lockedFile = join(folder, `${replica}${LOCK_SUFFIX}`);
      const beat = numbersOf(file, HEAD_BYTES)?.[BEAT];
      if (beat === undefined) return [];
      return [
        {
          replica,
          beat,
          lock: () => lockFile(lockedFile),
          buckets: () => bucketsOf(file),
          remove: () => [file, lockedFile].forEach((each) => rmSync(each, { force: true })),
        },
      ];
    });
}

/**
 * Makes the expected changes of processes that have ended, as far as the ledger states them. To be called before
 * segments of the ledger that these processes wrote are changed or removed.
 */
export function completeJournals(folder: string): void {
  for (const replica of replicasIn(folder)) {
    const file = join(folder, `${replica}${SUFFIX}`);
    if ((numbersOf(file, HEAD_BYTES)?.[EXPECTED] ?? 0) === 0) continue;
    const lock = lockFile(join(folder, `${replica}${LOCK_SUFFIX}`));
    if (lock === null) continue;
    const bytes = Bun.mmap(file, { shared: true });
    applyStated(new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8));
    lock.release();
  }
}

function replicasIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length));
}

/** A copy of the file; `null` when another process has removed it meanwhile, or has not written all of it yet. */
function numbersOf(file: string, bytes: number): Float64Array | null {
  const numbers = new Float64Array(bytes / 8);
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return null;
  }
  const read = readSync(descriptor, numbers, 0, bytes, 0);
  closeSync(descriptor);
  return read < bytes ? null : numbers;
}

function applyStated(numbers: Float64Array): void {
  if (numbers[EXPECTED] === 0) return;
  const path = textAt(numbers, PATH_AT, numbers[PATH_LENGTH]!);
  const segment = numbers[SEGMENT]!;
  applyChanges(numbers, segment === NO_SEGMENT ? settledIn(path) : entriesEnd(path, segment));
}

function textAt(numbers: Float64Array, byte: number, length: number): string {
  return Buffer.from(numbers.buffer, numbers.byteOffset).toString("utf8", byte, byte + length);
}

function bucketsOf(file: string): readonly JournalledBucket[] {
  const numbers = numbersOf(file, FILE_BYTES);
  if (numbers === null) return [];
  applyStated(numbers);
  const bytes = Buffer.from(numbers.buffer);
  const buckets: JournalledBucket[] = [];
  for (let place = 0; place < PLACES; place++) {
    const state = numbers[at(place)]!;
    if (state !== STATE_USED && state !== STATE_LAST) continue;
    const byte = at(place) * 8;
    const length = bytes.readUInt16LE(byte + NUMBERS * 8);
    const [key, kind, windowMs] = JSON.parse(textAt(numbers, byte + TEXT_AT, length)) as [string, AccountKind, number];
    const [, bucket, units, limit] = numbers.subarray(at(place), at(place) + NUMBERS);
    buckets.push({ key, kind, windowMs, bucket: bucket!, units: units!, limit: limit!, isLast: state === STATE_LAST });
  }
  return buckets;
}
