// Features of OpenAI's own that nearly no other vendor's schema has: https://platform.openai.com/docs/api-reference/chat
import type { Feature } from "../../core/capability.ts";

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

/** For models that read nothing but text. */
export const BEYOND_TEXT: readonly Feature[] = ["image_url", "input_audio", "video_url", "file", "document"];
