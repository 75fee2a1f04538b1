// `fetch` as the MCP client requires it, over the upstream port: it follows no redirects, calls only the server's own
// origin at a checked address, and ends a response that exceeds its bounds. Bytes and values are counted while they are
// read, so that a huge response is never held in memory, and none of many values is parsed.
import { Cancellation } from "../core/concurrency/cancellation.ts";
import type { Clock } from "../core/clock.ts";
import { type UpstreamBody, type UpstreamClient, type UpstreamResponse, UpstreamFault } from "../wire/upstream.ts";
import { type Meter, openMeter } from "./meter.ts";
import type { PinnedOrigins } from "./pinned-origins.ts";

export interface FetchBounds {
  readonly connectTimeoutMs: number;
  /**
   * For a response to a message: the time until its head, the longest pause in it, and approximately the whole
   * response.
   */
  readonly answerTimeoutMs: number;
  /** Longest pause of a stream that the server keeps open for its own messages. */
  readonly streamSilenceMs: number;
  /** Bytes of the response to a tool call. */
  readonly maxCallBytes: number;
  /** Bytes of any other response, and of one event of a shared stream. */
  readonly maxMessageBytes: number;
  /** How many responses may be pending on a shared stream at the same time. */
  readonly maxCalls: number;
}

export interface FetchDependencies {
  readonly clock: Pick<Clock, "monotonic">;
  readonly upstream: UpstreamClient;
  /** Of the server's link: no other call uses its connections. */
  readonly partition: string;
  /** The only origin that is called and that gets the headers, whatever address the client finds in a response. */
  readonly origin: string;
  /** Sent with every message; names are in lower case. Headers that the client sets take precedence. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null` when the operator configured the address, which is then resolved as usual. Throws `address_not_allowed`. */
  readonly pinned: PinnedOrigins | null;
  readonly bounds: FetchBounds;
}

/** Bytes around a result in its message: the frame, and other messages meanwhile. */
const FRAME_BYTES = 4096;
/** Bytes that a server may send during one call in addition to the result. */
const ASIDE_BYTES = 4 * 1024 * 1024;
/**
 * JSON values of one message. The client parses and checks each message in one go, in the thread that serves all calls;
 * so many values take it some 100 ms at the worst.
 */
const MAX_VALUES = 100_000;
const STREAM = "text/event-stream";
export const JSON_TYPE = "application/json";
/** The only headers that the client reads. */
const READ_HEADERS = ["content-type", "mcp-session-id", "www-authenticate"] as const;
const CALL = '"method":"tools/call"';
/** The stream of the newer protocol for change notifications; the client names the method in a header. */
const LISTEN = "subscriptions/listen";
/** Bytes per second of messages that were not requested, on streams that stay open. */
const ASIDE_PER_SECOND = 256 * 1024;

export type BoundedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function boundedFetch({
  clock,
  upstream,
  partition,
  origin,
  headers,
  pinned,
  bounds,
}: FetchDependencies): BoundedFetch {
  const maxCallAnswer = bounds.maxCallBytes + FRAME_BYTES + ASIDE_BYTES;
  const unrequested = openMeter(clock, {
    burst: 2 * bounds.maxMessageBytes,
    perSecond: ASIDE_PER_SECOND,
    maxExpected: bounds.maxCalls * maxCallAnswer,
  });
  return async (url, init = {}) => {
    const method = (init.method ?? "GET") as "GET" | "POST" | "DELETE";
    const body = typeof init.body === "string" ? init.body : "";
    const address = String(url);
    if (new URL(address).origin !== origin)
      throw new UpstreamFault("connection", "the server refers to another origin, which is not called");
    const pinnedAddress = await pinned?.of(address);
    const own = new Headers(init.headers);
    const longLived = method === "GET" || own.get("mcp-method") === LISTEN;
    const isCall = !longLived && body.includes(CALL);
    // With the older transport, the answer arrives over the shared stream.
    const endsMs = clock.monotonic() + bounds.answerTimeoutMs;
    if (!longLived) unrequested.expect(isCall ? maxCallAnswer : bounds.maxMessageBytes);
    const sending = upstream.send(
      { method, url: address, headers: { ...headers, ...Object.fromEntries(own) }, body },
      {
        connectTimeoutMs: bounds.connectTimeoutMs,
        firstByteTimeoutMs: bounds.answerTimeoutMs,
        betweenBytesTimeoutMs: longLived ? bounds.streamSilenceMs : bounds.answerTimeoutMs,
        signal: init.signal ?? new Cancellation(),
        pinnedAddress,
        partition,
      },
    );
    const response = await sending.catch((thrown: unknown) => {
      if (thrown instanceof UpstreamFault && thrown.kind === "connection") pinned?.forget(address);
      throw thrown;
    });
    if (response.status >= 300 && response.status < 400) {
      response.body.cancel();
      throw new UpstreamFault(
        "malformed",
        `the server answered with a redirect (${response.status}), which is not followed`,
      );
    }
    const late = (): string | null => (!longLived && clock.monotonic() > endsMs ? "the answer took too long" : null);
    return answered(response, {
      unrequested: longLived ? unrequested : null,
      late,
      maxBytes: isCall ? bounds.maxCallBytes + FRAME_BYTES : bounds.maxMessageBytes,
    });
  };
}

