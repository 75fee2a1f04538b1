// Appends entries to segment files and has them synced in groups: in the background a few milliseconds after the first one that is not on the disk yet, or at
// once for whoever waits. One write(2) for each entry, so that it is the operating system's before anything is said to anybody; no sync holds the event loop up.
// Ahead of the entries stand zeros: a file that grows with each entry has the file system write its books with each sync, and whoever writes waits for that.
import type { Clock } from "../core/clock.ts";
import type { JournalDisk } from "./journal-disk.ts";
import { EntryEncoder, type EntryKind } from "./journal-entry.ts";
import { type JournalPlace, segmentPath } from "./journal-folder.ts";
import { headingText } from "./journal-identity.ts";

/** With the time that a timer is late and a disk takes, the promised 5 ms. */
const SYNC_DELAY_MS = 3;
const NOWHERE = Number.POSITIVE_INFINITY;
/** A segment that holds so much gets zeros ahead, from so far behind its last entry on, so many at a time, when there are fewer left than so many. */
const ZEROS_FROM_BYTES = 64 * 1024;
const GAP_BYTES = 256 * 1024;
const ZEROS_BYTES = 1024 * 1024;
const MIN_AHEAD_BYTES = 512 * 1024;
const PIECE_BYTES = 128 * 1024;

export interface WriterOptions {
  readonly folder: string;
  /** The name of this run, which stands in every segment. */
  readonly run: string;
  /** Number of the first segment to write; it is made with the first entry. */
  readonly firstSegment: number;
  /** A segment that is as long takes no more entries. */
  readonly segmentBytes: number;
  readonly disk: JournalDisk;
  readonly clock: Clock;
  /** What was written since the last sync may not be on the disk. */
  readonly onSyncFault: (fault: unknown) => void;
}

/** A file that entries go, or went, to. */
interface Segment {
  readonly fd: number;
  readonly number: number;
  /** When it is as long, the next entry goes to another one. */
  readonly fullBytes: number;
  /** Where the next entry goes. */
  position: number;
  /** Where the room ahead of the entries ends, which holds zeros or is what was set aside; infinite: there was no room for more. */
  zeroed: number;
  /** Where zeros are being written at the moment: no entry may go there. */
  zeroing: number;
  /** Resolves when nothing writes zeros any more. */
  quiet: Promise<void>;
}

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
}

