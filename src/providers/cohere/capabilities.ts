// What Cohere's chat API accepts of the common parameters (https://docs.cohere.com/reference/chat), by model:
// https://docs.cohere.com/docs/models
import {
  emulated,
  FIRST_CALL_ALONE,
  mapped,
  type CapabilityTable,
  native,
  NATIVE,
  unsupported,
  same,
} from "../../core/capability.ts";
import { BEFORE_R7B, NOT_THINKING, TEXT_ONLY, WITHOUT_TOOLS } from "./models.ts";
import type { Message } from "../../core/chat.ts";
import {
  conversationMembers,
  type ConversationMembers,
  isPlainReasoning,
  type MemberTable,
} from "../conversation/conversation-members.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";

const recorded = unsupported("the API has no field for it; it is only recorded by the gateway");
const noCounterpart = unsupported("no equivalent");

export const capabilities: CapabilityTable = {
  cells: {
    text: native("text blocks"),
    image_url: native("a URL or a data URI, with detail; vision models only"),
    input_audio: unsupported("no audio input"),
    video_url: unsupported("no video input"),
    file: unsupported("no file input; send text as a document"),
    document: mapped(
      "in a user message, the text is sent as documents[].data.text with its title, which the answer may cite; in a tool result, as a document block; PDF is refused",
    ),
    temperature: { ...native("the provider's default is 0.3"), range: [0, 1] },
    top_p: {
      ...mapped("p; 1 means not set, for which the vendor's default is 0.75"),
      range: [0.01, 0.99],
    },
    n: unsupported("one choice per request"),
    stream: native("stream"),
    stream_options: emulated("the usage is always at the end of the stream; the gateway builds the last chunk from it"),
    stop: mapped("stop_sequences, at most 5"),
    max_tokens: native("includes thinking"),
    max_completion_tokens: mapped("max_tokens, thinking included"),
    ...same({ ...NATIVE, range: [0, 1] }, "presence_penalty", "frequency_penalty"),
    ...same(noCounterpart, "logit_bias", "top_logprobs", "verbosity", "prediction", "store", "web_search_options"),
    ...same(recorded, "user", "safety_identifier"),
    response_format: mapped(
      "type json_object, with the schema as schema; name and strict have no equivalent; the provider refuses it beside tools or documents",
    ),
    seed: { ...native("0 or more"), range: [0, 2 ** 64] },
    tools: mapped("sent unchanged; strict on any function becomes strict_tools, which applies to all of them"),
    tool_choice: mapped("required -> REQUIRED, none -> NONE, a function -> only that tool, with REQUIRED"),
    parallel_tool_calls: FIRST_CALL_ALONE,
    logprobs: mapped(
      "one entry for each piece of text; the log probability of a piece is the sum of those of its tokens",
    ),
    reasoning_effort: mapped(
      "thinking: none -> disabled; minimal and low -> token_budget 1,024, medium -> 8,192, high -> enabled without a limit",
      ["none", "minimal", "low", "medium", "high"],
    ),
    ...same(unsupported("text output only"), "modalities", "audio"),
    service_tier: unsupported("no equivalent; use the pass-through field priority"),
    prompt_cache_key: unsupported("prompts are cached automatically"),
    deployment_id: unsupported("Azure only"),
    ...NOT_IN_MESSAGES,
  },
  exceptions: [
    {
      models: WITHOUT_TOOLS,
      cells: {
        ...same(unsupported("this model has no tool use"), "tools", "parallel_tool_calls", "tool_choice"),
      },
    },
    {
      models: BEFORE_R7B,
      cells: {
        tool_choice: emulated(
          "for none, the tools are not sent; models before Command R7B cannot be forced to call one",
          ["none", "auto"],
        ),
      },
    },
    { models: NOT_THINKING, cells: { reasoning_effort: unsupported("this model does not think") } },
    { models: TEXT_ONLY, cells: { image_url: unsupported("text only on this model") } },
  ],
  verified: { source: "https://docs.cohere.com/reference/chat", date: "2026-11-20" },
};

const MEMBERS: MemberTable = {
  source: "https://docs.cohere.com/reference/chat#request.body.messages",
  assistant: ["refusal", "tool_plan", "citations", "reasoning_content", "reasoning_details"],
  tool: ["name"],
  parts: { document: ["title", "id", "document"] },
};
const THINKING = conversationMembers({ ...MEMBERS, hasPlainReasoning: isPlainReasoning });
const NOT_THINKING_MEMBERS = conversationMembers({
  ...MEMBERS,
  hasPlainReasoning: (message) => isPlainReasoning(message) && isPlanned(message),
});

/** Returns the members that messages may have; a model that does not think accepts reasoning as the plan of calls alone. */
export function conversation({ model }: { readonly model: string }): ConversationMembers {
  return NOT_THINKING.test(model) ? NOT_THINKING_MEMBERS : THINKING;
}

function isPlanned({ tool_calls: calls, tool_plan: plan }: Message): boolean {
  return calls !== undefined && calls !== null && calls.length !== 0 && typeof plan !== "string";
}
