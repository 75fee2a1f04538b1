// The newest closing entries of a journal, kept in memory until they are shipped, so that they need not be read back
// from the disk. They are kept as the bytes that were written, in a few blocks: thousands of texts would survive the
// collections of young garbage, and would have to be encoded again. Older entries, and those of earlier processes, are
// read by journal-reader.ts.
import type { Batch } from "./journal-batch.ts";
import { isBehind, type JournalPlace } from "./journal-folder.ts";
import { rowOf } from "./journal-row.ts";

/** While the database is down, rows wait on the disk, and the oldest blocks here are dropped. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Of a block, unless its only row is longer. */
const BLOCK_BYTES = 64 * 1024;

export interface WrittenRow {
  /** UTF-8 of its text, which is copied. */
  readonly text: Uint8Array;
  readonly settled: boolean;
  /** The place after the row. */
  readonly segment: number;
  readonly end: number;
}

/** Rows of one segment, in the order of their places. */
class Block {
  readonly segment: number;
  readonly #bytes: Buffer;
  /** For each row: where its text ends in the block, its place, and whether it is settled. */
  readonly #textEnds: number[] = [];
  readonly #ends: number[] = [];
  readonly #settled: boolean[] = [];
  #length = 0;

  constructor(segment: number, bytes: number) {
    this.segment = segment;
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  /** The place after its last row. */
  get end(): JournalPlace {
    return { segment: this.segment, offset: this.#ends.at(-1)! };
  }

  /** Returns false when the row has no room. */
  add({ text, settled, segment, end }: WrittenRow): boolean {
    if (segment !== this.segment || this.#length + text.length > this.#bytes.length) return false;
    this.#bytes.set(text, this.#length);
    this.#length += text.length;
    this.#textEnds.push(this.#length);
    this.#ends.push(end);
    this.#settled.push(settled);
    return true;
  }

  /** The number of the first row behind this offset. */
  firstBehind(offset: number): number {
    let at = 0;
    while (at < this.#ends.length && this.#ends[at]! <= offset) at += 1;
    return at;
  }

  /** Calls `take` for the rows from this number on, until it returns false. Returns whether it took all. */
  each(from: number, take: (text: Buffer, settled: boolean, end: number) => boolean): boolean {
    for (let at = from; at < this.#ends.length; at++) {
      const text = this.#bytes.subarray(at === 0 ? 0 : this.#textEnds[at - 1], this.#textEnds[at]);
      if (!take(text, this.#settled[at]!, this.#ends[at]!)) return false;
    }
    return true;
  }
}

export class JournalTail {
  /** In the order of their places. */
  readonly #blocks: Block[] = [];
  #bytes = 0;
  /** Every row of this process behind this place is here. */
  #from: JournalPlace = { segment: 0, offset: 0 };

  add(row: WrittenRow): void {
    if (this.#blocks.at(-1)?.add(row) === true) return;
    const block = new Block(row.segment, Math.max(BLOCK_BYTES, row.text.length));
    block.add(row);
    this.#blocks.push(block);
    this.#bytes += block.bytes;
    while (this.#bytes > MAX_BYTES) this.#dropOldest();
  }

  /** Forgets the rows up to this place. */
  forget(place: JournalPlace): void {
    while (this.#blocks.length > 0 && !isBehind(this.#blocks[0]!.end, place)) this.#dropOldest();
    if (isBehind(place, this.#from)) this.#from = place;
  }

  /**
   * Returns the rows that follow the place in the same segment; `null` when they have to be read from the disk.
   * `maxBytes` is the size at which a batch takes no more rows.
   */
  after(place: JournalPlace, maxRows: number, maxBytes: number, written: JournalPlace): Batch | null {
    if (isBehind(this.#from, place)) return null;
    const { segment, offset } = place;
    const rows: Batch["rows"][number][] = [];
    const ends: number[] = [];
    let size = 0;
    const take = (text: Buffer, settled: boolean, end: number): boolean => {
      if (rows.length >= maxRows || size >= maxBytes) return false;
      rows.push(rowOf(text, settled));
      ends.push(end);
      size += text.length;
      return true;
    };
    const isWhole = this.#blocks.every(
      (block) => block.segment < segment || (block.segment === segment && block.each(block.firstBehind(offset), take)),
    );
    const end = ends.at(-1);
    if (end === undefined) return null;
    // what follows the last row of an earlier segment is read from the disk, which shows that the segment is over
    return { rows, ends, end, isSegmentOver: false, isFull: !isWhole || segment < written.segment };
  }

  #dropOldest(): void {
    const { end, bytes } = this.#blocks.shift()!;
    this.#from = end;
    this.#bytes -= bytes;
  }
}
