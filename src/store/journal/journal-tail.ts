// The newest closing entries of a journal, kept in memory until they are shipped, so that they need not be read back
// from the disk and parsed. Older ones, and those of earlier processes, are read by journal-reader.ts.
import type { Batch } from "./journal-batch.ts";
import type { JournalPlace } from "./journal-folder.ts";
import { rowOfText } from "./journal-row.ts";

/** In UTF-16 units. While the database is down, rows wait on the disk, and the oldest here are dropped. */
const MAX_UNITS = 4 * 1024 * 1024;
/** The array is compacted when this many places at its front are free. */
const COMPACT_AT = 1024;

interface WrittenRow {
  readonly text: string;
  readonly settled: boolean;
  /** The place after the row. */
  readonly segment: number;
  readonly end: number;
}

export class JournalTail {
  /** In the order of their places. */
  #rows: WrittenRow[] = [];
  #head = 0;
  #units = 0;
  /** Every row of this process behind this place is here. */
  #from: JournalPlace = { segment: 0, offset: 0 };

  add(row: WrittenRow): void {
    this.#rows.push(row);
    this.#units += row.text.length;
    while (this.#units > MAX_UNITS) this.#drop();
  }

  /** Forgets the rows up to this place. */
  forget(place: JournalPlace): void {
    while (this.#head < this.#rows.length && !isBehind(this.#rows[this.#head]!, place)) this.#drop();
  }

  /**
   * Returns the rows that follow the place in the same segment; `null` when they have to be read from the disk.
   * `maxUnits` is the size at which a batch takes no more rows.
   */
  after(place: JournalPlace, maxRows: number, maxUnits: number, written: JournalPlace): Batch | null {
    const { segment, offset } = place;
    if (segment < this.#from.segment || (segment === this.#from.segment && offset < this.#from.offset)) return null;
    let at = this.#head;
    while (at < this.#rows.length && !isBehind(this.#rows[at]!, place)) at += 1;
    const rows: Batch["rows"][number][] = [];
    const ends: number[] = [];
    let units = 0;
    for (; at < this.#rows.length && rows.length < maxRows && units < maxUnits; at++) {
      const row = this.#rows[at]!;
      if (row.segment !== segment) break;
      rows.push(rowOfText(row.text, row.settled));
      ends.push(row.end);
      units += row.text.length;
    }
    const end = ends.at(-1);
    if (end === undefined) return null;
    // what follows the last row of an earlier segment is read from the disk, which shows that the segment is over
    const isFull = at < this.#rows.length || segment < written.segment;
    return { rows, ends, end, isSegmentOver: false, isFull };
  }

  #drop(): void {
    const { segment, end, text } = this.#rows[this.#head]!;
    this.#from = { segment, offset: end };
    this.#units -= text.length;
    this.#head += 1;
    if (this.#head < COMPACT_AT && this.#head < this.#rows.length) return;
    this.#rows = this.#rows.slice(this.#head);
    this.#head = 0;
  }
}

function isBehind({ segment, end }: WrittenRow, place: JournalPlace): boolean {
  return segment > place.segment || (segment === place.segment && end > place.offset);
}
