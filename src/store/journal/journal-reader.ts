// Reads closing entries from the segments of a journal in batches, also from the segment that is still being written.
// Unreadable bytes are skipped up to the next whole entry, and reported once.
import { type FileHandle, open } from "node:fs/promises";
import type { Batch } from "./journal-batch.ts";
import { nextEntry, readEntry, withoutRoomAhead } from "./journal-entry.ts";
import { isBehind, type JournalPlace, segmentPath } from "./journal-folder.ts";
import { rowOf } from "./journal-row.ts";
import type { JournalTail } from "./journal-tail.ts";
import type { LedgerRow } from "./ledger.ts";

/** A batch that has reached this size takes no more rows, because it is held in memory and copied to a thread. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Read and parsed at a time, which takes a fifth of a millisecond of the event loop. */
const CHUNK_BYTES = 64 * 1024;

export interface ReaderOptions {
  readonly folder: string;
  /** Every row is before this place; after it there may be preallocated space. */
  readonly writtenTo: () => JournalPlace;
  /** The newest rows, which need not be read from the disk; absent for a journal to which no process writes. */
  readonly tail?: JournalTail;
  /** Called once for each unreadable place, however often it is read. */
  readonly onDamage: (segment: number, from: number, to: number) => void;
}

export class JournalReader {
  readonly #options: ReaderOptions;
  #file: { readonly segment: number; readonly handle: FileHandle } | null = null;
  #damageReported: JournalPlace = { segment: 0, offset: 0 };

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Reads what follows the place in the same segment. Rejects with the system's error. */
  async read(place: JournalPlace, maxRows: number): Promise<Batch> {
    const newest = this.#options.tail?.after(place, maxRows, BATCH_BYTES, this.#options.writtenTo());
    return newest ?? (await this.#fromDisk(place, maxRows));
  }

  async #fromDisk({ segment, offset }: JournalPlace, maxRows: number): Promise<Batch> {
    const rows: LedgerRow[] = [];
    const ends: number[] = [];
    let end = offset;
    let chunkBytes = CHUNK_BYTES;
    let size = 0;
    const isFull = (): boolean => rows.length >= maxRows || size >= BATCH_BYTES;
    while (!isFull()) {
      const written = this.#options.writtenTo();
      // A sealed segment takes no more rows.
      const isSealed = segment < written.segment;
      const { bytes, isLast } = await this.#chunk(
        segment,
        end,
        isSealed ? chunkBytes : Math.max(0, Math.min(chunkBytes, written.offset - end)),
      );
      let at = 0;
      while (!isFull()) {
        const entry = readEntry(bytes, at);
        if (entry === "damaged") {
          const next = nextEntry(bytes, at + 1);
          if (next === null) break;
          this.#reportDamage(segment, end + at, end + next);
          at = next;
        } else if (entry === "partial") break;
        else {
          at = entry.end;
          if (entry.kind === "opening" || entry.kind === "heading") continue;
          rows.push(rowOf(entry.bytes, entry.kind === "closing"));
          ends.push(end + at);
          size += entry.bytes.length;
        }
      }
      end += at;
      if (isFull()) break;
      if (!isSealed && end + bytes.length - at >= written.offset)
        return { rows, ends, end, isSegmentOver: false, isFull: false };
      if (isLast) {
        const rest = withoutRoomAhead(bytes.subarray(at));
        if (rest.length > 0) this.#reportDamage(segment, end, end + rest.length);
        return { rows, ends, end, isSegmentOver: true, isFull: false };
      }
      chunkBytes = at === 0 ? chunkBytes * 2 : CHUNK_BYTES;
    }
    return { rows, ends, end, isSegmentOver: false, isFull: true };
  }

  async #chunk(
    segment: number,
    offset: number,
    length: number,
  ): Promise<{ readonly bytes: Buffer; readonly isLast: boolean }> {
    if (this.#file?.segment !== segment) {
      await this.#file?.handle.close();
      this.#file = { segment, handle: await open(segmentPath(this.#options.folder, segment), "r") };
    }
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#file.handle.read(buffer, 0, length, offset);
    return { bytes: buffer.subarray(0, bytesRead), isLast: bytesRead < length };
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = null;
  }

  /** Reports each place once, however often it is read. */
  #reportDamage(segment: number, from: number, to: number): void {
    const place = { segment, offset: from };
    if (!isBehind(place, this.#damageReported)) return;
    this.#damageReported = place;
    this.#options.onDamage(segment, from, to);
  }
}
