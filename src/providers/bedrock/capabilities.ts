// What Converse accepts of the common parameters, by family of the model.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
// .../userguide/conversation-inference-supported-models-features.html
import {
  UNSUPPORTED,
  defaultOnly,
  emulated,
  mapped,
  type Capability,
  type CapabilityException,
  type CapabilityTable,
} from "../../core/capability.ts";
import { TOP_P_DEFAULT_ONLY } from "../anthropic/capabilities.ts";
import { EFFORT_WORDS } from "../anthropic/thinking.ts";
import { FAMILIES, UNKNOWN_FAMILY, type FamilyFacts } from "./models.ts";

const unsupported = (note: string): Capability => ({ ...UNSUPPORTED, note });
const here = (takes: boolean, cell: Capability, note: string): Capability => (takes ? cell : unsupported(note));

/** The cells that differ between families. Each family names all of them. */
function familyCells(facts: FamilyFacts) {
  const { claude } = facts;
  return {
    temperature:
      claude === null || claude.sampling ? { ...mapped("inferenceConfig.temperature"), range: [0, 1] } : defaultOnly(1),
    top_p: claude === null || claude.sampling ? mapped("inferenceConfig.topP") : TOP_P_DEFAULT_ONLY,
    stop: here(facts.stop, mapped("inferenceConfig.stopSequences"), "this family is reported to refuse stopSequences"),
    tools: here(
      facts.tools,
      mapped(
        `toolConfig.tools[].toolSpec; cache_control is a cachePoint behind the tool; strict ${facts.jsonSchema ? "goes along" : "is for models with structured output, and is not sent to this one"}`,
      ),
      "this model takes no tools",
    ),
    tool_choice: toolChoice(facts),
    parallel_tool_calls: here(
      claude !== null && facts.tools,
      mapped("false -> additionalModelRequestFields.tool_choice.disable_parallel_tool_use"),
      "only Claude has a word for it",
    ),
    response_format: responseFormat(facts),
    reasoning_effort: reasoningEffort(facts),
    text: mapped(
      facts.system
        ? "text; empty parts are left out"
        : "text; this model has no system prompt: it stands at the start of the first user turn",
    ),
    image_url: here(
      facts.images,
      mapped(
        "image: png, jpeg, gif, webp, as bytes (the gateway fetches addresses) or s3://; `detail` has no counterpart",
      ),
      "no pictures in",
    ),
    input_audio: here(facts.audio, mapped("audio, as bytes"), "no audio in"),
    video_url: here(facts.video, mapped("video, as bytes (the gateway fetches addresses) or s3://"), "no video in"),
    file: here(
      facts.documents,
      mapped(
        "document: pdf, csv, doc, docx, xls, xlsx, html, txt, md, as bytes (the gateway fetches addresses) or s3://, named after the file",
      ),
      "no documents in",
    ),
    document: here(
      facts.documents,
      mapped("document, with title as its name, context and citations"),
      "no documents in",
    ),
  } as const satisfies Record<string, Capability>;
}

function toolChoice({ tools, toolChoice: choice }: FamilyFacts): Capability {
  if (!tools) return unsupported("this model takes no tools");
  const none = "none leaves the tools out, which a conversation with calls does not allow";
  if (choice === "all") return mapped(`toolConfig.toolChoice: required -> any, a function -> tool; ${none}`);
  if (choice === "any")
    return {
      ...mapped(`toolConfig.toolChoice: required -> any; this model cannot be made to call one tool; ${none}`),
      values: ["none", "auto", "required", "any"],
    };
  return {
    ...mapped(`toolConfig.toolChoice; this model cannot be made to call a tool; ${none}`),
    values: ["none", "auto"],
  };
}

function responseFormat({ jsonSchema, tools, toolChoice: choice }: FamilyFacts): Capability {
  const forcing = tools && choice !== "none";
  if (jsonSchema && forcing)
    return mapped(
      "json_schema is outputConfig.textFormat; json_object, and a schema outside the vendor's subset without strict, is a forced tool call",
    );
  if (jsonSchema) return { ...mapped("json_schema is outputConfig.textFormat"), values: ["text", "json_schema"] };
  return forcing
    ? emulated("a forced tool call, whose input is the content")
    : unsupported("this model has no structured output and cannot be made to call a tool");
}

function reasoningEffort({ reasoning, claude }: FamilyFacts): Capability {
  switch (reasoning) {
    case "claude": {
      const words = EFFORT_WORDS.filter((word) =>
        word === "none" ? claude?.thinkingOff !== null : word !== "max" || claude?.thinking === "adaptive",
      );
      const note =
        claude?.thinking === "budget"
          ? "thinking.budget_tokens, below the bound on the answer"
          : "thinking.type adaptive and output_config.effort";
      return { ...mapped(`additionalModelRequestFields: ${note}`), values: words };
    }
    case "nova":
      return {
        ...mapped("additionalModelRequestFields.reasoningConfig: maxReasoningEffort, or disabled"),
        values: ["none", "low", "medium", "high"],
      };
    case "gpt_oss":
      return { ...mapped("additionalModelRequestFields.reasoning_effort"), values: ["low", "medium", "high"] };
    case "qwen":
      return { ...mapped("additionalModelRequestFields.reasoning_config"), values: ["low", "high"] };
    case "always":
      return unsupported("this model always reasons, and has no word for how much");
    case "unknown":
      return unsupported(
        "each family has a field of its own, and the name tells no family; additionalModelRequestFields passes any",
      );
    default:
      return unsupported("this model has no field for it");
  }
}

const bound = mapped("inferenceConfig.maxTokens");

export const capabilities: CapabilityTable = {
  cells: {
    ...familyCells(UNKNOWN_FAMILY),
    n: unsupported("one answer a call"),
    stream: mapped("converse-stream in place of converse"),
    stream_options: emulated("the usage is always in the stream; the gateway makes the last chunk of it"),
    max_tokens: bound,
    max_completion_tokens: bound,
    presence_penalty: unsupported("no counterpart"),
    frequency_penalty: unsupported("no counterpart"),
    logit_bias: unsupported("no counterpart"),
    user: unsupported("requestMetadata, which may be passed through, is for the account's own logs"),
    safety_identifier: unsupported("requestMetadata, which may be passed through, is for the account's own logs"),
    seed: unsupported("no counterpart"),
    logprobs: unsupported("no counterpart"),
    top_logprobs: unsupported("no counterpart"),
    verbosity: unsupported("no counterpart"),
    modalities: unsupported("text out only"),
    audio: unsupported("text out only"),
    prediction: unsupported("no counterpart"),
    service_tier: {
      ...mapped("serviceTier.type; auto sends none"),
      values: ["auto", "default", "priority", "flex", "reserved"],
    },
    store: unsupported("no counterpart"),
    prompt_cache_key: unsupported(
      "prompts are cached by cache_control on parts, messages and tools, which becomes a cachePoint",
    ),
    web_search_options: unsupported("no counterpart; Nova 2 has the tool type systemTool"),
    deployment_id: unsupported("for Azure only"),
    initial_prompt_value: unsupported("for completion targets only"),
    roles: unsupported("for completion targets only"),
    final_prompt_value: unsupported("for completion targets only"),
    bos_token: unsupported("for completion targets only"),
    eos_token: unsupported("for completion targets only"),
    hf_model_name: unsupported("for completion targets only"),
  },
  exceptions: FAMILIES.map(({ models, facts }): CapabilityException => ({ models, cells: familyCells(facts) })),
  verified: {
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    date: "2026-11-20",
  },
};
