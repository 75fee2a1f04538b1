// Moves closing rows from the journal to where they are kept, in order and in batches. It reads the files and holds one batch in memory, so that a database that
// is down for hours costs room on the disk and nothing else. How far it came is written down now and then: rows that come twice change nothing at the sink.
import { appendFile, type FileHandle, open } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { nextEntry, readEntry, withoutZeros } from "./journal-entry.ts";
import { type JournalPlace, readShipped, rejectedPath, segmentPath, segmentsOf, writeShipped } from "./journal-folder.ts";
import { rowOf } from "./journal-row.ts";
import type { LedgerRow, LedgerSink } from "./ledger.ts";

/** A batch has a price of its own in the database, and rows of one batch share pages that are written: two thousand take two thirds of the time of as many in fives. */
const BATCH_ROWS = 2000;
/** What is read when a batch has so much is its last: it is held in memory, and copied to a thread. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Read and parsed at a time: a fifth of a millisecond of the event loop. */
const CHUNK_BYTES = 64 * 1024;
const POLL_MS = 200;
const PERSIST_MS = 1000;
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;
const TELL_MS = 60_000;
/** From so many failures on, fewer rows are tried at once, to find one that cannot be taken; such a row is set aside when the one behind it is taken. */
const FAILURES_TO_HALVE = 3;
const FAILURES_TO_SET_ASIDE = 10;
/** A database that does not answer for so long counts as down; at the end of the process it is not waited for as long. */
const ANSWER_MS = 60_000;
const LAST_ANSWER_MS = 2000;

export interface ShipperOptions {
  readonly folder: string;
  readonly sink: LedgerSink;
  readonly clock: Clock;
  /** Removes segments whose rows have all been shipped; false: not now. */
  readonly release: (from: number, upTo: number) => Promise<boolean>;
  /** Every row stands before it; behind it there may be zeros. */
  readonly writtenTo: () => JournalPlace;
  readonly onProblem: (words: string) => void;
  readonly pollMs?: number;
  /** The first wait after a failure. */
  readonly backoffMs?: number;
  readonly answerMs?: number;
}

interface Batch {
  readonly rows: readonly LedgerRow[];
  /** The place behind each row. */
  readonly ends: readonly number[];
  /** Behind what was read, rows or not. */
  readonly end: number;
  /** The segment has no more, and another one follows. */
  readonly isSegmentOver: boolean;
  /** There may be more behind it. */
  readonly isFull: boolean;
}

