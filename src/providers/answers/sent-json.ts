// JSON that a provider sent, as an answer or as an event of a stream. A text that exceeds a bound may be valid JSON: the
// error then names the bound and does not claim that the text is not JSON.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { parseJson } from "../../wire/json/json.ts";
import { JsonError } from "../../wire/json/json-error.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";

const SENT = { answer: "The provider's answer", event: "An event of the provider's stream" } as const;

/** Throws MalformedAnswer. */
export function parseSentJson(text: string, sent: keyof typeof SENT): Json {
  try {
    return parseJson(text);
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown;
    throw new MalformedAnswer(
      thrown.beyond === null
        ? `${SENT[sent]} is ${describeText(text)}, not JSON.`
        : `The provider's answer exceeds a limit of the gateway: ${thrown.message}`,
    );
  }
}

/** Throws MalformedAnswer. */
export function parseSentObject(text: string, sent: keyof typeof SENT): JsonObject {
  return requireSentObject(parseSentJson(text, sent), sent);
}

/** Returns the value of an event's data. Throws MalformedAnswer. */
export function parseEvent({ data, value }: Pick<SseEvent, "data" | "value">): Json {
  return value === undefined ? parseSentJson(data, "event") : value;
}

/** Throws MalformedAnswer. */
export function parseEventObject(event: Pick<SseEvent, "data" | "value">): JsonObject {
  return requireSentObject(parseEvent(event), "event");
}

/** Returns the value of an event's data, which is parsed once for all that read the event. Throws MalformedAnswer. */
export const valueOfEvent = memoizePerObject(parseEvent);

/** Throws MalformedAnswer. */
export function requireSentObject(value: Json, sent: keyof typeof SENT): JsonObject {
  if (!isObject(value)) throw new MalformedAnswer(`${SENT[sent]} is JSON, but not an object.`);
  return value;
}

/** Throws MalformedAnswer for a chunk of chat completions in a stream of another form, whose text would be lost. */
export function requireNoChunk(event: JsonObject): void {
  if (event["type"] === undefined && Array.isArray(event["choices"]))
    throw new MalformedAnswer("The provider's stream has a chunk of chat completions, which is another form.");
}

/** Describes a text that should have been JSON, without quoting it, because it may come from an unknown proxy. */
export function describeText(text: string): string {
  const start = text.slice(0, 512).trimStart();
  if (start === "") return "empty";
  if (/^<(!doctype|html|head|body)/i.test(start)) return "an HTML page";
  return start.startsWith("data:") || start.startsWith("event:") ? "an event stream" : "text";
}
