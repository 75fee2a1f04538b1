// Turns events of a response back into chunks of a chat completion, where the content of calls is kept.
import { isObject, type JsonObject } from "../../core/json.ts";
import { formOfCall, formOfEvent, ITEM_DONE } from "../../providers/responses/stream-grammar.ts";
import { objectsOfEvents } from "../written-events.ts";

/** The member of a delta for each text that is not the input of a call. */
const MEMBERS: Readonly<Record<string, string>> = {
  content: "content",
  refusal: "refusal",
  reasoning: "reasoning_content",
};

/** Returns what whole events say, as chunks. A call is taken when it is complete. */
export function chunksOfEvents(events: string): readonly JsonObject[] {
  return objectsOfEvents(events).flatMap(chunksOf);
}

function chunksOf(event: JsonObject): readonly JsonObject[] {
  const { type, delta, item, response, output_index: index } = event;
  const form = formOfEvent(type as string);
  if (form !== null) {
    const member = type === form.delta ? MEMBERS[form.chat ?? ""] : undefined;
    return member === undefined ? [] : [chunk({ [member]: delta })];
  }
  switch (type) {
    case ITEM_DONE:
      return isObject(item) ? callOf(item, index as number) : [];
    case "response.completed":
    case "response.incomplete":
      return isObject(response) ? [chunk({}, finishOf(response))] : [];
    default:
      return [];
  }
}

function callOf(item: JsonObject, index: number): readonly JsonObject[] {
  const { type, call_id: id, name } = item;
  const form = formOfCall(type);
  if (form === null) return [];
  const called = { name, arguments: item[form.whole] };
  return [chunk({ tool_calls: [{ index, id, type: "function", function: called }] })];
}

function finishOf({ incomplete_details: details, output }: JsonObject): string {
  if (isObject(details)) return details["reason"] === "content_filter" ? "content_filter" : "length";
  const items = Array.isArray(output) ? (output as readonly JsonObject[]) : [];
  return items.some((item) => typeof item["call_id"] === "string") ? "tool_calls" : "stop";
}

function chunk(delta: JsonObject, finish: string | null = null): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}
