// What the Messages API accepts of the common parameters, by generation of the model.
// https://platform.claude.com/docs/en/api/messages
import {
  defaultOnly,
  emulated,
  mapped,
  type Capability,
  type CapabilityCells,
  type CapabilityException,
  type CapabilityTable,
  native,
  unsupported,
  same,
} from "../../core/capability.ts";
import { acceptedEfforts, effortNote } from "../claude/reasoning-effort.ts";
import { TOP_P_DEFAULT_ONLY } from "../claude/capabilities.ts";
import { STRICT_NOTE } from "../claude/strict-tools.ts";
import { GENERATIONS, UNKNOWN_MODEL, type ModelFacts } from "../claude/models.ts";
import { thinkingBlocks } from "../claude/thinking-blocks.ts";
import { conversationMembers, type ConversationMembers } from "../conversation/conversation-members.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";

/** The cells that differ between generations. Each generation names all of them. */
function generationCells(facts: ModelFacts) {
  return {
    temperature: facts.sampling
      ? { ...native("cannot be combined with thinking, nor, from Claude 4.5 on, with top_p"), range: [0, 1] }
      : defaultOnly(1),
    top_p: facts.sampling
      ? native("cannot be combined with thinking, nor, from Claude 4.5 on, with temperature")
      : TOP_P_DEFAULT_ONLY,
    tool_choice: facts.forcedTools
      ? mapped("required -> any, a function -> tool")
      : mapped("this model cannot be forced to call a tool", ["none", "auto"]),
    response_format: responseFormat(facts),
    reasoning_effort: reasoningEffort(facts),
  } as const satisfies Record<string, Capability>;
}

function responseFormat(facts: ModelFacts): Capability {
  if (!facts.jsonSchema) return emulated("a forced tool call, whose arguments become the content");
  const schema =
    "json_schema is output_config.format; without strict, a schema outside the vendor's subset is a forced tool call";
  return facts.forcedTools
    ? mapped(`${schema}; json_object is a forced tool call`)
    : mapped("json_schema is output_config.format", ["text", "json_schema"]);
}

function reasoningEffort(facts: ModelFacts): Capability {
  if (facts.thinking === "none") return unsupported("this model does not think");
  return { ...mapped(effortNote(facts)), values: acceptedEfforts(facts) };
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
  n: unsupported("one choice per request"),
  stream: native("stream"),
  stream_options: emulated("the usage is always in the stream; the gateway builds the last chunk from it"),
  stop: mapped("stop_sequences; the vendor refuses sequences of white space only"),
  max_tokens: native("always sent; the default is the model's own limit"),
  max_completion_tokens: mapped("max_tokens, thinking included"),
  ...same(unsupported("no equivalent"), "presence_penalty", "frequency_penalty", "logit_bias", "seed", "logprobs"),
  ...same(unsupported("no equivalent"), "top_logprobs", "verbosity", "prediction", "store"),
  user: mapped("metadata.user_id; send an opaque id, not a name or address"),
  safety_identifier: mapped("metadata.user_id; takes precedence over user"),
  tools: mapped(`name, description, input_schema; strict ${STRICT_NOTE}; the vendor's own tool types unchanged`),
  parallel_tool_calls: mapped("the opposite of tool_choice.disable_parallel_tool_use"),
  ...same(unsupported("text output only"), "modalities", "audio"),
  service_tier: mapped("default -> standard_only", ["auto", "default", "standard_only"]),
  prompt_cache_key: unsupported("use cache_control on parts, messages, tools or the request"),
  web_search_options: mapped("the tool web_search_20250305; search_context_size must be medium"),
  deployment_id: unsupported("Azure only"),
  ...NOT_IN_MESSAGES,
  text: native("empty parts, and white space alone beside calls, are not sent"),
  image_url: mapped("a URL is sent as source url, a data URI as source base64; detail has no equivalent"),
  input_audio: unsupported("no audio input"),
  video_url: unsupported("no video input"),
  file: mapped(
    "document: file_data as base64 or text, with the filename as title; file_id as an uploaded file or a URL",
  ),
  document: mapped("document; base64 text is decoded, because the vendor accepts only PDF in base64"),
} as const satisfies Partial<CapabilityCells>;

export const capabilities: CapabilityTable = {
  ...messagesCapabilities((facts) => facts),
  verified: { source: "https://platform.claude.com/docs/en/api/messages", date: "2026-11-20" },
};

const DOCUMENT = ["cache_control", "citations", "context", "title"];

export const conversation: ConversationMembers = conversationMembers({
  source: "https://platform.claude.com/docs/en/api/messages",
  system: ["cache_control"],
  user: ["cache_control"],
  // The text of reasoning is part of its signed blocks.
  assistant: ["cache_control", "refusal", "reasoning_content", "reasoning_details"],
  tool: ["cache_control", "is_error"],
  everyPart: ["cache_control"],
  parts: { text: ["citations"], file: DOCUMENT, document: DOCUMENT },
  calls: ["cache_control"],
  // The vendor lists these members: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference
  tools: ["cache_control", "defer_loading", "input_examples", "eager_input_streaming", "allowed_callers"],
  extraContent: ["anthropic"],
  hasSignedReasoning: (message) => thinkingBlocks(message).length > 0,
});
