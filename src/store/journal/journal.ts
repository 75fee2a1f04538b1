// The journal of calls on disk (promise 11.2, docs/design/journal.md; docs/design/row-of-a-call.md follows a row from here
// to the database): an opening entry when a call is admitted, and a closing entry before the last byte of its answer. The
// entries of one turn of the event loop are written together at its end, and until then their calls send nothing. When the
// disk takes no more entries, new calls are refused, or run without entries while an error is reported. A reserved file
// then takes the entries of the calls in flight.

// Decides (records and configuration): When may a call's request leave for a provider, and its last byte for the
// client? By: `written`, `close`. Also: awaited in `engine/call/call-lifetime.ts` (`enterLedger`) and
// `engine/handle.ts`. Rule: When the entries of its turn of the event loop are written, all with one `write`.
// Decides (records and configuration): Where do rows wait while the database is down, and what bounds them? By:
// `Journal`. Also: `journal-shipper.ts` (`JournalShipper`); docs/design/journal.md. Rule: On the disk, with no bound
// but its size. On a full disk new calls get 503 `ledger_unavailable`, or go on without a row with `on_full:
// continue`.
import { counted } from "../../core/text/counted.ts";
import { GatewayError } from "../../core/errors.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { messageOf } from "../../core/thrown.ts";
import type { EntryKind } from "./journal-entry.ts";
import { type JournalPlace, reservePath } from "./journal-folder.ts";
import { closingText, openingText } from "./journal-row.ts";
import { JournalTail } from "./journal-tail.ts";
import { JournalWriter, type WriterOptions } from "./journal-writer.ts";
import type { CountsBesideLedger, Ledger, MeterInFlight, OpenEntry, SettlementLedger } from "./ledger.ts";
import type { LedgerSettings } from "./ledger-settings.ts";
import { RefusalAllowance } from "./refusal-allowance.ts";

/**
 * On a small disk a share of it, because a segment is not removed before it is full, and the reserve is not available
 * to others.
 */
const SEGMENT_BYTES = 32 * 1024 * 1024;
const SEGMENT_SHARE = 16;
/** Room for the closing entries of some thousand calls. */
const RESERVE_BYTES = 8 * 1024 * 1024;
const RESERVE_SHARE = 8;
/** Entries of this size together do not wait for the end of their turn; the space ahead of the entries has more room. */
const MAX_TURN_BYTES = 128 * 1024;
/** How often a disk that was full is tried again. */
const PROBE_MS = 500;
/** The most closing entries that may wait in memory for space on the disk. */
const MAX_WAITING_ROWS = 10_000;

export interface JournalOptions extends Omit<WriterOptions, "segmentBytes" | "onSyncFault"> {
  readonly settings: Pick<LedgerSettings, "sync" | "onFull">;
  /** Reports that the disk takes no more entries; onMended reports that it takes them again. */
  readonly onFault: (message: string) => void;
  readonly onMended: (message: string) => void;
  readonly segmentBytes?: number;
  readonly reserveBytes?: number;
  readonly probeMs?: number;
}

/** An entry in memory that is not written yet, or that the disk does not take. */
interface WaitingRow {
  readonly kind: EntryKind;
  readonly text: string;
  /** The call that the entry opens, or that it closes; `null` when the call has no opening entry of this run. */
  readonly of: Entry | null;
  /** The length of the entries of its turn up to this one. */
  readonly end: number;
  /** Counts what an opening entry states; `null` where it is stated already, or nobody needs to know. */
  readonly count: (() => void) | null;
}

/** What counts when an entry of the call is written. */
interface SettledCall {
  readonly traceId: string;
  readonly count: () => void;
}

/** A call as its opening entry states it. */
interface OpenCall {
  readonly record: CallRecord;
  readonly meter: MeterInFlight | null;
}

interface Entry extends OpenEntry {
  /**
   * `null` once the call has ended, because a table that the map of entries has outgrown keeps them in memory until the
   * next collection of all garbage.
   */
  call: OpenCall | null;
  /** Of the opening entry; empty once the call has ended. */
  text: string;
  /** The segment of its opening entry; for an entry made by recovery, the first one that may hold it. */
  segment: number;
  isWritten: boolean;
}

/** The opening entries that recovery closes may be in any segment. */
const RECOVERED: Entry = { traceId: "", call: null, text: "", segment: 0, isWritten: true };

