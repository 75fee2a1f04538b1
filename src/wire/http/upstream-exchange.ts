// One upstream request over a connection of the gateway's own client, from taking the connection to the last byte of
// the response: with its clocks, its link to the caller's signal, and the one repetition that a stale kept-alive
// connection can require.
import { GatewayError } from "../../core/errors.ts";
import { readBytes, tooLarge, decodeUtf8 } from "../body-bytes.ts";
import type { CloseReason, Connection, ConnectionOwner, ConnectStep } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { decodedBody } from "./content-decoding.ts";
import { PROXY } from "./http-proxy.ts";
import type { EncodedRequest, HttpTarget } from "./http-request-encoding.ts";
import { ResponseParser } from "./http-response-parser.ts";
import { credentialsRefused } from "./proxy-tunnel.ts";
import { UpstreamFault, type UpstreamBody, type UpstreamCall, type UpstreamResponse } from "../upstream.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { afterSocketsRead } from "../../core/concurrency/event-loop.ts";
import { WaitClock, type WaitOwner } from "./wait-clock.ts";

/** Bytes that may wait for the reader before the connection is paused; one read of the socket may exceed it. */
const MAX_UNREAD_BYTES = 256 * 1024;

/**
 * A peer may close an idle connection just as a request is on its way to it. A request is sent once more, on another
 * connection, only in that case: the connection has served before, and no byte of a response has arrived. A stale
 * connection shows within a round trip; one that breaks later more likely ends a generation that has begun, and the
 * caller decides about a retry.
 */
const STALE_CONNECTION_WINDOW_MS = 1_000;

/** For each step of connecting: how an error names what could not be reached, and what was not there in time. */
const STEPS: Readonly<Record<ConnectStep, { readonly unreached: string; readonly missing: string }>> = {
  provider: {
    unreached: "the provider could not be reached",
    missing: "the provider accepted no connection",
  },
  proxy: {
    unreached: `${PROXY} could not be reached`,
    missing: `${PROXY} accepted no connection`,
  },
  tunnel: {
    unreached: `${PROXY} closed the connection instead of opening a tunnel to the provider`,
    missing: `${PROXY} opened no tunnel to the provider`,
  },
  "provider in tunnel": {
    unreached: `the provider could not be reached through ${PROXY}`,
    missing: `the provider accepted no connection through ${PROXY}`,
  },
};

/** `over`: the reader has reached the end, or a fault or the caller's signal has ended the exchange. */
type State = "connecting" | "waiting for the head" | "body" | "over";

/** Replaces the functions of a promise that is settled. */
const IGNORE = (): void => undefined;

export class Exchange implements UpstreamBody, ConnectionOwner, WaitOwner {
  readonly #pool: ConnectionPool;
  readonly #target: HttpTarget;
  readonly #poolKey: string;
  readonly #call: UpstreamCall;
  readonly #clock: WaitClock;
  /** Kept until it can no longer be needed for a repetition. */
  #request: EncodedRequest | undefined;
  #resolveHead: (response: UpstreamResponse) => void;
  #rejectHead: (reason: unknown) => void;

  #state: State = "connecting";
  /** Undefined once the whole response has arrived, or the connection is gone. */
  #connection: Connection | undefined = undefined;
  /** The connection of a whole response, until the reader has accepted it or not. */
  #held: Connection | undefined = undefined;
  #isAccepted = false;
  #isReused = false;
  #sentMs = 0;
  #parser = new ResponseParser();

  /** Bytes of the body that wait for the reader. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #readBytes = 0;
  /** What ended the body early. It is thrown after the bytes that arrived before it. */
  #failure: { readonly reason: unknown } | undefined = undefined;
  #resolveRead: ((bytes: Uint8Array | null) => void) | undefined = undefined;
  #rejectRead: (reason: unknown) => void = IGNORE;

  /** `resolve` and `reject` settle the promise of the response's head. */
  constructor(
    pool: ConnectionPool,
    target: HttpTarget,
    request: EncodedRequest,
    call: UpstreamCall,
    resolve: (response: UpstreamResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#pool = pool;
    this.#target = target;
    this.#poolKey = `${target.key}\n${call.partition}`;
    this.#request = request;
    this.#call = call;
    this.#clock = new WaitClock(
      this,
      Math.min(call.connectTimeoutMs, call.firstByteTimeoutMs, call.betweenBytesTimeoutMs),
    );
    this.#resolveHead = resolve;
    this.#rejectHead = reject;
  }

