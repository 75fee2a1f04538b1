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

const KNOWN_TO_SOME_HOSTS: ReadonlySet<Feature> = new Set(["prediction", "service_tier", "prompt_cache_key"]);
/**
 * Of these, what all hosts, clouds and gateways of models lack. Each of their rows names which of the others it lacks.
 */
export const UNKNOWN_TO_HOSTS = OPENAI_ONLY.filter((name) => !KNOWN_TO_SOME_HOSTS.has(name));

/** Features that models that read only text do not have. */
export const BEYOND_TEXT: readonly Feature[] = ["image_url", "input_audio", "video_url", "file", "document"];
