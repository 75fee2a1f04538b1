// Converts usageMetadata to usage. Thoughts are completion tokens that `candidatesTokenCount` excludes. What the
// server's own tools read counts as prompt tokens. https://ai.google.dev/api/generate-content#UsageMetadata
import type { Usage } from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import { type KnownFigures, withTier, withUnnamed } from "../../core/record/usage.ts";
import { isCount, mainTokenCount, tokenCount, usageOfText } from "../../core/record/token-count.ts";

/** `null` as long as there are no counts: Vertex sends only `trafficType` on all events but the last. */
export function decodeUsage(metadata: Json | undefined): Usage | null {
  if (!isObject(metadata)) return null;
  const { promptTokenCount: prompt, candidatesTokenCount: candidates, totalTokenCount: total } = metadata;
  const thoughts = tokenCount(metadata["thoughtsTokenCount"]);
  if (typeof prompt !== "number" && typeof candidates !== "number" && typeof total !== "number") return null;
  const completionTokens = mainTokenCount(candidates ?? 0) + thoughts;
  const toolTokens = tokenCount(metadata["toolUsePromptTokenCount"]);
  // Only the total counts a prompt with a file that the server read from its address.
  const promptTokens =
    isSet(prompt) || !isCount(total)
      ? mainTokenCount(prompt ?? 0) + toolTokens
      : Math.max(total - completionTokens, toolTokens);
  const {
    promptTokensDetails: given,
    candidatesTokensDetails: made,
    cacheTokensDetails: cached,
    toolUsePromptTokensDetails: read,
  } = metadata;
  const usage: Usage = {
    ...usageOfText(promptTokens, completionTokens),
    ...(isCount(total) && { total_tokens: total }),
    prompt_tokens_details: {
      cached_tokens: tokenCount(metadata["cachedContentTokenCount"]),
      ...figure("audio_tokens", tokensOf("AUDIO", given) + tokensOf("AUDIO", read)),
      ...figure("image_tokens", tokensOf("IMAGE", given) + tokensOf("IMAGE", read)),
      ...(tokensOf("AUDIO", cached) > 0 && { cached_tokens_details: { audio_tokens: tokensOf("AUDIO", cached) } }),
    },
    completion_tokens_details: {
      reasoning_tokens: thoughts,
      ...figure("audio_tokens", tokensOf("AUDIO", made)),
      ...figure("image_tokens", tokensOf("IMAGE", made)),
    },
  };
  const { trafficType: traffic } = metadata;
  // the others are said by the service tier
  const isUnsaid = typeof traffic === "string" && !TIERS.has(traffic);
  // a stream that breaks off has told its tier only here
  const served = withTier(usage, decodeServiceTier(metadata) ?? undefined);
  return withUnnamed(isUnsaid ? { ...served, traffic_type: traffic } : served, metadata, KNOWN);
}

const BY_MODALITY: KnownFigures = { modality: "figure", tokenCount: "figure" };
/** The members of https://ai.google.dev/api/generate-content#UsageMetadata, and those that Vertex AI adds. */
const KNOWN: KnownFigures = {
  promptTokenCount: "figure",
  cachedContentTokenCount: "figure",
  candidatesTokenCount: "figure",
  toolUsePromptTokenCount: "figure",
  thoughtsTokenCount: "figure",
  totalTokenCount: "figure",
  promptTokensDetails: BY_MODALITY,
  cacheTokensDetails: BY_MODALITY,
  candidatesTokensDetails: BY_MODALITY,
  toolUsePromptTokensDetails: BY_MODALITY,
  serviceTier: "figure",
  trafficType: "figure",
  // that of the request before its continuations: https://github.com/googleapis/js-genai
  initialPromptTokenCount: "figure",
};

function figure(name: string, tokens: number): JsonObject {
  return tokens > 0 ? { [name]: tokens } : {};
}

/**
 * The names of AI Studio, and those of Vertex: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo
 */
const TIERS: ReadonlyMap<string, string> = new Map([
  ["standard", "default"],
  ["flex", "flex"],
  ["priority", "priority"],
  ["ON_DEMAND", "default"],
  ["ON_DEMAND_FLEX", "flex"],
  ["ON_DEMAND_PRIORITY", "priority"],
]);

/** The tier that served, under OpenAI's name. */
export function decodeServiceTier(metadata: Json | undefined): string | null {
  if (!isObject(metadata)) return null;
  const tier = metadata["serviceTier"] ?? metadata["trafficType"];
  return typeof tier === "string" ? (TIERS.get(tier) ?? null) : null;
}

/** The tokens of one modality. */
function tokensOf(modality: string, details: Json | undefined): number {
  if (!Array.isArray(details)) return 0;
  let tokens = 0;
  for (const detail of details as readonly Json[])
    if (isObject(detail) && detail["modality"] === modality) tokens += tokenCount(detail["tokenCount"]);
  return tokens;
}

/** The number of Google's searches that a candidate tells of. */
export function queriesOf({ groundingMetadata: grounding }: JsonObject): number {
  const queries = isObject(grounding) ? grounding["webSearchQueries"] : undefined;
  return Array.isArray(queries) ? queries.length : 0;
}

/**
 * How many of so many searches Google bills: since Gemini 3 each query, and before each answer that was grounded.
 * https://ai.google.dev/gemini-api/docs/google-search#pricing
 */
export function billedSearches(queries: number, model: string): number {
  return BILLED_BY_ANSWER.test(model) ? Math.min(queries, 1) : queries;
}
const BILLED_BY_ANSWER = /gemini-(?:[12]\.|pro$|pro-vision|ultra)/;

/** The usage may be unknown: the searches are billed all the same. */
export function withSearches(usage: Usage | null, searches: number): Usage | null {
  if (searches === 0) return usage;
  return { ...(usage ?? usageOfText(Number.NaN, Number.NaN)), hosted_tools: { google_search: searches } };
}
