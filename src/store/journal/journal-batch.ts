// Rows of a journal that are shipped together, wherever they come from: the disk (journal-reader.ts), or memory
// (journal-tail.ts).
import type { LedgerRow } from "./ledger.ts";

export interface Batch {
  readonly rows: readonly LedgerRow[];
  /** The place after each row. */
  readonly ends: readonly number[];
  /** The place after what was read, with or without rows. */
  readonly end: number;
  /** The segment has no more rows, and another segment follows. */
  readonly isSegmentOver: boolean;
  /** There may be more rows after this batch. */
  readonly isFull: boolean;
}
