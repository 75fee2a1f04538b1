// The upstream client on Bun's fetch. Fetch does not distinguish connecting from waiting, so the head has to arrive
// within connectTimeoutMs + firstByteTimeoutMs together; the caller's signal bounds the total time. A body without
// Content-Length and chunks ends with its connection, and fetch reports even a reset there as a clean end: a reader of
// such a body has to check for the end mark of its content. Each partition of calls has a connection pool of its own.
// Framing follows RFC 9112; test/contract/upstream-client.suite.ts pins the runtime's own behaviour.
import { isIP } from "node:net";
import { bytesOf, tooLarge, utf8Of } from "./body-bytes.ts";
import { UpstreamFault } from "./upstream.ts";
import type { UpstreamBody, UpstreamCall, UpstreamClient, UpstreamRequest, UpstreamResponse } from "./upstream.ts";
import { WaitClock } from "./wait-clock.ts";
import type { Waiting } from "./wait-clock.ts";

export interface FetchUpstreamOptions {
  /**
   * Proxy for every call, such as `http://user:password@proxy.internal:3128`. Without it no proxy is used, whatever the
   * environment says.
   */
  readonly proxy?: string;
  /** Certificate authorities in PEM that are trusted in place of the built-in ones. */
  readonly ca?: string;
}

/**
 * Names and values of a response's head together; a larger head is `malformed`. Fetch itself stops only at about 4 MB.
 */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * A kept-alive connection that the peer has closed seems open until the request is on its way; fetch then rejects with
 * ECONNRESET and repeats a GET, but not a POST. A reset this soon after sending, before any byte of a head, is taken
 * for a stale connection, and the request is sent once more on another connection. The provider can have read such a
 * request only if it failed within this time of reading it; then one generation runs twice, a risk that the retry of a
 * `connection` fault has too. A later reset more likely ends a generation that has begun, and the caller decides about
 * a retry.
 */
const STALE_CONNECTION_WINDOW_MS = 1_000;

/**
 * A body of known length up to this size is read in one piece, which is cheaper but shows no pauses: all of it has to
 * arrive within betweenBytesTimeoutMs.
 */
const ONE_GO_BYTES = 64 * 1024;

/**
 * The codes with which Bun's fetch reports a response that is not HTTP or does not decompress; every other code
 * concerns the connection.
 */
const MALFORMED_CODES: ReadonlySet<string> = new Set([
  "InvalidContentLength",
  "InvalidHTTPResponse",
  "Malformed_HTTP_Response",
  "ResponseHeadersTooLarge",
  "UnexpectedData",
  "UnrequestedUpgrade",
  "UnsupportedTransferEncoding",
]);
const DECOMPRESSION_CODES: ReadonlySet<string> = new Set([
  "BrotliDecompressionError",
  "ZlibError",
  "ZstdDecompressionError",
]);

/** The number of pools that are kept, one for each partition; the least recently used one is closed to make room. */
const MAX_SESSIONS = 2_048;
const IDLE_SECONDS = 60;

