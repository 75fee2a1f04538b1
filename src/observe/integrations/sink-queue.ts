// The queue in front of every sink: bounded in number and size, with batches, a time limit for each delivery, and
// retries with growing waits. A full queue drops its oldest calls, because after an outage of hours the latest calls
// matter most.

// Decides (records and configuration): What happens while the receiver of an integration is down? By: `SinkQueue`.
// Rule: Records wait in memory; the oldest are dropped when the queue is full, a batch after `give_up_s`.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import { within } from "../../core/concurrency/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { IntegrationDelivery } from "./integration-fields.ts";
import { type Rejected, type Sink, SinkFault } from "./sink.ts";

export interface Queued<T> {
  /** The length of the text, as an approximate measure of memory. */
  readonly units: number;
  value(): T;
}

export type Shed = "queue_full" | "refused" | "given_up" | "shutdown";

/** Notified of each change at once. */
export interface QueueWatch {
  delivered(calls: number): void;
  shed(reason: Shed, calls: number): void;
  /** One delivery failed. */
  failed(): void;
  retried(): void;
  /** Called at the first failure after a success, and at the first success after failures. */
  failing(message: string): void;
  back(): void;
}

export interface SinkQueueOptions<T> {
  /** When it throws, it is called again at the next delivery. */
  readonly open: () => Promise<Sink<T>>;
  readonly delivery: IntegrationDelivery;
  readonly watch: QueueWatch;
  readonly clock: Pick<Clock, "monotonic">;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  readonly firstWaitMs?: number;
  readonly longestWaitMs?: number;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** A sink that does not react to its signal is abandoned after this time. */
const GRACE_MS = 250;
/** Refusals for a call, after which a batch of which nothing was accepted is divided no further. */
const MOST_REFUSALS = 7;
/** The array is compacted when this many places at its front are free. */
const COMPACT_AT = 1024;

export class SinkQueue<T> {
  readonly #options: SinkQueueOptions<T>;
  #items: (Queued<T> | undefined)[] = [];
  #head = 0;
  #units = 0;
  #receiver: Sink<T> | null = null;
  #failuresInRow = 0;
  #firstWaitingMs = 0;
  #endsAtMs: number | null = null;
  #wake: (() => void) | null = null;
  /** Ends the delivery in flight; `null` when there is none. */
  #timeIsOver: (() => void) | null = null;
  readonly #running: Promise<void>;

  constructor(options: SinkQueueOptions<T>) {
    this.#options = options;
    this.#running = this.#run();
  }

