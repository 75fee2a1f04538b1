// What the chat API accepts of a conversation: https://docs.ollama.com/api/chat
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

export const conversation: ConversationMembers = conversationMembers({
  source: "https://docs.ollama.com/api/chat",
  // Reasoning with details comes from another vendor and is not plain text.
  assistant: ["refusal", "reasoning_content", "reasoning_details"],
  tool: ["name"],
  parts: { document: ["title"] },
});
