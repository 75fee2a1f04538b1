// The protocols of providers with an API other than OpenAI's. Each has an answer of about 1 KB, a stream of 200 events
// with content, and the provider's configuration. All streams contain the same text.
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { OPERATORS_KEY } from "../subjects/operators-key.ts";

export const EVENTS_PER_STREAM = 200;
export const MODEL = "bench-model";
export const PARAGRAPH =
  "A queue hands out what came first, a stack what came last. Work that has to be fair waits in a queue; work that has to be undone, or returned from, lies on a stack. ";

export interface Protocol {
  readonly id: string;
  readonly label: string;
  /** The provider's entry in the configuration, as YAML. */
  readonly entry: (address: string) => string;
  readonly whole: object;
  readonly contentType: string;
  readonly events: readonly (string | Uint8Array)[];
}

const EVENT_STREAM = "text/event-stream; charset=utf-8";
const TEXT = PARAGRAPH.repeat(4).trim();
const INDEXES = Array.from({ length: EVENTS_PER_STREAM }, (_, index) => index);
/** Returns several tokens, so that an event is as long as those of the other rows. */
const piece = (index: number): string =>
  ` what came first leaves first, and so on through the line of all that wait, ${index % 10}`;

export function sse(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function anthropic(): Protocol {
  const message = {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [{ type: "text", text: TEXT }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: 219,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 112,
      service_tier: "standard",
    },
  };
  const event = (type: string, fields: object): string => `event: ${type}\n${sse({ type, ...fields })}`;
  return {
    id: "anthropic",
    label: "Anthropic Messages",
    entry: (address) => `{ type: anthropic, base_url: "${address}", api_key: ${OPERATORS_KEY} }`,
    whole: message,
    contentType: EVENT_STREAM,
    events: [
      event("message_start", { message: { ...message, content: [], stop_reason: null } }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      event("ping", {}),
      ...INDEXES.map((index) =>
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: piece(index) } }),
      ),
      event("content_block_stop", { index: 0 }),
      event("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 1200 },
      }),
      event("message_stop", {}),
    ],
  };
}

function gemini(id: "gemini" | "vertex", label: string, entry: Protocol["entry"]): Protocol {
  const usageMetadata = { promptTokenCount: 219, candidatesTokenCount: 112, totalTokenCount: 331 };
  const answer = (text: string, finish: object): object => ({
    candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...finish }],
    usageMetadata,
    modelVersion: MODEL,
    responseId: "kXyZ1234abcd",
  });
  return {
    id,
    label,
    entry,
    whole: answer(TEXT, { finishReason: "STOP" }),
    contentType: EVENT_STREAM,
    events: [
      ...INDEXES.map((index) => sse(answer(piece(index), {})).replaceAll("\n", "\r\n")),
      sse(answer("", { finishReason: "STOP" })).replaceAll("\n", "\r\n"),
    ],
  };
}

function bedrock(): Protocol {
  const codec = new EventStreamCodec(
    (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
    (text) => Buffer.from(text, "utf8"),
  );
  const word = (value: string) => ({ type: "string" as const, value });
  const event = (type: string, fields: object): Uint8Array =>
    codec.encode({
      headers: { ":event-type": word(type), ":content-type": word("application/json"), ":message-type": word("event") },
      body: Buffer.from(JSON.stringify(fields)),
    });
  const usage = { inputTokens: 219, outputTokens: 112, totalTokens: 331 };
  return {
    id: "bedrock",
    label: "Bedrock Converse",
    entry: (address) =>
      `{ type: bedrock, base_url: "${address}", region: us-east-1, aws: { access_key_id: AKIABENCHBENCHBENCH0, secret_access_key: bench/bench/bench/bench/bench/bench/bench } }`,
    whole: {
      metrics: { latencyMs: 551 },
      output: { message: { content: [{ text: TEXT }], role: "assistant" } },
      stopReason: "end_turn",
      usage,
    },
    contentType: "application/vnd.amazon.eventstream",
    events: [
      event("messageStart", { role: "assistant" }),
      ...INDEXES.map((index) => event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: piece(index) } })),
      event("contentBlockStop", { contentBlockIndex: 0 }),
      event("messageStop", { stopReason: "end_turn" }),
      event("metadata", { metrics: { latencyMs: 551 }, usage }),
    ],
  };
}

