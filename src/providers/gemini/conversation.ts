// What generateContent accepts of a conversation, at AI Studio and at Vertex AI:
// https://ai.google.dev/api/caching#Content
import { isObject } from "../../core/json.ts";
import { conversationMembers, type ConversationMembers } from "../conversation-members.ts";

export const conversation: ConversationMembers = conversationMembers({
  source: "https://ai.google.dev/api/caching#Content",
  // Of the reasoning, only the signatures are sent back: https://ai.google.dev/gemini-api/docs/thought-signatures
  assistant: ["refusal", "images", "reasoning_content", "reasoning_details"],
  tool: ["name"],
  extraContent: ["google"],
  hasSignedReasoning: ({ extra_content: extra }) => isObject(extra) && isObject(extra["google"]),
});
