// The planted provider in the form of chat completions, and what such providers have been seen to do wrong in streams.
// https://platform.openai.com/docs/api-reference/chat-streaming
import type { JsonObject } from "../../../../src/core/json.ts";
import {
  CALLS,
  type Defect,
  type Event,
  OUTPUT_TOKENS,
  REASONING,
  type Rewrite,
  rewritten,
  TEXT,
  unnamed,
  without,
} from "./planted-answer.ts";

const FRAME = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_000_000, model: "m" };
const chunk = (delta: JsonObject, finish: string | null = null): Event => ({
  ...FRAME,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const USAGE: Event = {
  ...FRAME,
  choices: [],
  usage: {
    prompt_tokens: 11,
    completion_tokens: OUTPUT_TOKENS,
    total_tokens: 11 + OUTPUT_TOKENS,
    completion_tokens_details: { reasoning_tokens: 5 },
  },
};
const END = chunk({}, "tool_calls");

/** The events of a sound stream, without `[DONE]`. */
export const CHAT_STREAM: readonly Event[] = [
  chunk({ role: "assistant", content: "" }),
  ...REASONING.map((piece) => chunk({ reasoning_content: piece })),
  ...TEXT.map((content) => chunk({ content })),
  ...CALLS.flatMap(({ id, name, arguments: pieces }, index) => [
    chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]),
  END,
  USAGE,
];

const done = (events: readonly Event[]): string => unnamed([...events, "[DONE]"]);
const each =
  (rewrite: Rewrite) =>
  (sound: readonly Event[]): string =>
    done(rewritten(sound, rewrite));
const deltaOf = (event: Event): JsonObject =>
  ((event["choices"] as readonly JsonObject[])[0]?.["delta"] ?? {}) as JsonObject;
const onDelta = (change: (delta: JsonObject, event: Event) => JsonObject): Defect["plant"] =>
  each((event) => {
    const [choice] = event["choices"] as readonly JsonObject[];
    return choice === undefined ? event : { ...event, choices: [{ ...choice, delta: change(deltaOf(event), event) }] };
  });
const onCalls = (change: (call: JsonObject) => JsonObject): Defect["plant"] =>
  onDelta((delta) => {
    const calls = delta["tool_calls"] as readonly JsonObject[] | undefined;
    return calls === undefined ? delta : { ...delta, tool_calls: calls.map(change) };
  });
const textAt = (sound: readonly Event[]): number => sound.findIndex((event) => deltaOf(event)["content"] === TEXT[2]);
const amid = (sound: readonly Event[], ...events: readonly Event[]): string =>
  unnamed([...sound.slice(0, textAt(sound)), ...events]);
const ERROR: Event = { error: { message: "The engine stopped.", type: "server_error", code: null, param: null } };
const wholeCall = (at: number): JsonObject => {
  const { id, name, arguments: pieces } = CALLS[at]!;
  return { index: at, id, type: "function", function: { name, arguments: pieces.join("") } };
};
const isOfCalls = (event: Event): boolean => "tool_calls" in deltaOf(event);

export const CHAT_DEFECTS: readonly Defect[] = [
  { name: "no-role", expected: "whole", plant: onDelta((delta) => without(delta, "role")) },
  { name: "no-frame", expected: "whole", plant: each((event) => without(event, "id", "object", "created", "model")) },
  { name: "no-done-line", expected: "whole", plant: unnamed },
  {
    name: "no-usage",
    expected: "whole",
    unknown: ["outputTokens"],
    plant: each((event) => (event === USAGE ? null : event)),
  },
  {
    name: "finish-stop-beside-calls",
    expected: "whole",
    plant: each((event) => (event === END ? chunk({}, "stop") : event)),
  },
  {
    name: "other-reasoning-name",
    expected: "whole",
    plant: onDelta(({ reasoning_content: text, ...delta }) => (text === undefined ? delta : { reasoning: text })),
  },
  {
    name: "role-in-every-chunk",
    expected: "whole",
    plant: onDelta((delta) => ({ role: "assistant", content: "", ...delta })),
  },
  { name: "no-call-index", expected: "whole", plant: onCalls((call) => without(call, "index")) },
  { name: "no-call-type", expected: "whole", plant: onCalls((call) => without(call, "type")) },
  {
    name: "one-call-index",
    expected: "whole",
    plant: onCalls((call) => ({ ...call, index: 0 })),
  },
  { name: "no-call-id", expected: "whole", plant: onCalls((call) => without(call, "id")) },
  {
    name: "whole-calls",
    expected: "whole",
    plant: (sound) =>
      done([
        ...sound.filter((event) => !isOfCalls(event)).slice(0, -2),
        chunk({ tool_calls: [wholeCall(0), wholeCall(1)] }),
        END,
        USAGE,
      ]),
  },
  { name: "interleaved-calls", expected: "whole", plant: interleaved },
  {
    name: "null-members",
    expected: "whole",
    plant: onDelta((delta) => ({ content: null, refusal: null, tool_calls: null, ...delta })),
  },
  {
    name: "comments",
    expected: "whole",
    plant: (sound) => `: still here\n\n${done(sound).replaceAll("\n\n", "\n\n: still here\n\n")}`,
  },
  {
    name: "no-finish",
    expected: "either",
    unknown: ["finish"],
    plant: each((event) => (event === END ? null : event)),
  },
  { name: "cut", expected: "told", plant: (sound) => amid(sound) },
  { name: "cut-in-call", expected: "told", plant: (sound) => unnamed(sound.slice(0, -4)) },
  { name: "error-first", expected: "told", plant: () => unnamed([ERROR]) },
  { name: "error-amid", expected: "told", plant: (sound) => amid(sound, ERROR) },
  { name: "error-then-done", expected: "told", plant: (sound) => `${amid(sound, ERROR)}data: [DONE]\n\n` },
  {
    name: "response-event",
    expected: "either",
    plant: (sound) =>
      amid(sound, { type: "response.output_text.delta", delta: "Lost words." }, ...sound.slice(textAt(sound))),
  },
  { name: "status-500", expected: "told", plant: () => ({ status: 500, body: ERROR }) },
  { name: "status-429", expected: "told", plant: () => ({ status: 429, body: ERROR }) },
  { name: "status-400", expected: "told", plant: () => ({ status: 400, body: ERROR }) },
  { name: "error-of-200", expected: "told", plant: () => ({ status: 200, body: ERROR }) },
  { name: "empty-body", expected: "told", plant: () => "" },
];

function interleaved(sound: readonly Event[]): string {
  const calls = sound.filter(isOfCalls);
  const half = calls.length / 2;
  const mixed = calls.slice(0, half).flatMap((event, at) => [event, calls[half + at]!]);
  return done([...sound.filter((event) => !isOfCalls(event)).slice(0, -2), ...mixed, END, USAGE]);
}
