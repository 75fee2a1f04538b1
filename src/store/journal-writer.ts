// Appends entries to segment files and has them synced in groups: in the background a few milliseconds after the first one that is not on the disk yet, or at
// once for whoever waits. One write(2) for each entry, so that it is the operating system's before anything is said to anybody; no sync holds the event loop up.
import type { Clock } from "../core/clock.ts";
import type { JournalDisk } from "./journal-disk.ts";
import { EntryEncoder, type EntryKind } from "./journal-entry.ts";
import { segmentPath } from "./journal-folder.ts";

/** With the time that a timer is late and a disk takes, the promised 5 ms. */
const SYNC_DELAY_MS = 3;

export interface WriterOptions {
  readonly folder: string;
  /** Number of the first segment to write; it is made with the first entry. */
  readonly firstSegment: number;
  /** A segment that is as long takes no more entries. */
  readonly segmentBytes: number;
  readonly disk: JournalDisk;
  readonly clock: Clock;
  /** What was written since the last sync may not be on the disk. */
  readonly onSyncFault: (fault: unknown) => void;
}

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
}

export class JournalWriter {
  readonly #options: WriterOptions;
  readonly #encoder = new EntryEncoder();
  #fd: number | null = null;
  #segment: number;
  #position = 0;
  /** Bytes since the start, over all segments. */
  #written = 0;
  #synced = 0;
  /** Segments that are full and may not be on the disk. */
  #retired: number[] = [];
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
  /** How long the disk took last. */
  get lastSyncMs(): number | null {
    return this.#lastSyncMs;
  }

  /** Throws the system's error; nothing has been written then. */
  append(kind: EntryKind, text: string): void {
    const fd = this.#target();
    const length = this.#encoder.encode(kind, text);
    const taken = this.#options.disk.write(fd, this.#encoder.bytes, length, this.#position);
    if (taken !== length) {
      this.#cut(fd);
      throw Object.assign(new Error(`the disk took ${taken} of ${length} bytes`), { code: "ENOSPC" });
    }
    this.#position += length;
    this.#written += length;
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

  /** Writes go to a new segment from here on. */
  leaveSegment(): void {
    if (this.#fd !== null) this.#retired.push(this.#fd);
    this.#fd = null;
  }

  /** After it nothing can be appended. */
  async close(): Promise<void> {
    await this.synced();
    while (this.#syncing !== null) await this.#syncing;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const fd of [...this.#retired, ...(this.#fd === null ? [] : [this.#fd])]) this.#options.disk.close(fd);
    this.#retired = [];
    this.#fd = null;
  }

  /** The open segment, or the next one. Throws the system's error. */
  #target(): number {
    if (this.#fd !== null && this.#position < this.#options.segmentBytes) return this.#fd;
    try {
      const { fd, segment } = this.#create();
      this.leaveSegment();
      this.#fd = fd;
      this.#segment = segment;
      this.#position = 0;
      this.#isFolderSynced = false;
      return fd;
    } catch (thrown) {
      // a segment that is too long is better than none
      if (this.#fd === null) throw thrown;
      return this.#fd;
    }
  }

  /** A number may be taken: by a process that ended later than its folder was let go. */
  #create(): { readonly fd: number; readonly segment: number } {
    const { disk, folder } = this.#options;
    for (let segment = this.#segment + 1; ; segment++) {
      try {
        return { fd: disk.create(segmentPath(folder, segment)), segment };
      } catch (fault) {
        if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
      }
    }
  }

  /** What could not be written whole; where even this fails, the next entry is written over it. */
  #cut(fd: number): void {
    try {
      this.#options.disk.truncate(fd, this.#position);
    } catch {
      // as said above
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
    try {
      const isFolderSynced = this.#isFolderSynced;
      this.#isFolderSynced = true;
      await Promise.all([...full, ...(this.#fd === null ? [] : [this.#fd])].map((fd) => disk.sync(fd)));
      if (!isFolderSynced) await disk.syncFolder(folder);
      this.#lastSyncMs = clock.monotonic() - startedMs;
    } catch (fault) {
      // a second sync of the same file would say that all is well (the system forgets what it could not write)
      this.leaveSegment();
      onSyncFault(fault);
    }
    for (const fd of full) disk.close(fd);
    this.#synced = upTo;
    this.#syncing = null;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.upTo > upTo);
    for (const waiter of waiting) if (waiter.upTo <= upTo) waiter.resolve();
    if (this.#waiters.length > 0) this.#syncSoon();
    else if (this.#written > upTo) this.#timer ??= setTimeout(this.#syncSoon, SYNC_DELAY_MS);
  }
}
