// The port through which every provider is called. Drivers: upstream-socket.ts (connections of our own) and upstream-fetch.ts (Bun's fetch, behind a
// proxy), which pass test/contract/upstream-client.suite.ts, and the sandbox's own server in this process.
import type { CancelSignal } from "../core/cancellation.ts";

export interface UpstreamRequest {
  /** Absent: POST. A GET has an empty body. */
  readonly method?: "GET" | "POST" | "DELETE";
  readonly url: string;
  /** Lower-case names. The driver adds Host, Content-Length and Accept-Encoding. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** In place of `body`: of a long request, which another thread has written and signed. */
  readonly bytes?: Uint8Array;
}

export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  /** From the request to the head of the answer. */
  readonly firstByteTimeoutMs: number;
  /** Longest silence inside the body. */
  readonly betweenBytesTimeoutMs: number;
}

export interface UpstreamCall extends UpstreamLimits {
  /** Ends the call at once: the client left, or the whole operation is out of time. Its reason is rethrown as it is. */
  readonly signal: CancelSignal;
  /**
   * Whose call this is: the tenant and the credential, or the part of the gateway that calls for itself. A connection is used again only by calls of the
   * same partition, because an answer that a peer frames wrongly reaches whoever asks next on its connection.
   */
  readonly partition: string;
  /**
   * Told when the last byte of the request has been handed to the system on an established connection, and with false when that turns out to have been a stale connection. The client over fetch cannot
   * see connections: it says so when it hands the request over, and takes it back where there was no connection.
   */
  readonly onSent?: ((isSent: boolean) => void) | undefined;
  /** An address that the address guard has checked: connect to it, with the URL's host in Host and SNI. */
  readonly pinnedAddress?: string | undefined;
}

export interface UpstreamResponse {
  readonly status: number;
  /** A header's value by lower-case name, or null. */
  header(name: string): string | null;
  readonly body: UpstreamBody;
}

/** Read to its end or cancelled: a body that is dropped holds its connection. */
export interface UpstreamBody {
  /** The next bytes, or null at the end. Waits for the reader: nothing is read ahead beyond one buffer. Throws UpstreamFault, or the signal's reason. */
  read(): Promise<Uint8Array | null>;
  /** The whole body. Throws UpstreamFault `too_large` above `maxBytes` (decompressed), and where `goesOn`, which is given the number of bytes after each read, says false. */
  bytes(maxBytes: number, goesOn?: (bytes: number) => boolean): Promise<Uint8Array>;
  /** The same as UTF-8 text. */
  text(maxBytes: number, goesOn?: (bytes: number) => boolean): Promise<string>;
  /** Ends the connection; safe to call twice and after the end. */
  cancel(): void;
}

export interface UpstreamClient {
  /** Throws UpstreamFault, or the signal's reason. Redirects are answers like any other and are not followed. */
  send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamResponse>;
}

/**
 * `connection`: refused, unknown name, TLS, reset before the head. `malformed`: what came is no HTTP. `cut`: the body ended before its
 * framing said so. `too_large`: over a bound of ours. `timeout`: one of the clocks, which the message names.
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
