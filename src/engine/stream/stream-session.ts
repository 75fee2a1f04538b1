// The life of one streamed reply: its head is held back until there is something to send (promise 7.4), keep-alives are
// sent while nothing comes (promise 8.4), it is read as fast as the client reads (promise 8.5), and it ends in the same
// way, whatever ended it (promise 8.3).

// Decides (the answer): How long is the head of a stream held back? By: `holdHead`. Rule: Until the first content, at
// most `server.head_hold_s`: a failure before is an ordinary error, one after it an error event.
// Decides (the answer): When does a stream get a keep-alive? By: `startKeepAlive`. Also: what it is:
// `engine/answer-form.ts` (`keepAlive`). Rule: When nothing was sent for `server.keep_alive_s`, unless the client does not
// read.
// Decides (the answer): What happens to a client that reads slowly? By: `highWaterMark`, and `handleEvent`
// at the end. Rule: The gateway stops reading from the provider, until the call's deadline.
import type { GrowingBytes } from "../../core/concurrency/shared-bytes.ts";
import { LATE, within } from "../../core/concurrency/timeout.ts";
import { asGatewayError, type GatewayError } from "../../core/errors.ts";
import type { Outcome } from "../../routing/health/health.ts";
import type { StreamForm } from "../answer-form.ts";
import type { Call } from "../call/call.ts";
import { withAttempts } from "../plan/complete.ts";
import { endingRequest, type OpenAttempt, outcomeOf } from "../attempt/run-attempt.ts";
import { LONG_TEXT } from "../long-bodies/read-in-turns.ts";
import { piecesOf } from "../long-bodies/written-in-turns.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

/** A stream of which nothing has been sent yet: that of a provider, or that of several rounds. */
export interface Sending {
  /** Text that has arrived already. The session empties it when it takes it, because a stream may stay open for long. */
  held: string;
  /** The events with which the stream begins; `null` where those of the form are sent. */
  readonly opening: string | null;
  /** `<provider>:<model_name>` of the target with whose answer the stream begins. */
  readonly model: string;
  /** The attempt in flight, or the last one. */
  readonly attempt: OpenAttempt;
  readonly hasContent: boolean;
  /** Whether the last events have been returned. */
  readonly isFinished: boolean;
  /** How many characters of the answer are kept for later events. */
  readonly kept: number;
  /** Returns the next text; `null` when the stream is complete. */
  next(): Promise<string | null>;
  cancel(): void;
  /** Ends what is in flight and returns the error with which the call fails. */
  fail(thrown: unknown): unknown;
  /** Called when the answer is complete: it may be kept in the response cache. */
  keep(): void;
  /** Records what was answered and used. */
  note(): void;
  settle(outcome: Outcome): void;
}

/** Releases a stream whose client disconnected before it received the first text. */
function release(sending: Sending): void {
  sending.cancel();
  sending.settle("cancelled");
}

/**
 * Which side waits for the other, until the call is settled, which happens once and ends all turns:
 *
 *     idle ─▶ asked ─▶ idle ─▶ sent ─▶ asked ...      one text after another (`#turn`)
 *     idle, asked, sent ─▶ over                       the call is settled (`#settle`)
 *     over ─▶ left                                    the client has disconnected (`#cancelled`)
 *
 * While it is `idle`, neither side waits: the client has not read yet, or a text is being handed over. While it is
 * `asked`, the client waits for a text; while it is `sent`, the gateway waits for the client to read on. What is held
 * when the call is over can still be read, unless the client has left.
 */
type Turn = "idle" | "asked" | "sent";
type SessionState = Turn | "over" | "left";

/**
 * Keeps what is held back, and decides how the reply ends. Which stream has begun, whether the events with which it
 * begins were sent, and what the disk still has to get do not follow from the state, so they are fields of their own.
 */
export class StreamSession {
  readonly #begun: Promise<Sending>;
  readonly #call: Call;
  readonly #form: StreamForm;
  #state: SessionState = "idle";
  /** The stream that has begun, even if it is not read yet. */
  #arrived: Sending | null = null;
  /** The same stream once it is read. Only then does a failure of the call fail its attempt. */
  #sending: Sending | null = null;
  /** What the client receives when it reads next. */
  #held = "";
  /** Whether the events with which the stream begins were sent. */
  #hasOpened = false;
  #keepAlive: ReturnType<typeof setTimeout> | undefined;
  #lastSentMs = 0;
  /** Resolves when the ids that the answer has handed out are on disk; `null` where it has handed out none. */
  #bound: Promise<unknown> | null = null;
  /** Counts what the stream keeps; `null` while it keeps nothing. */
  #kept: GrowingBytes | null = null;
  /** `null` when no integration is notified of the pieces. */
  readonly #onPiece: ((characters: number, atMs: number) => void) | null;

