// The ports of the ledger (decisions 11.2): what a call tells it, and where its rows go. What keeps the rows on disk in between is journal.ts.
import type { CallRecord } from "../core/record.ts";
import type { JournalPlace } from "./journal-folder.ts";

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
export const noLedger: Ledger = {
  refusal: () => null,
  open: ({ traceId }) => ({ traceId }),
  reopen: () => {},
  close: () => null,
};

/** One call as the call store takes it. */
export interface LedgerRow {
  /** JSON of the record, where it was written before, and its UTF-8; `text` and `record` are made when they are asked for. */
  readonly text?: string;
  readonly bytes?: Uint8Array;
  readonly record: CallRecord;
  /** False: the process ended before the call did, and usage, cost and limits are what was reserved. */
  readonly settled: boolean;
}

/** A place behind a row of a journal: everything before it in the same run has been taken. */
export interface ShippedPlace extends JournalPlace {
  readonly journal: string;
  readonly run: string;
  /** Rows of the journal up to there, over all of its runs. */
  readonly rows: number;
  /** When the call of the last of them began, in milliseconds since 1970. */
  readonly lastMs: number;
}

/** Where rows go in the end. */
export interface LedgerSink {
  /**
   * All of them together with the place behind the last one, or it rejects and none; a row whose trace id is there already changes nothing, but for a settled one in
   * the place of one that is not. The same rows come again after a failure. Two thousand at a time at most, of some megabytes together, one batch after the other.
   * `place` is left out for a row that is taken ahead of others.
   */
  ingest(rows: readonly LedgerRow[], place?: ShippedPlace): Promise<void>;
  /** What it has taken last of each of the journals, and of each of the runs, in any order; nothing of those that it knows nothing of. */
  places(journals: readonly string[], runs: readonly string[]): Promise<readonly ShippedPlace[]>;
}
