// Answers in the form of Cohere's chat API, made up for the provider suite. https://docs.cohere.com/reference/chat, https://docs.cohere.com/v2/docs/streaming
import type { JsonObject } from "../../../src/core/json.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import { WEATHER_AND_CLOCK } from "./wire-examples.ts";

const USAGE: JsonObject = {
  billed_units: { input_tokens: 2, output_tokens: 3 },
  tokens: { input_tokens: 4, output_tokens: 3 },
  cached_tokens: 1,
};
const whole = (message: JsonObject, finish: string): JsonObject => ({
  id: "c14c80c3-example",
  message: { role: "assistant", ...message },
  finish_reason: finish,
  usage: USAGE,
});

const named = (type: string, rest: JsonObject): SseEvent => ({ event: type, data: JSON.stringify({ type, ...rest }) });
const said = (type: string, message: JsonObject, index?: number): SseEvent =>
  named(type, { ...(index !== undefined && { index }), delta: { message } });
const events = (finish: string, ...inner: readonly SseEvent[]): readonly SseEvent[] => [
  named("message-start", {
    id: "c14c80c3-example",
    delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } },
  }),
  ...inner,
  named("message-end", { delta: { finish_reason: finish, usage: USAGE } }),
  { event: "", data: "[DONE]" },
];
const block = (index: number, kind: "text" | "thinking", ...pieces: readonly string[]): readonly SseEvent[] => [
  said("content-start", { content: { type: kind, [kind]: "" } }, index),
  ...pieces.map((piece) => said("content-delta", { content: { [kind]: piece } }, index)),
  named("content-end", { index }),
];
const call = (id: string, name: string, text: string): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: text },
});
const called = (index: number, id: string, name: string, ...pieces: readonly string[]): readonly SseEvent[] => [
  said("tool-call-start", { tool_calls: call(id, name, "") }, index),
  ...pieces.map((piece) => said("tool-call-delta", { tool_calls: { function: { arguments: piece } } }, index)),
  named("tool-call-end", { index }),
];
const citation: JsonObject = {
  start: 3,
  end: 7,
  text: "rain",
  type: "TEXT_CONTENT",
  content_index: 1,
  sources: [{ type: "document", id: "doc:0", document: { url: "https://example.com/a", title: "A", text: "rain" } }],
};

export const COHERE = {
  answers: [
    {
      name: "text",
      whole: whole({ content: [{ type: "text", text: "Guten Tag, Wien." }] }, "COMPLETE"),
      events: events("COMPLETE", ...block(0, "text", "Guten Tag", ", Wien.")),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "thinking before text, cut off",
      whole: whole(
        {
          content: [
            { type: "thinking", thinking: "Think first." },
            { type: "text", text: "It is" },
          ],
        },
        "MAX_TOKENS",
      ),
      events: events("MAX_TOKENS", ...block(0, "thinking", "Think ", "first."), ...block(1, "text", "It is")),
      choices: [{ text: "It is", reasoning: "Think first.", finish: "length" }],
    },
    {
      name: "a plan and two calls, one without arguments",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: whole(
        {
          tool_plan: "I will look.",
          tool_calls: [call("weather_a", "weather", '{"city":"Wien"}'), call("clock_b", "clock", "null")],
        },
        "TOOL_CALL",
      ),
      events: events(
        "TOOL_CALL",
        said("tool-plan-delta", { tool_plan: "I will " }),
        said("tool-plan-delta", { tool_plan: "look." }),
        ...called(0, "weather_a", "weather", '{"city":', '"Wien"}'),
        ...called(1, "clock_b", "clock", "null"),
      ),
      choices: [
        {
          reasoning: "I will look.",
          calls: [
            { name: "weather", arguments: '{"city":"Wien"}' },
            { name: "clock", arguments: "{}" },
          ],
          finish: "tool_calls",
        },
      ],
    },
    {
      name: "a citation of the second block",
      whole: whole(
        {
          content: [
            { type: "text", text: "So: " },
            { type: "text", text: "it rains." },
          ],
          citations: [citation],
        },
        "STOP_SEQUENCE",
      ),
      events: events(
        "STOP_SEQUENCE",
        ...block(0, "text", "So: "),
        ...block(1, "text", "it ", "rains."),
        said("citation-start", { citations: citation }, 0),
        named("citation-end", { index: 0 }),
      ),
      choices: [
        {
          text: "So: it rains.",
          annotations: [
            {
              type: "url_citation",
              url_citation: { start_index: 7, end_index: 11, url: "https://example.com/a", title: "A" },
            },
          ],
          finish: "stop",
        },
      ],
    },
    {
      name: "content that was withheld",
      whole: whole({ content: [] }, "ERROR_TOXIC"),
      events: events("ERROR_TOXIC"),
      choices: [{ finish: "content_filter" }],
    },
  ],
  errors: [
    {
      event: "message-end",
      body: {
        type: "message-end",
        delta: { finish_reason: "ERROR", error: "The engine stopped." },
        finish_reason: "ERROR",
        error: "The engine stopped.",
      },
      message: "The engine stopped.",
    },
    { event: "", body: { id: "e1", message: "The service is down." }, message: "The service is down." },
  ],
};