export function createFetchUpstream(options: FetchUpstreamOptions = {}): UpstreamClient {
  const sessions = new Map<string, Bun.FetchSession>();
  function sessionOf(partition: string): Bun.FetchSession {
    const known = sessions.get(partition);
    const session =
      known ?? new Bun.FetchSession({ proxy: options.proxy ?? false, keepAlive: { idleTimeout: IDLE_SECONDS } });
    if (known !== undefined) sessions.delete(partition);
    else if (sessions.size >= MAX_SESSIONS) {
      const [[oldest, unused]] = sessions as unknown as readonly [readonly [string, Bun.FetchSession]];
      sessions.delete(oldest);
      unused.close();
    }
    sessions.set(partition, session);
    return session;
  }

  return {
    async send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamResponse> {
      call.signal.throwIfAborted();
      if (!/^https?:\/\//i.test(request.url))
        throw new UpstreamFault("connection", "only http and https addresses can be called");
      const init = requestInit(request, options);
      const url = call.pinnedAddress === undefined ? request.url : pin(request.url, call.pinnedAddress, init);
      const session = sessionOf(call.partition);
      const exchange = new Exchange(call, session);
      init.signal = exchange.abort.signal;
      init.session = session;
      const startedMs = exchange.expectHead();
      call.onSent?.(true);
      try {
        return exchange.answer(await fetch(url, init));
      } catch (thrown) {
        const stale =
          !exchange.stopped &&
          codeOf(thrown) === "ECONNRESET" &&
          performance.now() - startedMs < STALE_CONNECTION_WINDOW_MS;
        if (!stale) throw exchange.faultBeforeHead(thrown);
      }
      try {
        return exchange.answer(await fetch(url, { ...init, keepalive: false }));
      } catch (thrown) {
        throw exchange.faultBeforeHead(thrown);
      }
    },
  };
}

function requestInit(request: UpstreamRequest, options: FetchUpstreamOptions): BunFetchRequestInit {
  const init: BunFetchRequestInit = {
    method: request.method ?? "POST",
    headers: request.headers,
    ...(request.method !== "GET" && { body: request.bytes ?? request.body }),
    // Fetch would send x-api-key and similar headers to any address that the provider redirects to.
    redirect: "manual",
    timeout: false,
  };
  if (options.ca !== undefined) init.tls = { ca: options.ca };
  return init;
}

/**
 * Sends the same request to a checked address: the URL's host stays in Host, and in SNI and the certificate check
 * when it is a name.
 */
function pin(url: string, address: string, init: BunFetchRequestInit): string {
  const version = isIP(address);
  // A URL ignores a host that it cannot accept, and the call would go to the name.
  if (version === 0 || address.includes("%"))
    throw new UpstreamFault("connection", "the checked address is not an IP address");
  const target = new URL(url);
  const name = target.hostname;
  init.headers = { ...(init.headers as Record<string, string>), host: target.host };
  target.hostname = version === 6 ? `[${address}]` : address;
  if (target.protocol === "https:" && isIP(name) === 0 && !name.startsWith("["))
    init.tls = { ...init.tls, serverName: name };
  return target.href;
}

/** Only `open` holds a connection. */
type State = "open" | "ended" | "stopped";

/**
 * One upstream request from sending to the end of the response body: its clock, its link to the caller's signal, and
 * the connection that it holds.
 */
class Exchange implements UpstreamBody, Waiting {
  readonly abort = new AbortController();
  readonly #call: UpstreamCall;
  readonly #session: Bun.FetchSession;
  readonly #clock: WaitClock;
  #state: State = "open";
  /** Why the exchange was stopped: a fault, or the reason of the caller's signal. */
  #reason: unknown = undefined;
  #response: Response | undefined = undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined = undefined;
  #delimitedByClose = false;
  /** The length that the framing gives, when it is also the length for the reader. */
  #knownBytes: number | undefined = undefined;

  constructor(call: UpstreamCall, session: Bun.FetchSession) {
    this.#call = call;
    this.#session = session;
    // The wait for the head begins before every other wait.
    this.#clock = new WaitClock(this, call.betweenBytesTimeoutMs);
    call.signal.addEventListener("abort", this);
  }

  /** The listener of the caller's signal. */
  handleEvent(): void {
    this.#stop(this.#call.signal.reason);
  }

  get stopped(): boolean {
    return this.#state === "stopped";
  }

  /** Starts the clock for the head; returns the current time. */
  expectHead(): number {
    return this.#clock.start(this.#call.connectTimeoutMs + this.#call.firstByteTimeoutMs);
  }

  /** What to throw when fetch failed with `thrown` before a response. */
  faultBeforeHead(thrown: unknown): unknown {
    if (this.stopped) return this.#reason;
    this.#end();
    const code = codeOf(thrown);
    // Without a code, fetch has rejected the gateway's own request, for example because of a line break in a header.
    if (code === undefined || code.startsWith("ERR_INVALID_")) return thrown;
    if (MALFORMED_CODES.has(code))
      return new UpstreamFault("malformed", `the provider's answer is not HTTP (${code})`, thrown);
    // A connection that was reset did exist.
    if (code !== "ECONNRESET") this.#call.onSent?.(false);
    return new UpstreamFault("connection", `the provider could not be reached (${code})`, thrown);
  }

  answer(response: Response): UpstreamResponse {
    if (this.stopped) throw this.#reason;
    this.#clock.pause();
    this.#response = response;
    this.#readHead(response.headers, response.status);
    if (response.body === null || this.#knownBytes === 0) this.#end();
    return { status: response.status, header: (name) => response.headers.get(name), body: this };
  }

  /** Reads the head in one pass, because each lookup is a call into the runtime. */
  #readHead(headers: Headers, status: number): void {
    let bytes = 0;
    let length: string | null = null;
    let transferEncoding: string | null = null;
    let encoded = false;
    let announcesBody = false;
    headers.forEach((value, name) => {
      bytes += name.length + value.length;
      if (name === "content-length") {
        length = value;
        if (Number(value) > 0) announcesBody = true;
      } else if (name === "transfer-encoding") {
        transferEncoding = value;
        announcesBody = true;
      }
      if (name === "content-encoding") encoded = true;
    });
    // This response has no body but announces one, or answers a condition that the request did not have: bytes that
    // follow may be taken for the next response. Fetch does not say which connection it used, so all idle connections
    // of the partition are closed.
    if (status === 304 || (status === 204 && announcesBody)) this.#session.close();
    if (bytes > MAX_HEAD_BYTES)
      throw this.#stop(
        new UpstreamFault("malformed", `the head of the provider's answer has more than ${MAX_HEAD_BYTES} bytes`),
      );
    // Fetch removes the chunks and returns the compressed bytes as if they were the body.
    if (transferEncoding !== null && !/^chunked$/i.test(transferEncoding))
      throw this.#stop(
        new UpstreamFault("malformed", "the provider's answer has a transfer encoding other than chunked"),
      );
    this.#delimitedByClose = length === null && transferEncoding === null;
    if (length !== null && transferEncoding === null && !encoded) this.#knownBytes = Number(length);
  }

  async read(): Promise<Uint8Array | null> {
    if (this.stopped) throw this.#reason;
    if (this.#state === "ended") return null;
    this.#reader ??= this.#response?.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#clock.start(this.#call.betweenBytesTimeoutMs);
    let result: Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;
    try {
      result = await this.#reader.read();
    } catch (thrown) {
      throw this.#bodyFault(thrown);
    }
    if (this.stopped) throw this.#reason;
    this.#clock.pause();
    if (!result.done) return result.value;
    this.#end();
    return null;
  }

  async text(maxBytes: number, goesOn?: (bytes: number) => boolean): Promise<string> {
    return utf8Of(await this.bytes(maxBytes, goesOn));
  }

  async bytes(maxBytes: number, goesOn?: (bytes: number) => boolean): Promise<Uint8Array> {
    if (this.stopped) throw this.#reason;
    if (this.#state === "ended") return new Uint8Array(0);
    if (this.#knownBytes !== undefined && this.#reader === undefined) {
      if (this.#knownBytes > maxBytes) throw this.#stop(tooLarge(maxBytes));
      if (this.#knownBytes <= ONE_GO_BYTES) return this.#bytesInOneGo();
    }
    return bytesOf(this, maxBytes, (fault) => this.#stop(fault), goesOn);
  }

  async #bytesInOneGo(): Promise<Uint8Array> {
    this.#clock.start(this.#call.betweenBytesTimeoutMs);
    let bytes: Uint8Array;
    try {
      bytes = await (this.#response as Response).bytes();
    } catch (thrown) {
      throw this.#bodyFault(thrown);
    }
    if (this.stopped) throw this.#reason;
    this.#end();
    return bytes;
  }

  cancel(): void {
    if (this.#state === "open") this.#stop(new UpstreamFault("cut", "the body was cancelled by its reader"));
  }

  #bodyFault(thrown: unknown): unknown {
    if (this.stopped) return this.#reason;
    const code = codeOf(thrown) ?? "no code";
    if (DECOMPRESSION_CODES.has(code) && !this.#delimitedByClose)
      return this.#stop(
        new UpstreamFault("malformed", `the provider's answer cannot be decompressed (${code})`, thrown),
      );
    if (MALFORMED_CODES.has(code))
      return this.#stop(new UpstreamFault("malformed", `the provider's answer is not HTTP (${code})`, thrown));
    return this.#stop(new UpstreamFault("cut", `the provider's answer broke off (${code})`, thrown));
  }

  #end(): void {
    this.#state = "ended";
    this.#release();
  }

  /** Closes the connection; returns the reason to throw. */
  #stop(reason: unknown): unknown {
    this.#state = "stopped";
    this.#reason = reason;
    this.#release();
    // The reason is passed on because abort() without one makes a DOMException with a stack.
    this.abort.abort(reason);
    return reason;
  }

  #release(): void {
    this.#call.signal.removeEventListener("abort", this);
    this.#clock.close();
  }

  /** Called by the clock. */
  expired(): void {
    const { connectTimeoutMs, firstByteTimeoutMs, betweenBytesTimeoutMs } = this.#call;
    const clock =
      this.#response === undefined
        ? `connect and first byte: the provider sent no response headers within ${connectTimeoutMs + firstByteTimeoutMs} ms`
        : `between bytes: the provider's answer paused for more than ${betweenBytesTimeoutMs} ms`;
    this.#stop(new UpstreamFault("timeout", clock));
  }
}

function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  const { code, name } = thrown as { readonly code?: unknown; readonly name?: unknown };
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" && DECOMPRESSION_CODES.has(name) ? name : undefined;
}

/** The variable that has to be set in the environment when the process starts: later changes have no effect. */
export const requiredEnvironment = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/**
 * Throws unless `value`, the value of `requiredEnvironment`, raises fetch's bound of 256 concurrent requests; above
 * 65,535 Bun silently falls back to 256.
 */
export function assertFetchConcurrency(value: string | undefined): void {
  const requests = value !== undefined && /^\d+$/.test(value) ? Number(value) : NaN;
  if (requests >= 257 && requests <= 65_535) return;
  const got = value === undefined ? "it is not set" : `it is ${JSON.stringify(value)}`;
  throw new Error(
    `The environment variable ${requiredEnvironment} must be 257 to 65535 before the process starts, but ${got}. Otherwise 256 slow calls would block all others. The dragoman command sets it.`,
  );
}
