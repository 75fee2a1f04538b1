// One thread that delivers records, seen from the serving thread: the records on their way to it are bounded, its state
// is read from shared counts, and a thread that ends, hangs or grows too large is replaced after growing waits; the
// records that it held are counted as dropped.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import type { Clock } from "../../core/clock.ts";
import { within } from "../../core/concurrency/timeout.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Worker } from "node:worker_threads";
import { FIGURES, type Figure, SETTLED, type SharedFigures, sharedFigures, zeros } from "./integration-figures.ts";
import type { Integration } from "./integration-settings.ts";
import type { EndRequest, IntegrationNews, IntegrationSetup } from "./integration-worker.ts";

export interface IntegrationThreadOptions {
  readonly integrations: readonly Integration[];
  readonly begin: (setup: IntegrationSetup) => Worker;
  readonly clock: Pick<Clock, "now">;
  /** Without a heartbeat for this long, the thread is considered to hang. */
  readonly hangMs: number;
  /** `null` when the thread has no memory bound of its own. */
  readonly maxHeapBytes: number | null;
  readonly onNews: (news: Exclude<IntegrationNews, { readonly kind: "ended" }>) => void;
  /** Called when the thread has ended, with the reason. */
  readonly onLost: (why: string) => void;
  readonly maxUnits?: number;
  readonly maxCalls?: number;
  readonly firstWaitMs?: number;
}

/** Sums since the start, over all threads that replaced each other. */
export interface IntegrationSums extends Readonly<Record<Figure, number>> {
  /** Calls that have not been delivered, refused or dropped, here and in the thread. */
  readonly queued: number;
  /** Calls that were not handed over because the thread is too slow. */
  readonly handover: number;
  /** Calls that a thread held when it ended. */
  readonly thread_ended: number;
}

/** When the thread was last seen to have delivered, or failed to: milliseconds since 1970, to half a second; null for never. */
export interface IntegrationTimes {
  readonly deliveredAtMs: number | null;
  readonly failedAtMs: number | null;
}

/** Bounds of the unread lines: UTF-16 units and lines. */
const MAX_UNITS = 16 * 1024 * 1024;
const MAX_CALLS = 20_000;
/** A block is handed over at this size, and at the latest after this time. */
const BLOCK_UNITS = 256 * 1024;
const BLOCK_CALLS = 256;
const BLOCK_WAIT_MS = 50;
const CHECK_MS = 500;
/** Time until the first heartbeat, because the thread loads its modules first. */
const START_MS = 30_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const MIB = 1024 * 1024;
/** After this many heartbeats, one minute, the thread no longer counts as one that keeps ending. */
const STEADY_BEATS = 240;

export class IntegrationThread {
  readonly #options: IntegrationThreadOptions;
  readonly #sums: Record<Figure | "queued" | "handover" | "thread_ended", number>[];
  readonly #times: { deliveredAtMs: number | null; failedAtMs: number | null }[];
  #worker: Worker | null = null;
  #figures: SharedFigures;
  #seen: Record<Figure, number>[];
  #handed: number[];
  #lines: string[] = [];
  #masks: number[] = [];
  #units = 0;
  #handedUnits = 0;
  #handedCalls = 0;
  #blockTimer: ReturnType<typeof setTimeout> | null = null;
  readonly #checkTimer: ReturnType<typeof setInterval>;
  #restartTimer: ReturnType<typeof setTimeout> | null = null;
  #beats = 0;
  #silentChecks = 0;
  #restarts = 0;
  #restartsInRow = 0;
  #isEnding = false;
  #ended: (() => void) | null = null;

