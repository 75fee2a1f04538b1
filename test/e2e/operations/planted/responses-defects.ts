// The planted provider in the form of the Responses API, and what such providers have been seen to do wrong in streams.
// https://platform.openai.com/docs/api-reference/responses-streaming
import { isObject, type JsonObject } from "../../../../src/core/json.ts";
import {
  CALLS,
  type Defect,
  type Event,
  named,
  OUTPUT_TOKENS,
  REASONING,
  type Rewrite,
  rewritten,
  TEXT,
  unnamed,
  without,
} from "./planted-answer.ts";

const MODEL = "gpt-5-pro-2025-10-06";
const textPart = (text: string): JsonObject => ({ type: "output_text", text, annotations: [], logprobs: [] });

const ITEMS: readonly JsonObject[] = [
  {
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: REASONING.join("") }],
    status: "completed",
  },
  { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [textPart(TEXT.join(""))] },
  ...CALLS.map(({ id, name, arguments: pieces }, at): JsonObject => ({
    id: `fc_${at}`,
    type: "function_call",
    status: "completed",
    call_id: id,
    name,
    arguments: pieces.join(""),
  })),
];

function response(status: string, output: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  const isEnded = status !== "in_progress";
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_767_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: MODEL,
    output,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: isEnded
      ? {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: OUTPUT_TOKENS,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: 11 + OUTPUT_TOKENS,
        }
      : null,
    ...more,
  };
}

function itemEvents(item: JsonObject, index: number): readonly Event[] {
  const at = { item_id: item["id"]!, output_index: index };
  const added = (begun: JsonObject): Event => ({
    type: "response.output_item.added",
    output_index: index,
    item: begun,
  });
  const done: Event = { type: "response.output_item.done", output_index: index, item };
  switch (item["type"]) {
    case "reasoning": {
      const place = { ...at, summary_index: 0 };
      const part = (text: string): JsonObject => ({ type: "summary_text", text });
      return [
        added({ ...item, summary: [], status: "in_progress" }),
        { type: "response.reasoning_summary_part.added", ...place, part: part("") },
        ...REASONING.map((delta): Event => ({ type: "response.reasoning_summary_text.delta", ...place, delta })),
        { type: "response.reasoning_summary_text.done", ...place, text: REASONING.join("") },
        { type: "response.reasoning_summary_part.done", ...place, part: part(REASONING.join("")) },
        done,
      ];
    }
    case "message": {
      const place = { ...at, content_index: 0 };
      return [
        added({ ...item, content: [], status: "in_progress" }),
        { type: "response.content_part.added", ...place, part: textPart("") },
        ...TEXT.map((delta): Event => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
        { type: "response.output_text.done", ...place, text: TEXT.join(""), logprobs: [] },
        { type: "response.content_part.done", ...place, part: textPart(TEXT.join("")) },
        done,
      ];
    }
    default: {
      const call = CALLS[index - 2]!;
      return [
        added({ ...item, arguments: "", status: "in_progress" }),
        ...call.arguments.map((delta): Event => ({ type: "response.function_call_arguments.delta", ...at, delta })),
        {
          type: "response.function_call_arguments.done",
          ...at,
          name: call.name,
          arguments: call.arguments.join(""),
        },
        done,
      ];
    }
  }
}

const ENDED: Event = { type: "response.completed", response: response("completed", ITEMS) };

/** The events of a sound stream. */
export const RESPONSES_STREAM: readonly Event[] = numbered([
  { type: "response.created", response: response("in_progress", []) },
  { type: "response.in_progress", response: response("in_progress", []) },
  ...ITEMS.flatMap(itemEvents),
  ENDED,
]);

function numbered(events: readonly Event[]): readonly Event[] {
  return events.map((event, at) => ({ ...event, sequence_number: at }));
}

/** A stream of which each event is rewritten, or left out where the rewriting returns `null`. */
const each =
  (rewrite: Rewrite) =>
  (sound: readonly Event[]): string =>
    named(numbered(rewritten(sound, rewrite)));
const leaveOut = (matches: (event: Event) => boolean): Defect["plant"] =>
  each((event) => (matches(event) ? null : event));
const has =
  (type: string, kind?: string) =>
  (event: Event): boolean =>
    event["type"] === `response.${type}` && (kind === undefined || (event["item"] as JsonObject)["type"] === kind);
const inMember =
  (member: string, change: (value: JsonObject) => JsonObject, matches: (event: Event) => boolean): Rewrite =>
  (event) =>
    matches(event) && isObject(event[member]) ? { ...event, [member]: change(event[member]) } : event;
const upTo = (sound: readonly Event[], type: string, times = 1): readonly Event[] => {
  let left = times;
  return sound.slice(
    0,
    sound.findIndex((event) => event["type"] === `response.${type}` && --left === 0),
  );
};
const onCreated = (change: (value: JsonObject) => JsonObject): Defect["plant"] =>
  each(inMember("response", change, (event) => has("created")(event) || has("in_progress")(event)));

/** The events of all items, in another order of items or events. */
function reordered(sound: readonly Event[], order: (items: readonly (readonly Event[])[]) => readonly Event[]): string {
  const items = ITEMS.map((_, index) => sound.filter(({ output_index: at }) => at === index));
  return named(numbered([...sound.slice(0, 2), ...order(items), sound.at(-1)!]));
}

const FLAT = { code: "server_error", message: "The engine stopped.", param: null };
const flatError: Event = { type: "error", ...FLAT };
const nestedError: Event = { type: "error", error: { type: "server_error", ...FLAT } };
const CHAT_CHUNK: Event = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_767_000_000,
  model: MODEL,
  choices: [{ index: 0, delta: { content: "Lost words." }, finish_reason: null }],
};
const amid = (sound: readonly Event[], ...events: readonly Event[]): string => {
  const begun = upTo(sound, "output_text.delta", 3);
  return named(numbered([...begun, ...events]));
};
const within = (sound: readonly Event[], event: Event): string => {
  const begun = upTo(sound, "output_text.delta", 3);
  return named(numbered([...begun, event, ...sound.slice(begun.length)]));
};
const isPiece = ({ type }: Event): boolean => (type as string).endsWith(".delta");

