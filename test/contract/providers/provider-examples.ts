// Answers in each wire form, streamed and non-streaming, made up for the provider suite: the two agree, and the choices
// beside them are what a client has to receive. https://platform.openai.com/docs/api-reference/chat,
// https://platform.claude.com/docs/en/build-with-claude/streaming, https://ai.google.dev/api/generate-content
import type { JsonObject } from "../../../src/core/json.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import { VERTEX } from "./examples-vertex.ts";
import { COHERE } from "./examples-cohere.ts";
import { OLLAMA } from "./examples-ollama.ts";
import { BEDROCK } from "./examples-bedrock.ts";
import { COMPLETION_EXAMPLES } from "./examples-completions.ts";
import { responsesExamples } from "./examples-responses.ts";
import { REPLICATE_EXAMPLES } from "./examples-replicate.ts";
import { CLAUDE_CUT_OFF, WEATHER_AND_CLOCK, type WireExamples } from "./wire-examples.ts";

/** The encrypted reasoning of each row that has models which speak the Responses form alone. */
const RESPONSES_FORMATS: ReadonlyMap<string, string> = new Map([
  ["openai", "openai-responses-v1"],
  ["azure", "azure-openai-responses-v1"],
  ["azure_ai", "azure-openai-responses-v1"],
  ["xai", "xai-responses-v1"],
  ["copilot", "copilot-responses-v1"],
  ["bedrock-mantle", "bedrock-mantle-responses-v1"],
]);

/**
 * `path` is that of the requests to a model. Throws for a provider whose wire form has no examples: they come with the
 * provider.
 */
export function examplesOf(provider: Provider, path: string): WireExamples {
  if (path.endsWith("/responses")) return responsesExamples(RESPONSES_FORMATS.get(provider.id)!);
  const found = provider.sameShape ? OPENAI : OWN_FORMS.get(provider.id);
  if (found === undefined) throw new Error(`the wire form of ${provider.id} has no examples in ${import.meta.path}`);
  return found;
}

const plain = (data: JsonObject): SseEvent => ({ event: "", data: JSON.stringify(data) });

// --- OpenAI's form

const FRAME = { id: "chatcmpl-example", created: 1_760_000_000, model: "m" };
const openaiWhole = (...choices: readonly JsonObject[]): JsonObject => ({
  ...FRAME,
  object: "chat.completion",
  choices: choices.map((choice, index) => ({ index, logprobs: null, ...choice })),
  usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
});
const openaiEvents = (
  ...deltas: readonly (readonly [delta: JsonObject, finish: string | null, index?: number])[]
): readonly SseEvent[] => [
  ...deltas.map(([delta, finish, index = 0]) =>
    plain({
      ...FRAME,
      object: "chat.completion.chunk",
      choices: [{ index, delta, logprobs: null, finish_reason: finish }],
    }),
  ),
  plain({
    ...FRAME,
    object: "chat.completion.chunk",
    choices: [],
    usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
  }),
  { event: "", data: "[DONE]" },
];
const openaiCall = (id: string, name: string, text: string): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

const OPENAI: WireExamples = {
  answers: [
    {
      name: "text",
      whole: openaiWhole({
        message: { role: "assistant", content: "Guten Tag, Wien.", refusal: null },
        finish_reason: "stop",
      }),
      events: openaiEvents(
        [{ role: "assistant", content: "", refusal: null }, null],
        [{ content: "Guten Tag" }, null],
        [{ content: ", Wien." }, null],
        [{}, "stop"],
      ),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "reasoning before text, cut off",
      whole: openaiWhole({
        message: { role: "assistant", content: "It is", reasoning_content: "Think first." },
        finish_reason: "length",
      }),
      events: openaiEvents(
        [{ role: "assistant" }, null],
        [{ reasoning_content: "Think " }, null],
        [{ reasoning_content: "first." }, null],
        [{ content: "It is" }, "length"],
      ),
      choices: [{ text: "It is", reasoning: "Think first.", finish: "length" }],
    },
    {
      name: "two calls, one without arguments",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: openaiWhole({
        message: {
          role: "assistant",
          content: null,
          tool_calls: [openaiCall("call_a", "weather", '{"city":"Wien"}'), openaiCall("call_b", "clock", "{}")],
        },
        finish_reason: "tool_calls",
      }),
      events: openaiEvents(
        [
          { role: "assistant", content: null, tool_calls: [{ index: 0, ...openaiCall("call_a", "weather", "") }] },
          null,
        ],
        [{ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }, null],
        [{ tool_calls: [{ index: 0, function: { arguments: '"Wien"}' } }] }, null],
        [{ tool_calls: [{ index: 1, ...openaiCall("call_b", "clock", "") }] }, null],
        [{}, "tool_calls"],
      ),
      choices: [
        {
          calls: [
            { name: "weather", arguments: '{"city":"Wien"}' },
            { name: "clock", arguments: "{}" },
          ],
          finish: "tool_calls",
        },
      ],
    },
    {
      name: "two choices, one refused",
      whole: openaiWhole(
        { message: { role: "assistant", content: "A" }, finish_reason: "stop" },
        { message: { role: "assistant", content: null, refusal: "I will not." }, finish_reason: "content_filter" },
      ),
      events: openaiEvents(
        [{ role: "assistant", content: "" }, null, 0],
        [{ role: "assistant", content: "" }, null, 1],
        [{ refusal: "I will " }, null, 1],
        [{ content: "A" }, null, 0],
        [{ refusal: "not." }, null, 1],
        [{}, "stop", 0],
        [{}, "content_filter", 1],
      ),
      choices: [
        { text: "A", finish: "stop" },
        { refusal: "I will not.", finish: "content_filter" },
      ],
    },
  ],
  errors: [
    {
      event: "",
      body: { error: { message: "The engine stopped.", type: "server_error", param: null, code: null } },
      message: "The engine stopped.",
    },
    { event: "error", body: { message: "The engine stopped." }, message: "The engine stopped." },
  ],
};