  add(item: Queued<T>): void {
    if (this.#length === 0) this.#firstWaitingMs = this.#options.clock.monotonic();
    this.#items.push(item);
    this.#units += item.units;
    if (this.#isOverfull()) this.#shedOldest();
    const { batchCalls } = this.#options.delivery;
    if (this.#length === 1 || this.#length === batchCalls) this.#wake?.();
  }

  /**
   * Delivers what it can within the time, without waiting for more calls and with one attempt for each batch, and
   * closes the sink.
   */
  async end(withinMs: number): Promise<void> {
    this.#endsAtMs = this.#options.clock.monotonic() + withinMs;
    this.#wake?.();
    const timer = setTimeout(() => this.#timeIsOver?.(), withinMs);
    await this.#running;
    clearTimeout(timer);
    this.#shed("shutdown", this.#take(this.#length).length);
    if (this.#receiver !== null)
      await within(
        this.#receiver.close().catch(() => {}),
        Math.max(GRACE_MS, this.#leftMs()),
      );
  }

  get #length(): number {
    return this.#items.length - this.#head;
  }

  /** The calls have left the queue. */
  #shed(reason: Shed, calls: number): void {
    if (calls > 0) this.#options.watch.shed(reason, calls);
  }

  #isOverfull(): boolean {
    const { queueCalls, queueBytes } = this.#options.delivery;
    return this.#length > queueCalls || (this.#units > queueBytes && this.#length > 0);
  }

  #shedOldest(): void {
    let shed = 0;
    while (this.#isOverfull()) shed += this.#take(1).length;
    this.#shed("queue_full", shed);
  }

  #take(count: number): readonly Queued<T>[] {
    const items = this.#items.slice(this.#head, this.#head + count) as Queued<T>[];
    for (const item of items) {
      this.#items[this.#head++] = undefined;
      this.#units -= item.units;
    }
    if (this.#head >= COMPACT_AT || this.#head === this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return items;
  }

  /** Sleeps until the time is over, the queue is woken, or it ends. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(() => this.#wake?.(), Math.max(0, ms)) : undefined;
      this.#wake = () => {
        this.#wake = null;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #leftMs(): number {
    return this.#endsAtMs === null ? Number.POSITIVE_INFINITY : this.#endsAtMs - this.#options.clock.monotonic();
  }

  async #run(): Promise<void> {
    const { batchCalls, batchWaitMs } = this.#options.delivery;
    for (;;) {
      while (this.#endsAtMs === null && this.#length < batchCalls) {
        const dueMs =
          this.#length === 0
            ? Number.POSITIVE_INFINITY
            : this.#firstWaitingMs + batchWaitMs - this.#options.clock.monotonic();
        if (dueMs <= 0) break;
        await this.#sleep(dueMs);
      }
      if (this.#length === 0 || this.#leftMs() <= 0) return;
      const batch = this.#take(batchCalls);
      this.#firstWaitingMs = this.#options.clock.monotonic();
      await this.#deliver(batch);
    }
  }

  /**
   * Delivers the batch, and its halves where the receiver refuses it for its size or for a call in it, so that a call
   * that the receiver never takes does not take others with it.
   */
  async #deliver(batch: readonly Queued<T>[]): Promise<void> {
    const sinceMs = this.#options.clock.monotonic();
    const parts = [batch];
    let isAnyAccepted = false;
    let refusals = 0;
    for (const part of parts) {
      if (this.#leftMs() <= 0) {
        this.#shed("shutdown", part.length);
        continue;
      }
      const end = await this.#settle(part, sinceMs);
      isAnyAccepted ||= end === "accepted";
      if (!(end instanceof SinkFault)) continue;
      if (end.refusedFor === "call") refusals += 1;
      const isToDivide =
        end.refusedFor === "size" || (end.refusedFor === "call" && (isAnyAccepted || refusals < MOST_REFUSALS));
      if (part.length > 1 && isToDivide) parts.push(...halvesOf(part));
      else await this.#drop(part, end, isAnyAccepted);
    }
  }

  /** Repeats the delivery until the part is accepted, given up or refused, and returns the refusal. */
  async #settle(part: readonly Queued<T>[], sinceMs: number): Promise<"accepted" | "lost" | SinkFault> {
    const { watch, delivery, clock } = this.#options;
    for (;;) {
      const fault = await this.#try(part);
      if (fault === null) return "accepted";
      watch.failed();
      if (!fault.isRetryable) return fault;
      this.#noteFailure(fault);
      const isEnding = this.#endsAtMs !== null;
      const isOver = isEnding || clock.monotonic() - sinceMs >= delivery.giveUpMs;
      if (isOver) this.#shed(isEnding ? "shutdown" : "given_up", part.length);
      if (!isEnding) await this.#pause(fault.retryAfterMs);
      if (isOver) return "lost";
      watch.retried();
    }
  }

  /**
   * The queue waits after a refusal too, so that a receiver that refuses everything is not overloaded, but not when
   * others of the batch were accepted.
   */
  async #drop(part: readonly Queued<T>[], fault: SinkFault, isAnyAccepted: boolean): Promise<void> {
    if (!isAnyAccepted) this.#noteFailure(fault);
    this.#shed("refused", part.length);
    if (!isAnyAccepted && this.#endsAtMs === null) await this.#pause(fault.retryAfterMs);
  }

  #noteFailure({ message }: SinkFault): void {
    if (this.#failuresInRow++ === 0) this.#options.watch.failing(message);
  }

  async #pause(askedMs: number | null): Promise<void> {
    const { clock, random, firstWaitMs = FIRST_WAIT_MS, longestWaitMs = LONGEST_WAIT_MS } = this.#options;
    const backoffMs = growingWaitMs(this.#failuresInRow, firstWaitMs, longestWaitMs) * (0.5 + random() / 2);
    const untilMs = clock.monotonic() + Math.max(backoffMs, askedMs ?? 0);
    // New calls interrupt the sleep as well.
    while (this.#endsAtMs === null && clock.monotonic() < untilMs) await this.#sleep(untilMs - clock.monotonic());
  }

  /** Returns null when the batch was accepted. */
  async #try(batch: readonly Queued<T>[]): Promise<SinkFault | null> {
    const { watch, delivery } = this.#options;
    const timeoutMs = Math.max(1, Math.min(delivery.timeoutMs, this.#leftMs()));
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      this.#timeIsOver = () => {
        if (abort.signal.aborted) return;
        clearTimeout(timer);
        abort.abort(new SinkFault(`no answer within ${Math.round(timeoutMs)} ms`, { isRetryable: true }));
        timer = setTimeout(() => reject(abort.signal.reason as SinkFault), GRACE_MS);
      };
      timer = setTimeout(this.#timeIsOver, timeoutMs);
    });
    const work = async (): Promise<void | Rejected> => {
      const receiver = this.#receiver ?? (await this.#opened());
      // one that took too long to open delivers nothing, because the batch is delivered again
      abort.signal.throwIfAborted();
      return receiver.deliver(
        batch.map((item) => item.value()),
        abort.signal,
      );
    };
    try {
      const outcome = await Promise.race([work(), late]);
      const rejected = Math.min(outcome?.rejected ?? 0, batch.length);
      this.#shed("refused", rejected);
      watch.delivered(batch.length - rejected);
      if (this.#failuresInRow > 0 && rejected < batch.length) watch.back();
      this.#failuresInRow = rejected > 0 ? this.#notedRejection(outcome!.why, rejected === batch.length) : 0;
      return null;
    } catch (thrown) {
      if (abort.signal.aborted) return abort.signal.reason as SinkFault;
      return thrown instanceof SinkFault ? thrown : new SinkFault(messageOf(thrown), { isRetryable: true });
    } finally {
      clearTimeout(timer);
      this.#timeIsOver = null;
    }
  }

  /** A try that was given up may open its receiver after another one has: then that one stays, and this one is closed. */
  async #opened(): Promise<Sink<T>> {
    const opened = await this.#options.open();
    if (this.#receiver === null) return (this.#receiver = opened);
    opened.close().catch(() => {});
    return this.#receiver;
  }

  /** Some calls of a batch were refused, which is no reason to wait. Returns the number of consecutive failures. */
  #notedRejection(why: string, wasAll: boolean): number {
    this.#options.watch.failed();
    if (!wasAll) return 0;
    if (this.#failuresInRow === 0) this.#options.watch.failing(why);
    return this.#failuresInRow + 1;
  }
}

function halvesOf<T>(part: readonly T[]): readonly (readonly T[])[] {
  const middle = Math.ceil(part.length / 2);
  return [part.slice(0, middle), part.slice(middle)];
}
