// The journal of calls on disk (decisions 11.2, docs/decisions/0019): an opening row when a call is admitted, a closing row before the last byte of its answer.
// A disk that takes no more rows stops new calls, or is gone on without, loudly; the file that was set aside takes the rows of the calls that are under way.
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { CallRecord } from "../core/record.ts";
import type { JournalDisk } from "./journal-disk.ts";
import type { EntryKind } from "./journal-entry.ts";
import { type JournalPlace, reservePath } from "./journal-folder.ts";
import { closingText, openingText } from "./journal-row.ts";
import { JournalWriter } from "./journal-writer.ts";
import type { Ledger, OpenEntry } from "./ledger.ts";
import type { LedgerSettings } from "./ledger-settings.ts";
import { RefusalAllowance } from "./refusal-allowance.ts";

/** On a small disk a part of it: a segment is not removed before it is full, and what is set aside serves nobody else. */
const SEGMENT_BYTES = 32 * 1024 * 1024;
const SEGMENT_SHARE = 16;
/** Closing rows of some thousand calls. */
const RESERVE_BYTES = 8 * 1024 * 1024;
const RESERVE_SHARE = 8;
/** How often a disk that was full is tried again. */
const PROBE_MS = 500;
/** Closing rows that wait in memory for room on the disk at most. */
const MAX_WAITING_ROWS = 10_000;

export interface JournalOptions {
  readonly folder: string;
  /** The name of this run: no other one has it. */
  readonly run: string;
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

/** A row in memory that the disk does not take. */
interface WaitingRow {
  readonly kind: EntryKind;
  readonly text: string;
  /** The first segment that may hold its opening; null: it has none. */
  readonly openedIn: number | null;
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
  readonly #reserveBytes: number;
  #fault: string | null = null;
  /** What was written before the fault may not be on the disk. */
  #isUnsynced = false;
  #isReserveTold = false;
  #hasReserve = false;
  #waiting: WaitingRow[] = [];
  #probe: ReturnType<typeof setTimeout> | null = null;
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

  /** Sets room aside; without room for that the journal begins as one whose disk is full. */
  async start(): Promise<void> {
    this.#options.disk.remove(reservePath(this.#options.folder));
    try {
      await this.#reserve();
    } catch (fault) {
      this.#isReserveTold = true;
      this.#failed(fault);
    }
  }

  refusal(): string | null {
    return this.#fault === null || this.#options.settings.onFull === "continue"
      ? null
      : `the ledger cannot be written: ${this.#fault}`;
  }

  standing(): JournalStanding {
    return {
      fault: this.#fault,
      rows: this.#rows,
      unrecorded: this.#unrecorded,
      lost: this.#lost,
      openCalls: this.#open.size,
      waitingRows: this.#waiting.length,
      lastSyncMs: this.#writer.lastSyncMs,
    };
  }

  /** Rows that wait in memory and are gone with the process. Those that recovery made are not: the next start makes them again of the same openings. */
  get rowsInMemoryAlone(): number {
    return this.#waiting.filter(({ kind }) => kind !== "unsettled").length;
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
    if (entry === null && (this.#fault !== null || !this.#allowance.take(record.tenantId))) {
      this.#unrecorded += 1;
      return null;
    }
    if (entry !== null) this.#open.delete(entry as Entry);
    this.#keep("closing", closingText(record), (entry as Entry | null)?.segment ?? null);
    return this.#options.settings.sync === "before_answer" ? this.#writer.synced() : null;
  }

  /** All rows stand before it. */
  get writtenTo(): JournalPlace {
    return this.#writer.writtenTo;
  }

  /** A closing row that recovery made; its opening may stand in any segment. */
  addUnsettled(record: CallRecord): void {
    this.#keep("unsettled", closingText(record), 0);
  }

  synced(): Promise<void> {
    return this.#writer.synced();
  }

  /**
   * Every row of the segment has been shipped, and it may go. Openings in it whose calls are still under way are written again first. False: that was not possible
   * now, or a row that ends one of its calls is not on the disk yet.
   */
  async mayRelease(segment: number): Promise<boolean> {
    for (const entry of this.#open) {
      if (entry.segment > segment) break;
      if (!this.#append("opening", entry.text)) return false;
      this.#open.delete(entry);
      this.#open.add(Object.assign(entry, { segment: this.#writer.segment }));
    }
    await this.#writer.synced();
    return !this.#isUnsynced && !this.#waiting.some(({ openedIn }) => openedIn !== null && openedIn <= segment);
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
  #keep(kind: EntryKind, text: string, openedIn: number | null): void {
    if (this.#append(kind, text)) return;
    if (this.#waiting.length < MAX_WAITING_ROWS) this.#waiting.push({ kind, text, openedIn });
    else this.#lost += 1;
  }

  /** False: the disk does not take it. */
  #append(kind: EntryKind, text: string): boolean {
    try {
      this.#writer.append(kind, text);
    } catch (fault) {
      this.#failed(fault);
      // the room that was set aside is for the calls that are under way
      if (kind === "opening" || !this.#useReserve()) return false;
      return this.#append(kind, text);
    }
    this.#rows += 1;
    return true;
  }

  #mayGoOn(): void {
    if (this.#options.settings.onFull === "continue") return;
    throw new GatewayError("ledger_unavailable", "The ledger cannot be written, and no call runs without it.", {
      headers: { "retry-after": "1" },
      detail: this.#fault ?? "",
    });
  }

  #syncFailed(fault: unknown): void {
    this.#isUnsynced = true;
    this.#failed(fault);
  }

  #failed(fault: unknown): void {
    const words = wordsOf(fault);
    const isNew = this.#fault === null;
    this.#fault = words;
    if (isNew) {
      this.#options.onFault(words);
      // what has been shipped of the segment makes room when it goes, and it goes when it takes no more rows
      this.#writer.retire();
    }
    if (!this.#isEnded) this.#probe ??= setTimeout(() => void this.#tryAgain(), this.#options.probeMs ?? PROBE_MS);
  }

  async #tryAgain(): Promise<void> {
    try {
      if (this.#retryWaiting() && !this.#hasReserve) await this.#reserve();
      if (this.#waiting.length === 0 && this.#hasReserve) {
        this.#fault = null;
        this.#isUnsynced = this.#isReserveTold = false;
        this.#options.onMended(this.#lost === 0 ? "no row was lost" : `${this.#lost} rows were lost`);
      }
    } catch (fault) {
      // there may be room for rows by now, and not for what is set aside
      this.#fault = wordsOf(fault);
      if (!this.#isReserveTold) this.#options.onFault(this.#fault);
      this.#isReserveTold = true;
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
    const { disk, folder } = this.#options;
    try {
      await disk.reserve(reservePath(folder), this.#reserveBytes, this.#writer.roomAhead);
      this.#hasReserve = true;
      // what is left of the room that was set aside before goes back to the disk
      this.#writer.retire();
    } catch (fault) {
      disk.remove(reservePath(folder));
      throw fault;
    }
  }

  /** False: nothing is left of it. */
  #useReserve(): boolean {
    // some file systems take new blocks for what is written over: there it helps to give the room back
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

function wordsOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
