// Turns of the model in Anthropic's Messages API, and what a request in that form says.
import type { JsonObject } from "../../../src/core/json.ts";
import { type End, json, type Piece, pieces, type Said, sseText, STREAM_TYPE, type Vendor } from "./said.ts";

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

export const CLAUDE: Vendor = {
  model: "anthropic:claude-sonnet-4-6",
  counted: { input: 100, cached: 30, written: 10, output: 20, thinking: 5 },
  answer: (said, end) => json(claudeAnswer(said, end)),
  stream: (said, end) => ({
    headers: STREAM_TYPE,
    chunk: "event",
    body: sseText(claudeEvents(claudeAnswer(said, end))),
  }),
  heard: heardByClaude,
};
