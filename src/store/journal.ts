// The journal of calls on disk (decisions 11.2, docs/decisions/0019): an opening row when a call is admitted, a closing row before the last byte of its answer.
// A disk that takes no more rows stops new calls, or is gone on without, loudly; room that was set aside takes the rows of the calls that are under way.
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { CallRecord } from "../core/record.ts";
import type { JournalDisk } from "./journal-disk.ts";
import type { EntryKind } from "./journal-entry.ts";
import { type JournalPlace, reservePath, segmentPath } from "./journal-folder.ts";
import { closingText, openingText } from "./journal-row.ts";
import { JournalWriter } from "./journal-writer.ts";
import type { Ledger, OpenEntry } from "./ledger.ts";
import type { LedgerSettings } from "./ledger-settings.ts";
import { RefusalAllowance } from "./refusal-allowance.ts";

const SEGMENT_BYTES = 32 * 1024 * 1024;
/** Closing rows of some thousand calls. */
const RESERVE_BYTES = 8 * 1024 * 1024;
/** How often a disk that was full is tried again. */
const PROBE_MS = 500;
/** Closing rows that wait in memory for room on the disk at most. */
const MAX_WAITING_ROWS = 10_000;

export interface JournalOptions {
  readonly folder: string;
  readonly firstSegment: number;
  readonly settings: Pick<LedgerSettings, "sync" | "onFull">;
  readonly disk: JournalDisk;
  readonly clock: Clock;
  /** The disk takes rows no more, or again. */
  readonly onFault: (words: string) => void;
  readonly onMended: (words: string) => void;
  readonly segmentBytes?: number;
  readonly reserveBytes?: number;
  readonly probeMs?: number;
}

/** What operators are told. */
export interface JournalStanding {
  /** Why rows cannot be written; null: they can. */
  readonly fault: string | null;
  /** Rows since the start: written; refused calls beyond the bound; lost, because neither disk nor memory took them. */
  readonly rows: number;
  readonly unrecorded: number;
  readonly lost: number;
  readonly openCalls: number;
  readonly waitingRows: number;
  readonly lastSyncMs: number | null;
}

interface Entry extends OpenEntry {
  text: string;
  /** Where its opening stands. */
  segment: number;
}

