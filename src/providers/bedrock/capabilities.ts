// What Converse accepts of the common parameters, by family of the model.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
// .../userguide/conversation-inference-supported-models-features.html
import {
  defaultOnly,
  emulated,
  FIRST_CALL_ALONE,
  mapped,
  type Capability,
  type CapabilityException,
  type CapabilityTable,
  unsupported,
  same,
} from "../../core/capability.ts";
import { TOP_P_DEFAULT_ONLY } from "../claude/capabilities.ts";
import type { ModelFacts as ClaudeFacts } from "../claude/models.ts";
import { acceptedEfforts, effortNote } from "../claude/reasoning-effort.ts";
import { STRICT_NOTE } from "../claude/strict-tools.ts";
import { FAMILIES, UNKNOWN_FAMILY, type FamilyFacts } from "./models.ts";
import { thinkingBlocks } from "../claude/thinking-blocks.ts";
import { conversationMembers, type ConversationMembers } from "../conversation/conversation-members.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";

const here = (takes: boolean, cell: Capability, note: string): Capability => (takes ? cell : unsupported(note));

/** The cells that differ between families. Each family names all of them. */
function familyCells(facts: FamilyFacts) {
  const { claude } = facts;
  return {
    temperature: here(
      facts.sampling,
      claude === null || claude.sampling ? { ...mapped("inferenceConfig.temperature"), range: [0, 1] } : defaultOnly(1),
      "this model family refuses the field",
    ),
    top_p: here(
      facts.sampling,
      claude === null || claude.sampling ? mapped("inferenceConfig.topP") : TOP_P_DEFAULT_ONLY,
      "this model family refuses the field",
    ),
    stop: here(
      facts.stop,
      mapped("inferenceConfig.stopSequences"),
      "this model family is reported to refuse stopSequences",
    ),
    tools: here(
      facts.tools,
      mapped(
        `toolConfig.tools[].toolSpec; cache_control becomes a cachePoint after the tool; strict ${facts.jsonSchema ? STRICT_NOTE : "is not sent, because this model has no structured output"}; no_tool stands for tools where the conversation has calls and the request none`,
      ),
      "no tools on this model",
    ),
    tool_choice: toolChoice(facts),
    parallel_tool_calls: here(
      facts.tools,
      claude === null
        ? FIRST_CALL_ALONE
        : mapped("false -> additionalModelRequestFields.tool_choice.disable_parallel_tool_use"),
      "no tools on this model",
    ),
    response_format: responseFormat(facts),
    reasoning_effort: reasoningEffort(facts),
    text: mapped(
      facts.system
        ? "text; empty parts, and white space alone beside calls, are not sent"
        : "text; this model has no system prompt, so it is put at the start of the first user turn",
    ),
    image_url: here(
      facts.images,
      mapped("image: png, jpeg, gif, webp, as bytes (the gateway fetches URLs) or s3://; detail has no equivalent"),
      "no image input",
    ),
    input_audio: here(facts.audio, mapped("audio, as bytes"), "no audio input"),
    video_url: here(facts.video, mapped("video, as bytes (the gateway fetches URLs) or s3://"), "no video input"),
    file: here(
      facts.documents,
      mapped(
        "document: pdf, csv, doc, docx, xls, xlsx, html, txt, md, as bytes (the gateway fetches URLs) or s3://, named after the file; with a text where the turn has none",
      ),
      "no document input",
    ),
    document: here(
      facts.documents,
      mapped("document, whose name is the title, with context and citations"),
      "no document input",
    ),
  } as const satisfies Record<string, Capability>;
}

function toolChoice({ tools, toolChoice: choice }: FamilyFacts): Capability {
  if (!tools) return unsupported("no tools on this model");
  const none = "for none, the tools are not sent, which is refused if the conversation has tool calls";
  if (choice === "all") return mapped(`toolConfig.toolChoice: required -> any, a function -> tool; ${none}`);
  if (choice === "any")
    return mapped(`toolConfig.toolChoice: required -> any; naming a function is not supported; ${none}`, [
      "none",
      "auto",
      "required",
      "any",
    ]);
  return mapped(`toolConfig.toolChoice; tool calls cannot be forced; ${none}`, ["none", "auto"]);
}

