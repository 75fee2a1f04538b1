// Ships closing entries from the journal to the database, in order and in batches. It holds one batch in memory, so a
// database that is down for hours costs disk space and nothing else. How far it has shipped is stored with the rows, in
// the same transaction, and is read at the start. What happens when anything fails: docs/design/row-of-a-call.md.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import { statSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Batch } from "./journal-batch.ts";
import type { JournalDisk } from "./journal-disk.ts";
import { type JournalPlace, rejectedPath, segmentPath, segmentsOf } from "./journal-folder.ts";
import { identityOf, type SegmentIdentity } from "./journal-identity.ts";
import { JournalReader } from "./journal-reader.ts";
import { startOf } from "./journal-row.ts";
import type { JournalTail } from "./journal-tail.ts";
import type { LedgerRow, LedgerSink, ShippedPlace } from "./ledger.ts";
import { lastPlaceOf, ShippedRuns } from "./shipped-runs.ts";

/**
 * Every batch has a fixed cost in the database, and rows of one batch share written pages: one batch of two thousand
 * takes two thirds of the time of the same rows in batches of five.
 */
const BATCH_ROWS = 2000;
const POLL_MS = 200;
const KEEP_MS = 1000;
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;
const REPORT_EVERY_MS = 60_000;
/**
 * After this many failures fewer rows are sent at once, to find one that the database refuses. Such a row is set aside
 * when the database accepts the row after it.
 */
const FAILURES_TO_HALVE = 3;
const FAILURES_TO_SET_ASIDE = 10;
/** How many times in a row the database has to accept the next row and refuse this one. */
const TRIES_TO_SET_ASIDE = 3;
/** A database that does not answer for this long counts as down; at shutdown the wait is shorter. */
const ANSWER_MS = 60_000;
const LAST_ANSWER_MS = 2000;
/** A row says within this many bytes when its call began. */
const FRONT_BYTES = 96;
const NO_PLACE: JournalPlace = { segment: 0, offset: 0 };

/** How far the shipper has come. */
export interface Progress {
  /** `null` when it has not reached any segment yet. */
  readonly place: JournalPlace | null;
  /** Rows of the journal that the database has, and when the call of the last one began. */
  readonly rows: number;
  readonly lastMs: number;
}

export interface ShipperOptions {
  readonly folder: string;
  /** The name of the journal, and of the run that writes to it now. No database knows of this run yet. */
  readonly journal: string;
  readonly run: string;
  /** The names of the journals that this one continues, if it is a copy. */
  readonly earlierNames?: readonly string[];
  readonly sink: LedgerSink;
  readonly clock: Clock;
  readonly disk: Pick<JournalDisk, "append">;
  /**
   * Removes a segment whose rows have all been shipped, or sets it aside if some of it cannot be read. Returns false
   * when that is not possible now.
   */
  readonly release: (segment: number, isDamaged: boolean) => Promise<boolean>;
  /** Every row is before this place; after it there may be zeros. */
  readonly writtenTo: () => JournalPlace;
  /** The newest rows of a journal that is being written. */
  readonly tail?: JournalTail;
  /**
   * Called once, before anything is shipped, with what the database has of this journal and of those that it continues.
   * `shippedOf` returns how many bytes of a segment the database has.
   */
  readonly onLearned?: (
    lastOf: (journal: string) => ShippedPlace | null,
    shippedOf: (identity: SegmentIdentity) => number,
  ) => void;
  /** Stores how far it has come, for readers of the folder. `null` when the database has not answered yet. */
  readonly keep?: (progress: Progress | null) => Promise<void>;
  readonly onProblem: (message: string) => void;
  readonly pollMs?: number;
  /** The first wait after a failure. */
  readonly backoffMs?: number;
  readonly answerMs?: number;
}