export class JournalShipper {
  readonly #options: ShipperOptions;
  #place: JournalPlace;
  #file: { readonly segment: number; readonly handle: FileHandle } | null = null;
  #damageTold: JournalPlace = { segment: 0, offset: 0 };
  #batchRows = BATCH_ROWS;
  #failures = 0;
  #shipped = 0;
  #persisted: JournalPlace;
  #persistedMs: number;
  #toldMs: number | null = null;
  #isEnding = false;
  #wake: (() => void) | null = null;
  #running: Promise<void> | null = null;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#place = this.#persisted = readShipped(options.folder);
    this.#persistedMs = options.clock.monotonic();
  }

  get place(): JournalPlace {
    return this.#place;
  }
  /** Rows since the start. */
  get shipped(): number {
    return this.#shipped;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ships what is there by now; false: not all of it went. */
  async drain(timeoutMs: number): Promise<boolean> {
    const endsMs = this.#options.clock.monotonic() + timeoutMs;
    await this.#stop();
    let isDone = false;
    while (!isDone && this.#options.clock.monotonic() < endsMs) {
      const moved = await this.#round().catch(() => null);
      if (moved === null || this.#failures > 0) break;
      isDone = !moved;
    }
    await this.end();
    return isDone;
  }

  async end(): Promise<void> {
    await this.#stop();
    await this.#persist().catch(() => {});
    await this.#file?.handle.close();
    this.#file = null;
  }

  async #stop(): Promise<void> {
    this.#isEnding = true;
    this.#wake?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      let waitMs = this.#options.pollMs ?? POLL_MS;
      try {
        // a batch that is not full is what there is
        if (await this.#round()) waitMs = this.#failures === 0 ? 0 : waitMs;
        if (this.#failures > 0) waitMs = Math.min(MAX_BACKOFF_MS, (this.#options.backoffMs ?? MIN_BACKOFF_MS) * 2 ** Math.min(this.#failures - 1, 10));
      } catch (fault) {
        this.#tell(`rows of the ledger cannot be read for the database: ${wordsOf(fault)}`);
        waitMs = MAX_BACKOFF_MS;
      }
      if (waitMs > 0 && !this.#isEnding) await this.#pause(waitMs);
    }
  }

  /** True: there may be more to do at once. */
  async #round(): Promise<boolean> {
    if (!this.#enterSegment()) return false;
    const batch = await this.#read(this.#batchRows);
    if (batch.rows.length > 0 && !(await this.#deliver(batch))) return false;
    const isWhole = batch.rows.length === 0 || this.#place.offset === batch.ends.at(-1);
    if (isWhole) this.#place = { ...this.#place, offset: batch.end };
    if (batch.isSegmentOver && isWhole) return await this.#leaveSegment();
    if (this.#options.clock.monotonic() - this.#persistedMs >= PERSIST_MS) await this.#persist();
    return batch.isFull || !isWhole;
  }

  /** False: there is no segment. */
  #enterSegment(): boolean {
    if (this.#file?.segment === this.#place.segment) return true;
    const segments = segmentsOf(this.#options.folder);
    if (segments.includes(this.#place.segment)) return true;
    const next = segments.find((segment) => segment > this.#place.segment);
    if (next === undefined) return false;
    this.#place = { segment: next, offset: 0 };
    return true;
  }

  async #leaveSegment(): Promise<boolean> {
    const { segment } = this.#place;
    await this.#file?.handle.close();
    this.#file = null;
    await this.#persist();
    const first = segmentsOf(this.#options.folder)[0] ?? segment;
    if (!(await this.#options.release(first, segment))) return false;
    this.#place = { segment: segment + 1, offset: 0 };
    return true;
  }

  async #read(maxRows: number): Promise<Batch> {
    const { segment, offset } = this.#place;
    const rows: LedgerRow[] = [];
    const ends: number[] = [];
    let end = offset;
    let chunkBytes = CHUNK_BYTES;
    let size = 0;
    const isFull = (): boolean => rows.length >= maxRows || size >= BATCH_BYTES;
    while (!isFull()) {
      const written = this.#options.writtenTo();
      // it takes no more rows
      const isSealed = segment < written.segment;
      const { bytes, isLast } = await this.#chunk(segment, end, isSealed ? chunkBytes : Math.max(0, Math.min(chunkBytes, written.offset - end)));
      let at = 0;
      while (!isFull()) {
        const entry = readEntry(bytes, at);
        if (entry === "damaged") {
          const next = nextEntry(bytes, at + 1);
          if (next === null) break;
          this.#tellDamage(segment, end + at, end + next);
          at = next;
        } else if (entry === "partial") break;
        else {
          at = entry.end;
          if (entry.kind === "opening") continue;
          rows.push(rowOf(entry.bytes, entry.kind === "closing"));
          ends.push(end + at);
          size += entry.bytes.length;
        }
      }
      end += at;
      if (isFull()) break;
      if (!isSealed && end + bytes.length - at >= written.offset) return { rows, ends, end, isSegmentOver: false, isFull: false };
      if (isLast) {
        const rest = withoutZeros(bytes.subarray(at));
        if (rest.length > 0) this.#tellDamage(segment, end, end + rest.length);
        return { rows, ends, end, isSegmentOver: true, isFull: false };
      }
      chunkBytes = at === 0 ? chunkBytes * 2 : CHUNK_BYTES;
    }
    return { rows, ends, end, isSegmentOver: false, isFull: true };
  }

  async #chunk(segment: number, offset: number, length: number): Promise<{ readonly bytes: Buffer; readonly isLast: boolean }> {
    if (this.#file?.segment !== segment) {
      await this.#file?.handle.close();
      this.#file = { segment, handle: await open(segmentPath(this.#options.folder, segment), "r") };
    }
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#file.handle.read(buffer, 0, length, offset);
    return { bytes: buffer.subarray(0, bytesRead), isLast: bytesRead < length };
  }

  /** Moves the place on, over what was taken. False: nothing was. */
  async #deliver({ rows, ends }: Batch): Promise<boolean> {
    const { segment } = this.#place;
    try {
      await this.#ingest(rows);
      this.#shipped += rows.length;
      this.#place = { segment, offset: ends.at(-1)! };
    } catch (fault) {
      this.#failures += 1;
      this.#tell(`the database does not take rows of the ledger, which wait on the disk: ${wordsOf(fault)}`);
      if (this.#failures % FAILURES_TO_HALVE === 0) this.#batchRows = Math.max(1, Math.floor(rows.length / 2));
      if (rows.length > 1 || this.#failures < FAILURES_TO_SET_ASIDE || !(await this.#takesNext(ends[0]!))) return false;
      const { record, settled } = rows[0]!;
      await appendFile(rejectedPath(this.#options.folder), `${JSON.stringify({ record, settled, fault: wordsOf(fault) })}\n`, { mode: 0o600, flush: true });
      this.#options.onProblem(`the database takes every row of the ledger but that of the call ${record.traceId}: ${wordsOf(fault)}; it is set aside in ${rejectedPath(this.#options.folder)}`);
      this.#place = { segment, offset: ends[0]! };
    }
    this.#failures = 0;
    this.#toldMs = null;
    this.#batchRows = BATCH_ROWS;
    return true;
  }

  /** What comes too late changes nothing: the same rows come again. */
  async #ingest(rows: readonly LedgerRow[]): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUpIn = (ms: number) => setTimeout(reject, ms, new Error("it does not answer"));
    const timer = giveUpIn(this.#isEnding ? LAST_ANSWER_MS : (this.#options.answerMs ?? ANSWER_MS));
    let last: ReturnType<typeof setTimeout> | undefined;
    this.#wake = () => (last = giveUpIn(LAST_ANSWER_MS));
    try {
      await Promise.race([this.#options.sink.ingest(rows), promise]);
    } finally {
      this.#wake = null;
      clearTimeout(timer);
      clearTimeout(last);
    }
  }

  /** Whether the row behind this place is taken: then it is not the database that fails. */
  async #takesNext(offset: number): Promise<boolean> {
    const place = this.#place;
    this.#place = { ...place, offset };
    try {
      const { rows } = await this.#read(1);
      if (rows.length === 0) return false;
      await this.#ingest(rows);
      return true;
    } catch {
      return false;
    } finally {
      this.#place = place;
    }
  }

  async #persist(): Promise<void> {
    this.#persistedMs = this.#options.clock.monotonic();
    const place = this.#place;
    if (place.segment === this.#persisted.segment && place.offset === this.#persisted.offset) return;
    await writeShipped(this.#options.folder, place);
    this.#persisted = place;
  }

  /** Once for each place, however often it is read. */
  #tellDamage(segment: number, from: number, to: number): void {
    if (segment < this.#damageTold.segment || (segment === this.#damageTold.segment && from <= this.#damageTold.offset)) return;
    this.#damageTold = { segment, offset: from };
    this.#options.onProblem(`segment ${segment} of the ledger is damaged from byte ${from} to ${to}: rows in there are lost`);
  }

  /** What goes on is told once a minute. */
  #tell(words: string): void {
    const nowMs = this.#options.clock.monotonic();
    if (this.#toldMs !== null && nowMs - this.#toldMs < TELL_MS) return;
    this.#toldMs = nowMs;
    this.#options.onProblem(words);
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}

function wordsOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