interface ReadBounds {
  /** The meter of a stream that stays open; `null` when the stream ends with its answer. */
  readonly unrequested: Meter | null;
  /** Returns an error for a response that takes too long: a server that writes a few bytes at a time never pauses. */
  readonly late: () => string | null;
  readonly maxBytes: number;
}

function answered(response: UpstreamResponse, { unrequested, late, maxBytes }: ReadBounds): Response {
  const headers: [string, string][] = READ_HEADERS.flatMap((name) => {
    const value = response.header(name);
    return value === null ? [] : [[name, value]];
  });
  const init = { status: response.status, headers };
  if (response.status === 204 || response.status === 205) {
    response.body.cancel();
    return new Response(null, init);
  }
  const mediaType = (response.header("content-type") ?? "").toLowerCase();
  const isStream = mediaType.includes(STREAM);
  const countValues = valueCounter(isStream ? "events" : "body");
  const count = isStream
    ? eventCounter(maxBytes, unrequested === null ? totalCounter(maxBytes + ASIDE_BYTES) : meteredCounter(unrequested))
    : totalCounter(maxBytes);
  return new Response(
    counted(
      response.body,
      (bytes) => late() ?? count(bytes) ?? countValues(bytes),
      response.status === 200 && (isStream || mediaType.includes(JSON_TYPE)),
    ),
    init,
  );
}

/** Returns an error message for the bytes so far, or null. */
type Counter = (bytes: Uint8Array) => string | null;

/** `mayAnswer`: whether a body that is not empty is an answer, by the head of its response. */
function counted(body: UpstreamBody, count: Counter, mayAnswer: boolean): ReadableStream<Uint8Array> {
  let isAnswer = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const bytes = await body.read();
          if (bytes === null) {
            if (isAnswer) body.accept();
            else body.cancel();
            return controller.close();
          }
          isAnswer ||= mayAnswer && bytes.length > 0;
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

function meteredCounter(unrequested: Meter): Counter {
  return (bytes) => (unrequested.passes(bytes.length) ? null : "the server sends too much unrequested data");
}

const LF = 10;
const CR = 13;
const QUOTE = 34;
const COMMA = 44;
const LIST = 91;
const BACKSLASH = 92;
const END_OF_LIST = 93;
const OBJECT = 123;
const END_OF_OBJECT = 125;

/** Results and schemas may have less, which is checked where they are read; a value deeper than the stack never gets there. */
const MAX_LEVELS = 1_000;

/**
 * Counts values by what stands before them outside of texts, and how deep they are nested. No text goes over the end of a
 * line. A message is the
 * whole body, an event, which an empty line ends, or a line.
 */
export function valueCounter(message: "body" | "events" | "lines"): Counter {
  let values = 0;
  let levels = 0;
  let isText = false;
  let isEscaped = false;
  let isEmptyLine = true;
  let last = 0;
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === LF || byte === CR) {
        isText = isEscaped = false;
        const ends = message === "lines" ? byte === LF : isEmptyLine && !(byte === LF && last === CR);
        if (ends && message !== "body") values = levels = 0;
        isEmptyLine = true;
      } else {
        isEmptyLine = false;
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = isText;
        else if (byte === QUOTE) isText = !isText;
        else if (!isText) {
          if (byte === COMMA || byte === LIST || byte === OBJECT) values += 1;
          if (byte === LIST || byte === OBJECT) levels += 1;
          else if (byte === END_OF_LIST || byte === END_OF_OBJECT) levels = Math.max(0, levels - 1);
        }
      }
      last = byte;
      if (values > MAX_VALUES) return `a message has more than ${MAX_VALUES} values`;
      if (levels > MAX_LEVELS) return `a message is nested deeper than ${MAX_LEVELS} levels`;
    }
    return null;
  };
}

/**
 * An empty line ends an event: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
function eventCounter(maxEventBytes: number, all: Counter): Counter {
  let event = 0;
  let line = 0;
  let last = 0;
  return (bytes) => {
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
    return all(bytes);
  };
}
