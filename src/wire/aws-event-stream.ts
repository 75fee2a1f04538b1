// Parses AWS's binary event stream (application/vnd.amazon.eventstream) from bytes that may be split anywhere. Follows
// https://smithy.io/2.0/aws/amazon-eventstream.html. This file splits the bytes into messages;
// @smithy/eventstream-codec verifies and reads each complete message.
import { crc32 } from "node:zlib";
import type { EventStreamCodec } from "@smithy/eventstream-codec";
import { lazy } from "../core/memoization.ts";
import type { SseEvent, SseParser } from "./sse.ts";
import { UpstreamFault } from "./upstream.ts";

/** Length of the message, length of its headers, and the checksum of both. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/**
 * A larger buffer is released once its message is read, so that one long message does not occupy memory until the
 * stream ends.
 */
const LARGEST_ROOM_KEPT = 65_536;
const EMPTY = new Uint8Array(0);
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * An event is named by its `:event-type`, an exception by its `:exception-type`; a framing error becomes the event
 * `error` with `{code, message}`. The data is the payload as text; in a binary payload each character stands for one
 * byte, because such a payload may end inside a UTF-8 character. An event without payload is dropped, as in sse.ts.
 * `maxEventBytes` bounds a message. Throws UpstreamFault `malformed`, `too_large`, and `cut` at the end, with the same
 * rule as in sse.ts: events that were complete before are returned first.
 */
export function createAwsEventStreamParser({ maxEventBytes }: { readonly maxEventBytes: number }): SseParser {
  const begun = createMessageBuffer();
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
      addEvent(begun.bytes(), events);
      begun.clear();
    }
    return consumed;
  }

  function read(bytes: Uint8Array, events: SseEvent[]): void {
    let at = begun.length() === 0 ? 0 : complete(bytes, events);
    while (bytes.length - at >= PRELUDE_BYTES) {
      const total = messageBytes(bytes, at, maxEventBytes);
      if (bytes.length - at < total) break;
      addEvent(bytes.subarray(at, at + total), events);
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

interface MessageBuffer {
  length(): number;
  /** Valid until the next call. */
  bytes(): Uint8Array;
  add(bytes: Uint8Array): void;
  clear(): void;
}

/** The capacity doubles, so that a message that arrives byte by byte is not copied for every byte. */
function createMessageBuffer(): MessageBuffer {
  let room = EMPTY;
  let held = 0;
  return {
    length: () => held,
    bytes: () => room.subarray(0, held),
    add(bytes) {
      if (held + bytes.length > room.length) {
        const larger = new Uint8Array(Math.max(held + bytes.length, 2 * room.length, 256));
        larger.set(room.subarray(0, held));
        room = larger;
      }
      room.set(bytes, held);
      held += bytes.length;
    },
    clear() {
      held = 0;
      if (room.length > LARGEST_ROOM_KEPT) room = EMPTY;
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

/**
 * The codec is loaded with the first stream of this kind: most gateways never need it, and loading it takes longer than
 * the rest of their start.
 */
const codec = lazy((): EventStreamCodec => {
  const library = require("@smithy/eventstream-codec") as {
    readonly EventStreamCodec: typeof EventStreamCodec;
  };
  return new library.EventStreamCodec(textOf, (text) => Buffer.from(text));
});

function addEvent(message: Uint8Array, events: SseEvent[]): void {
  const event = eventOf(decode(message));
  if (event !== null) events.push(event);
}

function decode(message: Uint8Array): ReturnType<EventStreamCodec["decode"]> {
  const reader = codec();
  try {
    return reader.decode(message);
  } catch (cause) {
    throw malformed("a message with a wrong checksum or invalid headers", cause);
  }
}

function eventOf({ headers, body }: ReturnType<EventStreamCodec["decode"]>): SseEvent | null {
  const text = (name: string): string => {
    const header = headers[name];
    return header?.type === "string" ? header.value : "";
  };
  switch (text(":message-type")) {
    case "exception":
      return { event: text(":exception-type") || "error", data: textOf(body) || "{}" };
    case "error":
      return { event: "error", data: JSON.stringify({ code: text(":error-code"), message: text(":error-message") }) };
    default: {
      if (body.length === 0) return null;
      return {
        event: text(":event-type"),
        data:
          text(":content-type") === "application/octet-stream"
            ? Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1")
            : textOf(body),
      };
    }
  }
}

function textOf(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

function malformed(what: string, cause?: unknown): UpstreamFault {
  return new UpstreamFault("malformed", `The event stream contains ${what}.`, cause);
}
