// What one attempt has of its own within the call: a signal that ends it alone, the clocks of its route, and the records that it leaves.
import { Cancellation, type CancelSignal } from "../core/cancellation.ts";
import type { Usage } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { Attempt } from "../core/record.ts";
import type { RouteTimeouts } from "../core/route.ts";
import type { UpstreamLimits } from "../wire/upstream.ts";
import type { Call } from "./call.ts";

/** A plain answer that has begun is read for so long, or so many bytes, after its client has left: its usage stands at its end (decisions 7.7). */
const READ_ON_MS = 2_000;
const READ_ON_BYTES = 256 * 1024;

export class AttemptScope {
  readonly limits: UpstreamLimits;
  /** One for each request that went out: several where choices are fanned out. */
  readonly attempts: Attempt[] = [];
  readonly startedMs: number;
  /** What is seen so far of what it uses; null: nothing. */
  usage: () => Usage | null = () => null;
  /** Whether that is an estimate, or has a part that is. */
  isEstimated: () => boolean = () => true;
  /** It is charged once, whichever way it ends on. */
  isCharged = false;
  hasContent = false;
  /** The provider's own figures of one of its requests, by its place in `attempts`; null: none have come. */
  reported: (index: number) => Usage | null = () => null;
  readonly #call: Call;
  readonly #cancellation = new Cancellation();
  /** Requests that their providers have, and did not refuse. */
  readonly #taken = new Set<Attempt>();
  readonly #isPlain: boolean;
  #bytes = 0;
  /** Bytes of the answer at which reading on ends; null: its client is there. */
  #lastByte: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(call: Call, timeouts: RouteTimeouts) {
    const { limits } = call.snapshot;
    this.#call = call;
    this.#isPlain = !call.record.stream;
    this.startedMs = call.context.clock.monotonic();
    this.limits = {
      connectTimeoutMs: timeouts.connectMs ?? limits.connectTimeoutMs,
      firstByteTimeoutMs: timeouts.firstByteMs ?? limits.firstByteTimeoutMs,
      betweenBytesTimeoutMs: timeouts.betweenChunksMs ?? limits.betweenBytesTimeoutMs,
    };
    if (call.signal.aborted) this.#cancellation.abort(call.signal.reason);
    else call.signal.addEventListener("abort", this);
    // the first token of a plain answer cannot be seen: it comes with the last
    const firstTokenMs = call.record.stream ? timeouts.firstTokenMs : null;
    if (firstTokenMs !== null) this.#timer = setTimeout(() => this.end(tooLate(firstTokenMs)), firstTokenMs);
  }

  get signal(): CancelSignal {
    return this.#cancellation;
  }

  /** Notes that the provider has the request, or that it does not: it never came there, or was refused. */
  take(attempt: Attempt, isTaken: boolean): void {
    if (isTaken) this.#taken.add(attempt);
    else this.#taken.delete(attempt);
  }

  /** Requests whose prompt the provider has read, whoever listens to the answer. */
  get taken(): number {
    return this.#taken.size;
  }

  /** The call's own end. */
  handleEvent(): void {
    const { reason } = this.#call.signal;
    if (!this.#mayReadOn(reason)) return this.end(reason);
    clearTimeout(this.#timer);
    this.#lastByte = this.#bytes + READ_ON_BYTES;
    this.#timer = setTimeout(() => this.end(reason), Math.max(0, Math.min(READ_ON_MS, this.#call.leftMs())));
  }

  /** The client has left, and each plain answer that it waited for has begun. */
  #mayReadOn(reason: unknown): boolean {
    if (!this.#isPlain || !(reason instanceof GatewayError) || reason.code !== "client_closed") return false;
    return (
      this.attempts.length > 0 && this.attempts.every(({ status }) => status !== null && status >= 200 && status <= 299)
    );
  }

  /** Whether a plain answer of so many bytes is read on. */
  readonly goesOn = (bytes: number): boolean => {
    this.#bytes = bytes;
    return this.#lastByte === null || bytes <= this.#lastByte;
  };

  /** The first content, or the whole of a plain answer, is there. Of a round of tools also what is called and not shown. */
  contentCame(): void {
    this.hasContent = true;
    clearTimeout(this.#timer);
  }

  /** Ends what is still under way. */
  end(reason: unknown): void {
    this.#cancellation.abort(reason);
    this.close();
  }

  /** Nothing is under way any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#call.signal.removeEventListener("abort", this);
  }
}

function tooLate(firstTokenMs: number): GatewayError {
  return new GatewayError(
    "upstream_timeout",
    `The provider's first content did not come within ${firstTokenMs} ms (first_token_ms of the route).`,
  );
}