  constructor(options: IntegrationThreadOptions) {
    this.#options = options;
    const count = options.integrations.length;
    this.#sums = options.integrations.map(() => ({ ...zeros(), queued: 0, handover: 0, thread_ended: 0 }));
    this.#times = options.integrations.map(() => ({ deliveredAtMs: null, failedAtMs: null }));
    this.#figures = sharedFigures(count);
    this.#seen = options.integrations.map(zeros);
    this.#handed = options.integrations.map(() => 0);
    this.#begin();
    this.#checkTimer = setInterval(() => this.#checkHealth(), CHECK_MS).unref();
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** By position of the integration, and up to date. */
  sums(): readonly IntegrationSums[] {
    this.#collect();
    return this.#sums;
  }

  /** By position of the integration, and up to date. */
  times(): readonly IntegrationTimes[] {
    this.#collect();
    return this.#times;
  }

  /** `mask` has a bit for each of the thread's integrations. */
  add(mask: number, line: string): void {
    const { maxUnits = MAX_UNITS, maxCalls = MAX_CALLS } = this.#options;
    const unreadUnits = ((this.#handedUnits - this.#figures.shared("unitsRead")) | 0) + this.#units + line.length;
    const unreadCalls = ((this.#handedCalls - this.#figures.shared("callsRead")) | 0) + this.#lines.length + 1;
    if (this.#isEnding || unreadUnits > maxUnits || unreadCalls > maxCalls) {
      for (let index = 0; index < this.#sums.length; index++)
        if ((mask & (1 << index)) !== 0) this.#sums[index]!.handover += 1;
      return;
    }
    this.#lines.push(line);
    this.#masks.push(mask);
    this.#units += line.length;
    if (this.#lines.length >= BLOCK_CALLS || this.#units >= BLOCK_UNITS) this.#hand();
    else this.#blockTimer ??= setTimeout(() => this.#hand(), BLOCK_WAIT_MS).unref();
  }

  /** Records that are not delivered within that time are counted as dropped. */
  async end(withinMs: number): Promise<void> {
    this.#hand();
    this.#isEnding = true;
    clearInterval(this.#checkTimer);
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const worker = this.#worker;
    if (worker !== null) {
      const ended = new Promise<void>((resolve) => (this.#ended = resolve));
      worker.postMessage({ endWithinMs: withinMs } satisfies EndRequest, []);
      await within(ended, withinMs + CHECK_MS);
      this.#worker = null;
      await worker.terminate();
    }
    this.#writeOff("shutdown");
  }

  #hand(): void {
    if (this.#blockTimer !== null) clearTimeout(this.#blockTimer);
    this.#blockTimer = null;
    if (this.#worker === null || this.#lines.length === 0) return;
    const block = this.#lines.join("\n");
    for (const mask of this.#masks)
      for (let index = 0; index < this.#handed.length; index++) this.#handed[index]! += (mask >> index) & 1;
    this.#handedUnits = (this.#handedUnits + block.length) | 0;
    this.#handedCalls = (this.#handedCalls + this.#lines.length) | 0;
    this.#lines = [];
    this.#masks = [];
    this.#units = 0;
    this.#worker.postMessage(block, []);
  }

  /**
   * A thread that was given up may continue until it has ended; it then counts in the old buffer, which is no longer
   * read.
   */
  #replaceFigures(): void {
    this.#figures = sharedFigures(this.#options.integrations.length);
    this.#seen = this.#options.integrations.map(zeros);
    this.#handed = this.#options.integrations.map(() => 0);
    this.#handedUnits = 0;
    this.#handedCalls = 0;
  }

  #begin(): void {
    this.#replaceFigures();
    this.#beats = 0;
    this.#silentChecks = 0;
    const worker = this.#options.begin({ integrations: this.#options.integrations, figures: this.#figures.buffer });
    this.#worker = worker;
    worker.unref();
    worker.on("message", (news: IntegrationNews) => {
      if (news.kind === "ended") this.#ended?.();
      // one that was given up may still have sent something
      else if (this.#worker === worker) this.#options.onNews(news);
    });
    worker.on("error", (error) => this.#lost(worker, messageOf(error)));
    worker.on("exit", (code) => this.#lost(worker, `it ended with code ${code}`));
    this.#hand();
  }

  #lost(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    void worker.terminate();
    this.#ended?.();
    if (this.#isEnding) return;
    this.#writeOff("thread_ended");
    this.#replaceFigures();
    this.#options.onLost(why);
    this.#restarts += 1;
    this.#restartsInRow += 1;
    const { firstWaitMs = FIRST_WAIT_MS } = this.#options;
    const waitMs = growingWaitMs(this.#restartsInRow, firstWaitMs, LONGEST_WAIT_MS);
    this.#restartTimer = setTimeout(() => this.#begin(), waitMs).unref();
  }

  /** Calls that were handed over and not settled are lost with their thread. */
  #writeOff(as: "thread_ended" | "shutdown"): void {
    this.#collect();
    this.#sums.forEach((sum, index) => {
      const unsettled = this.#unsettled(index);
      sum[as] += unsettled;
      sum.queued -= unsettled;
      this.#handed[index] = (this.#handed[index]! - unsettled) | 0;
    });
    if (as !== "shutdown") return;
    for (const sum of this.#sums) {
      sum.shutdown += sum.queued;
      sum.queued = 0;
    }
    this.#lines = [];
    this.#masks = [];
  }

  /** Calls that were handed over and have not been delivered, refused or dropped. */
  #unsettled(index: number): number {
    const settled = SETTLED.reduce((all, figure) => (all + this.#figures.of(index, figure)) | 0, 0);
    return Math.max(0, (this.#handed[index]! - settled) | 0);
  }

  /** Calls that have not been handed over, for example because the thread is being restarted. */
  #unsent(index: number): number {
    return this.#masks.reduce((all, mask) => all + ((mask >> index) & 1), 0);
  }

  #collect(): void {
    this.#sums.forEach((sum, index) => {
      const seen = this.#seen[index]!;
      for (const figure of FIGURES) {
        const now = this.#figures.of(index, figure);
        if (now !== seen[figure]) this.#noteTime(index, figure);
        if (figure === "failing") sum.failing = now;
        else sum[figure] += (now - seen[figure]) | 0;
        seen[figure] = now;
      }
      sum.queued = this.#unsettled(index) + this.#unsent(index);
    });
  }

  #noteTime(index: number, figure: Figure): void {
    if (figure === "delivered") this.#times[index]!.deliveredAtMs = this.#options.clock.now();
    if (figure === "failures") this.#times[index]!.failedAtMs = this.#options.clock.now();
  }

  #checkHealth(): void {
    this.#collect();
    const worker = this.#worker;
    if (worker === null) return;
    const { hangMs, maxHeapBytes } = this.#options;
    const beats = this.#figures.shared("beats");
    this.#silentChecks = beats === this.#beats ? this.#silentChecks + 1 : 0;
    if (beats > STEADY_BEATS) this.#restartsInRow = 0;
    this.#beats = beats;
    // Ticks are counted and not time, because both threads pause when the whole process is stopped.
    if (this.#silentChecks * CHECK_MS >= (beats === 0 ? START_MS : hangMs))
      this.#lost(worker, `no sign of life for ${(this.#silentChecks * CHECK_MS) / 1000} s`);
    else if (maxHeapBytes !== null && this.#figures.shared("heapMib") * MIB > maxHeapBytes)
      this.#lost(worker, `its heap has grown to ${this.#figures.shared("heapMib")} MiB`);
  }
}
