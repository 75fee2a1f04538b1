// Four forms in which providers speak: how each says a turn of the model, plain and streamed, and what a request in it
// says. So one table of turns can be tried over all of them.
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { awsEventStream } from "../../harness/aws-events.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/upstream.ts";

/** A piece of a turn of the model. */
export type Said =
  | { readonly thinking: string; readonly signature?: string }
  | { readonly redacted: string }
  | { readonly text: string }
  | { readonly call: string; readonly name: string; readonly input: JsonObject };

/** A piece of a conversation. A `result` is that of the call with this id. */
export type Piece =
  | ({ readonly role: "assistant" } & Said)
  | { readonly role: "system" | "user"; readonly text: string }
  | { readonly role: "user"; readonly image: string }
  | { readonly role: "user"; readonly result: string; readonly text: string; readonly images?: readonly string[] };

export type End = "done" | "length" | "refusal";

/** `input` has all parts; `null` where the form has no word for a counter. */
export interface Counted {
  readonly input: number;
  readonly cached: number;
  readonly written: number | null;
  readonly output: number;
  readonly thinking: number | null;
}

export interface Vendor {
  readonly model: string;
  /** What its answers count. */
  readonly counted: Counted;
  readonly answer: (said: readonly Said[], end?: End) => CannedAnswer;
  readonly stream: (said: readonly Said[], end?: End) => CannedAnswer;
  /** What a request says, in order. */
  readonly heard: (body: any) => readonly Piece[];
}

const JSON_TYPE = { "content-type": "application/json" };
const STREAM_TYPE = { "content-type": "text/event-stream" };
const json = (body: object): CannedAnswer => ({ headers: JSON_TYPE, body: JSON.stringify(body) });

/** A text in pieces of three characters. */
const pieces = (text: string): readonly string[] => text.match(/.{1,3}/gsu) ?? [];
const isText = (one: Said): one is { readonly text: string } => "text" in one;
const textsOf = (said: readonly Said[]): string =>
  said
    .filter(isText)
    .map(({ text }) => text)
    .join("");

// OpenAI's form

const OPENAI_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

function openaiEnd(said: readonly Said[], end: End): string {
  if (end !== "done") return end === "length" ? "length" : "content_filter";
  return said.some((one) => "call" in one) ? "tool_calls" : "stop";
}

const openaiCalls = (said: readonly Said[]) =>
  said.flatMap((one) =>
    "call" in one
      ? [{ id: one.call, type: "function", function: { name: one.name, arguments: JSON.stringify(one.input) } }]
      : [],
  );

/** The calls come interleaved, as some servers send them. */
function openaiStream(said: readonly Said[], end: End = "done"): CannedAnswer {
  const calls = openaiCalls(said);
  const texts = said.flatMap((one) =>
    "thinking" in one
      ? pieces(one.thinking).map((reasoning_content) => openaiChunk({ reasoning_content }))
      : isText(one)
        ? pieces(one.text).map((content) => openaiChunk({ content }))
        : [],
  );
  const begun = calls.map((call, index) =>
    openaiChunk({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }] }),
  );
  const longest = Math.max(0, ...calls.map((call) => pieces(call.function.arguments).length));
  const rest = Array.from({ length: longest }, (_, at) =>
    calls.flatMap((call, index) => {
      const piece = pieces(call.function.arguments)[at];
      return piece === undefined ? [] : [openaiChunk({ tool_calls: [{ index, function: { arguments: piece } }] })];
    }),
  ).flat();
  const last = { ...openaiChunk({}), choices: [], usage: OPENAI_USAGE };
  return {
    headers: STREAM_TYPE,
    chunk: "event",
    body: eventStream(
      openaiChunk({ role: "assistant", content: "" }),
      ...texts,
      ...begun,
      ...rest,
      openaiChunk({}, openaiEnd(said, end)),
      last,
    ),
  };
}

