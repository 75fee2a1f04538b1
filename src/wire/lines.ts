// Splits the bytes of a text stream, however they are cut, into complete lines. A line ends in a line feed, a carriage
// return or both, as https://html.spec.whatwg.org/multipage/server-sent-events.html (9.2.6) defines.

const LF = 0x0a;
const CR = 0x0d;
/** Removes a byte order mark, which has a meaning only as the first character of the stream. */
const DECODER_OF_THE_START = new TextDecoder("utf-8");
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const EMPTY = new Uint8Array(0);
/**
 * A larger buffer is released once its line is read, so that one long line does not occupy memory until the stream
 * ends.
 */
const LARGEST_ROOM_KEPT = 65_536;

export interface LineBuffer {
  /** The whole lines that these bytes complete, with their ends; empty when there are none. */
  take(bytes: Uint8Array): string;
  /** Returns the rest, which has no line end yet. */
  takeRest(): string;
  heldBytes(): number;
}

/**
 * Only complete lines are decoded: no UTF-8 character contains the byte of a line end, so no character is cut, and
 * every byte is decoded once.
 */
export function createLineBuffer(): LineBuffer {
  let decoder = DECODER_OF_THE_START;
  let room = EMPTY;
  let held = 0;
  let lineFeedIsOld = false;

  function decode(bytes: Uint8Array): string {
    const text = decoder.decode(bytes);
    decoder = DECODER;
    return text;
  }

  /** The capacity doubles, so that a line that arrives byte by byte is not copied for every byte. */
  function hold(bytes: Uint8Array): void {
    if (held + bytes.length > room.length) {
      const larger = new Uint8Array(Math.max(held + bytes.length, 2 * room.length, 256));
      larger.set(room.subarray(0, held));
      room = larger;
    }
    room.set(bytes, held);
    held += bytes.length;
  }

  /** The bytes are valid until more are held. */
  function withHeld(bytes: Uint8Array): Uint8Array {
    if (held === 0) return bytes;
    hold(bytes);
    const joined = room.subarray(0, held);
    held = 0;
    if (room.length > LARGEST_ROOM_KEPT) room = EMPTY;
    return joined;
  }

  return {
    take(bytes) {
      // The carriage return at the end of the last read has already ended its line.
      const fresh = lineFeedIsOld && bytes[0] === LF ? bytes.subarray(1) : bytes;
      if (bytes.length > 0) lineFeedIsOld = bytes[bytes.length - 1] === CR;
      const end = endOfLastLine(fresh);
      const text = end === 0 ? "" : decode(withHeld(fresh.subarray(0, end)));
      if (end < fresh.length) hold(fresh.subarray(end));
      return text;
    },
    takeRest: () => decode(withHeld(EMPTY)),
    heldBytes: () => held,
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
