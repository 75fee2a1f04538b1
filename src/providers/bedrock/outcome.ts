// How an answer ended and what it used, in the terms of chat completions:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stopReason),
// API_runtime_TokenUsage.html
import type { FinishReason, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { type KnownFigures, withUnnamed } from "../../core/usage.ts";
import { mainTokenCount, tokenCount } from "../token-count.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
  // The service could not parse the model's output as tool calls. The answer has ended and holds what could be parsed.
  malformed_model_output: "stop",
  malformed_tool_use: "stop",
};

export interface Finish {
  readonly finish_reason: FinishReason;
  readonly native_finish_reason: string;
}

/**
 * `hasCalls` is true when the answer holds tool calls that the caller has to run. A stop reason that the vendor adds
 * later counts as `end_turn`.
 */
export function finishOf(stopReason: string, hasCalls: boolean): Finish {
  const word = FINISH[stopReason] ?? "stop";
  const isNormal = word === "stop" || word === "tool_calls";
  return { finish_reason: isNormal ? (hasCalls ? "tool_calls" : "stop") : word, native_finish_reason: stopReason };
}

/** True when a tool call's input may have been cut off. */
export function isCutOff(stopReason: string): boolean {
  return FINISH[stopReason] === "length";
}

/**
 * The members of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html, and the older
 * names that some regions send beside them.
 */
const KNOWN: KnownFigures = {
  inputTokens: "figure",
  outputTokens: "figure",
  totalTokens: "figure",
  cacheReadInputTokens: "figure",
  cacheWriteInputTokens: "figure",
  cacheReadInputTokenCount: "figure",
  cacheWriteInputTokenCount: "figure",
  cacheDetails: { ttl: "figure", inputTokens: "figure" },
};

/**
 * `inputTokens` excludes what was read from and written to the cache, while `prompt_tokens` counts all three. Each
 * cache figure may appear a second time with the same value under an older name.
 */
export function usageOf(native: JsonObject): Usage {
  const read = native["cacheReadInputTokens"] ?? native["cacheReadInputTokenCount"];
  const written = native["cacheWriteInputTokens"] ?? native["cacheWriteInputTokenCount"];
  const prompt = mainTokenCount(native["inputTokens"]) + tokenCount(read) + tokenCount(written);
  const details = Array.isArray(native["cacheDetails"])
    ? (native["cacheDetails"] as readonly Json[]).filter(isObject)
    : [];
  const hour = details
    .filter(({ ttl }) => ttl === "1h")
    .reduce((sum, detail) => sum + tokenCount(detail["inputTokens"]), 0);
  const completion = mainTokenCount(native["outputTokens"]);
  const usage: Usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...((typeof read === "number" || typeof written === "number") && {
      prompt_tokens_details: {
        ...(typeof read === "number" && { cached_tokens: tokenCount(read) }),
        ...(typeof written === "number" && { cache_write_tokens: tokenCount(written) }),
        ...(hour > 0 && { cache_write_1h_tokens: hour }),
      },
    }),
  };
  return withUnnamed(usage, native, KNOWN);
}

/**
 * What the vendor reports beside the answer: a guardrail's findings, the model fields that were requested, and the tier
 * that served.
 */
export function besideAnswer({
  trace,
  additionalModelResponseFields: fields,
  serviceTier: tier,
}: JsonObject): JsonObject {
  return {
    ...(isObject(trace) && { trace }),
    ...(fields !== undefined && fields !== null && { additionalModelResponseFields: fields }),
    ...(isObject(tier) && typeof tier["type"] === "string" && { service_tier: tier["type"] }),
  };
}
