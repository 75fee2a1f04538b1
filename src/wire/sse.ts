// Parses server-sent events from bytes that may be split anywhere. Follows
// https://html.spec.whatwg.org/multipage/server-sent-events.html (9.2.6), with five differences: end() returns an
// event that no blank line has ended, because providers omit that line; a JSON object after another, without a blank
// line between them, begins a new event; an event without data is dropped; a field `error`, which llama.cpp's server
// sends, becomes an event of that name; and a JSON object without a field name is an event.
import { isObject, type Json, jsonIn } from "../core/json.ts";
import { createLineBuffer, isLongerThan, withLineFeeds } from "./lines.ts";
import { UpstreamFault } from "./upstream.ts";

export interface SseEvent {
  /** Empty when the stream gave no name. */
  readonly event: string;
  /** The data lines, joined by line feeds; never empty. */
  readonly data: string;
  /** What the data is as JSON, where it is so long that it was parsed in a turn of its own. */
  readonly value?: Json;
}

/** The text of an event in a stream of server-sent events. Its data is one line. */
export function textOfEvent({ event, data }: SseEvent): string {
  return `${event === "" ? "" : `event: ${event}\n`}data: ${data}\n\n`;
}

export interface SseParser {
  /**
   * Returns the events that these bytes complete. The bytes may be reused afterwards. Throws UpstreamFault `too_large`;
   * events that were complete before the one over the bound are returned first, and the next call throws.
   */
  push(bytes: Uint8Array): readonly SseEvent[];
  /**
   * Like push, but hands each event to `receiver` as soon as it is read. Absent where the format of the stream has no
   * events that could be taken as text. Throws what the receiver throws.
   */
  pushTo?(bytes: Uint8Array, receiver: EventReceiver): void;
  /**
   * Called at the end of the bytes: returns the event that no blank line has ended, if there is one. Throws like push.
   */
  end(): readonly SseEvent[];
}

/** Receives the events of a stream one by one, and may take some of them as text before they are read. */
export interface EventReceiver {
  push(event: SseEvent): void;
  /**
   * Called where an event begins in `text`, which consists of complete lines that end in line feeds. Returns the
   * position after the whole events that the receiver has taken from there on; `start` when it took none. It takes no
   * event that is larger than the bound of the parser.
   */
  take(text: string, start: number): number;
}

/** `maxEventBytes` bounds each line, and the data of each event, in bytes of UTF-8. */
export function createSseParser(options: { readonly maxEventBytes: number }): SseParser {
  const { maxEventBytes } = options;
  const lines = createLineBuffer();
  const readEvents = createEventReader(maxEventBytes);
  let fault: UpstreamFault | null = null;

  /** Stores the fault that the next call throws. */
  function readTo(text: string, receiver: EventReceiver): void {
    const tooLarge = readEvents(text, receiver) ?? (lines.heldBytes() > maxEventBytes ? "A line" : null);
    if (tooLarge !== null)
      fault = new UpstreamFault("too_large", `${tooLarge} of the event stream is larger than ${maxEventBytes} bytes.`);
  }

  function read(text: string): readonly SseEvent[] {
    const list = new EventList();
    readTo(text, list);
    if (fault !== null && list.events.length === 0) throw fault;
    return list.events;
  }

  return {
    push(bytes) {
      if (fault !== null) throw fault;
      return read(lines.take(bytes));
    },
    pushTo(bytes, receiver) {
      if (fault === null) readTo(lines.take(bytes), receiver);
      if (fault !== null) throw fault;
    },
    end() {
      if (fault !== null) throw fault;
      return read(`${lines.takeRest()}\n\n`);
    },
  };
}

const LF = 0x0a;
const SPACE = 0x20;
/** The most characters of an event that are held until its rest comes. Lines of a longer one are read as they come. */
const MAX_HELD = 4096;
/**
 * How a JSON object with members begins, and how its further lines do. Google's servers, and proxies, write an error
 * without a field name into a stream that has begun: https://github.com/googleapis/js-genai, _api_client.ts.
 */
