// What all raw prompt endpoints have in common: text in, text out, and the parameters that shape the prompt.
import {
  type Capability,
  type CapabilityCells,
  emulated,
  mapped,
  UNSUPPORTED,
  unsupported,
  same,
} from "../../core/capability.ts";
import type { PromptCells } from "../conversation/prompt-parameters.ts";

const IN_PROMPT: Capability = mapped("part of the prompt; see prompt-templates.md");
const TEMPLATE: Capability = mapped("selects the built-in prompt template; see prompt-templates.md");

/** For endpoints that return one answer per call. */
export const AS_MANY_CALLS: Capability = emulated(
  "the gateway sends n requests in parallel, each with the whole prompt; the usage is their sum",
);

/** `stop` is mapped and never native, because a prompt in the plain form adds the mark of the next speaker. */
export const STOP_NOTE = "the plain prompt template adds the next speaker's marker if there is room";

export const PROMPT_CELLS: PromptCells = {
  ...same(IN_PROMPT, "initial_prompt_value", "roles", "final_prompt_value", "bos_token", "eos_token"),
  hf_model_name: TEMPLATE,
};

/** Features that no form supports. A new common parameter does not compile in the forms until it has a cell. */
export const NEVER_IN_PROMPTS = {
  ...same(UNSUPPORTED, "safety_identifier", "reasoning_effort", "verbosity", "modalities", "audio", "prediction"),
  ...same(UNSUPPORTED, "service_tier", "store", "prompt_cache_key", "web_search_options", "image_url", "input_audio"),
  ...same(UNSUPPORTED, "video_url", "file", "document"),
  ...same(unsupported("raw prompts have no tools"), "tools", "tool_choice", "parallel_tool_calls"),
  deployment_id: unsupported("Azure only"),
} as const satisfies Partial<CapabilityCells>;
