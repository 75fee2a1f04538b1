// Server-sent events: bytes in, cut anywhere, events out. Follows https://html.spec.whatwg.org/multipage/server-sent-events.html (9.2.6), with
// two differences: an event that no blank line ends is given by end(), because providers leave that line out, and one without data is dropped.
import { UpstreamFault } from "./upstream.ts";

export interface SseEvent {
  /** Empty when the stream named none. */
  readonly event: string;
  /** The data lines, joined by line feeds; never empty. */
  readonly data: string;
}

export interface SseParser {
  /**
   * The events that these bytes complete. The bytes may be reused afterwards. Throws UpstreamFault `too_large`; events that were complete
   * before the one over the bound are given first, and the next call throws.
   */
  push(bytes: Uint8Array): readonly SseEvent[];
  /** At the end of the bytes: the event that no blank line ended, if there is one. Throws as push does. */
  end(): readonly SseEvent[];
}

/** `maxEventBytes` bounds each line, and the data of each event, in bytes of UTF-8. */
export function createSseParser(options: { readonly maxEventBytes: number }): SseParser {
  const { maxEventBytes } = options;
  const lines = createLineBuffer();
  const reader = createEventReader(maxEventBytes);
  let fault: UpstreamFault | null = null;

  function read(text: string): readonly SseEvent[] {
    const events: SseEvent[] = [];
    const tooLarge = reader.read(text, events) ?? (lines.heldBytes() > maxEventBytes ? "A line" : null);
    if (tooLarge === null) return events;
    fault = new UpstreamFault("too_large", `${tooLarge} of the event stream is larger than ${maxEventBytes} bytes.`);
    if (events.length === 0) throw fault;
    return events;
  }

  return {
    push(bytes) {
      if (fault !== null) throw fault;
      return read(lines.take(bytes));
    },
    end() {
      if (fault !== null) throw fault;
      return read(`${lines.takeRest()}\n\n`);
    },
  };
}

/** One event without a name. `json` has no line ends, as JSON.stringify gives it. */
export function encodeSseData(json: string): string {
  return `data: ${json}\n\n`;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
/** Takes a byte order mark off, which means something only as the first character of the stream. */
const DECODER_OF_THE_START = new TextDecoder("utf-8");
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const EMPTY = new Uint8Array(0);
/** A stream that once had a long line does not keep that much memory to its end. */
const LARGEST_ROOM_KEPT = 65_536;

interface LineBuffer {
  /** The whole lines that these bytes complete, with their ends; empty when there are none. */
  take(bytes: Uint8Array): string;
  /** What has no line end yet. */
  takeRest(): string;
  heldBytes(): number;
}

/** Only whole lines are decoded: no character of UTF-8 holds the byte of a line end, so none is ever cut, and every byte is decoded once. */
function createLineBuffer(): LineBuffer {
  let decoder = DECODER_OF_THE_START;
  let room = EMPTY;
  let held = 0;
  let lineFeedIsOld = false;

  function decode(bytes: Uint8Array): string {
    const text = decoder.decode(bytes);
    decoder = DECODER;
    return text;
  }

  /** The room doubles, so that a line that comes byte by byte is not copied for every byte. */
  function hold(bytes: Uint8Array): void {
    if (held + bytes.length > room.length) {
      const larger = new Uint8Array(Math.max(held + bytes.length, 2 * room.length, 256));
      larger.set(room.subarray(0, held));
      room = larger;
    }
    room.set(bytes, held);
    held += bytes.length;
  }

  function withHeld(bytes: Uint8Array): Uint8Array {
    if (held === 0) return bytes;
    const joined = new Uint8Array(held + bytes.length);
    joined.set(room.subarray(0, held));
    joined.set(bytes, held);
    held = 0;
    if (room.length > LARGEST_ROOM_KEPT) room = EMPTY;
    return joined;
  }

  return {
    take(bytes) {
      // The carriage return at the end of the last read has ended its line already.
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

/** One past the last line end, or 0. The search for carriage returns is over only what follows the last line feed: most streams have none. */
function endOfLastLine(bytes: Uint8Array): number {
  const afterLineFeed = bytes.lastIndexOf(LF) + 1;
  if (afterLineFeed === bytes.length) return afterLineFeed;
  const carriageReturn = bytes.subarray(afterLineFeed).lastIndexOf(CR);
  return carriageReturn === -1 ? afterLineFeed : afterLineFeed + carriageReturn + 1;
}

interface EventReader {
  /** Adds the events that end in `text`, which is whole lines. Says what is over the bound, and is of no use afterwards; else null. */
  read(text: string, events: SseEvent[]): string | null;
}

function createEventReader(maxEventBytes: number): EventReader {
  let name = "";
  let dataLines: string[] = [];
  let dataBytes = 0;

  function addData(line: string): void {
    dataBytes += Buffer.byteLength(line) + (dataLines.length === 0 ? 0 : 1);
    dataLines.push(line);
  }

  /** Any line but the usual form of data. Comments, `id`, `retry` and unknown names mean nothing here. */
  function readField(line: string): void {
    if (line === "data") addData("");
    else if (line === "event") name = "";
    else if (line.startsWith("event:")) name = line.slice(line.charCodeAt(6) === SPACE ? 7 : 6);
  }

  function dispatch(data: string, events: SseEvent[]): void {
    if (data !== "") events.push({ event: name, data });
    name = "";
  }

  function dispatchLines(events: SseEvent[]): void {
    dispatch(dataLines.join("\n"), events);
    if (dataLines.length > 0) dataLines = [];
    dataBytes = 0;
  }

  function read(decoded: string, events: SseEvent[]): string | null {
    const text = withLineFeeds(decoded);
    let start = 0;
    while (start < text.length) {
      const end = text.indexOf("\n", start);
      if (isLongerThan(maxEventBytes, text, start, end)) return "A line";
      if (end === start) {
        dispatchLines(events);
      } else if (text.startsWith("data:", start)) {
        const data = text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end);
        if (dataLines.length === 0 && text.charCodeAt(end + 1) === LF) {
          // Nearly every event of every provider: one line of data and the blank line.
          dispatch(data, events);
          start = end + 2;
          continue;
        }
        addData(data);
      } else {
        readField(text.slice(start, end));
      }
      if (dataBytes > maxEventBytes) return "The data of one event";
      start = end + 1;
    }
    return null;
  }

  return { read };
}

function withLineFeeds(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : text;
}

/** A UTF-16 unit is at most three bytes of UTF-8, so that nearly no line has to be counted. */
function isLongerThan(maxBytes: number, text: string, start: number, end: number): boolean {
  return (end - start) * 3 > maxBytes && Buffer.byteLength(text.slice(start, end)) > maxBytes;
}