export class Journal implements Ledger {
  readonly #options: JournalOptions;
  readonly #writer: JournalWriter;
  readonly #allowance: RefusalAllowance;
  /** In the order of their segments. */
  readonly #open = new Set<Entry>();
  #fault: string | null = null;
  #hasReserve = false;
  #waiting: { readonly kind: EntryKind; readonly text: string }[] = [];
  #probe: ReturnType<typeof setTimeout> | null = null;
  #isEnded = false;
  #rows = 0;
  #unrecorded = 0;
  #lost = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#allowance = new RefusalAllowance(options.clock);
    this.#writer = new JournalWriter({ ...options, segmentBytes: options.segmentBytes ?? SEGMENT_BYTES, onSyncFault: (fault) => this.#failed(fault) });
  }

  /** Sets room aside; without room for that the journal begins as one whose disk is full. */
  async start(): Promise<void> {
    this.#options.disk.remove(reservePath(this.#options.folder));
    try {
      await this.#reserve();
    } catch (fault) {
      this.#failed(fault);
    }
  }

  refusal(): string | null {
    return this.#fault === null || this.#options.settings.onFull === "continue" ? null : `the ledger cannot be written: ${this.#fault}`;
  }

  standing(): JournalStanding {
    return { fault: this.#fault, rows: this.#rows, unrecorded: this.#unrecorded, lost: this.#lost, openCalls: this.#open.size, waitingRows: this.#waiting.length, lastSyncMs: this.#writer.lastSyncMs };
  }

  open(record: CallRecord): OpenEntry {
    if (this.#fault !== null) this.#mayGoOn();
    const entry: Entry = { traceId: record.traceId, text: openingText(record), segment: 0 };
    if (!this.#append("opening", entry.text)) this.#mayGoOn();
    entry.segment = this.#writer.segment;
    this.#open.add(entry);
    return entry;
  }

  reopen(opened: OpenEntry, record: CallRecord): void {
    const entry = opened as Entry;
    entry.text = openingText(record);
    if (!this.#append("opening", entry.text)) return;
    this.#open.delete(entry);
    this.#open.add(Object.assign(entry, { segment: this.#writer.segment }));
  }

  close(entry: OpenEntry | null, record: CallRecord): Promise<void> | null {
    if (entry === null && (this.#fault !== null || !this.#allowance.take(record.tenantId !== null))) {
      this.#unrecorded += 1;
      return null;
    }
    if (entry !== null) this.#open.delete(entry as Entry);
    this.#keep("closing", closingText(record));
    return this.#options.settings.sync === "before_answer" ? this.#writer.synced() : null;
  }

  /** All rows stand before it. */
  get writtenTo(): JournalPlace {
    return this.#writer.writtenTo;
  }

  /** A closing row that recovery made. */
  addUnsettled(record: CallRecord): void {
    this.#keep("unsettled", closingText(record));
  }

  synced(): Promise<void> {
    return this.#writer.synced();
  }

  /**
   * Every row of these segments has been shipped: the files go. Openings in them whose calls are still under way are written again first. False: that was not
   * possible now.
   */
  async release(from: number, upTo: number): Promise<boolean> {
    for (const entry of this.#open) {
      if (entry.segment > upTo) break;
      if (!this.#append("opening", entry.text)) return false;
      this.#open.delete(entry);
      this.#open.add(Object.assign(entry, { segment: this.#writer.segment }));
    }
    await this.#writer.synced();
    if (this.#fault !== null) return false;
    for (let segment = from; segment <= upTo; segment++) this.#options.disk.remove(segmentPath(this.#options.folder, segment));
    return true;
  }

  /** Nothing is told to it any more. What was written is on the disk when it resolves. */
  async end(): Promise<void> {
    this.#isEnded = true;
    if (this.#probe !== null) clearTimeout(this.#probe);
    this.#retryWaiting();
    await this.#writer.close();
    this.#options.disk.remove(reservePath(this.#options.folder));
  }

  /** Writes a row that must not be lost; what the disk does not take waits in memory. */
  #keep(kind: EntryKind, text: string): void {
    if (this.#append(kind, text)) return;
    if (this.#waiting.length < MAX_WAITING_ROWS) this.#waiting.push({ kind, text });
    else this.#lost += 1;
  }

  /** False: the disk does not take it. */
  #append(kind: EntryKind, text: string): boolean {
    try {
      this.#writer.append(kind, text);
    } catch (fault) {
      this.#failed(fault);
      // the room that was set aside is for the calls that are under way
      if (kind === "opening" || !this.#giveReserveBack()) return false;
      return this.#append(kind, text);
    }
    this.#rows += 1;
    return true;
  }

  #mayGoOn(): void {
    if (this.#options.settings.onFull === "continue") return;
    throw new GatewayError("ledger_unavailable", "The ledger cannot be written, and no call runs without it.", { headers: { "retry-after": "1" }, detail: this.#fault ?? "" });
  }

  #failed(fault: unknown): void {
    const words = fault instanceof Error ? fault.message : String(fault);
    const isNew = this.#fault === null;
    this.#fault = words;
    if (isNew) this.#options.onFault(words);
    if (!this.#isEnded) this.#probe ??= setTimeout(() => void this.#tryAgain(), this.#options.probeMs ?? PROBE_MS);
  }

  async #tryAgain(): Promise<void> {
    try {
      if (this.#retryWaiting() && !this.#hasReserve) await this.#reserve();
      if (this.#waiting.length === 0 && this.#hasReserve) {
        this.#fault = null;
        this.#options.onMended(this.#lost === 0 ? "no row was lost" : `${this.#lost} rows were lost`);
      }
    } catch {
      // it is as it was
    }
    this.#probe = null;
    if (this.#fault !== null && !this.#isEnded) this.#failed(this.#fault);
  }

  /** True: nothing waits in memory any more. */
  #retryWaiting(): boolean {
    const rows = this.#waiting;
    this.#waiting = [];
    let written = 0;
    while (written < rows.length && this.#append(rows[written]!.kind, rows[written]!.text)) written += 1;
    this.#waiting = [...rows.slice(written), ...this.#waiting];
    return this.#waiting.length === 0;
  }

  async #reserve(): Promise<void> {
    const { disk, folder, reserveBytes = RESERVE_BYTES } = this.#options;
    try {
      await disk.reserve(reservePath(folder), reserveBytes);
      this.#hasReserve = true;
    } catch (fault) {
      disk.remove(reservePath(folder));
      throw fault;
    }
  }

  /** False: it was given back already. */
  #giveReserveBack(): boolean {
    if (!this.#hasReserve) return false;
    this.#hasReserve = false;
    this.#options.disk.remove(reservePath(this.#options.folder));
    return true;
  }
}