export class JournalShipper {
  readonly #options: ShipperOptions;
  readonly #reader: JournalReader;
  #place: JournalPlace = NO_PLACE;
  /** The segment that contains the place; `null` when none has been entered. */
  #entered: SegmentIdentity | null = null;
  /** What this journal has shipped of each run before; `null` when the database has not answered yet. */
  #known: ShippedRuns | null = null;
  /** Rows of this journal that the database has, and when the call of the last one began. */
  #rows = 0;
  #lastMs = 0;
  #isDamaged = false;
  /** A segment that was read to its end and still exists. */
  #over: { readonly segment: number; readonly isDamaged: boolean } | null = null;
  #batchRows = BATCH_ROWS;
  #failures = 0;
  #shipped = 0;
  #kept = "";
  #keptMs: number;
  #reportedMs: number | null = null;
  #isEnding = false;
  #wake: (() => void) | null = null;
  #running: Promise<void> | null = null;

  constructor(options: ShipperOptions) {
    this.#options = options;
    const { folder, writtenTo, tail } = options;
    this.#reader = new JournalReader({
      folder,
      writtenTo,
      ...(tail !== undefined && { tail }),
      onDamage: (...damage) => this.#reportDamage(...damage),
    });
    this.#keptMs = options.clock.monotonic();
  }

  get place(): JournalPlace {
    return this.#place;
  }
  /** `null` when the database has not answered yet what it has. */
  get progress(): Progress | null {
    return this.#known === null
      ? null
      : { place: this.#place === NO_PLACE ? null : this.#place, rows: this.#rows, lastMs: this.#lastMs };
  }
  /** Rows shipped since the start. */
  get shipped(): number {
    return this.#shipped;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ships everything that is there now. Returns false when some of it could not be shipped. */
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
    await this.#keep();
    await this.#reader.close();
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
        // A batch that is not full contains everything that is there.
        if (await this.#round()) waitMs = this.#failures === 0 ? 0 : waitMs;
        if (this.#failures > 0)
          waitMs = growingWaitMs(this.#failures, this.#options.backoffMs ?? MIN_BACKOFF_MS, MAX_BACKOFF_MS);
      } catch (fault) {
        this.#report(`rows of the ledger cannot be read for the database: ${messageOf(fault)}`);
        waitMs = MAX_BACKOFF_MS;
      }
      if (waitMs > 0 && !this.#isEnding) await this.#pause(waitMs);
    }
  }

  /** Returns true when there may be more to do at once. */
  async #round(): Promise<boolean> {
    if (this.#options.clock.monotonic() - this.#keptMs >= KEEP_MS) await this.#keep();
    if (!(await this.#learn()) || !(await this.#releaseOver()) || !(await this.#enterSegment())) return false;
    const batch = await this.#reader.read(this.#place, this.#batchRows);
    if (batch.rows.length > 0 && !(await this.#deliver(batch))) return false;
    const isWhole = batch.rows.length === 0 || this.#place.offset === batch.ends.at(-1);
    if (isWhole) this.#place = { ...this.#place, offset: batch.end };
    if (batch.isSegmentOver && isWhole) return await this.#leaveSegment();
    return batch.isFull || !isWhole;
  }

  /** Asks the database once how far it has come. Returns false when it does not answer. */
  async #learn(): Promise<boolean> {
    if (this.#known !== null) return true;
    const { folder, journal, onLearned } = this.#options;
    const runs = segmentsOf(folder).flatMap((segment) => identityOf(folder, segment)?.run ?? []);
    const places = await this.#placesOf(runs);
    if (places === null) return false;
    const last = lastPlaceOf(places, journal);
    [this.#rows, this.#lastMs] = [last?.rows ?? 0, last?.lastMs ?? 0];
    this.#known = new ShippedRuns(runs, this.#own(places));
    const ofAll = new ShippedRuns(runs, places);
    this.#failures = 0;
    this.#reportedMs = null;
    onLearned?.(
      (name) => lastPlaceOf(places, name),
      (identity) => ofAll.bytesOf(identity),
    );
    await this.#keep();
    return true;
  }

  /** Asks the database what it has of these runs. Returns `null` when it does not answer. */
  async #placesOf(runs: readonly string[]): Promise<readonly ShippedPlace[] | null> {
    const { journal, earlierNames = [], sink } = this.#options;
    try {
      return await this.#answered(sink.places([...new Set([journal, ...earlierNames])], [...new Set(runs)]));
    } catch (fault) {
      this.#failures += 1;
      this.#report(`the database does not accept rows of the ledger, which wait on the disk: ${messageOf(fault)}`);
      return null;
    }
  }

  /**
   * Enters the first existing segment; earlier ones have been removed. Returns false when there is none, or when it is
   * unknown how much of it the database has.
   */
  async #enterSegment(): Promise<boolean> {
    const { folder } = this.#options;
    if (this.#entered !== null) return true;
    const [first] = segmentsOf(folder);
    if (first === undefined) return false;
    const identity = identityOf(folder, first) ?? { run: this.#options.run, segment: first };
    const offset = await this.#shippedOf(identity);
    if (offset === null) return false;
    this.#entered = identity;
    this.#isDamaged = false;
    this.#place = {
      segment: first,
      offset: Math.min(offset, statSync(segmentPath(folder, first), { throwIfNoEntry: false })?.size ?? 0),
    };
    return true;
  }

  /** How many bytes of the segment the database has; `null` when it does not answer. */
  async #shippedOf(identity: SegmentIdentity): Promise<number | null> {
    const known = this.#known!;
    if (identity.run === this.#options.run) return 0;
    if (!known.has(identity.run)) {
      const places = await this.#placesOf([identity.run]);
      if (places === null) return null;
      known.learn(identity.run, this.#own(places));
    }
    return known.bytesOf(identity);
  }

  /**
   * A copy of a folder ships everything in it again, which changes nothing where the database has it. The last place
   * that the original has shipped of a run says nothing about the rows before it, if the database was restored in
   * between.
   */
  #own(places: readonly ShippedPlace[]): readonly ShippedPlace[] {
    return places.filter((place) => place.journal === this.#options.journal);
  }

  /** The progress is stored first, so that a removed segment is not reported as missing. */
  async #leaveSegment(): Promise<boolean> {
    const { segment } = this.#place;
    await this.#reader.close();
    this.#over = { segment, isDamaged: this.#isDamaged };
    this.#entered = null;
    this.#place = { segment: segment + 1, offset: 0 };
    await this.#keep();
    return await this.#releaseOver();
  }

  /** Returns false when the segment cannot be released now. */
  async #releaseOver(): Promise<boolean> {
    if (this.#over !== null && !(await this.#options.release(this.#over.segment, this.#over.isDamaged))) return false;
    this.#over = null;
    return true;
  }

  /** Ships a batch and moves the place past what was accepted. Returns false when nothing was. */
  async #deliver({ rows, ends }: Batch): Promise<boolean> {
    const { segment } = this.#place;
    try {
      const place = { segment, offset: ends.at(-1)! };
      const lastMs = startOf(frontOf(rows.at(-1)!));
      const counted = this.#rows + rows.length;
      await this.#ingest(rows, {
        ...this.#entered!,
        journal: this.#options.journal,
        offset: place.offset,
        rows: counted,
        lastMs,
      });
      this.#shipped += rows.length;
      this.#rows = counted;
      this.#lastMs = lastMs;
      this.#place = place;
    } catch (fault) {
      this.#failures += 1;
      this.#report(`the database does not accept rows of the ledger, which wait on the disk: ${messageOf(fault)}`);
      if (this.#failures % FAILURES_TO_HALVE === 0) this.#batchRows = Math.max(1, Math.floor(rows.length / 2));
      if (
        rows.length > 1 ||
        this.#failures < FAILURES_TO_SET_ASIDE ||
        !(await this.#isRefusedAlone(rows[0]!, ends[0]!))
      )
        return false;
      const { record, settled } = rows[0]!;
      await this.#options.disk.append(
        rejectedPath(this.#options.folder),
        `${JSON.stringify({ record, settled, fault: messageOf(fault) })}\n`,
      );
      this.#options.onProblem(
        `the database rejects the row of the call ${record.traceId}: ${messageOf(fault)}; the row is set aside in ${rejectedPath(this.#options.folder)}`,
      );
      this.#place = { segment, offset: ends[0]! };
    }
    this.#options.tail?.forget(this.#place);
    this.#failures = 0;
    this.#reportedMs = null;
    this.#batchRows = BATCH_ROWS;
    return true;
  }

  /** An answer that arrives too late does no harm: the same rows are sent again. */
  #ingest(rows: readonly LedgerRow[], place?: ShippedPlace): Promise<void> {
    return this.#answered(this.#options.sink.ingest(rows, place));
  }

  /** Rejects when the answer does not arrive in time. */
  async #answered<T>(answer: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUpIn = (ms: number) => setTimeout(reject, ms, new Error("it does not answer"));
    const timer = giveUpIn(this.#isEnding ? LAST_ANSWER_MS : (this.#options.answerMs ?? ANSWER_MS));
    let last: ReturnType<typeof setTimeout> | undefined;
    this.#wake = () => (last = giveUpIn(LAST_ANSWER_MS));
    try {
      return await Promise.race([answer, promise]);
    } finally {
      this.#wake = null;
      clearTimeout(timer);
      clearTimeout(last);
    }
  }

  /** Whether the database refuses this particular row. A database that was down and is back accepts both rows. */
  async #isRefusedAlone(row: LedgerRow, end: number): Promise<boolean> {
    for (let tries = 0; tries < TRIES_TO_SET_ASIDE; tries++) {
      if (!(await this.#takesNext(end))) return false;
      const isAccepted = await this.#ingest([row]).then(
        () => true,
        () => false,
      );
      if (isAccepted) return false;
    }
    return true;
  }

  /** Whether the row after this place is accepted, which means that the database itself works. */
  async #takesNext(offset: number): Promise<boolean> {
    try {
      const row = await this.#rowAfter({ ...this.#place, offset });
      if (row === null) return false;
      await this.#ingest([row]);
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the first row after this place, which may be in a later segment; `null` when there is none yet. */
  async #rowAfter(place: JournalPlace): Promise<LedgerRow | null> {
    const { folder, writtenTo } = this.#options;
    // Damage is reported when the place itself gets there.
    const ahead = new JournalReader({ folder, writtenTo, onDamage: () => {} });
    try {
      const later = segmentsOf(folder).filter((segment) => segment > place.segment);
      for (const from of [place, ...later.map((segment) => ({ segment, offset: 0 }))]) {
        const { rows, isSegmentOver } = await ahead.read(from, 1);
        if (rows.length > 0) return rows[0]!;
        if (!isSegmentOver) return null;
      }
      return null;
    } finally {
      await ahead.close();
    }
  }

  /** Never rejects, because nothing that is shipped depends on it. */
  async #keep(): Promise<void> {
    this.#keptMs = this.#options.clock.monotonic();
    const { segment, offset } = this.#options.writtenTo();
    const state = `${this.#known !== null} ${this.#place.segment} ${this.#place.offset} ${this.#rows} ${segment} ${offset}`;
    if (state === this.#kept) return;
    try {
      await this.#options.keep?.(this.progress);
      this.#kept = state;
    } catch {
      // A full disk is reported elsewhere.
    }
  }

  #reportDamage(segment: number, from: number, to: number): void {
    this.#isDamaged = true;
    this.#options.onProblem(
      `segment ${segment} of the ledger is damaged from byte ${from} to ${to}; the rows there are lost`,
    );
  }

  /** A lasting problem is reported once a minute. */
  #report(message: string): void {
    const nowMs = this.#options.clock.monotonic();
    if (this.#reportedMs !== null && nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    this.#options.onProblem(message);
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

/** The beginning of a row's text, without decoding the rest. */
function frontOf({ bytes }: LedgerRow): string {
  return Buffer.from(bytes!.subarray(0, FRONT_BYTES)).toString("latin1");
}
