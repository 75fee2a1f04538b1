// The ports of the ledger (promise 11.2): what a call writes to it, and where its rows are shipped. In between,
// journal.ts keeps the entries on disk.
import type { CallRecord, ChargeInFlight } from "../../core/record/record.ts";
import type { JournalPlace } from "./journal-folder.ts";

/** A call that was admitted and has not ended. The code that opened it closes it. */
export interface OpenEntry {
  readonly traceId: string;
}

/** Knows what a call in flight has used and may still use. */
export interface MeterInFlight {
  inFlight(): ChargeInFlight;
  /**
   * Returns what marks the reservations that the call holds now as recorded, once the opening entry states them; `null`
   * where nobody needs to know.
   */
  recording(): (() => void) | null;
}

/**
 * What states that something counts: the journal in this folder, once it has everything before a place, or the file of a
 * worker in which its supervisor notes how many settlements it has applied, once it has this number.
 */
export type StatedIn =
  | { readonly journal: string; readonly place: JournalPlace }
  | { readonly settledFile: string; readonly settlement: number };

/**
 * What is counted in a file beside the ledger, from which it is read after a kill. What is counted between `expect` and
 * `arrived` may be read there only if it is stated where `expect` said last.
 */
export interface CountsBesideLedger {
  /** Until `arrived` is called it is one journal or file, and places ascend. */
  expect(stated: StatedIn): void;
  /** It is stated, or cannot be: what was counted is valid in either case. */
  arrived(): void;
}

/** Lets settlements count in another place when the ledger states them, so that a kill leaves the same figures in both. */
export interface SettlementLedger {
  /** To be called once, before anything is counted. */
  countBeside(counts: CountsBesideLedger): void;
  /**
   * Calls `count` for the entry with what this call has settled when that is handed to the operating system: when this
   * turn of the event loop ends, or at `countSettled`. It is also called where the disk does not take the entry.
   */
  countWhenStated(traceId: string, count: () => void): void;
  /** Hands over these entries now. Returns whether there were any. */
  countSettled(): boolean;
}

export interface Ledger {
  /** Why no call may begin now, or `null`. */
  refusal(): string | null;
  /**
   * Adds the opening entry of an admitted call: what the record contains by now, including the reservations, and what
   * the call is charged if this process ends before it. Nothing of the call may leave for a provider or a tool server
   * before `written`. Throws `ledger_unavailable`.
   */
  open(record: CallRecord, meter: MeterInFlight | null): OpenEntry;
  /**
   * Adds the opening entry again because the call may use more: the last one counts. If it cannot be written, the
   * earlier one stays valid.
   */
  reopen(entry: OpenEntry): void;
  /**
   * Adds the opening entries of those of these calls that have not ended again, because something of them has been
   * settled, and hands all entries to the operating system. Never throws.
   */
  writeStateOf(traceIds: readonly string[]): void;
  /**
   * Resolves at the end of this turn of the event loop, when the operating system has the opening entry. Rejects with
   * `ledger_unavailable` when the disk does not take it and calls may not run without one; the entry is then withdrawn.
   */
  written(entry: OpenEntry): Promise<void>;
  /**
   * Adds the closing entry; `entry` is `null` for a call that was refused before it was admitted. Returns a promise
   * that never rejects and for which the last byte of the answer has to wait: the operating system then has the entry.
   * Never throws.
   */
  close(entry: OpenEntry | null, record: CallRecord): Promise<void>;
}

/** For runs of the command line, which are not recorded. */
export const noLedger: Ledger = {
  refusal: () => null,
  open: ({ traceId }) => ({ traceId }),
  reopen: () => {},
  writeStateOf: () => {},
  written: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** One call in the form that the call store accepts. */
export interface LedgerRow {
  /** UTF-8 of the JSON of the record, if it was written before; `record` is then made when it is read. */
  readonly bytes?: Uint8Array;
  readonly record: CallRecord;
  /** False when the process ended before the call did: usage, cost and limits are the most that it might have used. */
  readonly settled: boolean;
}

/** A place after a row of a journal: everything before it in the same run has been shipped. */
export interface ShippedPlace extends JournalPlace {
  readonly journal: string;
  readonly run: string;
  /** Rows of the journal up to this place, over all of its runs. */
  readonly rows: number;
  /** When the call of the last of these rows began, in milliseconds since 1970. */
  readonly lastMs: number;
}

/** The destination of rows. */
export interface LedgerSink {
  /**
   * Takes all rows together with the place after the last one, or rejects and takes none. A row whose trace id is known
   * changes nothing, except that a settled row replaces an unsettled one. The same rows are sent again after a failure.
   * At most two thousand rows of some megabytes at a time, one batch after the other. `place` is omitted for a row that
   * is sent ahead of others.
   */
  ingest(rows: readonly LedgerRow[], place?: ShippedPlace): Promise<void>;
  /**
   * The last place taken of each of the journals and of each of the runs, in any order, without those that are unknown.
   */
  places(journals: readonly string[], runs: readonly string[]): Promise<readonly ShippedPlace[]>;
}
