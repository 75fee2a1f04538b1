// The same answer as one body in three forms, and what providers have been seen to do wrong in such bodies.
import { isObject, type Json, type JsonObject } from "../../../../src/core/json.ts";
import { CALLS, OUTPUT_TOKENS, REASONING, TEXT, without } from "./planted-answer.ts";
import { RESPONSES_STREAM } from "./responses-defects.ts";

export interface BodyDefect {
  readonly name: string;
  readonly expected: "whole" | "told" | "either";
  readonly unknown?: readonly ("finish" | "outputTokens" | "reasoning")[];
  /** Returns the text of the body. */
  readonly plant: (sound: JsonObject) => string;
}

const changed =
  (change: (body: JsonObject) => JsonObject) =>
  (sound: JsonObject): string =>
    JSON.stringify(change(sound));
const onEach =
  (member: string, change: (item: JsonObject) => JsonObject) =>
  (body: JsonObject): JsonObject => ({ ...body, [member]: objectsIn(body[member]).map(change) });
const objectsIn = (list: Json | undefined): readonly JsonObject[] =>
  Array.isArray(list) ? (list as readonly Json[]).filter(isObject) : [];
const ERROR = { type: "server_error", code: "server_error", message: "The engine stopped.", param: null };

/** What no form can mend. */
const BEYOND: readonly BodyDefect[] = [
  { name: "cut-json", expected: "told", plant: (sound) => JSON.stringify(sound).slice(0, -40) },
  { name: "no-json", expected: "told", plant: () => "<html>Bad gateway</html>" },
  { name: "no-body", expected: "told", plant: () => "" },
  { name: "error-with-status-200", expected: "told", plant: () => JSON.stringify({ type: "error", error: ERROR }) },
];

export const RESPONSES_BODY = RESPONSES_STREAM.at(-1)!["response"] as JsonObject;
const onItems = (change: (item: JsonObject) => JsonObject) => changed(onEach("output", change));
export const RESPONSES_BODIES: readonly BodyDefect[] = [
  {
    name: "no-annotations",
    expected: "whole",
    plant: onItems((item) =>
      item["type"] === "message" ? onEach("content", (part) => without(part, "annotations", "logprobs"))(item) : item,
    ),
  },
  {
    name: "no-summary",
    expected: "whole",
    unknown: ["reasoning"],
    plant: onItems((item) => without(item, "summary")),
  },
  { name: "no-status", expected: "whole", plant: onItems((item) => without(item, "status")) },
  { name: "no-item-ids", expected: "whole", plant: onItems((item) => without(item, "id")) },
  {
    name: "no-frame",
    expected: "whole",
    plant: changed((body) => without(body, "id", "object", "created_at", "model", "tools", "metadata")),
  },
  { name: "no-usage", expected: "whole", unknown: ["outputTokens"], plant: changed((body) => without(body, "usage")) },
  {
    name: "unknown-item",
    expected: "either",
    plant: changed((body) => ({ ...body, output: [{ id: "x_1", type: "acme_call" }, ...objectsIn(body["output"])] })),
  },
  {
    name: "failed",
    expected: "told",
    plant: changed((body) => ({ ...body, status: "failed", output: [], error: ERROR })),
  },
  ...BEYOND,
];

export const MESSAGES_BODY: JsonObject = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: [
    { type: "thinking", thinking: REASONING.join(""), signature: "c2lnbmVk" },
    { type: "text", text: TEXT.join("") },
    ...CALLS.map(({ id, name, arguments: pieces }) => ({
      type: "tool_use",
      id,
      name,
      input: JSON.parse(pieces.join("")) as JsonObject,
    })),
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: OUTPUT_TOKENS },
};
export const MESSAGES_BODIES: readonly BodyDefect[] = [
  { name: "no-frame", expected: "whole", plant: changed((body) => without(body, "id", "type", "role", "model")) },
  { name: "no-stop-sequence", expected: "whole", plant: changed((body) => without(body, "stop_sequence")) },
  { name: "no-usage", expected: "whole", unknown: ["outputTokens"], plant: changed((body) => without(body, "usage")) },
  {
    name: "unknown-block",
    expected: "either",
    plant: changed((body) => ({ ...body, content: [{ type: "acme_block" }, ...objectsIn(body["content"])] })),
  },
  ...BEYOND,
];

export const CHAT_BODY: JsonObject = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_767_000_000,
  model: "m",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: TEXT.join(""),
        reasoning_content: REASONING.join(""),
        tool_calls: CALLS.map(({ id, name, arguments: pieces }) => ({
          id,
          type: "function",
          function: { name, arguments: pieces.join("") },
        })),
      },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
  usage: { prompt_tokens: 11, completion_tokens: OUTPUT_TOKENS, total_tokens: 11 + OUTPUT_TOKENS },
};
const onMessage = (change: (message: JsonObject) => JsonObject) =>
  changed(onEach("choices", (choice) => ({ ...choice, message: change(choice["message"] as JsonObject) })));
const onCalls = (change: (call: JsonObject) => JsonObject) => onMessage(onEach("tool_calls", change));
export const CHAT_BODIES: readonly BodyDefect[] = [
  { name: "no-frame", expected: "whole", plant: changed((body) => without(body, "id", "object", "created", "model")) },
  { name: "no-usage", expected: "whole", unknown: ["outputTokens"], plant: changed((body) => without(body, "usage")) },
  { name: "no-call-ids", expected: "whole", plant: onCalls((call) => without(call, "id", "type")) },
  {
    name: "finish-stop-beside-calls",
    expected: "whole",
    plant: changed(onEach("choices", (choice) => ({ ...choice, finish_reason: "stop" }))),
  },
  {
    name: "other-reasoning-name",
    expected: "whole",
    plant: onMessage(({ reasoning_content: reasoning, ...message }) => ({ ...message, reasoning: reasoning! })),
  },
  { name: "no-choices", expected: "told", plant: changed((body) => ({ ...body, choices: [] })) },
  ...BEYOND,
];
