// Moves closing rows from the journal to where they are kept, in order and in batches. It holds one batch in memory, so that a database that
// is down for hours costs room on the disk and nothing else. How far it came is kept where the rows go, in one transaction with them, and is asked for at the start.
import { statSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import type { JournalDisk } from "./journal-disk.ts";
import { type JournalPlace, rejectedPath, segmentPath, segmentsOf } from "./journal-folder.ts";
import { identityOf, type SegmentIdentity } from "./journal-identity.ts";
import { type Batch, JournalReader } from "./journal-reader.ts";
import { startOf } from "./journal-row.ts";
import type { LedgerRow, LedgerSink, ShippedPlace } from "./ledger.ts";
import { lastPlaceOf, ShippedRuns } from "./shipped-runs.ts";

/** A batch has a price of its own in the database, and rows of one batch share pages that are written: two thousand take two thirds of the time of as many in fives. */
const BATCH_ROWS = 2000;
const POLL_MS = 200;
const KEEP_MS = 1000;
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;
const TELL_MS = 60_000;
/** From so many failures on, fewer rows are tried at once, to find one that cannot be taken; such a row is set aside when the one behind it is taken. */
const FAILURES_TO_HALVE = 3;
const FAILURES_TO_SET_ASIDE = 10;
/** So often in turn the row behind it has to be taken, and it not. */
const TRIES_TO_SET_ASIDE = 3;
/** A database that does not answer for so long counts as down; at the end of the process it is not waited for as long. */
const ANSWER_MS = 60_000;
const LAST_ANSWER_MS = 2000;
/** A row says within so many bytes when its call began. */
const FRONT_BYTES = 96;
const NOWHERE: JournalPlace = { segment: 0, offset: 0 };

/** How far it came. */
export interface Progress {
  /** Null: it has not come to any segment yet. */
  readonly place: JournalPlace | null;
  /** Rows of the journal that the database has, and when the call of the last one began. */
  readonly rows: number;
  readonly lastMs: number;
}

export interface ShipperOptions {
  readonly folder: string;
  /** The name of the journal, and that of the run that writes to it now: no database knows anything of the latter. */
  readonly journal: string;
  readonly run: string;
  /** The names of the journals that it goes on from, where it is a copy. */
  readonly earlierNames?: readonly string[];
  readonly sink: LedgerSink;
  readonly clock: Clock;
  readonly disk: Pick<JournalDisk, "append">;
  /** Removes a segment whose rows have all been shipped, or sets it aside where something in it cannot be read; false: not now. */
  readonly release: (segment: number, isDamaged: boolean) => Promise<boolean>;
  /** Every row stands before it; behind it there may be zeros. */
  readonly writtenTo: () => JournalPlace;
  /** Hears once, before anything is shipped, what the database has of this journal and of those that it goes on from. `shippedOf` says how many bytes of a segment it has. */
  readonly onLearned?: (
    lastOf: (journal: string) => ShippedPlace | null,
    shippedOf: (identity: SegmentIdentity) => number,
  ) => void;
  /** Keeps how far it came, for those who read the folder. Null: the database has not been asked yet. */
  readonly keep?: (progress: Progress | null) => Promise<void>;
  readonly onProblem: (words: string) => void;
  readonly pollMs?: number;
  /** The first wait after a failure. */
  readonly backoffMs?: number;
  readonly answerMs?: number;
}

export class JournalShipper {
  readonly #options: ShipperOptions;
  readonly #reader: JournalReader;
  #place: JournalPlace = NOWHERE;
  /** The segment that the place stands in; null: none has been entered. */
  #entered: SegmentIdentity | null = null;
  /** What this journal itself has moved of each run before; null: the database has not been asked. */
  #known: ShippedRuns | null = null;
  /** Rows of this journal that the database has, and when the last one's call began. */
  #rows = 0;
  #lastMs = 0;
  #isDamaged = false;
  /** It was read to its end, and is still there. */
  #over: { readonly segment: number; readonly isDamaged: boolean } | null = null;
  #batchRows = BATCH_ROWS;
  #failures = 0;
  #shipped = 0;
  #kept = "";
  #keptMs: number;
  #toldMs: number | null = null;
  #isEnding = false;
  #wake: (() => void) | null = null;
  #running: Promise<void> | null = null;

  constructor(options: ShipperOptions) {
    this.#options = options;
    const { folder, writtenTo } = options;
    this.#reader = new JournalReader({ folder, writtenTo, onDamage: (...damage) => this.#tellDamage(...damage) });
    this.#keptMs = options.clock.monotonic();
  }

  get place(): JournalPlace {
    return this.#place;
  }
  /** Null: the database has not said yet what it has. */
  get progress(): Progress | null {
    return this.#known === null
      ? null
      : { place: this.#place === NOWHERE ? null : this.#place, rows: this.#rows, lastMs: this.#lastMs };
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
        // a batch that is not full is what there is
        if (await this.#round()) waitMs = this.#failures === 0 ? 0 : waitMs;
        if (this.#failures > 0)
          waitMs = Math.min(
            MAX_BACKOFF_MS,
            (this.#options.backoffMs ?? MIN_BACKOFF_MS) * 2 ** Math.min(this.#failures - 1, 10),
          );
      } catch (fault) {
        this.#tell(`rows of the ledger cannot be read for the database: ${wordsOf(fault)}`);
        waitMs = MAX_BACKOFF_MS;
      }
      if (waitMs > 0 && !this.#isEnding) await this.#pause(waitMs);
    }
  }

  /** True: there may be more to do at once. */
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

  /** Asks the database once how far it has come. False: it does not say. */
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
    this.#toldMs = null;
    onLearned?.(
      (name) => lastPlaceOf(places, name),
      (identity) => ofAll.bytesOf(identity),
    );
    await this.#keep();
    return true;
  }

  /** What the database has taken of these runs becomes known. Null: it does not say. */
  async #placesOf(runs: readonly string[]): Promise<readonly ShippedPlace[] | null> {
    const { journal, earlierNames = [], sink } = this.#options;
    try {
      return await this.#answered(sink.places([...new Set([journal, ...earlierNames])], [...new Set(runs)]));
    } catch (fault) {
      this.#failures += 1;
      this.#tell(`the database does not take rows of the ledger, which wait on the disk: ${wordsOf(fault)}`);
      return null;
    }
  }

  /** The first one that is there: those before it have gone. False: there is none, or it is not known how much of it the database has. */
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

  /** Bytes of the segment that the database has; null: it does not say. */
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
   * A copy of a folder moves all that stands in it once more, which changes nothing where the database has it: what the original has moved last of a run says
   * nothing of the rows before that, if the database was restored in between.
   */
  #own(places: readonly ShippedPlace[]): readonly ShippedPlace[] {
    return places.filter((place) => place.journal === this.#options.journal);
  }

  /** Kept first, so that a segment that has gone is not missed. */
  async #leaveSegment(): Promise<boolean> {
    const { segment } = this.#place;
    await this.#reader.close();
    this.#over = { segment, isDamaged: this.#isDamaged };
    this.#entered = null;
    this.#place = { segment: segment + 1, offset: 0 };
    await this.#keep();
    return await this.#releaseOver();
  }

  /** False: not now. */
  async #releaseOver(): Promise<boolean> {
    if (this.#over !== null && !(await this.#options.release(this.#over.segment, this.#over.isDamaged))) return false;
    this.#over = null;
    return true;
  }

  /** Moves the place on, over what was taken. False: nothing was. */
  async #deliver({ rows, ends }: Batch): Promise<boolean> {
    const { segment } = this.#place;
    try {
      const place = { segment, offset: ends.at(-1)! };
      const lastMs = startOf(Buffer.from(rows.at(-1)!.bytes!.subarray(0, FRONT_BYTES)).toString("latin1"));
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
      this.#tell(`the database does not take rows of the ledger, which wait on the disk: ${wordsOf(fault)}`);
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
        `${JSON.stringify({ record, settled, fault: wordsOf(fault) })}\n`,
      );
      this.#options.onProblem(
        `the database takes every row of the ledger but that of the call ${record.traceId}: ${wordsOf(fault)}; it is set aside in ${rejectedPath(this.#options.folder)}`,
      );
      this.#place = { segment, offset: ends[0]! };
    }
    this.#failures = 0;
    this.#toldMs = null;
    this.#batchRows = BATCH_ROWS;
    return true;
  }

  /** What comes too late changes nothing: the same rows come again. */
  #ingest(rows: readonly LedgerRow[], place?: ShippedPlace): Promise<void> {
    return this.#answered(this.#options.sink.ingest(rows, place));
  }

  /** Rejects where the answer does not come in time. */
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

  /** Whether it is this row that the database does not take. One that was down, and answers again by now, takes both. */
  async #isRefusedAlone(row: LedgerRow, end: number): Promise<boolean> {
    for (let tries = 0; tries < TRIES_TO_SET_ASIDE; tries++) {
      if (!(await this.#takesNext(end))) return false;
      const isTaken = await this.#ingest([row]).then(
        () => true,
        () => false,
      );
      if (isTaken) return false;
    }
    return true;
  }

  /** Whether the row behind this place is taken: then it is not the database that fails. */
  async #takesNext(offset: number): Promise<boolean> {
    try {
      const { rows } = await this.#reader.read({ ...this.#place, offset }, 1);
      if (rows.length === 0) return false;
      await this.#ingest(rows);
      return true;
    } catch {
      return false;
    }
  }

  /** Never rejects: nothing that is shipped depends on it. */
  async #keep(): Promise<void> {
    this.#keptMs = this.#options.clock.monotonic();
    const { segment, offset } = this.#options.writtenTo();
    const state = `${this.#known !== null} ${this.#place.segment} ${this.#place.offset} ${this.#rows} ${segment} ${offset}`;
    if (state === this.#kept) return;
    try {
      await this.#options.keep?.(this.progress);
      this.#kept = state;
    } catch {
      // a disk that is full says so elsewhere
    }
  }

  #tellDamage(segment: number, from: number, to: number): void {
    this.#isDamaged = true;
    this.#options.onProblem(
      `segment ${segment} of the ledger is damaged from byte ${from} to ${to}: rows in there are lost`,
    );
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
