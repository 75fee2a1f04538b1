// The life of one streamed reply: its head is held until there is something to send (decisions 7.4), keep-alives go out while nothing comes (8.4), it is read as the
// client reads (8.5), and ends in one way, whatever ended it (8.3).
import { LATE, within } from "../core/timeout.ts";
import { asGatewayError, errorBody, type GatewayError } from "../core/errors.ts";
import type { Outcome } from "../routing/health.ts";
import type { Call } from "./call.ts";
import { withAttempts } from "./complete.ts";
import { endingRequest, type OpenAttempt, outcomeOf } from "./run-attempt.ts";
import { LONG_EVENT, piecesOf } from "./long-events.ts";
import { nextTurn } from "../wire/turn.ts";

const DONE = "data: [DONE]\n\n";
const KEEP_ALIVE = ": keep-alive\n\n";

/** What is sent, of which nothing has been sent so far: a provider's stream, or that of several rounds. */
export interface Sending {
  /** Text that is there already. */
  readonly held: string;
  /** What is under way, or was last. */
  readonly attempt: OpenAttempt;
  readonly hasContent: boolean;
  /** The last events have been given. */
  readonly isFinished: boolean;
  /** The next text; null: it is complete. */
  next(): Promise<string | null>;
  cancel(): void;
  /** Ends what is under way and gives the error that the call fails with. */
  fail(thrown: unknown): unknown;
  /** Notes in the record what was said and used. */
  note(): void;
  settle(outcome: Outcome): void;
}

/** What nobody waits for any more: the client left before it had its first text. */
function letGo(sending: Sending): void {
  sending.cancel();
  sending.settle("cancelled");
}

/** What is held, what waits, how it ends. */
export class StreamSession {
  readonly #begun: Promise<Sending>;
  readonly #call: Call;
  #sending: Sending | null = null;
  /** It has begun, and the client has not asked for it yet. */
  #untaken: Sending | null = null;
  #held = "";
  #over = false;
  #left = false;
  /** Text is on its way and the client has not asked for more. */
  #awaitsClient = false;
  /** The client has asked for more, and waits. */
  #isAsked = false;
  /** What a client that did not read when the call was closed finds when it reads on. */
  #rest: string | null = null;
  #keepAlive: ReturnType<typeof setTimeout> | undefined;
  #lastSentMs = 0;
  /** Null: no integration wants to hear of its pieces. */
  readonly #tellPiece: ((characters: number, atMs: number) => void) | null;

