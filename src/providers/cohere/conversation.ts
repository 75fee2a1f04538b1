// What the chat API accepts of a conversation: https://docs.cohere.com/reference/chat#request.body.messages
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

export const conversation: ConversationMembers = conversationMembers({
  source: "https://docs.cohere.com/reference/chat#request.body.messages",
  // Reasoning with details comes from another vendor and is not plain text.
  assistant: ["refusal", "tool_plan", "citations", "reasoning_content", "reasoning_details"],
  tool: ["name"],
  parts: { document: ["title", "id", "document"] },
});
