// What one attempt has of its own within the call: a signal that ends it alone, the clocks of its route, and the records that it leaves.
import { Cancellation, type CancelSignal } from "../core/cancellation.ts";
import type { Usage } from "../core/chat.ts";
import { type ErrorCode, GatewayError } from "../core/errors.ts";
import type { Attempt } from "../core/record.ts";
import type { RouteTimeouts } from "../core/route.ts";
import type { UpstreamLimits } from "../wire/upstream.ts";
import type { Call } from "./call.ts";

/** With these an attempt is ended from this side. */
const LEFT: ReadonlySet<string> = new Set<ErrorCode>(["client_closed", "superseded", "upstream_timeout", "limit_store_unavailable"]);

export class AttemptScope {
  readonly limits: UpstreamLimits;
  /** One for each request that went out: several where choices are fanned out. */
  readonly attempts: Attempt[] = [];
  readonly startedMs: number;
  /** What is seen so far of what it uses; null: nothing. */
  usage: () => Usage | null = () => null;
  /** What is seen is of a stream of which nothing has been shown so far: it is charged where nothing comes of it. */
  isUnshown = false;
  hasContent = false;
  /** The provider's own figures of one of its requests, by its place in `attempts`; null: none have come. */
  reported: (index: number) => Usage | null = () => null;
  readonly #call: Call;
  readonly #cancellation = new Cancellation();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(call: Call, timeouts: RouteTimeouts) {
    const { limits } = call.snapshot;
    this.#call = call;
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

  /**
   * Requests whose answer had begun (its head said success) when this side ended the attempt: the provider has taken the prompt, whoever listens. 0 where the
   * provider failed by itself.
   */
  leftBegun(): number {
    const { aborted, reason } = this.#cancellation;
    if (!aborted || !(reason instanceof GatewayError) || !LEFT.has(reason.code)) return 0;
    return this.attempts.filter(({ status }) => status !== null && status >= 200 && status <= 299).length;
  }

  /** The call's own end. */
  handleEvent(): void {
    this.end(this.#call.signal.reason);
  }

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
  return new GatewayError("upstream_timeout", `The provider's first content did not come within ${firstTokenMs} ms (first_token_ms of the route).`);
}