  start(): void {
    this.#call.signal.addEventListener("abort", this);
    const connection = this.#pool.acquire(this.#poolKey, this, performance.now());
    if (connection === undefined) return this.#connect();
    this.#connection = connection;
    this.#isReused = true;
    if (!this.#pool.mayHaveUnreadBytes(connection)) return this.#send(connection);
    const sendUnlessClosed = (): void => {
      if (this.#connection === connection) this.#send(connection);
    };
    afterSocketsRead(sendUnlessClosed);
  }

  /** The listener of the caller's signal. */
  handleEvent(): void {
    this.#stop(this.#call.signal.reason);
  }

  #connect(): void {
    this.#state = "connecting";
    this.#isReused = false;
    this.#clock.start(this.#call.connectTimeoutMs);
    this.#connection = this.#pool.open(this.#target, this.#poolKey, this);
  }

  connected(connection: Connection): void {
    this.#send(connection);
  }

  #send(connection: Connection): void {
    this.#state = "waiting for the head";
    this.#sentMs = this.#clock.start(this.#call.firstByteTimeoutMs);
    if (!connection.write(this.#request as EncodedRequest)) this.#handleLoss("EPIPE");
    else if (!connection.hasUnsent) this.sent();
  }

  sent(): void {
    this.#call.onSent?.(true);
  }

  received(connection: Connection, bytes: Buffer): void {
    const parser = this.#parser;
    // No request has been sent on this connection yet, so these bytes are not its response.
    if (this.#state === "connecting") return this.#handleLoss("ECONNRESET");
    let body: Buffer | null;
    try {
      body = parser.push(bytes);
    } catch (fault) {
      this.#fail(fault);
      return;
    }
    if (this.#state !== "body") {
      if (!parser.hasHead) return;
      const { proxy } = this.#target;
      if (parser.status === 407 && proxy !== undefined && proxy.tunnel === undefined)
        return this.#stopAtProxy(proxy.hasCredentials);
      this.#resolveResponse();
    }
    if (parser.complete) this.#finish(connection, parser.reusable && !connection.hasUnsent);
    if (body !== null) this.#deliver(body, connection);
    else if (parser.complete) this.#resolveReadAtEnd();
  }

  ended(connection: Connection): void {
    if (!this.#parser.end()) {
      this.#handleLoss("ECONNRESET");
      return;
    }
    this.#finish(connection, false);
    this.#resolveReadAtEnd();
  }

  closed(_: Connection, reason: CloseReason): void {
    if (reason instanceof GatewayError) this.#pool.onShortage();
    if (typeof reason === "object") this.#stop(reason);
    else this.#handleLoss(reason ?? "ECONNRESET");
  }

  #resolveResponse(): void {
    const parser = this.#parser;
    this.#state = "body";
    this.#request = undefined;
    this.#clock.pause();
    const { contentEncoding } = parser;
    const resolve = this.#resolveHead;
    this.#resolveHead = this.#rejectHead = IGNORE;
    resolve({
      status: parser.status,
      header: (name) => parser.header(name),
      body: contentEncoding === undefined ? this : decodedBody(this, contentEncoding, this.#call.signal),
    });
  }

  /** The proxy did not forward the request, because it accepts no credentials of the gateway. */
  #stopAtProxy(hasCredentials: boolean): void {
    this.#call.onSent?.(false);
    const message = credentialsRefused(hasCredentials, this.#parser.header("proxy-authenticate"));
    this.#stop(new UpstreamFault("connection", message));
  }

  /** The whole response has arrived: the connection waits for what the reader makes of it, or is closed. */
  #finish(connection: Connection, canServeAgain: boolean): void {
    this.#connection = undefined;
    this.#release();
    if (!canServeAgain) return connection.closeGracefully();
    this.#pool.hold(connection, performance.now(), this.#parser.idleTimeoutMs);
    this.#held = connection;
    if (this.#isAccepted) this.accept();
  }

  accept(): void {
    this.#isAccepted = true;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pool.accept(held);
  }

  #deliver(bytes: Buffer, connection: Connection): void {
    const resolve = this.#resolveRead;
    if (resolve !== undefined) {
      this.#clearReader();
      this.#readBytes += bytes.length;
      resolve(bytes);
      return;
    }
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES && this.#connection !== undefined && !connection.isPaused)
      connection.pause();
  }

  #resolveReadAtEnd(): void {
    const resolve = this.#resolveRead;
    if (resolve === undefined) return;
    this.#clearReader();
    this.#state = "over";
    resolve(null);
  }

  #clearReader(): void {
    this.#resolveRead = undefined;
    this.#rejectRead = IGNORE;
    this.#clock.pause();
  }