function responseFormat({ jsonSchema, tools, toolChoice: choice }: FamilyFacts): Capability {
  const forcing = tools && choice !== "none";
  if (jsonSchema && forcing)
    return mapped(
      "json_schema is outputConfig.textFormat; json_object, and a schema outside the vendor's subset without strict, is a forced tool call",
    );
  if (jsonSchema) return mapped("json_schema is outputConfig.textFormat", ["text", "json_schema"]);
  return forcing
    ? emulated("a forced tool call, whose arguments become the content")
    : unsupported("this model has no structured output, and tool calls cannot be forced");
}

function claudeEffort(claude: ClaudeFacts): Capability {
  return { ...mapped(`additionalModelRequestFields: ${effortNote(claude)}`), values: acceptedEfforts(claude) };
}

function reasoningEffort({ reasoning, claude }: FamilyFacts): Capability {
  if (claude !== null && claude.thinking !== "none") return claudeEffort(claude);
  switch (reasoning) {
    case "nova":
      return mapped("additionalModelRequestFields.reasoningConfig: maxReasoningEffort, or disabled", [
        "none",
        "low",
        "medium",
        "high",
      ]);
    case "gpt_oss":
      return mapped("additionalModelRequestFields.reasoning_effort", ["low", "medium", "high"]);
    case "openai":
      return mapped("additionalModelRequestFields.reasoning.effort; GPT-6 Astra always reasons", [
        "none",
        "low",
        "medium",
        "high",
        "xhigh",
        "max",
      ]);
    case "qwen":
      return mapped("additionalModelRequestFields.reasoning_config", ["low", "high"]);
    case "always":
      return unsupported("this model always reasons, and the effort cannot be set");
    case "unknown":
      return unsupported("each model family has its own field; use additionalModelRequestFields");
    default:
      return unsupported("this model has no field for it");
  }
}

const ONLY_IN_LOGS = unsupported(
  "no equivalent; the pass-through field requestMetadata is for your account's own logs",
);

export const capabilities: CapabilityTable = {
  cells: {
    ...familyCells(UNKNOWN_FAMILY),
    n: unsupported("one choice per request"),
    stream: mapped("converse-stream instead of converse"),
    stream_options: emulated("the usage is always in the stream; the gateway builds the last chunk from it"),
    ...same(mapped("inferenceConfig.maxTokens"), "max_tokens", "max_completion_tokens"),
    ...same(unsupported("no equivalent"), "presence_penalty", "frequency_penalty", "logit_bias", "seed", "logprobs"),
    ...same(unsupported("no equivalent"), "top_logprobs", "verbosity", "prediction", "store"),
    ...same(ONLY_IN_LOGS, "user", "safety_identifier"),
    ...same(unsupported("text output only"), "modalities", "audio"),
    service_tier: mapped("serviceTier.type; auto is not sent", ["auto", "default", "priority", "flex", "reserved"]),
    prompt_cache_key: unsupported("use cache_control on parts, messages and tools, which becomes a cachePoint"),
    web_search_options: unsupported("no equivalent; Nova 2 has the tool type systemTool"),
    deployment_id: unsupported("Azure only"),
    ...NOT_IN_MESSAGES,
  },
  exceptions: FAMILIES.map(({ models, facts }): CapabilityException => ({ models, cells: familyCells(facts) })),
  verified: {
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    date: "2026-11-20",
  },
};

const DOCUMENT = ["title", "context", "citations"];

export const conversation: ConversationMembers = conversationMembers({
  source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
  // A `cache_control` becomes a cache point behind whatever carries it.
  system: ["cache_control"],
  user: ["cache_control"],
  assistant: ["cache_control", "refusal", "reasoning_content", "reasoning_details"],
  tool: ["cache_control", "is_error"],
  everyPart: ["cache_control"],
  parts: { image_url: DOCUMENT, file: DOCUMENT, document: DOCUMENT },
  tools: ["cache_control"],
  extraContent: ["bedrock"],
  hasSignedReasoning: (message) => thinkingBlocks(message).length > 0,
});
