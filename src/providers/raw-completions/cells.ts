// What all raw prompt endpoints have in common: text in, text out, and the parameters that shape the prompt.
import {
  type Capability,
  type CapabilityCells,
  emulated,
  mapped,
  UNSUPPORTED,
  unsupported,
} from "../../core/capability.ts";
import type { PromptCells } from "../conversation/prompt-parameters.ts";

const IN_PROMPT: Capability = mapped("part of the prompt; see prompt-templates.md");
const TEMPLATE: Capability = mapped("selects the built-in prompt template; see prompt-templates.md");
const NO_TOOLS: Capability = unsupported("raw prompts have no tools");

/** For endpoints that return one answer per call. */
export const AS_MANY_CALLS: Capability = emulated(
  "the gateway sends n requests in parallel, each with the whole prompt; the usage is their sum",
);

/** `stop` is mapped and never native, because a prompt in the plain form adds the mark of the next speaker. */
export const STOP_NOTE = "the plain prompt template adds the next speaker's marker if there is room";

export const PROMPT_CELLS: PromptCells = {
  initial_prompt_value: IN_PROMPT,
  roles: IN_PROMPT,
  final_prompt_value: IN_PROMPT,
  bos_token: IN_PROMPT,
  eos_token: IN_PROMPT,
  hf_model_name: TEMPLATE,
};

/** Features that no form supports. A new common parameter does not compile in the forms until it has a cell. */
export const NEVER_IN_PROMPTS = {
  safety_identifier: UNSUPPORTED,
  tools: NO_TOOLS,
  tool_choice: NO_TOOLS,
  parallel_tool_calls: NO_TOOLS,
  reasoning_effort: UNSUPPORTED,
  verbosity: UNSUPPORTED,
  modalities: UNSUPPORTED,
  audio: UNSUPPORTED,
  prediction: UNSUPPORTED,
  service_tier: UNSUPPORTED,
  store: UNSUPPORTED,
  prompt_cache_key: UNSUPPORTED,
  web_search_options: UNSUPPORTED,
  deployment_id: unsupported("Azure only"),
  image_url: UNSUPPORTED,
  input_audio: UNSUPPORTED,
  video_url: UNSUPPORTED,
  file: UNSUPPORTED,
  document: UNSUPPORTED,
} as const satisfies Partial<CapabilityCells>;
