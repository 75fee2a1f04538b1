// Groups of features that a row lacks together.
import type { Feature } from "../../core/capability.ts";

/**
 * Specific to OpenAI, so that hardly any other vendor's schema has them:
 * https://platform.openai.com/docs/api-reference/chat
 */
export const OPENAI_ONLY: readonly Feature[] = [
  "verbosity",
  "modalities",
  "audio",
  "prediction",
  "service_tier",
  "store",
  "prompt_cache_key",
  "web_search_options",
  "safety_identifier",
];

export const LOGPROBS: readonly Feature[] = ["logprobs", "top_logprobs"];
export const PENALTIES: readonly Feature[] = ["presence_penalty", "frequency_penalty"];
export const TOOLS: readonly Feature[] = ["tools", "tool_choice", "parallel_tool_calls"];
export const FILES: readonly Feature[] = ["file", "document"];
/** What models lack that read only text and images, and what models lack that read only text. */
export const BEYOND_IMAGES: readonly Feature[] = ["input_audio", "video_url", ...FILES];
export const BEYOND_TEXT: readonly Feature[] = ["image_url", ...BEYOND_IMAGES];

/** The features of a group, for a row that lacks all but a few of them. */
export function without(features: readonly Feature[], ...others: readonly Feature[]): readonly Feature[] {
  return features.filter((name) => !others.includes(name));
}
