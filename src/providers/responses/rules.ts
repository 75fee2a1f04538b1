// What the decoders of the Responses form have to know of the provider that speaks it.
import type { Json } from "../../core/json.ts";
import type { UpstreamFailure } from "../interface/upstream-failure.ts";

export interface ResponsesRules {
  /** Names the provider's encrypted reasoning, so that no other provider is sent it: `openai-responses-v1`. */
  readonly reasoningFormat: string;
  /** The member of `extra_content` in which a turn travels that chat completions cannot express. */
  readonly carriedAs: string;
  /** Reads an error that came with status 200. `text` is that of the body or event. */
  readonly failureOf: (parsed: Json, text: string) => UpstreamFailure;
}
