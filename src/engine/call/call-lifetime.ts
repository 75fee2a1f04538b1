// One call from its entry among the calls in flight to the publication of its record, which happens exactly once: its
// one abort signal, what has to be released at its end, and its entry in the ledger.

// Decides (the answer): What happens when the client disconnects? By: `cancel`. Also:
// `engine/stream/stream-session.ts`; `engine/attempt/attempt-lifetime.ts` (`READ_ON_MS`). Rule: The upstream request
// ends at once, but a non-streaming answer that has begun is read on for its usage, within bounds; what was used is
// charged. A call in the background goes on.
import { MAX_TIMER_MS } from "../../core/clock.ts";
import { Cancellation, type CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { CallContent } from "../../core/configured/content.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ServerLimits } from "../../core/snapshot.ts";
import type { OpenEntry } from "../../store/journal/ledger.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { CallClock } from "./call-clock.ts";
import { GrowingBytes } from "../../core/concurrency/shared-bytes.ts";
import { startTimeout } from "../../core/concurrency/timeout.ts";
import type { BytesHolder, HeldBytesBound } from "./held-bytes.ts";
import type { CallRecorder } from "./call-recorder.ts";
import type { ContentRecorder } from "../content/content-recorder.ts";
import type { CallMeter } from "../metering/call-meter.ts";
import type { CallLimits } from "../../admission/call-limits.ts";
import type { InFlightCall, ChatContext } from "./context.ts";

export class CallLifetime implements BytesHolder {
  readonly deadline: CallDeadline;
  readonly #context: ChatContext;
  readonly #recorder: CallRecorder;
  readonly #clock: CallClock;
  readonly #cancellation = new Cancellation();
  /** Tool runs that have not ended. Each of these functions finishes its part when the call ends first; `null` when there were none. */
  #inFlight: Set<() => void> | null = null;
  /** `null` while the caller is not known. */
  #meter: CallMeter | null = null;
  /** `null` while no limits apply to the call. */
  #limits: CallLimits | null = null;
  /** `null` when the content of the call is not kept. */
  #content: ContentRecorder | null = null;
  /** The request whose conversation another thread holds; `null` when there is none. */
  #conversation: ChatRequest | null = null;
  /** Empty while the call has not entered. */
  #tenantId = "";
  /** The call's place among the calls in flight; `null` when it has none. */
  #place: InFlightCall | null = null;
  /** `null` while the call has not entered. */
  #bounds: ServerLimits | null = null;
  /** What `growing` has counted. */
  #grownBytes = 0;
  #ledgerEntry: OpenEntry | null = null;
  #isPublished = false;
  /** Whether the call runs in the background. */
  #isDetached = false;
  #written: Promise<void> | null = null;
  #heldUp: Promise<void> | null = null;

  constructor(context: ChatContext, recorder: CallRecorder, clock: CallClock) {
    this.#context = context;
    this.#recorder = recorder;
    this.#clock = clock;
    this.deadline = new CallDeadline(clock, this.abandon);
  }

  get signal(): CancelSignal {
    return this.#cancellation;
  }

  /**
   * Takes a place among the calls in flight, and among those of the tenant. Throws `shutting_down`, `stale_snapshot` or
   * `gateway_overloaded`.
   */
  enter(tenantId: string, bounds: ServerLimits): void {
    const place: InFlightCall = { tenantId, abandon: this.abandon };
    this.#context.traffic.enter(place, bounds);
    this.#place = place;
    this.#tenantId = tenantId;
    this.#bounds = bounds;
  }

  /**
   * Counts these bytes of a body that is still arriving against the memory that bodies may hold. Throws
   * `gateway_overloaded`.
   */
  hold(bytes: number, bound: HeldBytesBound): void {
    this.#context.traffic.held.hold(this.#tenantId, bytes, bound);
  }

  release(bytes: number): void {
    if (bytes > 0) this.#context.traffic.held.release(this.#tenantId, bytes);
  }

  /** Counts one thing that grows with the call, until the call is over. Its `grownTo` throws `gateway_overloaded`. */
  growing(): GrowingBytes {
    return new GrowingBytes((bytes) => {
      if (this.#isPublished) return;
      this.hold(bytes, this.#bounds!);
      this.#grownBytes += bytes;
    });
  }

  /**
   * Releases the conversation that another thread holds once the call is over and its content is ready.
   */
  releaseAtEnd(request: ChatRequest): void {
    if (this.#isPublished) this.#context.longRequests?.release(request);
    else this.#conversation = request;
  }

  /** Sets the limits of the call, which hold something before its caller is authorized. */
  limitedBy(limits: CallLimits): void {
    this.#limits = limits;
  }

  /** Sets what has to be settled at the end. */
  authorized(meter: CallMeter, content: ContentRecorder | null): void {
    this.#meter = meter;
    this.#content = content;
  }

  /**
   * Called when an attempt may run, which waits until the ledger has it. From the first one on, the call is charged even
   * if this process dies. Rejects with `ledger_unavailable`.
   */
  async enterLedger(): Promise<void> {
    const { ledger, integrations } = this.#context;
    const { record } = this.#recorder;
    const isFirst = this.#ledgerEntry === null;
    if (this.#ledgerEntry === null) this.#ledgerEntry = ledger.open(record, this.#meter);
    else ledger.reopen(this.#ledgerEntry);
    try {
      await ledger.written(this.#ledgerEntry);
    } catch (thrown) {
      this.#ledgerEntry = null;
      throw thrown;
    }
    if (isFirst) integrations?.admitted?.(record);
  }

  /**
   * Registers work that has to end with the call: `end` is called if the call ends first. Returns a function to call
   * when the work has ended by itself, which returns whether it was still in flight.
   */
  began(end: () => void): () => boolean {
    const inFlight = (this.#inFlight ??= new Set());
    inFlight.add(end);
    return () => inFlight.delete(end);
  }

  /** Whether the call goes on when its client leaves. */
  get isDetached(): boolean {
    return this.#isDetached;
  }

  /** Ends everything that is in flight, for the reason that the client receives. */
  readonly abandon = (reason: unknown): void => this.#cancellation.abort(reason);

  /** Called when the client has disconnected: ends the call, unless it runs in the background. */
  readonly cancel = (): void => {
    if (!this.#isDetached) this.#end("The client disconnected before the answer was complete.");
  };

  /**
   * The call goes on when its client leaves, and ends after the timeout of its request or of the gateway. Returns what
   * ends it.
   */
  detach(requestMs: number | null, defaultMs: number): () => void {
    this.#isDetached = true;
    this.deadline.start({ requestMs, clientMs: null, defaultMs });
    return () => this.#end("The call was cancelled.");
  }

  #end(why: string): void {
    if (this.#isPublished) return;
    this.#recorder.cancelled();
    this.abandon(new GatewayError("client_closed", why));
  }

  /** Publishes the record when the call is over. Only the first call of this method has an effect. */
  publish(): void {
    if (this.#isPublished) return;
    this.#isPublished = true;
    try {
      for (const end of this.#inFlight ?? []) end();
      this.#inFlight?.clear();
      if (this.#content === null) this.#releaseConversation();
      // first the limits, because a fault in what was used must not keep the places of the call
      this.#limits?.settle();
      this.#meter?.settle();
    } finally {
      this.#conclude();
    }
  }

  #conclude(): void {
    this.#clock.waitEnds();
    this.deadline.stop();
    this.release(this.#grownBytes);
    this.#recorder.close();
    const { record } = this.#recorder;
    this.#written = this.#context.ledger.close(this.#ledgerEntry, record);
    if (this.#content !== null) return void this.#publishWithContent(this.#content);
    this.#leave();
    this.#context.observer.publish(record, null);
  }

  /** What is written of the answer from now on waits for this work, which must not reject. */
  holdsUp(work: Promise<void>): void {
    this.#heldUp = work;
  }

  /** What the next text of a stream has to wait for; `null` when it need not wait. */
  get heldUp(): Promise<void> | null {
    return this.#heldUp;
  }

  /** What the last byte of the answer has to wait for once the call is published; `null` when it need not wait. */
  get written(): Promise<void> | null {
    return this.#written;
  }

  /** Prepares the content after the answer, which does not wait for it; the end of the process does. Never rejects. */
  async #publishWithContent(contentRecorder: ContentRecorder): Promise<void> {
    const { record } = this.#recorder;
    await yieldToLoop();
    let content: CallContent | null = null;
    try {
      content = await contentRecorder.content(record.startedAtMs);
    } catch (fault) {
      this.#context.onContentLost?.(record.traceId, fault);
    }
    this.#releaseConversation();
    this.#context.observer.publish(record, content);
    this.#leave();
  }

  #releaseConversation(): void {
    if (this.#conversation !== null) this.#context.longRequests?.release(this.#conversation);
  }

  #leave(): void {
    const place = this.#place;
    if (place === null) return;
    this.#place = null;
    this.#context.traffic.leave(place);
    place.abandon = null;
  }
}

/**
 * A client that states its own limit receives the gateway's error this much earlier, instead of closing the connection
 * itself.
 */
const CLIENT_LIMIT_MARGIN_MS = 5000;

/** What decides when a call has to be over, in milliseconds. */
interface RequestedTimeouts {
  /** `timeout` of the request; `null` when it sets none. */
  readonly requestMs: number | null;
  /** The limit of the client library, from a header; `null` when the client sends no such header. */
  readonly clientMs: number | null;
  readonly defaultMs: number;
}

/**
 * When a call has to be over (promise 7.2): by the timeout of its request, or else by the bound of the route with which
 * it begins, or else by the gateway's default. A limit that its client states in a header, and the bounds of routes that
 * take the call over, only shorten the time of a request without a timeout.
 */
export class CallDeadline {
  readonly #clock: CallClock;
  readonly #expire: (reason: GatewayError) => void;
  #stopTimer: () => void = () => {};
  /** In milliseconds since the call arrived. */
  #timeoutMs = Number.POSITIVE_INFINITY;
  #isBoundByRoutes = false;
  /** The gateway's default counts, and the bound of the first route takes its place. */
  #isDefault = false;
  /** What the limit that the client states leaves; infinite when it states none. */
  #clientMs = Number.POSITIVE_INFINITY;
  #isSetByClient = false;

  /** `expire` is called when the time is over, with the error that the call ends with. */
  constructor(clock: CallClock, expire: (reason: GatewayError) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** Whether the client chose the timeout, in the request or in its header. */
  get isSetByClient(): boolean {
    return this.#isSetByClient;
  }

  /** Starts the timer, which counts from the arrival of the request. */
  start({ requestMs, clientMs, defaultMs }: RequestedTimeouts): void {
    this.#clientMs = clientMs === null ? Number.POSITIVE_INFINITY : withMargin(clientMs);
    this.#isSetByClient = requestMs !== null || clientMs !== null;
    this.#isBoundByRoutes = this.#isDefault = requestMs === null;
    this.#set(requestMs ?? Math.min(this.#clientMs, defaultMs));
  }

  /** Applies the bound of the route with which the call begins; `null` when it has none. */
  boundByRoute(totalMs: number | null): void {
    if (totalMs === null) return;
    if (this.#isDefault) this.#set(Math.min(this.#clientMs, totalMs));
    else this.#tighten(totalMs);
    this.#isDefault = false;
  }

  /** Applies the bound of a route that serves the call from now on, within the time that is left. */
  boundByNextRoute(totalMs: number | null): void {
    if (totalMs !== null) this.#tighten(this.#clock.elapsedMs() + totalMs);
  }

  leftMs(): number {
    return this.#timeoutMs - this.#clock.elapsedMs();
  }

  error(): GatewayError {
    return new GatewayError(
      "upstream_timeout",
      `The call did not finish within its timeout of ${this.#timeoutMs / 1000} s.`,
    );
  }

  /** Stops the timer when the call is over. */
  stop(): void {
    this.#stopTimer();
  }

  #tighten(timeoutMs: number): void {
    if (this.#isBoundByRoutes && timeoutMs < this.#timeoutMs) this.#set(timeoutMs);
  }

  #set(timeoutMs: number): void {
    this.#stopTimer();
    this.#timeoutMs = timeoutMs;
    const leftMs = Math.min(Math.max(0, timeoutMs - this.#clock.elapsedMs()), MAX_TIMER_MS);
    this.#stopTimer = startTimeout(leftMs, () => this.#expire(this.error()));
  }
}

function withMargin(clientMs: number): number {
  return Math.max(clientMs - CLIENT_LIMIT_MARGIN_MS, clientMs / 2);
}