function heardByOpenai({ messages }: any): readonly Piece[] {
  return (messages as readonly any[]).flatMap<any>(
    ({ role, content, reasoning_content: thinking, tool_calls: calls, ...more }) => {
      const parts: readonly any[] =
        typeof content === "string"
          ? content === "" && (calls ?? thinking) !== undefined
            ? []
            : [{ type: "text", text: content }]
          : (content ?? []);
      const said = parts.map((part) =>
        part.type === "text" ? { role, text: part.text } : { role, image: part.image_url.url.split(",")[1] },
      );
      if (role === "tool")
        return [{ role: "user", result: more.tool_call_id, text: said.map(({ text }) => text).join("") }];
      return [
        ...(thinking === undefined ? [] : [{ role, thinking }]),
        ...said,
        ...((calls as readonly any[] | undefined) ?? []).map(({ id, function: { name, arguments: text } }) => ({
          role,
          call: id,
          name,
          input: JSON.parse(text),
        })),
      ];
    },
  );
}

// Anthropic's form

const CLAUDE_USAGE = {
  input_tokens: 60,
  cache_read_input_tokens: 30,
  cache_creation_input_tokens: 10,
  output_tokens: 20,
  output_tokens_details: { thinking_tokens: 5 },
};

export function claudeAnswer(said: readonly Said[], end: End = "done"): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: said.map((one): JsonObject => {
      if ("thinking" in one) return { type: "thinking", thinking: one.thinking, signature: one.signature ?? "" };
      if ("redacted" in one) return { type: "redacted_thinking", data: one.redacted };
      if ("text" in one) return { type: "text", text: one.text };
      return { type: "tool_use", id: one.call, name: one.name, input: one.input };
    }),
    stop_reason:
      end === "length"
        ? "max_tokens"
        : end === "refusal"
          ? "refusal"
          : said.some((one) => "call" in one)
            ? "tool_use"
            : "end_turn",
    stop_sequence: null,
    usage: CLAUDE_USAGE,
  };
}

export function claudeEvents(answer: JsonObject): readonly { readonly event: string; readonly data: string }[] {
  const named = (type: string, rest: JsonObject) => ({ event: type, data: JSON.stringify({ type, ...rest }) });
  const start = named("message_start", {
    message: { ...answer, content: [], stop_reason: null, usage: { ...CLAUDE_USAGE, output_tokens: 1 } },
  });
  const blocks = (answer["content"] as readonly any[]).flatMap((block, index) => {
    const delta = (one: JsonObject) => named("content_block_delta", { index, delta: one });
    const begin = (one: JsonObject) => named("content_block_start", { index, content_block: one });
    const stop = named("content_block_stop", { index });
    switch (block.type) {
      case "thinking":
        return [
          begin({ type: "thinking", thinking: "", signature: "" }),
          ...pieces(block.thinking).map((thinking) => delta({ type: "thinking_delta", thinking })),
          delta({ type: "signature_delta", signature: block.signature }),
          stop,
        ];
      case "text":
        return [
          begin({ type: "text", text: "" }),
          ...pieces(block.text).map((text) => delta({ type: "text_delta", text })),
          stop,
        ];
      case "tool_use":
        return [
          begin({ ...block, input: {} }),
          ...pieces(JSON.stringify(block.input)).map((text) => delta({ type: "input_json_delta", partial_json: text })),
          stop,
        ];
      default:
        return [begin(block), stop];
    }
  });
  return [
    start,
    ...blocks,
    named("message_delta", { delta: { stop_reason: answer["stop_reason"]! }, usage: { output_tokens: 20 } }),
    named("message_stop", {}),
  ];
}