const OBJECT = /^\{\s*(?:"|$)/;
const INSIDE = /^[\s{}[\]"]/;

/** Takes no event as text. */
class EventList implements EventReceiver {
  readonly events: SseEvent[] = [];

  push(event: SseEvent): void {
    this.events.push(event);
  }

  take(_text: string, start: number): number {
    return start;
  }
}

function createEventReader(maxEventBytes: number) {
  let name = "";
  let dataLines: string[] = [];
  let dataBytes = 0;
  /** Lines that may be a JSON object without a field name. */
  let bareLines: string[] = [];
  /** Whole lines of an event that has not ended. */
  let held = "";

  /** Whether the lines from `start` on wait for the rest of their event, so that a receiver can take it as text. */
  function waits(text: string, start: number): boolean {
    const length = text.length - start;
    return length <= MAX_HELD && length * 3 <= maxEventBytes && !text.includes("\n\n", start);
  }

  function addData(line: string): void {
    dataBytes += Buffer.byteLength(line) + (dataLines.length === 0 ? 0 : 1);
    dataLines.push(line);
  }

  /** Handles every line except the usual form of data. Comments, `id`, `retry` and unknown names are ignored. */
  function readField(line: string, receiver: EventReceiver): void {
    if ((bareLines.length === 0 ? OBJECT : INSIDE).test(line)) return addBare(line, receiver);
    const isError = line.startsWith("error:");
    const isEvent = line === "event" || line.startsWith("event:");
    if (!isError && !isEvent && line !== "data") return;
    dispatchBare(receiver);
    // both names have the same length, and data without a colon has no value
    const value = line.slice(line.charCodeAt(6) === SPACE ? 7 : 6);
    if (isError) name = "error";
    if (isEvent) name = value;
    else addData(value);
  }

  function addBare(line: string, receiver: EventReceiver): void {
    if (line.startsWith("{") && bareLines.at(-1)?.endsWith("}") === true) dispatchBare(receiver);
    dataBytes += Buffer.byteLength(line) + 1;
    bareLines.push(line);
  }

  /** Lines that are no object, or stand within the data of an event, are ignored as unknown fields are. */
  function dispatchBare(receiver: EventReceiver): void {
    if (bareLines.length === 0) return;
    const text = bareLines.join("\n");
    bareLines = [];
    const object = jsonIn(text);
    if (!isObject(object) || Object.keys(object).length === 0) return;
    const isAnother = beginsAnother(text);
    if (dataLines.length > 0 && !isAnother) return;
    if (isAnother) dispatchLines(receiver);
    dispatch(text, receiver);
  }

  /**
   * Whether this line begins an event of its own, because it and the lines before it can be no JSON together. Servers
   * omit the blank line: https://github.com/rexxars/eventsource-parser/pull/31. Events with a name may be plain text.
   */
  function beginsAnother(data: string): boolean {
    if (name !== "" || dataLines.length === 0) return false;
    const isWhole = dataLines[0]!.startsWith("{") && dataLines.at(-1)!.endsWith("}");
    return isWhole && (data.startsWith("{") || data === "[DONE]");
  }

  function dispatch(data: string, receiver: EventReceiver): void {
    const event = name;
    name = "";
    if (data !== "") receiver.push({ event, data });
  }

  function dispatchLines(receiver: EventReceiver): void {
    dispatchBare(receiver);
    dispatch(dataLines.join("\n"), receiver);
    if (dataLines.length > 0) dataLines = [];
    dataBytes = 0;
  }

  /**
   * Hands over the events that end in `decoded`, which consists of complete lines. Returns what exceeds the bound, after
   * which the reader must not be used any more, or null.
   */
  return function read(decoded: string, receiver: EventReceiver): string | null {
    if (decoded === "") return null;
    const text = held + withLineFeeds(decoded);
    held = "";
    let start = 0;
    while (start < text.length) {
      if (name === "" && dataLines.length === 0 && bareLines.length === 0) {
        start = receiver.take(text, start);
        if (start === text.length) return null;
        if (waits(text, start)) {
          held = text.slice(start);
          return null;
        }
      }
      const end = text.indexOf("\n", start);
      if (isLongerThan(maxEventBytes, text, start, end)) return "A line";
      if (end === start) {
        dispatchLines(receiver);
      } else if (text.startsWith("data:", start)) {
        dispatchBare(receiver);
        const data = text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end);
        if (dataLines.length === 0 && text.charCodeAt(end + 1) === LF) {
          // Nearly every event of every provider has this form: one line of data and the blank line.
          dispatch(data, receiver);
          start = end + 2;
          continue;
        }
        if (beginsAnother(data)) dispatchLines(receiver);
        addData(data);
      } else {
        readField(text.slice(start, end), receiver);
      }
      if (dataBytes > maxEventBytes) return "The data of one event";
      start = end + 1;
    }
    return null;
  };
}
