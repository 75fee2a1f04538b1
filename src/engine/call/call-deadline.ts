// When a call has to be over (promise 7.2): by the timeout of its request, or else by the limit that its client states
// in a header, or else by the gateway's default; and by the bound of the route that serves it, where the request sets
// no timeout.
import { MAX_TIMER_MS } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { CallClock } from "./call-clock.ts";

/**
 * A client that states its own limit receives the gateway's error this much earlier, instead of closing the connection
 * itself.
 */
const CLIENT_LIMIT_MARGIN_MS = 5000;

/** What decides when a call has to be over, in milliseconds. */
export interface RequestedTimeouts {
  /** `timeout` of the request; `null` when it sets none. */
  readonly requestMs: number | null;
  /** The limit of the client library, from a header; `null` when there is none. */
  readonly clientMs: number | null;
  readonly defaultMs: number;
}

export class CallDeadline {
  readonly #clock: CallClock;
  readonly #expire: (reason: GatewayError) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** In milliseconds since the call arrived. */
  #timeoutMs = Number.POSITIVE_INFINITY;
  #isBoundByRoutes = false;
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
    const askedMs = requestMs ?? (clientMs === null ? null : Math.min(withMargin(clientMs), defaultMs));
    this.#isSetByClient = askedMs !== null;
    this.#isBoundByRoutes = requestMs === null;
    this.#set(askedMs ?? defaultMs);
  }

  /** Applies the bound of the route with which the call begins; `null` when it has none. */
  boundByRoute(totalMs: number | null): void {
    if (totalMs !== null) this.#tighten(totalMs);
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
    clearTimeout(this.#timer);
  }

  #tighten(timeoutMs: number): void {
    if (this.#isBoundByRoutes && timeoutMs < this.#timeoutMs) this.#set(timeoutMs);
  }

  #set(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(
      () => this.#expire(this.error()),
      Math.min(Math.max(0, timeoutMs - this.#clock.elapsedMs()), MAX_TIMER_MS),
    );
  }
}

function withMargin(clientMs: number): number {
  return Math.max(clientMs - CLIENT_LIMIT_MARGIN_MS, clientMs / 2);
}