export class JournalWriter {
  readonly #options: WriterOptions;
  readonly #encoder = new EntryEncoder();
  #open: Segment | null = null;
  #segment: number;
  /** Bytes since the start, over all segments. */
  #written = 0;
  #synced = 0;
  /** Segments that are full and may not be on the disk. */
  #retired: Segment[] = [];
  #isFolderSynced = true;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #syncing: Promise<void> | null = null;
  #waiters: Waiter[] = [];
  #lastSyncMs: number | null = null;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#segment = options.firstSegment - 1;
  }

  /** Where the last entry went. */
  get segment(): number {
    return this.#segment;
  }
  /** All entries stand before it. */
  get writtenTo(): JournalPlace {
    return this.#open === null
      ? { segment: this.#segment + 1, offset: 0 }
      : { segment: this.#segment, offset: this.#open.position };
  }
  /** How long the disk took last. */
  get lastSyncMs(): number | null {
    return this.#lastSyncMs;
  }

  /** Bytes that the open segment has taken ahead of its entries, and gives back when it is left. */
  get roomAhead(): number {
    const { zeroed, position } = this.#open ?? { zeroed: 0, position: 0 };
    return zeroed === Number.POSITIVE_INFINITY ? 0 : Math.max(0, zeroed - position);
  }

  /** Throws the system's error; nothing has been written then. */
  append(kind: EntryKind, text: string): void {
    const length = this.#encoder.encode(kind, text);
    const target = this.#target(length);
    const taken = this.#options.disk.write(target.fd, this.#encoder.bytes, length, target.position);
    if (taken !== length) {
      this.#cut(target);
      throw tooFew(taken, length);
    }
    target.position += length;
    this.#written += length;
    if (
      target.position >= ZEROS_FROM_BYTES &&
      target.zeroing === NOWHERE &&
      target.zeroed - target.position < MIN_AHEAD_BYTES &&
      target.position < this.#options.segmentBytes
    )
      target.quiet = this.#zero(target);
    if (this.#timer === null && this.#syncing === null) this.#timer = setTimeout(this.#syncSoon, SYNC_DELAY_MS);
  }

  /** Resolves when all that has been written by now is on the disk, or could not be brought there, which `onSyncFault` has told. Never rejects. */
  synced(): Promise<void> {
    if (this.#synced >= this.#written) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ upTo: this.#written, resolve });
    if (this.#syncing === null) this.#syncSoon();
    return promise;
  }

  /** Writes go to a new segment from here on; what was written is synced, and its file closed. */
  retire(): void {
    this.leaveSegment();
    if (this.#retired.length > 0 && this.#syncing === null) this.#syncSoon();
  }

  /** Writes go to a new segment from here on. */
  leaveSegment(): void {
    if (this.#open === null) return;
    this.#retired.push(this.#open);
    this.#open = null;
  }

  /** The next entries go to the room of this file, which becomes the next segment: no other writer of a full disk can take that room. Throws the system's error. */
  goOnIn(path: string, bytes: number): void {
    this.#goOnWith(this.#create((name) => this.#options.disk.takeOver(path, name), bytes));
  }

  /** Gives the disk back what the open segment has taken ahead of its entries. False: that is nothing. */
  giveRoomBack(): boolean {
    if (this.#open === null || this.roomAhead === 0 || this.#open.zeroing !== NOWHERE) return false;
    this.#cut(this.#open);
    return true;
  }

  /** After it nothing can be appended. */
  async close(): Promise<void> {
    await this.synced();
    while (this.#syncing !== null) await this.#syncing;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.leaveSegment();
    for (const segment of this.#retired) await this.#close(segment);
    this.#retired = [];
  }

  /** The open segment, or the next one. Throws the system's error. */
  #target(length: number): Segment {
    const open = this.#open;
    const isFree = open !== null && open.position + length <= open.zeroing;
    if (isFree && open.position < open.fullBytes) return open;
    try {
      const made = this.#create((path) => this.#options.disk.create(path), 0);
      this.#goOnWith(made);
      return made;
    } catch (thrown) {
      // a segment that is too long is better than none
      if (!isFree) throw thrown;
      return open;
    }
  }

  #goOnWith(made: Segment): void {
    this.leaveSegment();
    this.#open = made;
    this.#segment = made.number;
    this.#isFolderSynced = false;
  }

  /** Keeps zeros ahead of the entries. A disk that has no room for them has some for entries, or says itself that it has none. */
  async #zero(segment: Segment): Promise<void> {
    const from = Math.max(segment.zeroed, segment.position + GAP_BYTES);
    segment.zeroing = from;
    try {
      while (segment.zeroing < from + ZEROS_BYTES && segment === this.#open) {
        await this.#options.disk.zero(segment.fd, segment.zeroing, segment.zeroing + PIECE_BYTES);
        segment.zeroing += PIECE_BYTES;
      }
      segment.zeroed = segment.zeroing;
    } catch {
      segment.zeroed = Number.POSITIVE_INFINITY;
    }
    segment.zeroing = NOWHERE;
  }

  /** A number may be taken: by a process that ended later than its folder was let go. */
  #create(open: (path: string) => number, roomAhead: number): Segment {
    for (let segment = this.#segment + 1; ; segment++) {
      try {
        const path = segmentPath(this.#options.folder, segment);
        const fd = open(path);
        return {
          fd,
          number: segment,
          fullBytes: roomAhead === 0 ? this.#options.segmentBytes : roomAhead,
          position: this.#begin(fd, path, segment),
          zeroed: roomAhead,
          zeroing: NOWHERE,
          quiet: Promise.resolve(),
        };
      } catch (fault) {
        if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
      }
    }
  }

  /** Writes the heading, and gives its length. Without it there is no segment. */
  #begin(fd: number, path: string, segment: number): number {
    const { disk, run } = this.#options;
    const heading = new EntryEncoder();
    const length = heading.encode("heading", headingText({ run, segment }));
    try {
      const taken = disk.write(fd, heading.bytes, length, 0);
      if (taken !== length) throw tooFew(taken, length);
      return length;
    } catch (fault) {
      disk.close(fd);
      disk.remove(path);
      throw fault;
    }
  }

  /** What could not be written whole; where even this fails, the next entry is written over it. */
  #cut(segment: Segment): void {
    if (segment.zeroing !== NOWHERE) return;
    segment.zeroed = Math.min(segment.zeroed, segment.position);
    try {
      this.#options.disk.truncate(segment.fd, segment.position);
    } catch {
      // as said above
    }
  }

  /** It takes no more entries, and is on the disk: what was ahead of them goes, which is no loss where it does not. */
  async #close(segment: Segment): Promise<void> {
    await segment.quiet;
    if (segment.zeroed > 0) this.#cut(segment);
    this.#options.disk.close(segment.fd);
  }

  readonly #syncSoon = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#syncing = this.#sync();
  };

  async #sync(): Promise<void> {
    const { disk, folder, clock, onSyncFault } = this.#options;
    const upTo = this.#written;
    const full = this.#retired;
    this.#retired = [];
    const startedMs = clock.monotonic();
    const isFolderSynced = this.#isFolderSynced;
    this.#isFolderSynced = true;
    try {
      await Promise.all([...full, ...(this.#open === null ? [] : [this.#open])].map(({ fd }) => disk.sync(fd)));
      if (!isFolderSynced) await disk.syncFolder(folder);
      this.#lastSyncMs = clock.monotonic() - startedMs;
    } catch (fault) {
      // a second sync of the same file would say that all is well (the system forgets what it could not write)
      this.leaveSegment();
      this.#isFolderSynced &&= isFolderSynced;
      onSyncFault(fault);
    }
    for (const segment of full) await this.#close(segment);
    this.#synced = upTo;
    this.#syncing = null;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.upTo > upTo);
    for (const waiter of waiting) if (waiter.upTo <= upTo) waiter.resolve();
    if (this.#waiters.length > 0) this.#syncSoon();
    else if (this.#written > upTo || this.#retired.length > 0)
      this.#timer ??= setTimeout(this.#syncSoon, SYNC_DELAY_MS);
  }
}

function tooFew(taken: number, length: number): Error {
  return Object.assign(new Error(`the disk took ${taken} of ${length} bytes`), { code: "ENOSPC" });
}