// --- Anthropic's form

const named = (type: string, rest: JsonObject): SseEvent => ({ event: type, data: JSON.stringify({ type, ...rest }) });
const claude = (content: readonly JsonObject[], stop: string): JsonObject => ({
  id: "msg_example",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 4, output_tokens: 3 },
});
const claudeEvents = (
  blocks: readonly (readonly [start: JsonObject, ...deltas: readonly JsonObject[]])[],
  stop: string,
): readonly SseEvent[] => [
  named("message_start", {
    message: { ...claude([], ""), stop_reason: null, usage: { input_tokens: 4, output_tokens: 1 } },
  }),
  named("ping", {}),
  ...blocks.flatMap(([start, ...deltas], index) => [
    named("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => named("content_block_delta", { index, delta })),
    named("content_block_stop", { index }),
  ]),
  named("message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 3 } }),
  named("message_stop", {}),
];
const textDelta = (text: string): JsonObject => ({ type: "text_delta", text });
const inputDelta = (partial_json: string): JsonObject => ({ type: "input_json_delta", partial_json });

const ANTHROPIC: WireExamples = {
  answers: [
    {
      name: "text",
      whole: claude([{ type: "text", text: "Guten Tag, Wien." }], "end_turn"),
      events: claudeEvents([[{ type: "text", text: "" }, textDelta("Guten Tag"), textDelta(", Wien.")]], "end_turn"),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "signed thinking, hidden thinking, text, cut off",
      whole: claude(
        [
          { type: "thinking", thinking: "Think first.", signature: "c2ln" },
          { type: "redacted_thinking", data: "aGlkZGVu" },
          { type: "text", text: "It is" },
        ],
        "max_tokens",
      ),
      events: claudeEvents(
        [
          [
            { type: "thinking", thinking: "", signature: "" },
            { type: "thinking_delta", thinking: "Think " },
            { type: "thinking_delta", thinking: "first." },
            { type: "signature_delta", signature: "c2ln" },
          ],
          [{ type: "redacted_thinking", data: "aGlkZGVu" }],
          [{ type: "text", text: "" }, textDelta("It is")],
        ],
        "max_tokens",
      ),
      choices: [CLAUDE_CUT_OFF],
    },
    {
      name: "text and two calls, one without input",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: claude(
        [
          { type: "text", text: "Let me see." },
          { type: "tool_use", id: "toolu_a", name: "weather", input: { city: "Wien" } },
          { type: "tool_use", id: "toolu_b", name: "clock", input: {} },
        ],
        "tool_use",
      ),
      events: claudeEvents(
        [
          [{ type: "text", text: "" }, textDelta("Let me see.")],
          [
            { type: "tool_use", id: "toolu_a", name: "weather", input: {} },
            inputDelta(""),
            inputDelta('{"city":'),
            inputDelta('"Wien"}'),
          ],
          [{ type: "tool_use", id: "toolu_b", name: "clock", input: {} }, inputDelta("")],
        ],
        "tool_use",
      ),
      choices: [
        {
          text: "Let me see.",
          calls: [
            { name: "weather", arguments: '{"city":"Wien"}' },
            { name: "clock", arguments: "{}" },
          ],
          finish: "tool_calls",
        },
      ],
    },
    {
      name: "JSON mode by a forced tool",
      asked: { response_format: { type: "json_object" } },
      whole: claude(
        [{ type: "tool_use", id: "toolu_j", name: "respond_with_json", input: { city: "Wien" } }],
        "tool_use",
      ),
      events: claudeEvents(
        [
          [
            { type: "tool_use", id: "toolu_j", name: "respond_with_json", input: {} },
            inputDelta('{"city":'),
            inputDelta('"Wien"}'),
          ],
        ],
        "tool_use",
      ),
      choices: [{ text: '{"city":"Wien"}', finish: "stop" }],
    },
    {
      name: "a refusal",
      whole: { ...claude([], "refusal"), stop_details: { explanation: "I will not." } },
      events: [
        ...claudeEvents([], "refusal").slice(0, -2),
        named("message_delta", {
          delta: { stop_reason: "refusal", stop_details: { explanation: "I will not." } },
          usage: { output_tokens: 3 },
        }),
        named("message_stop", {}),
      ],
      choices: [{ refusal: "I will not.", finish: "content_filter" }],
    },
    {
      name: "a citation",
      whole: claude(
        [
          { type: "text", text: "So it is said: " },
          {
            type: "text",
            text: "rain.",
            citations: [
              { type: "web_search_result_location", url: "https://example.com/a", title: "A", cited_text: "rain" },
            ],
          },
        ],
        "end_turn",
      ),
      events: claudeEvents(
        [
          [{ type: "text", text: "" }, textDelta("So it is said: ")],
          [
            { type: "text", text: "", citations: [] },
            textDelta("ra"),
            textDelta("in."),
            {
              type: "citations_delta",
              citation: {
                type: "web_search_result_location",
                url: "https://example.com/a",
                title: "A",
                cited_text: "rain",
              },
            },
          ],
        ],
        "end_turn",
      ),
      choices: [
        {
          text: "So it is said: rain.",
          annotations: [
            {
              type: "url_citation",
              url_citation: { start_index: 15, end_index: 20, url: "https://example.com/a", title: "A" },
            },
          ],
          finish: "stop",
        },
      ],
    },
  ],
  errors: [
    {
      event: "error",
      body: { type: "error", error: { type: "overloaded_error", message: "Overloaded, come back." } },
      message: "Overloaded, come back.",
    },
  ],
};

// --- Gemini's form

const google = (candidates: readonly JsonObject[], last = true): JsonObject => ({
  candidates,
  usageMetadata: { promptTokenCount: 4, ...(last && { candidatesTokenCount: 3, totalTokenCount: 7 }) },
  modelVersion: "m",
  responseId: "example",
});
const candidate = (parts: readonly JsonObject[], finish: string | null, index = 0): JsonObject => ({
  content: { role: "model", parts },
  ...(finish !== null && { finishReason: finish }),
  index,
});
const googleEvents = (...candidates: readonly JsonObject[]): readonly SseEvent[] =>
  candidates.map((each, at) => plain(google([each], at === candidates.length - 1)));

const GEMINI: WireExamples = {
  answers: [
    {
      name: "text",
      whole: google([candidate([{ text: "Guten Tag, Wien." }], "STOP")]),
      events: googleEvents(candidate([{ text: "Guten Tag" }], null), candidate([{ text: ", Wien." }], "STOP")),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "thoughts before text, cut off",
      whole: google([candidate([{ text: "Think first.", thought: true }, { text: "It is" }], "MAX_TOKENS")]),
      events: googleEvents(
        candidate([{ text: "Think ", thought: true }], null),
        candidate([{ text: "first.", thought: true }], null),
        candidate([{ text: "It is" }], "MAX_TOKENS"),
      ),
      choices: [{ text: "It is", reasoning: "Think first.", finish: "length" }],
    },
    {
      name: "two calls, one without arguments",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: google([
        candidate(
          [
            { functionCall: { id: "fc_a", name: "weather", args: { city: "Wien" } }, thoughtSignature: "c2ln" },
            { functionCall: { id: "fc_b", name: "clock" } },
          ],
          "STOP",
        ),
      ]),
      events: googleEvents(
        candidate(
          [{ functionCall: { id: "fc_a", name: "weather", args: { city: "Wien" } }, thoughtSignature: "c2ln" }],
          null,
        ),
        candidate([{ functionCall: { id: "fc_b", name: "clock" } }], "STOP"),
      ),
      choices: [
        {
          calls: [
            { name: "weather", arguments: '{"city":"Wien"}' },
            { name: "clock", arguments: "{}" },
          ],
          finish: "tool_calls",
        },
      ],
    },
    {
      name: "two candidates, one withheld",
      whole: google([candidate([{ text: "A" }], "STOP", 0), candidate([], "SAFETY", 1)]),
      events: googleEvents(candidate([{ text: "A" }], "STOP", 0), candidate([], "SAFETY", 1)),
      choices: [{ text: "A", finish: "stop" }, { finish: "content_filter" }],
    },
    {
      name: "a prompt that was refused",
      whole: {
        promptFeedback: { blockReason: "SAFETY" },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
        responseId: "example",
      },
      events: [
        plain({
          promptFeedback: { blockReason: "SAFETY" },
          usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
          responseId: "example",
        }),
      ],
      choices: [{ finish: "content_filter" }],
    },
  ],
  errors: [
    {
      event: "",
      body: { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } },
      message: "The model is overloaded.",
    },
  ],
};

const OWN_FORMS: ReadonlyMap<string, WireExamples> = new Map<string, WireExamples>([
  ["anthropic", ANTHROPIC],
  ["gemini", GEMINI],
  ["vertex", VERTEX],
  ["cohere", COHERE],
  ["ollama", OLLAMA],
  ["bedrock", BEDROCK],
  ...COMPLETION_EXAMPLES,
  ["replicate", REPLICATE_EXAMPLES],
]);