  constructor(begun: Promise<Sending>, call: Call, form: StreamForm) {
    this.#begun = begun;
    this.#call = call;
    this.#form = form;
    this.#onPiece = call.context.integrations?.chunks?.(call.record) ?? null;
    // a failure must not be unhandled while only the head is awaited
    begun.then(
      (sending) => (this.#arrived = sending),
      () => {},
    );
    call.signal.addEventListener("abort", this);
  }

  get #isOver(): boolean {
    return this.#state === "over" || this.#state === "left";
  }

  /** The time from a text until the client reads on is a wait, which ends with the call at the latest. */
  #turn(next: Turn): void {
    if (this.#isOver) return;
    if (this.#state === "sent") this.#call.clock.waitEnds();
    if (next === "sent") this.#call.clock.waitBegins();
    this.#state = next;
  }

  /**
   * Called when the time of the call is over. A read in progress fails by itself; where the client does not read, the
   * call is closed here.
   */
  handleEvent(): void {
    const { reason } = this.#call.signal;
    if (this.#isOver || this.#state === "asked" || asGatewayError(reason).code === "client_closed") return;
    this.#held =
      this.#opening() + this.#held + (this.#sending?.isFinished === true ? this.#complete() : this.#failed(reason));
  }

  /**
   * Returns `null` when the hold time is over and the head has to be sent first. Throws the error with which the call
   * failed.
   */
  async holdHead(): Promise<Sending | null> {
    const { lifetime, snapshot } = this.#call;
    // in the background, the client needs the id of its response at once
    const sending = await within(this.#begun, lifetime.isDetached ? 0 : snapshot.limits.headHoldMs);
    // a stream that begins once the call is over is released where the call was settled
    if (this.#isOver) throw withAttempts(this.#call.signal.reason, this.#call);
    const { aborted, reason } = this.#call.signal;
    if (aborted) {
      // the runtime neither reads nor cancels a response whose client has left before it was made
      this.#begun.then(release, () => {});
      throw withAttempts(reason, this.#call);
    }
    if (sending === LATE) {
      this.#call.recorder.headSent();
      return null;
    }
    this.#take(sending);
    return sending;
  }

  #take(sending: Sending): void {
    this.#sending = sending;
    this.#held = sending.held;
    sending.held = "";
    this.#call.won(sending.attempt);
    if (sending.hasContent) this.#call.recorder.firstContent();
  }

  /**
   * Returns a stream of text instead of bytes, because Bun's server encodes text where it writes it, so that each piece
   * is copied once less.
   */
  readable(): ReadableStream<string> {
    return new ReadableStream<string>(
      {
        start: (controller) => this.#startKeepAlive(controller),
        pull: async (controller) => {
          this.#turn("asked");
          const text = await this.#text();
          if (text !== null) this.#form.sending?.(text);
          if (this.#call.lifetime.heldUp !== null) await this.#call.lifetime.heldUp;
          if (this.#isOver) await this.#written();
          this.#turn("idle");
          this.#lastSentMs = this.#call.context.clock.monotonic();
          if (this.#state === "left") return;
          if (text === null) return controller.close();
          const sent = this.#leaving(text);
          if (sent.length < LONG_TEXT) controller.enqueue(sent);
          else await this.#enqueueInTurns(controller, sent);
          this.#call.content?.sent(this.#form.chunksIn(sent));
          if (this.#onPiece !== null && !this.#isOver) this.#onPiece(sent.length, this.#call.clock.elapsedMs());
          this.#turn("sent");
        },
        cancel: () => this.#cancelled(),
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Enqueues a text in several turns of the event loop: encoding some megabytes with accented letters at once would
   * delay other calls.
   */
  async #enqueueInTurns(controller: ReadableStreamDefaultController<string>, text: string): Promise<void> {
    for (const piece of piecesOf(text, LONG_TEXT)) {
      if (this.#state === "left") return;
      controller.enqueue(piece);
      await yieldToLoop();
    }
  }

  /** Returns the next text; once the stream has begun, a failure is text as well. */
  async #text(): Promise<string | null> {
    if (this.#isOver) return this.#takeHeld() || null;
    try {
      if (this.#sending === null) {
        const sending = await this.#begun;
        if (this.#isOver) return null;
        this.#take(sending);
      }
      const text = this.#takeHeld() || (await this.#sending!.next());
      this.#countKept(this.#sending!.kept);
      return this.#opening() + (text ?? this.#complete());
    } catch (thrown) {
      // the client disconnected during the read, so that the call is closed
      if (this.#isOver) return null;
      return this.#opening() + this.#failed(thrown);
    }
  }

  /** `kept` is the number of characters that the stream keeps for its last events. Throws `gateway_overloaded`. */
  #countKept(kept: number): void {
    if (kept === 0) return;
    this.#kept ??= this.#call.lifetime.growing();
    this.#kept.grownTo(2 * kept);
  }

  #takeHeld(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }

  /** Waits until the disk has what the client learns with the last bytes. */
  async #written(): Promise<void> {
    const { lifetime } = this.#call;
    if (this.#bound !== null) await this.#bound;
    if (lifetime.written !== null) await lifetime.written;
  }

  #leaving(text: string): string {
    return this.#form.leaving === undefined ? text : this.#form.leaving(text);
  }

  /** Returns the events with which the stream begins, unless they were sent. */
  #opening(): string {
    if (this.#hasOpened) return "";
    this.#hasOpened = true;
    return this.#sending?.opening ?? this.#form.opening(this.#sending?.model ?? null);
  }

  #failed(thrown: unknown): string {
    return this.#errorEvent(
      this.#call.located(withAttempts(this.#sending === null ? thrown : this.#sending.fail(thrown), this.#call)),
    );
  }

  #complete(): string {
    this.#call.recorder.succeeded();
    this.#sending!.keep();
    this.#settle("success");
    return this.#form.end;
  }

  #errorEvent(error: GatewayError): string {
    this.#call.recorder.failed(error);
    const attempt = this.#sending?.attempt;
    // without an attempt there is nothing to settle
    this.#settle(
      attempt === undefined
        ? "cancelled"
        : outcomeOf(error, attempt.candidate, this.#call, endingRequest(attempt)?.row),
    );
    return this.#form.failed(error, this.#call.traceId) + this.#form.end;
  }

  #cancelled(): void {
    this.#call.lifetime.cancel();
    this.#sending?.cancel();
    if (!this.#isOver) {
      this.#call.recorder.leftInStream();
      this.#settle("cancelled");
    }
    this.#state = "left";
  }

  #settle(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#state = "over";
    clearTimeout(this.#keepAlive);
    this.#call.signal.removeEventListener("abort", this);
    this.#call.recorder.attemptsEnded();
    // a stream that has begun counts as used, whether or not the client reads on
    if (this.#sending === null && this.#arrived !== null) {
      this.#sending = this.#arrived;
      this.#call.won(this.#sending.attempt);
      this.#sending.cancel();
    }
    this.#bound = this.#call.objects.save();
    try {
      this.#sending?.note();
    } catch (fault) {
      // the client has nearly all of the answer by now, so that the row alone tells of it
      this.#call.recorder.failed(asGatewayError(fault));
      throw fault;
    } finally {
      // no other place would end the call, and write its row, if the attempt could not be settled
      try {
        if (this.#sending !== null) this.#sending.settle(outcome);
        else this.#begun.then(release, () => {});
      } finally {
        this.#call.lifetime.publish();
      }
    }
  }

  /** Uses one timer that checks for how long nothing was sent, instead of one for each chunk. */
  #startKeepAlive(controller: ReadableStreamDefaultController<string>): void {
    const { keepAliveMs } = this.#call.snapshot.limits;
    this.#lastSentMs = this.#call.context.clock.monotonic();
    // the head was sent before there was any content: the runtime sends it with the first text
    if (this.#sending === null) controller.enqueue(this.#leaving(this.#opening() || this.#form.keepAlive()));
    const look = (): void => {
      const quietMs = this.#call.context.clock.monotonic() - this.#lastSentMs;
      if (quietMs >= keepAliveMs) {
        // a client may pause for longer than a connection may be idle
        if (this.#state === "sent") this.#call.keepOpen();
        // a client that does not read gets none: they would pile up, and a slow reader would receive nothing else
        if (this.#state === "asked" && (controller.desiredSize ?? -1) >= 0) {
          controller.enqueue(this.#leaving(this.#form.keepAlive()));
          this.#call.recorder.keptAlive();
        }
        this.#lastSentMs = this.#call.context.clock.monotonic();
      }
      this.#keepAlive = setTimeout(look, Math.max(1, keepAliveMs - (quietMs >= keepAliveMs ? 0 : quietMs)));
    };
    this.#keepAlive = setTimeout(look, keepAliveMs);
  }
}
