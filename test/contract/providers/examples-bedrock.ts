// Answers of Converse and ConverseStream, made up for the provider suite, and model names that reach every family of its table.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
import type { JsonObject } from "../../../src/core/json.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import { CLAUDE_CUT_OFF, WEATHER_AND_CLOCK, type WireExamples } from "./wire-examples.ts";

export const BEDROCK_MODELS: readonly string[] = [
  "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  "anthropic.claude-v2:1",
  "anthropic.claude-3-5-haiku-20241022-v1:0",
  "anthropic.claude-3-haiku-20240307-v1:0",
  "anthropic.claude-3-5-sonnet-20241022-v2:0",
  "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
  "us.anthropic.claude-opus-4-1-20250805-v1:0",
  "global.anthropic.claude-opus-4-5-20251101-v1:0",
  "us.anthropic.claude-sonnet-4-6",
  "us.anthropic.claude-opus-4-7",
  "us.anthropic.claude-opus-4-8",
  "us.anthropic.claude-opus-5",
  "us.anthropic.claude-opus-4-20250514-v1:0",
  "us.anthropic.claude-sonnet-4-20250514-v1:0",
  "us.anthropic.claude-opus-5-5",
  "us.anthropic.claude-sonnet-5-5",
  "us.anthropic.claude-haiku-5-5",
  "us.anthropic.claude-fable-5-1",
  "us.anthropic.claude-mythos-5",
  "us.anthropic.claude-sonnet-5",
  "us.anthropic.claude-haiku-6",
  "us.amazon.nova-2-lite-v1:0",
  "amazon.nova-micro-v1:0",
  "amazon.nova-lite-v1:0",
  "amazon.titan-text-premier-v1:0",
  "amazon.titan-text-express-v1",
  "ai21.jamba-instruct-v1:0",
  "ai21.jamba-1-5-large-v1:0",
  "cohere.command-r-plus-v1:0",
  "cohere.command-text-v14",
  "meta.llama3-8b-instruct-v1:0",
  "us.meta.llama4-scout-17b-instruct-v1:0",
  "us.meta.llama3-3-70b-instruct-v1:0",
  "mistral.mistral-7b-instruct-v0:2",
  "mistral.mistral-small-2402-v1:0",
  "us.mistral.pixtral-large-2502-v1:0",
  "mistral.mistral-large-2407-v1:0",
  "mistral.voxtral-small-24b-2507",
  "mistral.ministral-3-8b-instruct",
  "us.deepseek.r1-v1:0",
  "deepseek.v3-v1:0",
  "minimax.minimax-m2",
  "moonshot.kimi-k2-thinking",
  "zai.glm-4.7",
  "nvidia.nemotron-nano-12b-v2",
  "qwen.qwen3-32b-v1:0",
  "openai.gpt-oss-120b-1:0",
  "us.openai.gpt-5.6-sol",
  "us.writer.palmyra-x5-v1:0",
  "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcd1234",
];

const USAGE = { inputTokens: 4, outputTokens: 3, totalTokens: 7 };
const whole = (content: readonly JsonObject[], stopReason: string): JsonObject => ({
  output: { message: { role: "assistant", content } },
  stopReason,
  usage: USAGE,
  metrics: { latencyMs: 5 },
});
const event = (name: string, data: JsonObject): SseEvent => ({
  event: name,
  data: JSON.stringify({ ...data, p: "abcd" }),
});
/** A block: its start, null where the vendor sends none, and its deltas. */
type Block = readonly [start: JsonObject | null, ...deltas: readonly JsonObject[]];
const events = (blocks: readonly Block[], stopReason: string): readonly SseEvent[] => [
  event("messageStart", { role: "assistant" }),
  ...blocks.flatMap(([start, ...deltas], contentBlockIndex) => [
    ...(start === null ? [] : [event("contentBlockStart", { contentBlockIndex, start })]),
    ...deltas.map((delta) => event("contentBlockDelta", { contentBlockIndex, delta })),
    event("contentBlockStop", { contentBlockIndex }),
  ]),
  event("messageStop", { stopReason }),
  event("metadata", { usage: USAGE, metrics: { latencyMs: 5 } }),
];
const thought = (more: JsonObject): JsonObject => ({ reasoningContent: more });
const input = (text: string): JsonObject => ({ toolUse: { input: text } });
const call = (toolUseId: string, name: string, more: JsonObject = {}): JsonObject => ({
  toolUse: { toolUseId, name, ...more },
});

