// How long one attempt lives: a signal that ends only this attempt, the timeouts of its route, the time after which it
// is given up for another target, and the few bytes that a non-streaming answer is still read after its client has
// disconnected.

// Decides (targets and attempts): How long does an attempt wait, and how long may a call take? By: `AttemptLifetime`.
// Also: `engine/call/call-lifetime.ts` (`CallDeadline`). Rule: When a silent target is given up for another one:
// `routing/head-limit.ts`. What a route inherits: `routing/compile-routes.ts` (`compileRoute`).
import { Cancellation, type CancelSignal } from "../../core/concurrency/cancellation.ts";
import { MAX_TIMER_MS } from "../../core/clock.ts";
import { startTimeout } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import type { RouteTimeouts } from "../../core/configured/route.ts";
import { headLimitMs } from "../../routing/head-limit.ts";
import type { UpstreamLimits } from "../../wire/upstream.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import type { Call } from "../call/call.ts";

/**
 * A non-streaming answer that has begun is read for this long, or this many bytes, after its client has disconnected,
 * because its usage is at its end (promise 7.7).
 */
const READ_ON_MS = 2_000;
const READ_ON_BYTES = 256 * 1024;

export class AttemptLifetime {
  readonly limits: UpstreamLimits;
  hasContent = false;
  /** The head of an answer has come that other calls share, or that was kept; their requests have no head of their own. */
  hasSharedHead = false;
  /** The attempt was ended because its head was late and another target is left (promise 7.10). */
  isGivenUp = false;
  readonly #call: Call;
  readonly #requests: readonly AttemptRecorder[];
  readonly #cancellation = new Cancellation();
  readonly #isStream: boolean;
  readonly #timeouts: RouteTimeouts;
  readonly #isAnotherLeft: (() => boolean) | null;
  #bytes = 0;
  /** The number of bytes of the answer at which reading ends; `null` while the client is connected. */
  #lastByte: number | null = null;
  #stopTimer: () => void = () => {};
  #held = 0;
  #isClosed = false;

  /**
   * Its timeouts begin with `sends`. `isAnotherLeft` says whether another target could be called instead; `null` when the
   * call has only one target.
   */
  constructor(
    call: Call,
    timeouts: RouteTimeouts,
    requests: readonly AttemptRecorder[],
    isAnotherLeft: (() => boolean) | null,
  ) {
    const { limits } = call.snapshot;
    this.#call = call;
    this.#requests = requests;
    this.#isStream = call.record.stream;
    this.#timeouts = timeouts;
    this.#isAnotherLeft = isAnotherLeft;
    this.limits = {
      connectTimeoutMs: timeouts.connectMs ?? limits.connectTimeoutMs,
      firstByteTimeoutMs: timeouts.firstByteMs ?? limits.firstByteTimeoutMs,
      betweenBytesTimeoutMs: timeouts.betweenChunksMs ?? limits.betweenBytesTimeoutMs,
    };
    if (call.signal.aborted) this.#cancellation.abort(call.signal.reason);
    else call.signal.addEventListener("abort", this);
  }

  /** Starts the timeouts: from now on requests may be sent. */
  sends(): void {
    if (this.#cancellation.aborted) return;
    // a non-streaming answer arrives as a whole, so that its first token cannot be timed
    const firstTokenMs = this.#isStream ? this.#timeouts.firstTokenMs : null;
    if (firstTokenMs !== null) this.#stopTimer = startTimeout(firstTokenMs, () => this.end(tooLate(firstTokenMs)));
    else if (this.#isAnotherLeft !== null) this.#awaitHead();
  }

  /** Starts the timer after which the attempt is given up, where the route sets no limit of its own. */
  #awaitHead(): void {
    const limitMs = headLimitMs(this.#timeouts, this.#isStream, this.#call.deadline.leftMs());
    if (limitMs === null || this.#cancellation.aborted) return;
    this.#stopTimer = startTimeout(Math.min(limitMs, MAX_TIMER_MS), () => this.#headIsLate(limitMs));
  }

  #headIsLate(limitMs: number): void {
    const isSent = this.#requests.length > 0;
    if (isSent && (this.hasSharedHead || this.#requests.every(({ row: { headMs } }) => headMs !== null))) return;
    // content may still be fetched, and another target may become able later
    if (!isSent || !this.#isAnotherLeft!()) return this.#awaitHead();
    this.isGivenUp = true;
    this.end(givenUp(limitMs));
  }

  get signal(): CancelSignal {
    return this.#cancellation;
  }

  /** Called when the call itself has ended, as the listener of its signal. */
  handleEvent(): void {
    const { reason } = this.#call.signal;
    if (!this.#mayReadOn(reason)) return this.end(reason);
    this.#stopTimer();
    this.#lastByte = this.#bytes + READ_ON_BYTES;
    const leftMs = Math.max(0, Math.min(READ_ON_MS, this.#call.deadline.leftMs()));
    this.#stopTimer = startTimeout(leftMs, () => this.end(reason));
  }

  /**
   * Whether the attempt ends because the client disconnected, after every non-streaming answer that it waited for had
   * begun.
   */
  #mayReadOn(reason: unknown): boolean {
    if (this.#isStream || !(reason instanceof GatewayError) || reason.code !== "client_closed") return false;
    return (
      this.#requests.length > 0 &&
      this.#requests.every(({ row: { status } }) => status !== null && status >= 200 && status <= 299)
    );
  }

  /** Whether a non-streaming answer is read further after this many bytes. */
  readonly readsOn = (bytes: number): boolean => {
    this.#bytes = bytes;
    return this.#lastByte === null || bytes <= this.#lastByte;
  };

  /**
   * Counts what the attempt has fetched against the memory that bodies may hold (promise 5.8), until content comes or the
   * attempt is over: its request is sent by then. Throws `gateway_overloaded`.
   */
  hold(bytes: number): void {
    if (this.#isClosed) return;
    this.#call.lifetime.hold(bytes, this.#call.snapshot.limits);
    this.#held += bytes;
  }

  #release(): void {
    this.#call.lifetime.release(this.#held);
    this.#held = 0;
  }

  /**
   * Called when the first content or a complete non-streaming answer has arrived; in a tool round, also for a tool call
   * that the client does not see.
   */
  contentCame(): void {
    this.hasContent = true;
    this.#stopTimer();
    this.#release();
  }

  /** Ends the requests in flight. */
  end(reason: unknown): void {
    this.#cancellation.abort(reason);
    this.close();
  }

  /** Called when nothing is in flight any more. */
  close(): void {
    this.#isClosed = true;
    this.#release();
    this.#stopTimer();
    this.#call.signal.removeEventListener("abort", this);
  }
}

function givenUp(limitMs: number): GatewayError {
  return new GatewayError(
    "upstream_timeout",
    `The provider did not begin to answer within ${Math.round(limitMs)} ms, and another target is left.`,
  );
}

function tooLate(firstTokenMs: number): GatewayError {
  return new GatewayError(
    "upstream_timeout",
    `The provider sent no content within ${firstTokenMs} ms (first_token_ms of the route).`,
  );
}
