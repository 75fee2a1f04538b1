// What a raw prompt accepts of a conversation: roles and texts.
// https://huggingface.co/docs/transformers/chat_templating
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

export const PROMPT_MEMBERS: ConversationMembers = conversationMembers({
  source: "https://huggingface.co/docs/transformers/chat_templating",
  assistant: ["refusal"],
  tool: ["name"],
});