export const RESPONSES_DEFECTS: readonly Defect[] = [
  {
    name: "no-created",
    expected: "whole",
    plant: leaveOut((event) => has("created")(event) || has("in_progress")(event)),
  },
  { name: "created-without-output", expected: "whole", plant: onCreated((value) => without(value, "output")) },
  { name: "created-without-time", expected: "whole", plant: onCreated((value) => without(value, "created_at")) },
  { name: "created-without-id", expected: "whole", plant: onCreated((value) => without(value, "id")) },
  { name: "created-without-model", expected: "whole", plant: onCreated((value) => without(value, "model")) },
  { name: "no-message-added", expected: "whole", plant: leaveOut(has("output_item.added", "message")) },
  { name: "no-call-added", expected: "whole", plant: leaveOut(has("output_item.added", "function_call")) },
  { name: "no-reasoning-added", expected: "whole", plant: leaveOut(has("output_item.added", "reasoning")) },
  { name: "no-part-added", expected: "whole", plant: leaveOut(has("content_part.added")) },
  {
    name: "message-without-content",
    expected: "whole",
    plant: each(inMember("item", (item) => without(item, "content"), has("output_item.added", "message"))),
  },
  { name: "no-summary-part", expected: "whole", plant: leaveOut(has("reasoning_summary_part.added")) },
  { name: "no-summary-index", expected: "whole", plant: each((event) => without(event, "summary_index")) },
  { name: "no-item-id", expected: "whole", plant: each((event) => without(event, "item_id")) },
  { name: "new-item-ids", expected: "whole", plant: newIds },
  { name: "no-output-index", expected: "whole", plant: each((event) => without(event, "output_index")) },
  {
    name: "one-output-index",
    expected: "whole",
    plant: each((event) => ("output_index" in event ? { ...event, output_index: 0 } : event)),
  },
  {
    name: "interleaved",
    expected: "whole",
    plant: (sound) =>
      reordered(sound, ([reasoning, message, first, second]) => [
        ...reasoning!,
        message![0]!,
        first![0]!,
        ...message!.slice(1, -1),
        second![0]!,
        ...first!.slice(1, -1).flatMap((event, at) => [event, second!.slice(1, -1)[at]!]),
        ...[message!, first!, second!].map((events) => events.at(-1)!),
      ]),
  },
  {
    name: "out-of-index-order",
    expected: "whole",
    isReordered: true,
    plant: (sound) =>
      reordered(sound, ([reasoning, message, first, second]) => [...message!, ...reasoning!, ...second!, ...first!]),
  },
  { name: "no-argument-deltas", expected: "whole", plant: leaveOut(has("function_call_arguments.delta")) },
  { name: "no-text-deltas", expected: "whole", plant: leaveOut(has("output_text.delta")) },
  { name: "no-deltas", expected: "whole", plant: leaveOut(isPiece) },
  { name: "no-item-done", expected: "whole", plant: leaveOut(has("output_item.done")) },
  {
    name: "nothing-done",
    expected: "whole",
    plant: leaveOut(({ type }) => (type as string).endsWith(".done")),
  },
  {
    name: "call-without-status",
    expected: "whole",
    plant: each(
      inMember(
        "item",
        (item) => without(item, "status"),
        ({ item }) => isObject(item),
      ),
    ),
  },
  {
    name: "empty-output",
    expected: "whole",
    plant: each(inMember("response", (value) => ({ ...value, output: [] }), has("completed"))),
  },
  {
    name: "completed-without-members",
    expected: "whole",
    plant: each(inMember("response", ({ usage, status }) => ({ usage: usage!, status: status! }), has("completed"))),
  },
  {
    name: "no-usage",
    expected: "whole",
    unknown: ["outputTokens"],
    plant: each(inMember("response", (value) => without(value, "usage"), has("completed"))),
  },
  { name: "every-event-twice", expected: "whole", plant: (sound) => named(sound.flatMap((event) => [event, event])) },
  {
    name: "no-numbers",
    expected: "whole",
    plant: (sound) => named(sound.map((event) => without(event, "sequence_number"))),
  },
  { name: "no-names", expected: "whole", plant: unnamed },
  { name: "done-line", expected: "whole", plant: (sound) => `${named(sound)}data: [DONE]\n\n` },
  {
    name: "comments",
    expected: "whole",
    plant: (sound) => sound.map((event) => `: still here\n\n${named([event])}`).join(""),
  },
  { name: "no-terminal", expected: "told", plant: leaveOut(has("completed")) },
  { name: "cut", expected: "told", plant: (sound) => named(upTo(sound, "output_text.delta", 3)) },
  { name: "cut-in-call", expected: "told", plant: (sound) => named(upTo(sound, "function_call_arguments.delta", 3)) },
  {
    name: "failed",
    expected: "told",
    plant: (sound) =>
      amid(sound, {
        type: "response.failed",
        response: response("failed", [], { error: { code: "server_error", message: "The engine stopped." } }),
      }),
  },
  { name: "error-flat", expected: "told", plant: (sound) => amid(sound, flatError) },
  { name: "error-nested", expected: "told", plant: (sound) => amid(sound, nestedError) },
  { name: "error-first", expected: "told", plant: () => named([{ ...flatError, sequence_number: 0 }]) },
  { name: "nested-error-first", expected: "told", plant: () => named([{ ...nestedError, sequence_number: 0 }]) },
  { name: "chat-chunk", expected: "told", plant: (sound) => within(sound, CHAT_CHUNK) },
  { name: "unknown-event", expected: "either", plant: (sound) => within(sound, { type: "acme:trace", data: 1 }) },
  { name: "status-500", expected: "told", plant: () => ({ status: 500, body: nestedError }) },
  { name: "status-429", expected: "told", plant: () => ({ status: 429, body: nestedError }) },
  { name: "status-400", expected: "told", plant: () => ({ status: 400, body: nestedError }) },
  { name: "error-of-200", expected: "told", plant: () => ({ status: 200, body: nestedError }) },
  { name: "empty-body", expected: "told", plant: () => "" },
];

/** Each event of an item names another id. */
function newIds(sound: readonly Event[]): string {
  return named(
    sound.map((event, at) =>
      "item_id" in event ? { ...event, item_id: `${event["item_id"] as string}_${at}` } : event,
    ),
  );
}
