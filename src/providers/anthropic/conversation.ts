// What the Messages API accepts of a conversation, on whichever platform it is served:
// https://platform.claude.com/docs/en/api/messages
import { thinkingBlocks } from "./thinking-blocks.ts";
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

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
