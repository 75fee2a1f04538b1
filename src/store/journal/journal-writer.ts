// Appends entries to segment files and syncs them in groups: in the background a few milliseconds after the first entry
// that is not on the disk yet, or at once when a caller waits for it. Entries that were added together are written with
// one write(2), after which the operating system has them; no sync blocks the event loop. Space ahead of the
// entries is filled with zeros: for a file that grows with each entry the file system updates its metadata at each
// sync, and every write waits for that.
import type { Clock } from "../../core/clock.ts";
import { codeOf } from "../../core/thrown.ts";
import type { JournalDisk } from "./journal-disk.ts";
import { EntryEncoder, type EntryKind, TEXT_AT } from "./journal-entry.ts";
import { type JournalPlace, segmentPath } from "./journal-folder.ts";
import { headingText } from "./journal-identity.ts";

/** Together with the delay of a timer and the time of the disk, this gives the promised 5 ms. */
const SYNC_DELAY_MS = 3;
const NO_POSITION = Number.POSITIVE_INFINITY;
/**
 * When a segment has reached the first size and fewer zeros than MIN_AHEAD_BYTES are left, ZEROS_BYTES more are
 * written, beginning GAP_BYTES after its last entry.
 */
const ZEROS_FROM_BYTES = 64 * 1024;
const GAP_BYTES = 256 * 1024;
const ZEROS_BYTES = 1024 * 1024;
const MIN_AHEAD_BYTES = 512 * 1024;
const PIECE_BYTES = 128 * 1024;

export interface WriterOptions {
  readonly folder: string;
  /** The unique name of this run, which is in every segment. */
  readonly run: string;
  /** Number of the first segment to write; it is created with the first entry. */
  readonly firstSegment: number;
  /** A segment of this size takes no more entries. */
  readonly segmentBytes: number;
  readonly disk: JournalDisk;
  readonly clock: Clock;
  /** What was written since the last sync may not be on the disk. */
  readonly onSyncFault: (fault: unknown) => void;
}

/** A file to which entries are, or were, written. */
interface Segment {
  readonly fd: number;
  readonly number: number;
  /** At this size the next entry goes to another segment. */
  readonly fullBytes: number;
  /** Where the next entry is written. */
  position: number;
  /**
   * Where the space ahead of the entries ends, which holds zeros or is the former reserve; infinite when there was no
   * space for more.
   */
  zeroed: number;
  /** Where zeros are being written at the moment: no entry may be written there. */
  zeroing: number;
  /** Resolves when no zeros are being written any more. */
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

