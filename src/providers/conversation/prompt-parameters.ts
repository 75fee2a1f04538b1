// The common parameters that shape the prompt of a raw prompt endpoint (promise 6.7). Endpoints that take messages do not
// support them.
import { type CapabilityCells, unsupported, same } from "../../core/capability.ts";
import type { CommonParameter } from "../../core/params.ts";

export const PROMPT_PARAMETERS = [
  "initial_prompt_value",
  "roles",
  "final_prompt_value",
  "bos_token",
  "eos_token",
  "hf_model_name",
] as const satisfies readonly CommonParameter[];

/** A cell for each of these parameters. */
export type PromptCells = Pick<CapabilityCells, (typeof PROMPT_PARAMETERS)[number]>;

export const NOT_IN_MESSAGES: PromptCells = same(unsupported("only for raw prompt endpoints"), ...PROMPT_PARAMETERS);
