// Turns of the model in Bedrock's Converse, and what a request in that form says.
import type { JsonObject } from "../../../src/core/json.ts";
import { awsEventStream } from "../../harness/servers/aws-events.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";
import { type End, json, type Piece, pieces, type Said, type Vendor } from "./said.ts";

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

export const CONVERSE: Vendor = {
  model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  counted: { input: 100, cached: 30, written: 10, output: 20, thinking: null },
  answer: (said, end = "done") => json(converseAnswer(said, end)),
  stream: converseStream,
  heard: heardByConverse,
};