export const BEDROCK: WireExamples = {
  answers: [
    {
      name: "text",
      whole: whole([{ text: "Guten Tag, Wien." }], "end_turn"),
      events: events([[null, { text: "Guten Tag" }, { text: ", Wien." }]], "end_turn"),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "signed reasoning, hidden reasoning, text, cut off",
      whole: whole(
        [
          thought({ reasoningText: { text: "Think first.", signature: "c2ln" } }),
          thought({ redactedContent: "aGlkZGVu" }),
          { text: "It is" },
        ],
        "max_tokens",
      ),
      events: events(
        [
          [null, thought({ text: "Think " }), thought({ text: "first." }), thought({ signature: "c2ln" })],
          [null, thought({ redactedContent: "aGlkZGVu" })],
          [null, { text: "It is" }],
        ],
        "max_tokens",
      ),
      choices: [CLAUDE_CUT_OFF],
    },
    {
      name: "text and two calls, one without input",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: whole(
        [
          { text: "Let me see." },
          call("tooluse_a", "weather", { input: { city: "Wien" }, type: "tool_use" }),
          call("tooluse_b", "clock", { input: {} }),
        ],
        "tool_use",
      ),
      events: events(
        [
          [null, { text: "Let me see." }],
          [call("tooluse_a", "weather"), input(""), input('{"city":'), input('"Wien"}')],
          [call("tooluse_b", "clock"), input("")],
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
      name: "a tool that the service ran, beside one of the caller's",
      asked: { tools: [{ type: "function", function: { name: "weather" } }] },
      whole: whole(
        [
          call("tooluse_s", "code_runner", { input: { snippet: "1+1" }, type: "server_tool_use" }),
          { toolResult: { toolUseId: "tooluse_s", content: [{ json: { out: "2" } }], status: "success" } },
          call("tooluse_a", "weather", { input: { city: "Wien" } }),
        ],
        "tool_use",
      ),
      events: events(
        [
          [call("tooluse_s", "code_runner", { type: "server_tool_use" }), input('{"snippet":"1+1"}')],
          [{ toolResult: { toolUseId: "tooluse_s", status: "success" } }, { toolResult: [{ json: { out: "2" } }] }],
          [call("tooluse_a", "weather"), input('{"city":"Wien"}')],
        ],
        "tool_use",
      ),
      choices: [{ calls: [{ name: "weather", arguments: '{"city":"Wien"}' }], finish: "tool_calls" }],
    },
    {
      name: "JSON mode by a forced tool",
      asked: { response_format: { type: "json_object" } },
      whole: whole([call("tooluse_j", "respond_with_json", { input: { city: "Wien" } })], "tool_use"),
      events: events([[call("tooluse_j", "respond_with_json"), input('{"city":'), input('"Wien"}')]], "tool_use"),
      choices: [{ text: '{"city":"Wien"}', finish: "stop" }],
    },
    {
      name: "an answer that a guardrail changed",
      whole: {
        ...whole([{ text: "I cannot say." }], "guardrail_intervened"),
        trace: { guardrail: { actionReason: "masked" } },
      },
      events: [
        ...events([[null, { text: "I cannot " }, { text: "say." }]], "guardrail_intervened").slice(0, -1),
        event("metadata", { usage: USAGE, trace: { guardrail: { actionReason: "masked" } } }),
      ],
      choices: [{ text: "I cannot say.", finish: "content_filter" }],
    },
    {
      name: "a citation",
      whole: whole(
        [
          { text: "So it is said: " },
          {
            citationsContent: {
              content: [{ text: "rain." }],
              citations: [
                {
                  title: "A",
                  location: { web: { url: "https://example.com/a", domain: "example.com" } },
                  sourceContent: [{ text: "rain" }],
                },
                { title: "B", location: { documentChar: { documentIndex: 0, start: 0, end: 4 } } },
              ],
            },
          },
        ],
        "end_turn",
      ),
      events: events(
        [
          [null, { text: "So it is said: " }],
          [
            null,
            { text: "ra" },
            { text: "in." },
            { citation: { title: "A", location: { web: { url: "https://example.com/a", domain: "example.com" } } } },
            { citation: { title: "B", location: { documentChar: { documentIndex: 0, start: 0, end: 4 } } } },
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
      event: "modelStreamErrorException",
      body: { message: "The model stopped.", originalStatusCode: 500, originalMessage: "oops" },
      message: "The model stopped.",
    },
    {
      event: "throttlingException",
      body: { message: "Too many requests, wait." },
      message: "Too many requests, wait.",
    },
    { event: "error", body: { code: "InternalFailure", message: "Something broke." }, message: "Something broke." },
  ],
};
