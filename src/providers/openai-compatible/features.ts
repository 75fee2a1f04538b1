// Features specific to OpenAI that hardly any other vendor's schema has:
// https://platform.openai.com/docs/api-reference/chat
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

/** Features that models that read only text do not have. */
export const BEYOND_TEXT: readonly Feature[] = ["image_url", "input_audio", "video_url", "file", "document"];
