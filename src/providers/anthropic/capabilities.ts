// What the Messages API accepts of the common parameters, by generation of the model.
// https://platform.claude.com/docs/en/api/messages
import {
  NATIVE,
  UNSUPPORTED,
  defaultOnly,
  emulated,
  mapped,
  type Capability,
  type CapabilityCells,
  type CapabilityException,
  type CapabilityTable,
} from "../../core/capability.ts";
import { EFFORT_WORDS } from "./thinking.ts";
import { GENERATIONS, UNKNOWN_MODEL, type ModelFacts } from "./models.ts";

const unsupported = (note: string): Capability => ({ ...UNSUPPORTED, note });
const native = (note: string): Capability => ({ ...NATIVE, note });

/**
 * These models refuse every `top_p` except their default, which the vendor describes as 0.99 or above:
 * https://platform.claude.com/docs/en/about-claude/models/migration-guide
 */
export const TOP_P_DEFAULT_ONLY: Capability = {
  ...UNSUPPORTED,
  note: "this model takes its default only, which is anything from 0.99 on",
  neutral: (value) => typeof value === "number" && value >= 0.99,
};

/** The cells that differ between generations. Each generation names all of them. */
function generationCells(facts: ModelFacts) {
  return {
    temperature: facts.sampling
      ? { ...native("0 to 1; not together with thinking, and from Claude 4.5 on not beside top_p"), range: [0, 1] }
      : defaultOnly(1),
    top_p: facts.sampling
      ? native("not together with thinking, and from Claude 4.5 on not beside temperature")
      : TOP_P_DEFAULT_ONLY,
    tool_choice: facts.forcedTools
      ? mapped("required -> any, a function -> tool")
      : { ...mapped("this model cannot be forced to call a tool"), values: ["none", "auto"] },
    response_format: responseFormat(facts),
    reasoning_effort: reasoningEffort(facts),
  } as const satisfies Record<string, Capability>;
}

function responseFormat(facts: ModelFacts): Capability {
  if (!facts.jsonSchema) return emulated("a forced tool call, whose input is the content");
  const schema =
    "json_schema is output_config.format; without strict, a schema outside the vendor's subset is a forced tool call";
  return facts.forcedTools
    ? mapped(`${schema}; json_object is a forced tool call`)
    : { ...mapped("json_schema is output_config.format"), values: ["text", "json_schema"] };
}

function reasoningEffort(facts: ModelFacts): Capability {
  if (facts.thinking === "none") return unsupported("this model does not think");
  const words = EFFORT_WORDS.filter((word) =>
    word === "none" ? facts.thinkingOff !== null : word !== "max" || facts.thinking === "adaptive",
  );
  const note =
    facts.thinking === "budget"
      ? "thinking.budget_tokens, below max_tokens"
      : "thinking.type adaptive and output_config.effort";
  return { ...mapped(note), values: words };
}

/** `factsHere` returns what the models accept on the platform that serves them. */
export function messagesCapabilities(
  factsHere: (facts: ModelFacts) => ModelFacts,
): Pick<CapabilityTable, "cells" | "exceptions"> {
  return {
    cells: { ...generationCells(factsHere(UNKNOWN_MODEL)), ...COMMON_CELLS },
    exceptions: GENERATIONS.map(({ models, facts }): CapabilityException => ({
      models,
      cells: generationCells(factsHere(facts)),
    })),
  };
}

/** The cells that are the same for all generations. */
const COMMON_CELLS = {
  n: unsupported("one answer a call"),
  stream: native("stream"),
  stream_options: emulated("the usage is always in the stream; the gateway makes the last chunk of it"),
  stop: mapped("stop_sequences; white space alone is refused by the vendor"),
  max_tokens: native("sent always: the model's own bound if the caller gave none"),
  max_completion_tokens: mapped("max_tokens, which counts thinking too"),
  presence_penalty: unsupported("no counterpart"),
  frequency_penalty: unsupported("no counterpart"),
  logit_bias: unsupported("no counterpart"),
  user: mapped("metadata.user_id; an opaque id, no name or address"),
  safety_identifier: mapped("metadata.user_id, before user"),
  seed: unsupported("no counterpart"),
  tools: mapped("name, description, input_schema, strict; the vendor's own tool types as they are"),
  parallel_tool_calls: mapped("the contrary of tool_choice.disable_parallel_tool_use"),
  logprobs: unsupported("no counterpart"),
  top_logprobs: unsupported("no counterpart"),
  verbosity: unsupported("no counterpart"),
  modalities: unsupported("text out only"),
  audio: unsupported("text out only"),
  prediction: unsupported("no counterpart"),
  service_tier: { ...mapped("default -> standard_only"), values: ["auto", "default", "standard_only"] },
  store: unsupported("no counterpart"),
  prompt_cache_key: unsupported("prompts are cached by cache_control on parts, messages, tools or the request"),
  web_search_options: mapped("the tool web_search_20250305; search_context_size has no counterpart but medium"),
  deployment_id: unsupported("for Azure only"),
  initial_prompt_value: unsupported("for completion targets only"),
  roles: unsupported("for completion targets only"),
  final_prompt_value: unsupported("for completion targets only"),
  bos_token: unsupported("for completion targets only"),
  eos_token: unsupported("for completion targets only"),
  hf_model_name: unsupported("for completion targets only"),
  text: native("empty parts are left out"),
  image_url: mapped("an address as source url, a data URI as source base64; detail has no counterpart"),
  input_audio: unsupported("no audio in"),
  video_url: unsupported("no video in"),
  file: mapped(
    "document: file_data as base64 or text with the filename as title, file_id as an uploaded file or an address",
  ),
  document: mapped("document; text in base64 is decoded, because only PDF may come so"),
} as const satisfies Partial<CapabilityCells>;

export const capabilities: CapabilityTable = {
  ...messagesCapabilities((facts) => facts),
  verified: { source: "https://platform.claude.com/docs/en/api/messages", date: "2026-11-20" },
};
