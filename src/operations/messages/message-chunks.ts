// The chunks of chat completions that say the same as events of a message, for the content log.
import { type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { objectsOfEvents } from "../written-events.ts";

const FINISH: Readonly<Record<string, string>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
  tool_use: "tool_calls",
};

/** Returns a function that reads the texts of one stream in their order. */
export function readMessageEvents(): (text: string) => readonly JsonObject[] {
  /** The indexes of the calls by those of their blocks. */
  const calls = new Map<Json | undefined, number>();
  const chunkOf = (event: JsonObject): JsonObject | null => {
    switch (event["type"]) {
      case "content_block_start": {
        const block = event["content_block"] as JsonObject;
        if (block["type"] !== "tool_use") return null;
        const index = calls.size;
        calls.set(event["index"], index);
        return delta({ tool_calls: [{ index, id: block["id"], function: { name: block["name"], arguments: "" } }] });
      }
      case "content_block_delta":
        return ofDelta(event["delta"] as JsonObject, calls.get(event["index"]) ?? 0);
      case "message_delta": {
        const { stop_reason: reason } = event["delta"] as JsonObject;
        return choice({ delta: {}, finish_reason: FINISH[textOrEmpty(reason)] ?? "stop" });
      }
      default:
        return null;
    }
  };
  return (text) =>
    objectsOfEvents(text)
      .map(chunkOf)
      .filter((chunk) => chunk !== null);
}

function ofDelta(piece: JsonObject, call: number): JsonObject | null {
  switch (piece["type"]) {
    case "text_delta":
      return delta({ content: piece["text"] });
    case "thinking_delta":
      return delta({ reasoning_content: piece["thinking"] });
    case "input_json_delta":
      return delta({ tool_calls: [{ index: call, function: { arguments: piece["partial_json"] } }] });
    default:
      return null;
  }
}

function delta(members: JsonObject): JsonObject {
  return choice({ delta: members });
}

function choice(members: JsonObject): JsonObject {
  return { choices: [{ index: 0, ...members }] };
}