export class Journal implements Ledger, SettlementLedger {
  /** The newest closing entries, which need not be read back from the disk. */
  readonly tail = new JournalTail();
  readonly #options: JournalOptions;
  #beside: CountsBesideLedger | null = null;
  readonly #writer: JournalWriter;
  readonly #allowance: RefusalAllowance;
  /** By trace id, in the order of their segments. */
  readonly #open = new Map<string, Entry>();
  readonly #reserveBytes: number;
  #fault: string | null = null;
  /** What was written before the fault may not be on the disk. */
  #isUnsynced = false;
  #isReserveReported = false;
  #hasReserve = false;
  /** The entries of this turn of the event loop, which are written at its end. */
  #added: WaitingRow[] = [];
  /** What counts when the entries of this turn are written. */
  #settled: SettledCall[] = [];
  /** Resolves when the entries of this turn are written; `null` when there are none. */
  #turn: PromiseWithResolvers<void> | null = null;
  /** Entries that the disk did not take. */
  #waiting: WaitingRow[] = [];
  #probe: ReturnType<typeof setTimeout> | null = null;
  /** The last try of a disk that was full. */
  #trying: Promise<void> = Promise.resolve();
  #isEnded = false;
  #rows = 0;
  #unrecorded = 0;
  #lost = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#allowance = new RefusalAllowance(options.clock);
    const diskBytes = options.disk.size(options.folder);
    this.#reserveBytes = options.reserveBytes ?? Math.min(RESERVE_BYTES, Math.floor(diskBytes / RESERVE_SHARE));
    const segmentBytes = options.segmentBytes ?? Math.min(SEGMENT_BYTES, Math.floor(diskBytes / SEGMENT_SHARE));
    this.#writer = new JournalWriter({ ...options, segmentBytes, onSyncFault: (fault) => this.#syncFailed(fault) });
  }

  /** Reserves space. Without it, the journal begins in the state of a full disk. */
  async start(): Promise<void> {
    this.#options.disk.remove(reservePath(this.#options.folder));
    try {
      await this.#reserve();
    } catch (fault) {
      this.#isReserveReported = true;
      this.#failed(fault);
    }
  }

  refusal(): string | null {
    return this.#fault === null || this.#options.settings.onFull === "continue"
      ? null
      : `the ledger cannot be written: ${this.#fault}`;
  }

  status() {
    return {
      /** Why entries cannot be written; `null` when they can. */
      fault: this.#fault,
      /**
       * Counted since the start: entries written; refused calls beyond the allowance; entries lost because neither disk
       * nor memory took them.
       */
      rows: this.#rows,
      unrecorded: this.#unrecorded,
      lost: this.#lost,
      openCalls: this.#open.size,
      waitingRows: this.#waiting.length,
      lastSyncMs: this.#writer.lastSyncMs,
    };
  }

  /**
   * Entries that exist only in memory and would be lost with the process. Those made by recovery do not count: the next
   * start makes them again from the same opening entries.
   */
  get rowsInMemoryAlone(): number {
    return this.#waiting.filter(({ kind }) => kind !== "unsettled").length;
  }

  open(record: CallRecord, meter: MeterInFlight | null = null): OpenEntry {
    if (this.#fault !== null) this.#mayGoOn();
    const { traceId } = record;
    const entry: Entry = {
      traceId,
      call: { record, meter },
      text: "",
      segment: this.#writer.segment,
      isWritten: false,
    };
    this.#open.set(traceId, entry);
    this.reopen(entry);
    return entry;
  }

  reopen(opened: OpenEntry): void {
    const entry = opened as Entry;
    if (entry.call === null) return;
    const { record, meter } = entry.call;
    entry.text = openingText(record, meter?.inFlight());
    void this.#add("opening", entry.text, entry, meter?.recording());
  }

  writeStateOf(traceIds: readonly string[]): void {
    for (const traceId of traceIds) this.#restate(traceId);
    this.#writeAdded();
  }

  countBeside(counts: CountsBesideLedger): void {
    this.#beside = counts;
  }

  countWhenStated(traceId: string, count: () => void): void {
    this.#turn ??= this.#beginTurn();
    this.#settled.push({ traceId, count });
  }

  countSettled(): boolean {
    if (this.#settled.length === 0) return false;
    this.#writeAdded();
    return true;
  }

  #restate(traceId: string): void {
    const entry = this.#open.get(traceId);
    if (entry !== undefined) this.reopen(entry);
  }

  async written(opened: OpenEntry): Promise<void> {
    const entry = opened as Entry;
    if (this.#turn !== null) await this.#turn.promise;
    if (entry.isWritten || this.#options.settings.onFull === "continue") return;
    this.#open.delete(entry.traceId);
    this.#mayGoOn();
  }

  close(entry: OpenEntry | null, record: CallRecord): Promise<void> {
    if (entry === null && (this.#fault !== null || !this.#allowance.take(record.tenantId))) {
      this.#unrecorded += 1;
      return Promise.resolve();
    }
    if (entry !== null) this.#ended(entry as Entry);
    const written = this.#add("closing", closingText(record), entry as Entry | null);
    return this.#options.settings.sync === "before_answer" ? written.then(() => this.#writer.synced()) : written;
  }

  #ended(entry: Entry): void {
    this.#open.delete(entry.traceId);
    entry.call = null;
    entry.text = "";
  }

  /** All entries are before this place. */
  get writtenTo(): JournalPlace {
    return this.#writer.writtenTo;
  }

  /** Adds a closing entry made by recovery; its opening entry may be in any segment. */
  addUnsettled(record: CallRecord): void {
    void this.#add("unsettled", closingText(record), RECOVERED);
  }

  synced(): Promise<void> {
    this.#writeAdded();
    return this.#writer.synced();
  }

  /**
   * Decides whether a segment whose entries have all been shipped may be removed. Opening entries in it whose calls are
   * still in flight are written again first. Returns false when that was not possible now, or when an entry that ends
   * one of its calls is not on the disk yet.
   */
  async mayRelease(segment: number): Promise<boolean> {
    this.#writeAdded();
    const inFlight: Entry[] = [];
    for (const entry of this.#open.values()) {
      if (entry.segment > segment) break;
      inFlight.push(entry);
      void this.#add("opening", entry.text, entry);
    }
    await this.synced();
    return (
      !this.#isUnsynced &&
      inFlight.every((entry) => entry.segment > segment || !this.#open.has(entry.traceId)) &&
      !this.#waiting.some(({ of }) => of !== null && of.segment <= segment)
    );
  }

  /** Ends the journal, which is not used any more afterwards. What was written is on the disk when it resolves. */
  async end(): Promise<void> {
    this.#isEnded = true;
    if (this.#probe !== null) clearTimeout(this.#probe);
    await this.#trying;
    this.#retryWaiting();
    await this.#writer.close();
    this.#options.disk.remove(reservePath(this.#options.folder));
  }

  /** Resolves at the end of the turn, when the entry is written or waits in memory. */
  #add(kind: EntryKind, text: string, of: Entry | null, count: (() => void) | null = null): Promise<void> {
    const { promise } = (this.#turn ??= this.#beginTurn());
    const end = this.#writer.add(kind, text);
    this.#added.push({ kind, text, of, end, count });
    if (end >= MAX_TURN_BYTES) this.#writeAdded();
    return promise;
  }

  #beginTurn(): PromiseWithResolvers<void> {
    setImmediate(this.#writeAdded);
    return Promise.withResolvers<void>();
  }

  /** Ends this turn: its entries are written, and its settlements count. */
  readonly #writeAdded = (): void => {
    const settled = this.#settled;
    this.#settled = [];
    for (const traceId of new Set(settled.map((each) => each.traceId))) this.#restate(traceId);
    const turn = this.#turn;
    const added = this.#added;
    this.#added = [];
    this.#turn = null;
    this.#writeRows(added, settled);
    turn?.resolve();
  };

  /**
   * Hands the entries to the operating system, and counts what they state. If it does not take them together, new calls
   * are refused, and every entry that is still needed is written alone.
   */
  #writeRows(added: readonly WaitingRow[], settled: readonly SettledCall[]): void {
    let uncounted = settled;
    try {
      this.#writer.write((begin) => (uncounted = this.#count(added, settled, begin)));
      this.#rows += added.length;
      const start = this.#writer.writtenTo.offset - (added.at(-1)?.end ?? 0);
      let begin = 0;
      for (const row of added) {
        this.#noteWritten(row, start, begin);
        begin = row.end;
      }
    } catch (fault) {
      this.#failed(fault);
      const isAnyNeeded = this.#options.settings.onFull === "continue";
      for (const row of added) if (isAnyNeeded || row.kind !== "opening") this.#writeAlone(row);
    }
    this.#beside?.arrived();
    for (const { count } of uncounted) count();
  }

  /**
   * Counts what these entries say was used, before they are written at `begin`. Counts that another file keeps note the
   * place of their entry, and hold only if the entry was written. Returns what none of the entries says.
   */
  #count(added: readonly WaitingRow[], settled: readonly SettledCall[], begin: JournalPlace): readonly SettledCall[] {
    const beside = this.#beside;
    if (beside === null) return settled;
    const left = Map.groupBy(settled, ({ traceId }) => traceId);
    const last = new Map(added.map((row) => [row.of?.traceId, row]));
    for (const row of added) {
      const { traceId } = row.of ?? { traceId: "" };
      const counts = last.get(traceId) === row ? left.get(traceId) : undefined;
      if (row.count === null && counts === undefined) continue;
      const place = { segment: begin.segment, offset: begin.offset + row.end };
      beside.expect({ journal: this.#options.folder, place });
      row.count?.();
      for (const { count } of counts ?? []) count();
      if (counts !== undefined) left.delete(traceId);
    }
    return [...left.values()].flat();
  }

  /** A closing entry must not be lost: if the disk does not take it, it waits in memory. */
  #writeAlone(row: WaitingRow): void {
    if (this.#append(row) || row.kind === "opening") return;
    if (this.#waiting.length < MAX_WAITING_ROWS) this.#waiting.push(row);
    else this.#lost += 1;
  }

  /**
   * An entry is in the newest segment now. The entries that were written together stand there at `start`, and this one
   * stands from `begin` to its end among them.
   */
  #noteWritten({ kind, of, end }: WaitingRow, start: number, begin: number): void {
    const { segment } = this.#writer;
    if (kind === "opening") return this.#noteOpened(of!, segment);
    const text = this.#writer.textWritten(begin, end);
    this.tail.add({ text, settled: kind === "closing", segment, end: start + end });
  }

  /** The calls in flight stay in the order of their segments. */
  #noteOpened(entry: Entry, segment: number): void {
    if (entry.isWritten && entry.segment !== segment && this.#open.delete(entry.traceId))
      this.#open.set(entry.traceId, entry);
    entry.isWritten = true;
    entry.segment = segment;
  }

  /** Returns false when the disk does not take the entry. */
  #append(row: WaitingRow): boolean {
    let end: number;
    try {
      end = this.#writer.add(row.kind, row.text);
      this.#writer.write();
    } catch (fault) {
      this.#failed(fault);
      // The reserve is for the calls in flight.
      if (row.kind === "opening" || !this.#useReserve()) return false;
      return this.#append(row);
    }
    this.#rows += 1;
    this.#noteWritten({ ...row, end }, this.#writer.writtenTo.offset - end, 0);
    return true;
  }

  #mayGoOn(): void {
    if (this.#options.settings.onFull === "continue") return;
    throw new GatewayError("ledger_unavailable", "The ledger cannot be written, so calls are refused.", {
      headers: { "retry-after": "1" },
      detail: this.#fault ?? "",
    });
  }

  #syncFailed(fault: unknown): void {
    this.#isUnsynced = true;
    this.#failed(fault);
  }

  #failed(fault: unknown): void {
    const message = messageOf(fault);
    const isNew = this.#fault === null;
    this.#fault = message;
    if (isNew) {
      this.#options.onFault(message);
      // Removing the segment frees the space of what has been shipped, and only a segment that takes no more entries
      // can be removed.
      this.#writer.retire();
    }
    if (!this.#isEnded)
      this.#probe ??= setTimeout(() => {
        this.#trying = this.#tryAgain();
      }, this.#options.probeMs ?? PROBE_MS);
  }

  async #tryAgain(): Promise<void> {
    try {
      if (this.#retryWaiting() && !this.#hasReserve) await this.#reserve();
      if (this.#waiting.length === 0 && this.#hasReserve) {
        this.#fault = null;
        this.#isUnsynced = this.#isReserveReported = false;
        this.#options.onMended(
          this.#lost === 0 ? "no row was lost" : `${counted(this.#lost, "row was", "rows were")} lost`,
        );
      }
    } catch (fault) {
      // By now there may be space for entries, but not for the reserve.
      this.#fault = messageOf(fault);
      if (!this.#isReserveReported) this.#options.onFault(this.#fault);
      this.#isReserveReported = true;
    }
    this.#probe = null;
    if (this.#fault !== null && !this.#isEnded) this.#failed(this.#fault);
  }

  /** Returns true when no entry waits in memory any more. */
  #retryWaiting(): boolean {
    this.#writeAdded();
    const rows = this.#waiting;
    this.#waiting = [];
    let written = 0;
    while (written < rows.length && this.#append(rows[written]!)) written += 1;
    this.#waiting = [...rows.slice(written), ...this.#waiting];
    return this.#waiting.length === 0;
  }

  async #reserve(): Promise<void> {
    const { disk, folder } = this.#options;
    try {
      await disk.reserve(reservePath(folder), this.#reserveBytes, this.#writer.roomAhead);
      this.#hasReserve = true;
      // What is left of the previous reserve goes back to the disk.
      this.#writer.retire();
    } catch (fault) {
      disk.remove(reservePath(folder));
      throw fault;
    }
  }

  /** Returns false when nothing is left of the reserve. */
  #useReserve(): boolean {
    // Some file systems allocate new blocks for overwritten data: there it helps to give the space back.
    if (!this.#hasReserve) return this.#writer.giveRoomBack();
    this.#hasReserve = false;
    const path = reservePath(this.#options.folder);
    try {
      this.#writer.goOnIn(path, this.#reserveBytes);
    } catch {
      this.#options.disk.remove(path);
    }
    return true;
  }
}
