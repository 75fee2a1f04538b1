// Parses AWS's binary event stream (application/vnd.amazon.eventstream) from bytes that may be split anywhere. Follows
// https://smithy.io/2.0/aws/amazon-eventstream.html. This file splits the bytes into messages, verifies their checksums
// and reads their payloads; @smithy/eventstream-codec reads headers. Nearly all messages of a stream have the same
// headers, which are read once: the codec takes ten times as long for a message as everything else here.
import { crc32 } from "node:zlib";
import type { EventStreamCodec } from "@smithy/eventstream-codec";
import { lazy } from "../core/memoization.ts";
import { createGrowingBuffer } from "./growing-buffer.ts";
import type { SseEvent, SseParser } from "./sse.ts";
import { UpstreamFault } from "./upstream.ts";

/** Length of the message, length of its headers, and the checksum of both. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** The most different headers that are kept, and the most bytes of each. */
const MAX_HEADERS = 16;
const MAX_HEADER_BYTES = 1024;

/**
 * An event is named by its `:event-type`, an exception by its `:exception-type`; a framing error becomes the event
 * `error` with `{code, message}`. The data is the payload as text; in a binary payload each character stands for one
 * byte, because such a payload may end inside a UTF-8 character. An event without payload is dropped, as in sse.ts.
 * `maxEventBytes` bounds a message. Throws UpstreamFault `malformed`, `too_large`, and `cut` at the end, with the same
 * rule as in sse.ts: events that were complete before are returned first.
 */
export function createAwsEventStreamParser({ maxEventBytes }: { readonly maxEventBytes: number }): SseParser {
  const begun = createGrowingBuffer();
  const known = new Map<string, MessageHeaders>();
  let fault: UpstreamFault | null = null;

  /** Adds bytes to the message that has begun until it is complete; returns how many bytes were consumed. */
  function complete(bytes: Uint8Array, events: SseEvent[]): number {
    const forPrelude = Math.max(0, Math.min(PRELUDE_BYTES - begun.length(), bytes.length));
    begun.add(bytes.subarray(0, forPrelude));
    if (begun.length() < PRELUDE_BYTES) return forPrelude;
    const total = messageBytes(begun.bytes(), 0, maxEventBytes);
    const consumed = forPrelude + Math.min(total - begun.length(), bytes.length - forPrelude);
    begun.add(bytes.subarray(forPrelude, consumed));
    if (begun.length() === total) {
      addEvent(begun.bytes(), 0, total, events);
      begun.clear();
    }
    return consumed;
  }

  /** Adds the event of the message that takes `total` bytes from `at` on. */
  function addEvent(bytes: Uint8Array, at: number, total: number, events: SseEvent[]): void {
    const message = Buffer.from(bytes.buffer, bytes.byteOffset + at, total);
    if (crc32(message.subarray(0, total - CHECKSUM_BYTES)) !== uint32(message, total - CHECKSUM_BYTES))
      throw malformed("a message with a wrong checksum");
    const payloadAt = PRELUDE_BYTES + uint32(message, 4);
    const headers = headersOf(message, message.toString("latin1", PRELUDE_BYTES, payloadAt), known);
    const event = eventOf(headers, message.subarray(payloadAt, total - CHECKSUM_BYTES));
    if (event !== null) events.push(event);
  }

  function read(bytes: Uint8Array, events: SseEvent[]): void {
    let at = begun.length() === 0 ? 0 : complete(bytes, events);
    while (bytes.length - at >= PRELUDE_BYTES) {
      const total = messageBytes(bytes, at, maxEventBytes);
      if (bytes.length - at < total) break;
      addEvent(bytes, at, total, events);
      at += total;
    }
    if (at < bytes.length) begun.add(bytes.subarray(at));
  }

  return {
    push(bytes) {
      if (fault !== null) throw fault;
      const events: SseEvent[] = [];
      try {
        read(bytes, events);
      } catch (thrown) {
        if (!(thrown instanceof UpstreamFault)) throw thrown;
        fault = thrown;
        if (events.length === 0) throw fault;
      }
      return events;
    },
    end() {
      if (fault === null && begun.length() === 0) return [];
      fault ??= new UpstreamFault("cut", `The event stream ended ${begun.length()} bytes into a message.`);
      throw fault;
    },
  };
}

/**
 * Returns the length of the message whose prelude begins at `at`. The prelude is checked at once, because a wrong
 * length would make the parser wait for bytes that never come.
 */
function messageBytes(bytes: Uint8Array, at: number, maxEventBytes: number): number {
  const total = uint32(bytes, at);
  const headers = uint32(bytes, at + 4);
  if (crc32(bytes.subarray(at, at + 8)) !== uint32(bytes, at + 8))
    throw malformed("a message whose prelude has a wrong checksum");
  if (total < PRELUDE_BYTES + headers + CHECKSUM_BYTES)
    throw malformed(`a message of ${total} bytes with ${headers} bytes of headers`);
  if (total > maxEventBytes)
    throw new UpstreamFault("too_large", `A message of the event stream is larger than ${maxEventBytes} bytes.`);
  return total;
}

function uint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** The headers that say what a message is; a header that is absent, or is no string, is empty. */
interface MessageHeaders {
  readonly messageType: string;
  readonly eventType: string;
  readonly exceptionType: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly isBinary: boolean;
}

/** `block` are the headers as they stand in the message, one character for each byte. */
function headersOf(message: Uint8Array, block: string, known: Map<string, MessageHeaders>): MessageHeaders {
  const there = known.get(block);
  if (there !== undefined) return there;
  const headers = readHeaders(message);
  if (block.length <= MAX_HEADER_BYTES && known.size < MAX_HEADERS) known.set(block, headers);
  return headers;
}

/**
 * The codec is loaded with the first stream of this kind: most gateways never need it, and loading it takes longer than
 * the rest of their start.
 */
const codec = lazy((): EventStreamCodec => {
  const library = require("@smithy/eventstream-codec") as {
    readonly EventStreamCodec: typeof EventStreamCodec;
  };
  return new library.EventStreamCodec(
    (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
    (text) => Buffer.from(text),
  );
});

function readHeaders(message: Uint8Array): MessageHeaders {
  const { headers } = decode(message);
  const text = (name: string): string => {
    const header = headers[name];
    return header?.type === "string" ? header.value : "";
  };
  return {
    messageType: text(":message-type"),
    eventType: text(":event-type"),
    exceptionType: text(":exception-type"),
    errorCode: text(":error-code"),
    errorMessage: text(":error-message"),
    isBinary: text(":content-type") === "application/octet-stream",
  };
}

function decode(message: Uint8Array): ReturnType<EventStreamCodec["decode"]> {
  const reader = codec();
  try {
    return reader.decode(message);
  } catch (cause) {
    throw malformed("a message with invalid headers", cause);
  }
}

function eventOf(headers: MessageHeaders, body: Buffer): SseEvent | null {
  switch (headers.messageType) {
    case "exception":
      return { event: headers.exceptionType || "error", data: body.toString("utf8") || "{}" };
    case "error":
      return { event: "error", data: JSON.stringify({ code: headers.errorCode, message: headers.errorMessage }) };
    default:
      return body.length === 0
        ? null
        : { event: headers.eventType, data: body.toString(headers.isBinary ? "latin1" : "utf8") };
  }
}

function malformed(what: string, cause?: unknown): UpstreamFault {
  return new UpstreamFault("malformed", `The event stream contains ${what}.`, cause);
}
