// What Converse accepts of a conversation:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
import { thinkingBlocks } from "../anthropic/thinking-blocks.ts";
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

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