  /** The connection is gone before the response was complete. */
  #handleLoss(code: string): void {
    if (this.#state === "body")
      return this.#fail(new UpstreamFault("cut", `the provider's answer broke off (${code})`));
    const isStale =
      this.#isReused &&
      !this.#parser.started &&
      (this.#state === "connecting" || performance.now() - this.#sentMs < STALE_CONNECTION_WINDOW_MS);
    if (!isStale)
      return this.#stop(new UpstreamFault("connection", `${STEPS[this.#connectStep()].unreached} (${code})`));
    this.#call.onSent?.(false);
    this.#discardConnection();
    this.#connect();
  }

  /** Ends the exchange with a fault that the reader sees after the bytes that arrived before it. */
  #fail(fault: unknown): void {
    if (this.#unread.length === 0) return this.#stop(fault);
    this.#failure = { reason: fault };
    this.#discardConnection();
    this.#release();
  }

  /** Ends the exchange at once. */
  #stop(reason: unknown): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pool.reject(held);
    if (this.#state === "over") return;
    this.#state = "over";
    this.#failure = { reason };
    this.#request = undefined;
    this.#unread = [];
    this.#discardConnection();
    this.#release();
    const [rejectHead, rejectRead] = [this.#rejectHead, this.#rejectRead];
    this.#resolveHead = this.#rejectHead = IGNORE;
    this.#clearReader();
    rejectHead(reason);
    rejectRead(reason);
  }

  #discardConnection(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) this.#pool.discard(connection);
  }

  #release(): void {
    this.#call.signal.removeEventListener("abort", this);
    this.#clock.close();
  }

  /** What to throw instead of reading on: a fault, or the reason of the caller's signal. */
  #endOfReading(): { readonly reason: unknown } | undefined {
    if (this.#state === "body" && this.#call.signal.aborted) this.#stop(this.#call.signal.reason);
    if (this.#unread.length > 0) return undefined;
    if (this.#failure !== undefined) this.#state = "over";
    return this.#failure;
  }

  read(): Promise<Uint8Array | null> {
    const stopped = this.#endOfReading();
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the signal's reason is handed on as it is
    if (stopped !== undefined) return Promise.reject(stopped.reason);
    const bytes = this.#unread.shift();
    if (bytes !== undefined) {
      this.#readBytes += bytes.length;
      this.#unreadBytes -= bytes.length;
      if (this.#unreadBytes === 0 && this.#connection?.isPaused === true) this.#connection.resume();
      return Promise.resolve(bytes);
    }
    if (this.#connection === undefined) this.#state = "over";
    if (this.#state === "over") return Promise.resolve(null);
    if (this.#resolveRead !== undefined) return Promise.reject(new Error("the body is being read already"));
    return new Promise((resolve, reject) => {
      this.#resolveRead = resolve;
      this.#rejectRead = reject;
      this.#clock.start(this.#call.betweenBytesTimeoutMs);
    });
  }

  async text(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<string> {
    return decodeUtf8(await this.bytes(maxBytes, shouldContinue));
  }

  bytes(maxBytes: number, shouldContinue?: (bytes: number) => boolean): MaybePromise<Uint8Array> {
    const knownBytes = this.#parser.contentLength;
    if (this.#endOfReading() === undefined && knownBytes !== undefined && knownBytes - this.#readBytes > maxBytes)
      this.#stop(tooLarge(maxBytes));
    const whole = this.#wholeBody();
    if (whole === null || whole.length > maxBytes || shouldContinue?.(whole.length) === false)
      return readBytes(this, maxBytes, (fault) => this.#stop(fault), shouldContinue);
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#state = "over";
    return whole;
  }

  /** Returns the body if all of it has arrived in one read of the socket; otherwise `null`. */
  #wholeBody(): Buffer | null {
    const isThere =
      this.#state === "body" &&
      this.#connection === undefined &&
      this.#failure === undefined &&
      this.#readBytes === 0 &&
      this.#unread.length === 1;
    return isThere ? this.#unread[0]! : null;
  }

  cancel(): void {
    this.#stop(new UpstreamFault("cut", "the body was cancelled by its reader"));
  }

  /** Called by the clock. */
  expired(): void {
    this.#stop(new UpstreamFault("timeout", this.#expiredClock()));
  }

  #expiredClock(): string {
    const { connectTimeoutMs, firstByteTimeoutMs, betweenBytesTimeoutMs } = this.#call;
    if (this.#state === "connecting")
      return `connect: ${STEPS[this.#connectStep()].missing} within ${connectTimeoutMs} ms`;
    if (this.#state === "waiting for the head")
      return `first byte: the provider sent no response headers within ${firstByteTimeoutMs} ms`;
    return `between bytes: the provider's answer paused for more than ${betweenBytesTimeoutMs} ms`;
  }

  #connectStep(): ConnectStep {
    return this.#connection?.step ?? "provider";
  }
}
