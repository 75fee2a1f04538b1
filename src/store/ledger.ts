// The ports of the ledger (decisions 11.2): what a call tells it, and where its rows go. What keeps the rows on disk in between is journal.ts.
import type { CallRecord } from "../core/record.ts";

/** A call that was admitted and has not ended. Whoever opened it closes it. */
export interface OpenEntry {
  readonly traceId: string;
}

export interface Ledger {
  /** Why no call may begin now, in words, or null. */
  refusal(): string | null;
  /** The opening row of a call that was admitted: what the record says by now, with what was reserved. Throws `ledger_unavailable`. */
  open(record: CallRecord): OpenEntry;
  /** The opening row once more, because more has been reserved: the last one counts. Where it cannot be written, the first one stands. */
  reopen(entry: OpenEntry, record: CallRecord): void;
  /**
   * The closing row; `entry` is null for a call that was refused before it was admitted. When it returns, the row has been handed to the operating system. Null,
   * or what the last byte of the answer has to wait for; that never rejects. Never throws.
   */
  close(entry: OpenEntry | null, record: CallRecord): Promise<void> | null;
}

/** For runs of the command line, which leave no trace. */
export const noLedger: Ledger = { refusal: () => null, open: ({ traceId }) => ({ traceId }), reopen: () => {}, close: () => null };

/** One call as the call store takes it. */
export interface LedgerRow {
  /** JSON of the record, where it was written before, and its UTF-8; `text` and `record` are made when they are asked for. */
  readonly text?: string;
  readonly bytes?: Uint8Array;
  readonly record: CallRecord;
  /** False: the process ended before the call did, and usage, cost and limits are what was reserved. */
  readonly settled: boolean;
}

/** Where rows go in the end. */
export interface LedgerSink {
  /**
   * All of them, or it rejects and none; a row whose trace id is there already changes nothing, but for a settled one in the place of one that is not. The same rows come again after a failure, and after a crash.
   * Two thousand at a time at most, of some megabytes together, one batch after the other.
   */
  ingest(rows: readonly LedgerRow[]): Promise<void>;
}
