// The planted provider in the form of the Messages API, and what such providers have been seen to do wrong in streams.
// https://platform.claude.com/docs/en/build-with-claude/streaming
import type { JsonObject } from "../../../../src/core/json.ts";
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

const START: JsonObject = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 1 },
};

function block(index: number, begun: JsonObject, deltas: readonly JsonObject[]): readonly Event[] {
  return [
    { type: "content_block_start", index, content_block: begun },
    ...deltas.map((delta): Event => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

const END: Event = {
  type: "message_delta",
  delta: { stop_reason: "tool_use", stop_sequence: null },
  usage: { output_tokens: OUTPUT_TOKENS },
};

/** The events of a sound stream. */
export const MESSAGES_STREAM: readonly Event[] = [
  { type: "message_start", message: START },
  { type: "ping" },
  ...block(0, { type: "thinking", thinking: "", signature: "" }, [
    ...REASONING.map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: "c2lnbmVk" },
  ]),
  ...block(
    1,
    { type: "text", text: "" },
    TEXT.map((text) => ({ type: "text_delta", text })),
  ),
  ...CALLS.flatMap(({ id, name, arguments: pieces }, at) =>
    block(
      2 + at,
      { type: "tool_use", id, name, input: {} },
      ["", ...pieces].map((partial_json) => ({ type: "input_json_delta", partial_json })),
    ),
  ),
  END,
  { type: "message_stop" },
];

const isOf =
  (type: string, kind?: string) =>
  ({ type: own, content_block: begun, delta }: Event): boolean =>
    own === type &&
    (kind === undefined || [begun, delta].some((one) => (one as JsonObject | undefined)?.["type"] === kind));
const each =
  (rewrite: Rewrite) =>
  (sound: readonly Event[]): string =>
    named(rewritten(sound, rewrite));
const leaveOut = (matches: (event: Event) => boolean): Defect["plant"] =>
  each((event) => (matches(event) ? null : event));
const onStart = (change: (message: JsonObject) => JsonObject): Defect["plant"] =>
  each((event) =>
    isOf("message_start")(event) ? { ...event, message: change(event["message"] as JsonObject) } : event,
  );
/** The place of the third piece of the text. */
const amidText = (sound: readonly Event[]): number => sound.findIndex(isOf("content_block_delta", "text_delta")) + 2;
const amid = (sound: readonly Event[], ...events: readonly Event[]): string =>
  named([...sound.slice(0, amidText(sound)), ...events]);
const within = (sound: readonly Event[], ...events: readonly Event[]): string =>
  named([...sound.slice(0, amidText(sound)), ...events, ...sound.slice(amidText(sound))]);
const between = (sound: readonly Event[], ...events: readonly Event[]): string => {
  const at = sound.findIndex(isOf("content_block_stop")) + 1;
  return named([...sound.slice(0, at), ...events, ...sound.slice(at)]);
};
const ERROR: Event = { type: "error", error: { type: "overloaded_error", message: "The engine stopped." } };
/** The blocks of the calls, whose numbers are 2 and 3. */
const isOfCall = ({ index }: Event): boolean => typeof index === "number" && index >= 2;

export const MESSAGES_DEFECTS: readonly Defect[] = [
  { name: "no-names", expected: "whole", plant: unnamed },
  { name: "no-message-start", expected: "whole", unknown: ["outputTokens"], plant: leaveOut(isOf("message_start")) },
  { name: "two-message-starts", expected: "whole", plant: (sound) => named([sound[0]!, ...sound]) },
  { name: "no-message-stop", expected: "whole", plant: leaveOut(isOf("message_stop")) },
  {
    name: "start-without-usage",
    expected: "whole",
    unknown: ["outputTokens"],
    plant: onStart((message) => without(message, "usage")),
  },
  { name: "start-without-content", expected: "whole", plant: onStart((message) => without(message, "content")) },
  {
    name: "delta-without-usage",
    expected: "whole",
    unknown: ["outputTokens"],
    plant: each((event) => (isOf("message_delta")(event) ? without(event, "usage") : event)),
  },
  { name: "no-message-delta", expected: "whole", unknown: ["outputTokens"], plant: leaveOut(isOf("message_delta")) },
  { name: "no-thinking-start", expected: "whole", plant: leaveOut(isOf("content_block_start", "thinking")) },
  { name: "no-text-start", expected: "whole", plant: leaveOut(isOf("content_block_start", "text")) },
  { name: "no-call-start", expected: "told", plant: leaveOut(isOf("content_block_start", "tool_use")) },
  {
    name: "index-gap",
    expected: "whole",
    plant: each((event) => (isOfCall(event) ? { ...event, index: (event["index"] as number) + 3 } : event)),
  },
  { name: "one-index", expected: "whole", plant: each((event) => ("index" in event ? { ...event, index: 0 } : event)) },
  { name: "no-index", expected: "whole", plant: each((event) => without(event, "index")) },
  {
    name: "no-call-stop",
    expected: "whole",
    plant: leaveOut((event) => isOfCall(event) && isOf("content_block_stop")(event)),
  },
  { name: "no-stops", expected: "whole", plant: leaveOut(isOf("content_block_stop")) },
  {
    name: "input-in-start",
    expected: "whole",
    plant: each((event) => {
      if (isOf("content_block_delta", "input_json_delta")(event)) return null;
      if (!isOf("content_block_start", "tool_use")(event)) return event;
      const call = CALLS[(event["index"] as number) - 2]!;
      const input = JSON.parse(call.arguments.join("")) as JsonObject;
      return { ...event, content_block: { ...(event["content_block"] as JsonObject), input } };
    }),
  },
  {
    name: "two-message-deltas",
    expected: "whole",
    plant: (sound) =>
      named(sound.flatMap((event) => (event === END ? [{ ...END, usage: { output_tokens: 8 } }, END] : [event]))),
  },
  { name: "interleaved-calls", expected: "told", plant: interleaved },
  { name: "done-line", expected: "whole", plant: (sound) => `${named(sound)}data: [DONE]\n\n` },
  {
    name: "pings-and-comments",
    expected: "whole",
    plant: (sound) => sound.map((event) => `: still here\n\n${named([{ type: "ping" }, event])}`).join(""),
  },
  { name: "unknown-event", expected: "either", plant: (sound) => between(sound, { type: "acme_trace", data: 1 }) },
  {
    name: "unknown-delta",
    expected: "either",
    plant: (sound) => within(sound, { type: "content_block_delta", index: 1, delta: { type: "acme_delta", acme: 1 } }),
  },
  { name: "cut", expected: "told", plant: (sound) => amid(sound) },
  { name: "cut-before-end", expected: "told", plant: (sound) => named(sound.slice(0, sound.indexOf(END))) },
  { name: "error-first", expected: "told", plant: () => named([ERROR]) },
  { name: "error-amid", expected: "told", plant: (sound) => amid(sound, ERROR) },
  {
    name: "chat-chunk",
    expected: "told",
    plant: (sound) =>
      within(sound, { object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "Lost words." } }] }),
  },
  { name: "status-529", expected: "told", plant: () => ({ status: 529, body: ERROR }) },
  { name: "status-429", expected: "told", plant: () => ({ status: 429, body: ERROR }) },
  { name: "status-400", expected: "told", plant: () => ({ status: 400, body: ERROR }) },
  {
    name: "openai-error",
    expected: "told",
    plant: () => ({ status: 401, body: { error: { message: "Bad key.", type: "invalid_request_error", code: null } } }),
  },
  { name: "error-of-200", expected: "told", plant: () => ({ status: 200, body: ERROR }) },
  { name: "empty-body", expected: "told", plant: () => "" },
];

/** The events of the second call stand between those of the first. */
function interleaved(sound: readonly Event[]): string {
  const [first, second] = [2, 3].map((index) => sound.filter((event) => event["index"] === index));
  const at = sound.indexOf(first![0]!);
  const mixed = first!.flatMap((event, place) => [event, second![place]!]);
  return named([...sound.slice(0, at), ...mixed, ...sound.slice(at + mixed.length)]);
}
