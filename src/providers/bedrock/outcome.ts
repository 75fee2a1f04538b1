// How an answer ended and what it used, in the terms of chat completions:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stopReason),
// API_runtime_TokenUsage.html
import type { Usage } from "../../core/chat.ts";
import { isObject, type JsonObject, objectsIn } from "../../core/json.ts";
import { type KnownFigures, withUnnamed } from "../../core/record/usage.ts";
import { stopReasons } from "../content-blocks/finish-reasons.ts";
import { mainTokenCount, tokenCount, usageOfText } from "../../core/record/token-count.ts";

export const { finishOf, isCutOff } = stopReasons({
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
  // The service could not parse the model's output as tool calls. The answer has ended and holds what could be parsed.
  malformed_model_output: "stop",
  malformed_tool_use: "stop",
});

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
  const hour = objectsIn(native["cacheDetails"])
    .filter(({ ttl }) => ttl === "1h")
    .reduce((sum, detail) => sum + tokenCount(detail["inputTokens"]), 0);
  const completion = mainTokenCount(native["outputTokens"]);
  const usage: Usage = {
    ...usageOfText(prompt, completion),
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
