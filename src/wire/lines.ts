// Splits the bytes of a text stream, however they are cut, into complete lines. A line ends in a line feed, a carriage
// return or both, as https://html.spec.whatwg.org/multipage/server-sent-events.html (9.2.6) defines.
import { createGrowingBuffer } from "./growing-buffer.ts";

const LF = 0x0a;
const CR = 0x0d;
/** Removes a byte order mark, which has a meaning only as the first character of the stream. */
const DECODER_OF_THE_START = new TextDecoder("utf-8");
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const EMPTY = new Uint8Array(0);

/**
 * Only complete lines are decoded: no UTF-8 character contains the byte of a line end, so no character is cut, and
 * every byte is decoded once.
 */
export function createLineBuffer() {
  let decoder = DECODER_OF_THE_START;
  const held = createGrowingBuffer();
  let lineFeedIsOld = false;

  function decode(bytes: Uint8Array): string {
    const text = decoder.decode(bytes);
    decoder = DECODER;
    return text;
  }

  /** The bytes are valid until more are held. */
  function withHeld(bytes: Uint8Array): Uint8Array {
    if (held.length() === 0) return bytes;
    held.add(bytes);
    const joined = held.bytes();
    held.clear();
    return joined;
  }

  return {
    /** The whole lines that these bytes complete, with their ends; empty when there are none. */
    take(bytes: Uint8Array): string {
      // The carriage return at the end of the last read has already ended its line.
      const fresh = lineFeedIsOld && bytes[0] === LF ? bytes.subarray(1) : bytes;
      if (bytes.length > 0) lineFeedIsOld = bytes[bytes.length - 1] === CR;
      const end = endOfLastLine(fresh);
      const text = end === 0 ? "" : decode(withHeld(fresh.subarray(0, end)));
      if (end < fresh.length) held.add(fresh.subarray(end));
      return text;
    },
    /** Returns the rest, which has no line end yet. */
    takeRest: () => decode(withHeld(EMPTY)),
    heldBytes: () => held.length(),
  };
}

/**
 * Returns the position after the last line end, or 0. Carriage returns are searched only after the last line feed,
 * because most streams have none.
 */
function endOfLastLine(bytes: Uint8Array): number {
  const afterLineFeed = bytes.lastIndexOf(LF) + 1;
  if (afterLineFeed === bytes.length) return afterLineFeed;
  const carriageReturn = bytes.subarray(afterLineFeed).lastIndexOf(CR);
  return carriageReturn === -1 ? afterLineFeed : afterLineFeed + carriageReturn + 1;
}

export function withLineFeeds(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : text;
}

/** A UTF-16 unit takes at most three bytes of UTF-8, so that nearly no line has to be measured. */
export function isLongerThan(maxBytes: number, text: string, start: number, end: number): boolean {
  return (end - start) * 3 > maxBytes && Buffer.byteLength(text.slice(start, end)) > maxBytes;
}
