// Parses newline-delimited JSON from bytes that may be split anywhere: each line is one event. Follows
// https://github.com/ndjson/ndjson-spec, with two differences: blank lines are ignored, as the page allows, and end()
// returns a last line without a line end, because servers omit it.
import { createLineBuffer, isLongerThan, withLineFeeds } from "./lines.ts";
import type { SseEvent, SseParser } from "./sse.ts";
import { UpstreamFault } from "./upstream.ts";

/** `maxEventBytes` bounds each line in bytes of UTF-8. The decoder checks the content of a line. */
export function createNdjsonParser(options: { readonly maxEventBytes: number }): SseParser {
  const { maxEventBytes } = options;
  const lines = createLineBuffer();
  let fault: UpstreamFault | null = null;

  function read(decoded: string): readonly SseEvent[] {
    const events: SseEvent[] = [];
    const fits = readLines(withLineFeeds(decoded), maxEventBytes, events) && lines.heldBytes() <= maxEventBytes;
    if (fits) return events;
    fault = new UpstreamFault("too_large", `A line of the stream is larger than ${maxEventBytes} bytes.`);
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
      return read(`${lines.takeRest()}\n`);
    },
  };
}

/** Adds the events of complete lines; returns false at the first line over the bound. */
function readLines(text: string, maxBytes: number, events: SseEvent[]): boolean {
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf("\n", start);
    if (isLongerThan(maxBytes, text, start, end)) return false;
    if (!isBlank(text, start, end)) events.push({ event: "", data: text.slice(start, end) });
    start = end + 1;
  }
  return true;
}

/** This loop ends at once for nearly every line, because few begin with a space. */
function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x20 && unit !== 0x09) return false;
  }
  return true;
}
