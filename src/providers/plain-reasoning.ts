// Reasoning of an earlier answer, for providers whose reasoning is plain text without a signature.
import type { Message } from "../core/chat.ts";

/** Empty when the answer came from another vendor: reasoning that has details is never plain. */
export function plainReasoning(message: Message): string {
  if (Array.isArray(message.reasoning_details) && message.reasoning_details.length > 0) return "";
  return typeof message.reasoning_content === "string" ? message.reasoning_content : "";
}
