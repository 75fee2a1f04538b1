// The text of the events of a stream. Their sequence numbers are written when they leave, because attempts and
// keep-alives write events that others overtake or that are never sent.
import type { JsonObject } from "../../core/json.ts";

/** Encloses the number of the writer where an event gets its sequence number. JSON texts never contain it. */
const MARK = "\x01";

/** The place of a sequence number in events of this writer; `null` for events that belong to no attempt. */
export function sequencePlace(writer: number | null): string {
  return `${MARK}${writer ?? ""}${MARK}`;
}

/** Returns an event; its first members are its type and its sequence number. */
export function eventText(place: string, type: string, members: JsonObject): string {
  const json = JSON.stringify(members);
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${place}${json === "{}" ? "" : ","}${json.slice(1)}\n\n`;
}

/** Returns what precedes the piece of text in events that differ only in it; `}` and the end of the event follow. */
export function deltaHead(place: string, type: string, members: JsonObject): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${place},${JSON.stringify(members).slice(1, -1)},"delta":`;
}

/** Writes the sequence numbers of one stream. */
export class SequenceNumbers {
  #next = 0;
  /** The writer of which events were sent last; `null` before the first. */
  lastWriter: number | null = null;

  /** Returns the events with their numbers; called for each text in the order of sending. */
  numbered(events: string): string {
    let text = "";
    let copied = 0;
    for (let start = events.indexOf(MARK); start >= 0; start = events.indexOf(MARK, copied)) {
      const end = events.indexOf(MARK, start + 1);
      if (end > start + 1) this.lastWriter = Number(events.slice(start + 1, end));
      text += events.slice(copied, start) + this.#next++;
      copied = end + 1;
    }
    return text + events.slice(copied);
  }
}