function cohere(): Protocol {
  const usage = {
    billed_units: { input_tokens: 210, output_tokens: 112 },
    tokens: { input_tokens: 219, output_tokens: 112 },
  };
  const event = (type: string, fields: object): string => `event: ${type}\n${sse({ type, ...fields })}`;
  return {
    id: "cohere",
    label: "Cohere v2",
    entry: (address) => `{ type: cohere, base_url: "${address}", api_key: ${OPERATORS_KEY} }`,
    whole: {
      id: "0f3c5b1e-8f0a-4b0e-9a6e-1d2c3b4a5f60",
      finish_reason: "COMPLETE",
      message: { role: "assistant", content: [{ type: "text", text: TEXT }] },
      usage,
    },
    contentType: EVENT_STREAM,
    events: [
      event("message-start", {
        id: "0f3c5b1e-8f0a-4b0e-9a6e-1d2c3b4a5f60",
        delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } },
      }),
      event("content-start", { index: 0, delta: { message: { content: { type: "text", text: "" } } } }),
      ...INDEXES.map((index) =>
        event("content-delta", { index: 0, delta: { message: { content: { text: piece(index) } } } }),
      ),
      event("content-end", { index: 0 }),
      event("message-end", { delta: { finish_reason: "COMPLETE", usage } }),
    ],
  };
}

function ollama(): Protocol {
  const line = (content: string, fields: object): string =>
    `${JSON.stringify({ model: MODEL, created_at: "2026-01-01T00:00:00.000000Z", message: { role: "assistant", content }, ...fields })}\n`;
  const end = {
    done: true,
    done_reason: "stop",
    total_duration: 4883583458,
    load_duration: 1334875,
    prompt_eval_count: 219,
    prompt_eval_duration: 342546000,
    eval_count: 112,
    eval_duration: 4535599000,
  };
  return {
    id: "ollama",
    label: "Ollama chat",
    entry: (address) => `{ type: ollama, base_url: "${address}" }`,
    whole: JSON.parse(line(TEXT, end)) as object,
    contentType: "application/x-ndjson",
    events: [...INDEXES.map((index) => line(piece(index), { done: false })), line("", end)],
  };
}

/**
 * The Responses API. https://platform.openai.com/docs/api-reference/responses. Its events are long, so that they bring
 * the same words as those of chat completions.
 */
export function responsesProtocol(): Protocol {
  const id = "resp_68a1b2c3d4e5f60718293a4b5c6d7e8f";
  const item = "msg_68a1b2c3d4e5f60718293a4b5c6d7e90";
  const usage = {
    input_tokens: 219,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 112,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 331,
  };
  const response = (status: string, output: readonly object[], more: object): object => ({
    id,
    object: "response",
    created_at: 1_767_000_000,
    status,
    background: false,
    completed_at: status === "completed" ? 1_767_000_001 : null,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: 512,
    max_tool_calls: null,
    model: MODEL,
    output,
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 0.7,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
    metadata: {},
    ...more,
  });
  const part = (text: string): object => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const message = (status: string, content: readonly object[]): object => ({
    id: item,
    type: "message",
    status,
    role: "assistant",
    content,
  });
  const word = (index: number): string => ` word${index % 10}`;
  const whole = INDEXES.map(word).join("");
  const done = message("completed", [part(whole)]);
  const place = { item_id: item, output_index: 0, content_index: 0 };
  const events: readonly (readonly [string, object])[] = [
    ["response.created", { response: response("in_progress", [], { usage: null }) }],
    ["response.in_progress", { response: response("in_progress", [], { usage: null }) }],
    ["response.output_item.added", { output_index: 0, item: message("in_progress", []) }],
    ["response.content_part.added", { ...place, part: part("") }],
    ...INDEXES.map((index): readonly [string, object] => [
      "response.output_text.delta",
      { ...place, delta: word(index), logprobs: [] },
    ]),
    ["response.output_text.done", { ...place, text: whole, logprobs: [] }],
    ["response.content_part.done", { ...place, part: part(whole) }],
    ["response.output_item.done", { output_index: 0, item: done }],
    ["response.completed", { response: response("completed", [done], { usage }) }],
  ];
  return {
    id: "responses",
    label: "Responses",
    entry: (address) => `{ type: openai, base_url: "${address}", api_key: ${OPERATORS_KEY}, native: [responses] }`,
    whole: response("completed", [message("completed", [part(TEXT)])], { usage }),
    contentType: EVENT_STREAM,
    events: events.map(
      ([type, fields], index) => `event: ${type}\n${sse({ type, ...fields, sequence_number: index })}`,
    ),
  };
}

export const PROTOCOLS: readonly Protocol[] = [
  anthropic(),
  gemini("gemini", "Gemini", (address) => `{ type: gemini, base_url: "${address}", api_key: ${OPERATORS_KEY} }`),
  gemini(
    "vertex",
    "Vertex AI",
    (address) =>
      `{ type: vertex, base_url: "${address}", api_key: ${OPERATORS_KEY}, project: bench, location: us-central1 }`,
  ),
  bedrock(),
  cohere(),
  ollama(),
];
