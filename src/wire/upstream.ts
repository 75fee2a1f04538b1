// The port through which every provider is called. Its drivers are http/upstream-socket.ts (the gateway's own connections,
// also through a proxy), which passes test/contract/upstream/upstream-client.suite.ts, and the sandbox, whose server runs in this
// process.
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import { messageOf } from "../core/thrown.ts";

export interface UpstreamRequest {
  /** The default is POST. A GET has an empty body. */
  readonly method?: "GET" | "POST" | "DELETE";
  readonly url: string;
  /** Names are in lower case. The driver adds Host, Content-Length and Accept-Encoding. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Used in place of `body` for a long request, which another thread has written and signed. */
  readonly bytes?: Uint8Array;
}

export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  /** From the request to the head of the response. */
  readonly firstByteTimeoutMs: number;
  /** Longest pause inside the body. */
  readonly betweenBytesTimeoutMs: number;
}

export interface UpstreamCall extends UpstreamLimits {
  /**
   * Ends the exchange at once, because the client disconnected or the whole operation ran out of time. Its reason is
   * rethrown unchanged.
   */
  readonly signal: CancelSignal;
  /**
   * The credential of the call and its tenant, which is left out where the provider shares connections, or the part of the
   * gateway that calls on its own behalf. A connection is
   * reused only by calls of the same partition, because a response that a peer frames wrongly reaches the next request
   * on its connection.
   */
  readonly partition: string;
  /**
   * Called when the last byte of the request has been handed to the system on an established connection, and called
   * with false when that connection turns out to have been stale. For a request to an http address behind a proxy it is
   * the connection to the proxy, and called with false when the proxy demands credentials.
   */
  readonly onSent?: ((isSent: boolean) => void) | undefined;
  /**
   * An address that the address guard has checked: the driver connects to it, and keeps the URL's host in Host and SNI.
   */
  readonly pinnedAddress?: string | undefined;
}

export interface UpstreamResponse {
  readonly status: number;
  /** A header's value by lower-case name, or null. */
  header(name: string): string | null;
  readonly body: UpstreamBody;
}

/**
 * A body has to be read to its end or cancelled: otherwise it holds its connection. The connection serves another request
 * only after `accept`: behind an answer that is none, such as an empty one, the peer may still send what it holds for it.
 */
export interface UpstreamBody {
  /**
   * Returns the next bytes, or null at the end. At most one buffer is read ahead of the reader. Throws UpstreamFault,
   * or the signal's reason.
   */
  read(): Promise<Uint8Array | null>;
  /**
   * Reads the whole body; a short one has often arrived with its head, and is returned at once. Throws UpstreamFault `too_large` above `maxBytes` (decompressed), and when `shouldContinue`, which
   * receives the number of bytes after each read, returns false.
   */
  bytes(maxBytes: number, shouldContinue?: (bytes: number) => boolean): MaybePromise<Uint8Array>;
  /** Like bytes(), decoded as UTF-8. */
  text(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<string>;
  /** Says that what was read is a valid answer. It may be called before the end, which may follow later. */
  accept(): void;
  /** Ends the connection, unless it was accepted and the body has ended. It may be called twice, and after the end. */
  cancel(): void;
}

export interface UpstreamClient {
  /**
   * Throws UpstreamFault, the signal's reason, or the GatewayError `gateway_overloaded` when this process has no file
   * descriptor left for a connection. Redirects are returned like any other response and are not followed.
   */
  send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamResponse>;
}

/**
 * `connection`: refused, unknown name, TLS, reset before the head. `malformed`: the response is not valid HTTP. `cut`:
 * the body ended before its framing said so. `too_large`: a bound of the gateway was exceeded. `timeout`: one of the
 * clocks expired; the message names it.
 */
export type UpstreamFaultKind = "connection" | "timeout" | "malformed" | "cut" | "too_large";

export class UpstreamFault extends Error {
  readonly kind: UpstreamFaultKind;
  constructor(kind: UpstreamFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "UpstreamFault";
    this.kind = kind;
  }
}

/** The message of what was thrown where somebody else than a provider was called, such as `the receiver`. */
export function messageAbout(called: string, thrown: unknown): string {
  const message = messageOf(thrown);
  return thrown instanceof UpstreamFault ? message.replaceAll("the provider", called) : message;
}

/** The fault of a response that violates HTTP. `what` completes a sentence that begins with "the provider's answer". */
export function malformed(what: string): UpstreamFault {
  return new UpstreamFault("malformed", `the provider's answer ${what}`);
}
