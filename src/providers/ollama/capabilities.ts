// What Ollama's native chat API accepts of the common parameters: https://docs.ollama.com/api/chat, and the server's
// own types: https://github.com/ollama/ollama/blob/main/api/types.go
import {
  emulated,
  FIRST_CALL_ALONE,
  mapped,
  type Capability,
  type CapabilityTable,
  native,
  unsupported,
  same,
} from "../../core/capability.ts";
import {
  conversationMembers,
  type ConversationMembers,
  isPlainReasoning,
} from "../conversation/conversation-members.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";

const option = (name: string, more = ""): Capability => mapped(`options.${name}${more}`);
const recorded = unsupported("the API has no field for it; it is only recorded by the gateway");
const noCounterpart = unsupported("no equivalent");

/**
 * The thinking of these models has levels and cannot be switched off: https://docs.ollama.com/capabilities/thinking
 */
const GPT_OSS = /(?:^|\/)gpt-oss/i;

export const capabilities: CapabilityTable = {
  cells: {
    text: mapped(
      "one text per message; several parts are joined by a blank line, as the server joins messages of one role",
    ),
    image_url: mapped("images[] as base64; the gateway fetches URLs; detail has no equivalent"),
    input_audio: mapped("images[] as base64, as on the server's own /v1; audio models only"),
    video_url: unsupported("no video input"),
    file: unsupported("no file input; send text as a document"),
    document: emulated("its title and text become part of the message; PDF is refused"),
    temperature: option("temperature"),
    top_p: option("top_p"),
    n: emulated("the gateway sends n requests in parallel, each with the whole prompt; the usage is their sum"),
    stream: native("always sent, because the server's default is to stream"),
    stream_options: emulated("the last line has the usage; the gateway builds the last chunk from it"),
    stop: option("stop"),
    ...same(option("num_predict", ", thinking included"), "max_tokens", "max_completion_tokens"),
    presence_penalty: option("presence_penalty"),
    frequency_penalty: option("frequency_penalty"),
    ...same(noCounterpart, "logit_bias", "verbosity", "prediction", "service_tier", "store"),
    ...same(recorded, "user", "safety_identifier"),
    response_format: mapped("format: json, or the schema; name and strict have no equivalent"),
    seed: option("seed"),
    tools: native("the server reads name, description and the simple keywords of the schema; strict has no effect"),
    tool_choice: emulated("for none, the tools are not sent; tool calls cannot be forced", ["none", "auto"]),
    parallel_tool_calls: FIRST_CALL_ALONE,
    ...same(native("recent servers only"), "logprobs", "top_logprobs"),
    reasoning_effort: mapped(
      "think: none -> false, minimal -> low, xhigh -> max; refused by models that do not think",
      ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    ),
    ...same(unsupported("text output only"), "modalities", "audio"),
    prompt_cache_key: unsupported("prompts are cached automatically"),
    web_search_options: unsupported("a separate API of Ollama's cloud"),
    deployment_id: unsupported("Azure only"),
    ...NOT_IN_MESSAGES,
  },
  exceptions: [
    {
      models: GPT_OSS,
      cells: {
        reasoning_effort: mapped("think: minimal -> low; thinking cannot be turned off on this model", [
          "minimal",
          "low",
          "medium",
          "high",
        ]),
      },
    },
  ],
  verified: { source: "https://docs.ollama.com/api/chat", date: "2026-11-20" },
};

export const conversation: ConversationMembers = conversationMembers({
  source: "https://docs.ollama.com/api/chat",
  assistant: ["refusal", "reasoning_content", "reasoning_details"],
  hasPlainReasoning: isPlainReasoning,
  tool: ["name"],
  parts: { document: ["title"] },
});
