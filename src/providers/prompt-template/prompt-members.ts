// What a raw prompt takes of a conversation: roles, texts and, where the template has a form for them, calls. https://huggingface.co/docs/transformers/chat_templating
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

export const PROMPT_MEMBERS: ConversationMembers = conversationMembers({
  source: "https://huggingface.co/docs/transformers/chat_templating",
  assistant: ["refusal"],
  tool: ["name"],
});
