// The data of events that the gateway writes: as lines of an event, and read back from them.
import { isObject, type Json, type JsonObject } from "../core/json.ts";

const DATA = /^data: (?=\{)/m;
const NEXT_LINE = "\ndata: ";

/** Returns what follows upon `data: ` in an event. Data of several lines has several fields. */
export function dataLines(data: string): string {
  return data.includes("\n") ? data.replaceAll("\n", NEXT_LINE) : data;
}

/** Returns the data of a whole event; `null` where it is no object. */
export function dataOf(event: string): string | null {
  const begin = DATA.exec(event);
  if (begin === null) return null;
  const data = event.slice(begin.index + begin[0].length);
  return data.includes(NEXT_LINE) ? data.replaceAll(NEXT_LINE, "\n") : data;
}

/** Returns the objects in the data of whole events. */
export function objectsOfEvents(events: string): readonly JsonObject[] {
  return events.split("\n\n").flatMap((event) => {
    const data = dataOf(event);
    const value = data === null ? null : (JSON.parse(data) as Json);
    return isObject(value) ? [value] : [];
  });
}
