// What Replicate's language models accept in `input`. Every model has its own schema; these cells follow the schemas of
// its official models and their pages.
import {
  type CapabilityTable,
  type CapabilityCells,
  emulated,
  mapped,
  NATIVE,
  UNSUPPORTED,
  same,
} from "../../core/capability.ts";
import { AS_MANY_CALLS, NEVER_IN_PROMPTS, PROMPT_CELLS } from "../raw-completions/cells.ts";

const CELLS: CapabilityCells = {
  ...NEVER_IN_PROMPTS,
  ...PROMPT_CELLS,
  temperature: mapped("input.temperature"),
  top_p: mapped("input.top_p"),
  n: AS_MANY_CALLS,
  stream: NATIVE,
  stream_options: emulated("streams do not report usage; it is estimated"),
  stop: mapped("input.stop_sequences, joined by commas"),
  ...same(mapped("input.max_tokens, or max_new_tokens by model"), "max_tokens", "max_completion_tokens"),
  presence_penalty: mapped("input.presence_penalty"),
  frequency_penalty: mapped("input.frequency_penalty"),
  ...same(UNSUPPORTED, "logit_bias", "user", "response_format", "logprobs", "top_logprobs"),
  seed: mapped("input.seed, where the model has it"),
  text: NATIVE,
};

/** Models of other vendors to which Replicate forwards requests, with their own names for the output bound. */
export const OPENAI_MODELS = /^openai\//;
export const ANTHROPIC_MODELS = /^anthropic\//;

export const capabilities: CapabilityTable = {
  cells: CELLS,
  exceptions: [
    {
      models: OPENAI_MODELS,
      cells: {
        ...same(UNSUPPORTED, "stop", "seed"),
        ...same(mapped("input.max_completion_tokens"), "max_tokens", "max_completion_tokens"),
        reasoning_effort: mapped("input.reasoning_effort"),
        verbosity: mapped("input.verbosity"),
      },
    },
    {
      models: ANTHROPIC_MODELS,
      cells: same(UNSUPPORTED, "stop", "seed", "temperature", "top_p", "presence_penalty", "frequency_penalty"),
    },
  ],
  verified: { source: "https://replicate.com/meta/meta-llama-3.1-405b-instruct", date: "2026-11-20" },
};
