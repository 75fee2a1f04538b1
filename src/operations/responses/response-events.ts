// The text of the events of a stream. Their sequence numbers are written when they leave, because attempts and
// keep-alives write events that others overtake or that are never sent.
import type { JsonObject } from "../../core/json.ts";

/** Encloses the number of the writer where an event gets its sequence number. JSON texts never contain it. */
const MARK = "\x01";

/** The place of a sequence number in events of this writer; `null` for events that belong to no attempt. */
export function sequencePlace(writer: number | null): string {
  return `${MARK}${writer ?? ""}${MARK}`;
}

/**
 * Returns a run of events that have numbers already, each of them one more than that of the event before. The first is
 * `first`. `place` is that of the writer.
 */
export function numberedRun(place: string, events: string, first: number, count: number): string {
  return `${place.slice(0, -1)}:${first}:${count}${MARK}${events}`;
}

/** Returns the writer of the last of these events, whose numbers are not written yet; `null` where it is of no attempt. */
export function lastWriterIn(events: string): number | null {
  const end = events.lastIndexOf(MARK);
  const start = end < 1 ? -1 : events.lastIndexOf(MARK, end - 1);
  const [writer = ""] = start < 0 ? [] : events.slice(start + 1, end).split(":");
  return writer === "" ? null : Number(writer);
}

/** Returns an event; its first members are its type and its sequence number. */
export function eventText(place: string, type: string, members: JsonObject): string {
  const json = JSON.stringify(members);
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${place}${json === "{}" ? "" : ","}${json.slice(1)}\n\n`;
}

/** Returns the event by which a stream says that it has failed. Its error is there twice, as clients of both forms read it. */
export function errorEvent(place: string, type: string, said: JsonObject): string {
  return eventText(place, "error", { ...said, error: { type, ...said } });
}

/** Returns what precedes the piece of text in events that differ only in it; `}` and the end of the event follow. */
export function deltaHead(place: string, type: string, members: JsonObject): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${place},${JSON.stringify(members).slice(1, -1)},"delta":`;
}

/** The member in an event of a run, which has no other member of this name. */
const NUMBER = /"sequence_number": ?(\d+)/g;

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
      const [writer = "", first, count] = events.slice(start + 1, end).split(":");
      if (writer !== "") this.lastWriter = Number(writer);
      text += events.slice(copied, start);
      copied = end + 1;
      if (first === undefined) text += this.#next++;
      else {
        const run = this.#run(events, copied, Number(first), Number(count));
        text += run.text;
        copied = run.end;
      }
    }
    return text + events.slice(copied);
  }

  /** Returns the numbers of a run, with what precedes them; nothing where those that it has are right. */
  #run(events: string, start: number, first: number, count: number): { readonly text: string; readonly end: number } {
    const next = this.#next;
    this.#next += count;
    if (first === next) return { text: "", end: start };
    let text = "";
    let copied = start;
    NUMBER.lastIndex = start;
    for (let number = next; number < this.#next; number++) {
      const found = NUMBER.exec(events)!;
      text += events.slice(copied, NUMBER.lastIndex - found[1]!.length) + number;
      copied = NUMBER.lastIndex;
    }
    return { text, end: copied };
  }
}