  /** The segment of the last entry. */
  get segment(): number {
    return this.#segment;
  }
  /** All entries are before this place. */
  get writtenTo(): JournalPlace {
    return this.#open === null
      ? { segment: this.#segment + 1, offset: 0 }
      : { segment: this.#segment, offset: this.#open.position };
  }
  /** How long the last sync took. */
  get lastSyncMs(): number | null {
    return this.#lastSyncMs;
  }

  /** Bytes that the open segment occupies ahead of its entries, and gives back when it is left. */
  get roomAhead(): number {
    const { zeroed, position } = this.#open ?? { zeroed: 0, position: 0 };
    return zeroed === Number.POSITIVE_INFINITY ? 0 : Math.max(0, zeroed - position);
  }

  /** Adds an entry to those that the next `write` hands to the operating system. Returns their bytes. */
  add(kind: EntryKind, text: string): number {
    this.#encoder.add(kind, text);
    return this.#encoder.length;
  }

  /**
   * Writes what was added, right after `onPlace` was called with the place where it begins. Throws the system's error;
   * nothing has been written then, and what was added is dropped.
   */
  write(onPlace: (start: JournalPlace) => void = () => {}): void {
    const { bytes, length } = this.#encoder;
    if (length === 0) return;
    this.#encoder.empty();
    const target = this.#target(length);
    onPlace({ segment: target.number, offset: target.position });
    const written = this.#options.disk.write(target.fd, bytes, length, target.position);
    if (written !== length) {
      this.#cut(target);
      throw tooFew(written, length);
    }
    target.position += length;
    this.#written += length;
    if (
      target.position >= ZEROS_FROM_BYTES &&
      target.zeroing === NO_POSITION &&
      target.zeroed - target.position < MIN_AHEAD_BYTES &&
      target.position < this.#options.segmentBytes
    )
      target.quiet = this.#zero(target);
    if (this.#timer === null && this.#syncing === null) this.#timer = setTimeout(this.#syncSoon, SYNC_DELAY_MS);
  }

  /**
   * The UTF-8 of the text of an entry that was just written and stands there among those that were written together. It
   * is valid until the next entry is added.
   */
  textWritten(begin: number, end: number): Buffer {
    return this.#encoder.bytes.subarray(begin + TEXT_AT, end);
  }

  /**
   * Resolves when everything written so far is on the disk, or could not be synced, which is then reported through
   * `onSyncFault`. Never rejects.
   */
  synced(): Promise<void> {
    if (this.#synced >= this.#written) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ upTo: this.#written, resolve });
    if (this.#syncing === null) this.#syncSoon();
    return promise;
  }

  /** Starts a new segment for further writes; what was written is synced, and its file closed. */
  retire(): void {
    this.leaveSegment();
    if (this.#retired.length > 0 && this.#syncing === null) this.#syncSoon();
  }

  /** Starts a new segment for further writes. */
  leaveSegment(): void {
    if (this.#open === null) return;
    this.#retired.push(this.#open);
    this.#open = null;
  }

  /**
   * Continues in the space of this file, which becomes the next segment: on a full disk no other writer can take that
   * space. Throws the system's error.
   */
  goOnIn(path: string, bytes: number): void {
    this.#goOnWith(this.#create((name) => this.#options.disk.takeOver(path, name), bytes));
  }

  /** Gives the space ahead of the entries of the open segment back to the disk. Returns false when there is none. */
  giveRoomBack(): boolean {
    if (this.#open === null || this.roomAhead === 0 || this.#open.zeroing !== NO_POSITION) return false;
    this.#cut(this.#open);
    return true;
  }

  /** Nothing can be appended afterwards. */
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
      // A segment that is too long is better than none.
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

  /**
   * Keeps zeros ahead of the entries. A disk without space for zeros may still have space for entries; if not, writing
   * an entry fails.
   */
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
    segment.zeroing = NO_POSITION;
  }

  /** A number may be in use already, by a process that ended after its folder was released. */
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
          zeroing: NO_POSITION,
          quiet: Promise.resolve(),
        };
      } catch (fault) {
        if (codeOf(fault) !== "EEXIST") throw fault;
      }
    }
  }

  /** Writes the heading and returns its length. Without it the segment is removed again. */
  #begin(fd: number, path: string, segment: number): number {
    const { disk, run } = this.#options;
    const heading = new EntryEncoder();
    heading.add("heading", headingText({ run, segment }));
    const { length } = heading;
    try {
      const written = disk.write(fd, heading.bytes, length, 0);
      if (written !== length) throw tooFew(written, length);
      return length;
    } catch (fault) {
      disk.close(fd);
      disk.remove(path);
      throw fault;
    }
  }

  /** Cuts off an entry that was not written whole. If even this fails, the next entry overwrites it. */
  #cut(segment: Segment): void {
    if (segment.zeroing !== NO_POSITION) return;
    segment.zeroed = Math.min(segment.zeroed, segment.position);
    try {
      this.#options.disk.truncate(segment.fd, segment.position);
    } catch {
      // The next entry overwrites it.
    }
  }

  /**
   * The segment takes no more entries and is on the disk. The space ahead of its entries is cut off; if that fails,
   * nothing is lost.
   */
  async #close(segment: Segment): Promise<void> {
    await segment.quiet;
    if (segment.zeroed > 0) this.#cut(segment);
    try {
      this.#options.disk.close(segment.fd);
    } catch {
      // What was written has been synced, or reported as not synced.
    }
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
      // A second sync of the same file would report success, because the system forgets what it could not write.
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

function tooFew(written: number, length: number): Error {
  return Object.assign(new Error(`the disk accepted only ${written} of ${length} bytes`), { code: "ENOSPC" });
}
