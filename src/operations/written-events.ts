// Reads back the events of a stream that the gateway has written.
import { isObject, type Json, type JsonObject } from "../core/json.ts";

const DATA = /^data: (?=\{)/m;

/** Returns the objects in the data of whole events. */
export function objectsOfEvents(events: string): readonly JsonObject[] {
  return events.split("\n\n").flatMap((event) => {
    const begin = DATA.exec(event);
    if (begin === null) return [];
    const data = JSON.parse(event.slice(begin.index + begin[0].length)) as Json;
    return isObject(data) ? [data] : [];
  });
}