  constructor(begun: Promise<Sending>, call: Call) {
    this.#begun = begun;
    this.#call = call;
    this.#tellPiece = call.context.integrations?.chunks?.(call.record) ?? null;
    // while the head waits alone nobody may be listening any more
    begun.then(
      (sending) => (this.#untaken = sending),
      () => {},
    );
    call.signal.addEventListener("abort", this);
  }

  /** The time of the call is over. A read that is under way fails by itself; where the client does not read, the call is closed all the same. */
  handleEvent(): void {
    const { reason } = this.#call.signal;
    if (this.#over || this.#isAsked || asGatewayError(reason).code === "client_closed") return;
    if (this.#awaitsClient) this.#call.clock.waitEnds();
    this.#awaitsClient = false;
    this.#rest = this.#held + (this.#sending?.isFinished === true ? this.#complete() : this.#failed(reason));
  }

  /** Null when the time is over and the head has to go first. Throws what the engine gave up with. */
  async holdHead(): Promise<Sending | null> {
    const sending = await within(this.#begun, this.#call.snapshot.limits.headHoldMs);
    if (sending === LATE) return null;
    this.#take(sending);
    return sending;
  }

  #take(sending: Sending): void {
    this.#sending = sending;
    this.#held = sending.held;
    this.#call.won(sending.attempt);
    if (sending.hasContent) this.#call.recorder.firstContent();
  }

  /** Text, which Bun's server encodes where it writes: a copy less for each piece. */
  readable(): ReadableStream<string> {
    return new ReadableStream<string>(
      {
        start: (controller) => this.#startKeepAlive(controller),
        pull: async (controller) => {
          if (this.#awaitsClient) this.#call.clock.waitEnds();
          this.#awaitsClient = false;
          this.#isAsked = true;
          const text = await this.#text();
          if (this.#over && this.#call.lifetime.written !== null) await this.#call.lifetime.written;
          this.#isAsked = false;
          this.#lastSentMs = this.#call.context.clock.monotonic();
          if (this.#left) return;
          if (text === null) return controller.close();
          if (text.length < LONG_EVENT) controller.enqueue(text);
          else await this.#enqueueInTurns(controller, text);
          this.#call.content?.sent(text);
          if (this.#tellPiece !== null && !this.#over) this.#tellPiece(text.length, this.#call.clock.elapsedMs());
          // until it reads on, it is the client that is waited for
          this.#awaitsClient = true;
          this.#call.clock.waitBegins();
        },
        cancel: () => this.#cancelled(),
      },
      { highWaterMark: 0 },
    );
  }

  /** The runtime encodes some megabytes of accented letters in the time that other calls may have to wait. */
  async #enqueueInTurns(controller: ReadableStreamDefaultController<string>, text: string): Promise<void> {
    for (const piece of piecesOf(text, LONG_EVENT)) {
      if (this.#left) return;
      controller.enqueue(piece);
      await nextTurn();
    }
  }

  /** The next text; the failure of a stream that has begun is text as well. */
  async #text(): Promise<string | null> {
    if (this.#over) {
      const rest = this.#rest;
      this.#rest = null;
      return rest;
    }
    try {
      if (this.#sending === null) {
        const sending = await this.#begun;
        if (this.#over) return null;
        this.#take(sending);
      }
      if (this.#held !== "") {
        const held = this.#held;
        this.#held = "";
        return held;
      }
      return (await this.#sending!.next()) ?? this.#complete();
    } catch (thrown) {
      // the client left while the read was under way: the call is closed
      if (this.#over) return null;
      return this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): string {
    return this.#errorEvent(
      asGatewayError(withAttempts(this.#sending === null ? thrown : this.#sending.fail(thrown), this.#call)),
    );
  }

  #complete(): string {
    this.#call.recorder.succeeded();
    this.#settle("success");
    return DONE;
  }

  #errorEvent(error: GatewayError): string {
    this.#call.recorder.failed(error);
    this.#settle(
      outcomeOf(error, this.#call, this.#sending === null ? undefined : endingRequest(this.#sending.attempt)?.row),
    );
    return `data: ${JSON.stringify(errorBody(error, this.#call.traceId))}\n\n${DONE}`;
  }

  #cancelled(): void {
    this.#left = true;
    this.#call.lifetime.cancel();
    this.#sending?.cancel();
    if (this.#over) return;
    this.#call.recorder.leftInStream();
    this.#settle("cancelled");
  }

  #settle(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#keepAlive);
    this.#call.signal.removeEventListener("abort", this);
    this.#call.recorder.attemptsEnded();
    // what has begun is used, whether or not the client reads on
    if (this.#sending === null && this.#untaken !== null) {
      this.#sending = this.#untaken;
      this.#call.won(this.#sending.attempt);
      this.#sending.cancel();
    }
    if (this.#sending !== null) {
      this.#sending.note();
      this.#sending.settle(outcome);
    } else this.#begun.then(letGo, () => {});
    this.#call.lifetime.publish();
  }

  /** One timer that looks how long nothing was sent, not one for each chunk. */
  #startKeepAlive(controller: ReadableStreamDefaultController<string>): void {
    const { keepAliveMs } = this.#call.snapshot.limits;
    this.#lastSentMs = this.#call.context.clock.monotonic();
    // the head had to go before there was anything to send: a comment takes it along
    if (this.#sending === null) controller.enqueue(KEEP_ALIVE);
    const look = (): void => {
      const quietMs = this.#call.context.clock.monotonic() - this.#lastSentMs;
      if (quietMs >= keepAliveMs) {
        // a client that does not read gets none: they would pile up, and one that reads slowly would get nothing else
        if (this.#isAsked && (controller.desiredSize ?? -1) >= 0) controller.enqueue(KEEP_ALIVE);
        this.#lastSentMs = this.#call.context.clock.monotonic();
      }
      this.#keepAlive = setTimeout(look, Math.max(1, keepAliveMs - (quietMs >= keepAliveMs ? 0 : quietMs)));
    };
    this.#keepAlive = setTimeout(look, keepAliveMs);
  }
}
