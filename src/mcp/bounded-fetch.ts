// `fetch` as the MCP client wants it, over the upstream port: never redirected, to a checked address, and cut off where more comes than is allowed. Counted
// is while reading, so that a giant answer is never held.
import { Cancellation } from "../core/cancellation.ts";
import type { UpstreamBody, UpstreamClient, UpstreamResponse } from "../wire/upstream.ts";
import { UpstreamFault } from "../wire/upstream.ts";

export interface FetchBounds {
  readonly connectTimeoutMs: number;
  /** Of an answer to a message: until its head, and the longest silence in it. */
  readonly answerTimeoutMs: number;
  /** Longest silence of a stream that the server keeps open for what it has to say. */
  readonly streamSilenceMs: number;
  /** Bytes of the answer to a call of a tool. */
  readonly maxCallBytes: number;
  /** Bytes of any other answer, and of one event of a stream that serves all. */
  readonly maxMessageBytes: number;
}

export interface FetchWorld {
  readonly upstream: UpstreamClient;
  /** Sent with every message; lower-case names. What the client says itself goes before. */
  readonly headers: Readonly<Record<string, string>>;
  /** The checked address of an origin; undefined: it is the operator's, and looked up as usual. Throws `address_not_allowed`. */
  readonly pinned: (url: string) => Promise<string | undefined>;
  readonly bounds: FetchBounds;
}

/** Beside a result in its message: the frame, and what is said meanwhile. */
const FRAME_BYTES = 4096;
/** What a server may say in the course of one call, apart from the result. */
const ASIDE_BYTES = 4 * 1024 * 1024;
const STREAM = "text/event-stream";
/** All that the client reads. */
const READ_HEADERS = ["content-type", "mcp-session-id", "www-authenticate"] as const;
const CALL = '"method":"tools/call"';

export type BoundedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function boundedFetch({ upstream, headers, pinned, bounds }: FetchWorld): BoundedFetch {
  return async (url, init = {}) => {
    const method = (init.method ?? "GET") as "GET" | "POST" | "DELETE";
    const body = typeof init.body === "string" ? init.body : "";
    const address = String(url);
    const pinnedAddress = await pinned(address);
    const longLived = method === "GET";
    const response = await upstream.send(
      { method, url: address, headers: { ...headers, ...Object.fromEntries(new Headers(init.headers)) }, body },
      {
        connectTimeoutMs: bounds.connectTimeoutMs,
        firstByteTimeoutMs: bounds.answerTimeoutMs,
        betweenBytesTimeoutMs: longLived ? bounds.streamSilenceMs : bounds.answerTimeoutMs,
        signal: init.signal ?? new Cancellation(),
        pinnedAddress,
      },
    );
    if (response.status >= 300 && response.status < 400) {
      response.body.cancel();
      throw new UpstreamFault("malformed", `the server answered with a redirect (${response.status}), which is not followed`);
    }
    return answered(response, { longLived, maxBytes: !longLived && body.includes(CALL) ? bounds.maxCallBytes + FRAME_BYTES : bounds.maxMessageBytes });
  };
}

interface ReadBounds {
  readonly longLived: boolean;
  readonly maxBytes: number;
}

function answered(response: UpstreamResponse, { longLived, maxBytes }: ReadBounds): Response {
  const headers: [string, string][] = READ_HEADERS.flatMap((name) => {
    const value = response.header(name);
    return value === null ? [] : [[name, value]];
  });
  const init = { status: response.status, headers };
  if (response.status === 204 || response.status === 205) {
    response.body.cancel();
    return new Response(null, init);
  }
  const isStream = (response.header("content-type") ?? "").toLowerCase().includes(STREAM);
  const count = isStream ? eventCounter(maxBytes, longLived ? Number.POSITIVE_INFINITY : maxBytes + ASIDE_BYTES) : totalCounter(maxBytes);
  return new Response(counted(response.body, count), init);
}

/** Says what is wrong with what came so far; null: nothing. */
type Counter = (bytes: Uint8Array) => string | null;

function counted(body: UpstreamBody, count: Counter): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const bytes = await body.read();
          if (bytes === null) return controller.close();
          const wrong = count(bytes);
          if (wrong === null) return controller.enqueue(bytes);
          body.cancel();
          controller.error(new UpstreamFault("too_large", wrong));
        } catch (thrown) {
          controller.error(thrown);
        }
      },
      cancel() {
        body.cancel();
      },
    },
    { highWaterMark: 0 },
  );
}

function totalCounter(maxBytes: number): Counter {
  let total = 0;
  return (bytes) => ((total += bytes.length) > maxBytes ? `the answer is larger than ${maxBytes} bytes` : null);
}

const LF = 10;
const CR = 13;

/** An empty line ends an event: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
function eventCounter(maxEventBytes: number, maxBytes: number): Counter {
  let total = 0;
  let event = 0;
  let line = 0;
  let last = 0;
  return (bytes) => {
    total += bytes.length;
    for (const byte of bytes) {
      event += 1;
      if (byte === LF && last === CR) event = line === 0 && event === 1 ? 0 : event;
      else if (byte === LF || byte === CR) {
        if (line === 0) event = 0;
        line = 0;
      } else line += 1;
      last = byte;
      if (event > maxEventBytes) return `an event is larger than ${maxEventBytes} bytes`;
    }
    return total > maxBytes ? `the answer is larger than ${maxBytes} bytes` : null;
  };
}