export const sseText = (events: readonly { readonly event?: string; readonly data: string }[]): string =>
  events.map(({ event, data }) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`).join("");

function heardByClaude({ system, messages }: any): readonly Piece[] {
  const block =
    (role: string) =>
    (one: any): any => {
      if (typeof one === "string") return { role, text: one };
      switch (one.type) {
        case "text":
          return { role, text: one.text };
        case "image":
          return { role, image: one.source.data };
        case "thinking":
          return { role, thinking: one.thinking, signature: one.signature };
        case "redacted_thinking":
          return { role, redacted: one.data };
        case "tool_use":
          return { role, call: one.id, name: one.name, input: one.input };
        default: {
          const inner = listOf(one.content ?? []).map(block(role));
          const images = inner.flatMap(({ image }) => image ?? []);
          const text = inner.map((part) => part.text ?? "").join("");
          return { role, result: one.tool_use_id, text, ...(images.length > 0 && { images }) };
        }
      }
    };
  return [
    ...listOf(system ?? []).map(block("system")),
    ...(messages as readonly any[]).flatMap(({ role, content }) => listOf(content).map(block(role))),
  ];
}

const listOf = (value: any): readonly any[] => (Array.isArray(value) ? value : [value]);

// Gemini's form

export function geminiAnswer(said: readonly Said[], end: End = "done"): JsonObject {
  const parts = said.flatMap((one): JsonObject[] => {
    if ("thinking" in one) return [{ text: one.thinking, thought: true }];
    if ("text" in one) return [{ text: one.text }];
    if ("call" in one) return [{ functionCall: { id: one.call, name: one.name, args: one.input } }];
    return [];
  });
  return {
    candidates: [
      {
        content: { role: "model", parts },
        finishReason: end === "length" ? "MAX_TOKENS" : end === "refusal" ? "SAFETY" : "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 15,
      thoughtsTokenCount: 5,
      totalTokenCount: 120,
    },
    modelVersion: "m",
    responseId: "r",
  };
}

function geminiStream(said: readonly Said[], end: End = "done"): CannedAnswer {
  const whole = geminiAnswer(said, end) as any;
  const [{ content, finishReason }] = whole.candidates;
  const chunks = (content.parts as readonly any[]).flatMap((part) =>
    part.text === undefined ? [part] : pieces(part.text).map((text) => ({ ...part, text })),
  );
  const events = [
    ...chunks.map((part) => ({ ...whole, candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] })),
    { ...whole, candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason, index: 0 }] },
  ];
  return {
    headers: STREAM_TYPE,
    chunk: "event",
    body: sseText(events.map((event) => ({ data: JSON.stringify(event) }))),
  };
}

function heardByGemini({ systemInstruction, contents }: any): readonly Piece[] {
  return [{ role: "system", parts: systemInstruction?.parts ?? [] }, ...contents].flatMap(({ role: own, parts }) =>
    (parts as readonly any[]).flatMap((part) => {
      const role = own === "model" ? "assistant" : own;
      if (part.functionCall !== undefined)
        return { role, call: part.functionCall.id, name: part.functionCall.name, input: part.functionCall.args };
      if (part.functionResponse !== undefined) {
        const { id, response, parts: media = [] } = part.functionResponse;
        const images = (media as readonly any[]).map(({ inlineData }) => inlineData.data);
        return { role, result: id, text: saidIn(response), ...(images.length > 0 && { images }) };
      }
      if (part.inlineData !== undefined) return { role, image: part.inlineData.data };
      return part.thought === true ? { role, thinking: part.text } : { role, text: part.text };
    }),
  );
}

function saidIn(response: Json): string {
  const [only] = Object.values(response as JsonObject);
  return typeof only === "string" ? only : JSON.stringify(only);
}

// Bedrock's form

function converseAnswer(said: readonly Said[], end: End): JsonObject {
  return {
    output: {
      message: {
        role: "assistant",
        content: said.map((one): JsonObject => {
          if ("thinking" in one)
            return { reasoningContent: { reasoningText: { text: one.thinking, signature: one.signature ?? "" } } };
          if ("redacted" in one) return { reasoningContent: { redactedContent: one.redacted } };
          if ("text" in one) return { text: one.text };
          return { toolUse: { toolUseId: one.call, name: one.name, input: one.input } };
        }),
      },
    },
    stopReason: converseEnd(said, end),
    usage: CONVERSE_USAGE,
    metrics: { latencyMs: 1 },
  };
}

const CONVERSE_USAGE = {
  inputTokens: 60,
  cacheReadInputTokens: 30,
  cacheWriteInputTokens: 10,
  outputTokens: 20,
  totalTokens: 120,
};

function converseEnd(said: readonly Said[], end: End): string {
  if (end !== "done") return end === "length" ? "max_tokens" : "content_filtered";
  return said.some((one) => "call" in one) ? "tool_use" : "end_turn";
}

function converseStream(said: readonly Said[], end: End = "done"): CannedAnswer {
  const blocks = said.flatMap((one, contentBlockIndex): (readonly [string, object])[] => {
    const delta = (what: object): readonly [string, object] => [
      "contentBlockDelta",
      { contentBlockIndex, delta: what },
    ];
    const stop = ["contentBlockStop", { contentBlockIndex }] as const;
    if ("thinking" in one)
      return [
        ...pieces(one.thinking).map((text) => delta({ reasoningContent: { text } })),
        delta({ reasoningContent: { signature: one.signature ?? "" } }),
        stop,
      ];
    if ("redacted" in one) return [delta({ reasoningContent: { redactedContent: one.redacted } }), stop];
    if ("text" in one) return [...pieces(one.text).map((text) => delta({ text })), stop];
    return [
      ["contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: one.call, name: one.name } } }],
      ...pieces(JSON.stringify(one.input)).map((input) => delta({ toolUse: { input } })),
      stop,
    ];
  });
  const told: readonly (readonly [string, object])[] = [
    ["messageStart", { role: "assistant" }],
    ...blocks,
    ["messageStop", { stopReason: converseEnd(said, end) }],
    ["metadata", { usage: CONVERSE_USAGE, metrics: { latencyMs: 1 } }],
  ];
  return {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    body: awsEventStream(told.map(([event, data]) => ({ event, data: JSON.stringify(data) }))),
    chunk: 50,
  };
}

function heardByConverse({ system, messages }: any): readonly Piece[] {
  const block =
    (role: string) =>
    (one: any): any => {
      if (one.text !== undefined) return [{ role, text: one.text }];
      if (one.image !== undefined) return [{ role, image: one.image.source.bytes }];
      if (one.toolUse !== undefined)
        return [{ role, call: one.toolUse.toolUseId, name: one.toolUse.name, input: one.toolUse.input }];
      if (one.toolResult !== undefined) {
        const inner = (one.toolResult.content as readonly any[]).flatMap(block(role));
        const images = inner.flatMap(({ image }) => image ?? []);
        const text = inner.map((part) => part.text ?? "").join("");
        return [{ role, result: one.toolResult.toolUseId, text, ...(images.length > 0 && { images }) }];
      }
      const { reasoningText, redactedContent } = one.reasoningContent ?? {};
      if (redactedContent !== undefined) return [{ role, redacted: redactedContent }];
      if (reasoningText !== undefined)
        return [{ role, thinking: reasoningText.text, signature: reasoningText.signature }];
      return [];
    };
  return [
    ...((system as readonly any[] | undefined) ?? []).flatMap(block("system")),
    ...(messages as readonly any[]).flatMap(({ role, content }) => (content as readonly any[]).flatMap(block(role))),
  ];
}

export const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: {
    model: "deepseek:deepseek-reasoner",
    counted: { input: 100, cached: 30, written: 10, output: 20, thinking: 5 },
    answer: (said, end = "done") => {
      const calls = openaiCalls(said);
      const thinking = said.flatMap((one) => ("thinking" in one ? [one.thinking] : [])).join("");
      const message = {
        ...(thinking !== "" && { reasoning_content: thinking }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      const content = said.some(isText) ? textsOf(said) : null;
      return json({
        ...openaiAnswer(content, { message, finish_reason: openaiEnd(said, end) }),
        usage: OPENAI_USAGE,
      });
    },
    stream: openaiStream,
    heard: heardByOpenai,
  },
  anthropic: {
    model: "anthropic:claude-sonnet-4-6",
    counted: { input: 100, cached: 30, written: 10, output: 20, thinking: 5 },
    answer: (said, end) => json(claudeAnswer(said, end)),
    stream: (said, end) => ({
      headers: STREAM_TYPE,
      chunk: "event",
      body: sseText(claudeEvents(claudeAnswer(said, end))),
    }),
    heard: heardByClaude,
  },
  gemini: {
    model: "gemini:gemini-3-flash-preview",
    counted: { input: 100, cached: 30, written: null, output: 20, thinking: 5 },
    answer: (said, end) => json(geminiAnswer(said, end)),
    stream: geminiStream,
    heard: heardByGemini,
  },
  bedrock: {
    model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    counted: { input: 100, cached: 30, written: 10, output: 20, thinking: null },
    answer: (said, end = "done") => json(converseAnswer(said, end)),
    stream: converseStream,
    heard: heardByConverse,
  },
};
