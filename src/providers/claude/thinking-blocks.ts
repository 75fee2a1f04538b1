// The thinking blocks of an earlier answer, made of its reasoning details.
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { isThinkingDetail } from "../conversation/signed-thinking.ts";

/**
 * The thinking blocks of an earlier answer. Reasoning without a signature (only `reasoning_content`, or details of
 * other vendors) is left out: the vendor refuses it, and another model wrote it.
 */
export function thinkingBlocks(message: Message): JsonObject[] {
  const details: Json | undefined = message["reasoning_details"];
  if (!Array.isArray(details)) return [];
  return details
    .filter(isObject)
    .map(thinkingBlock)
    .filter((block) => block !== null);
}

function thinkingBlock(detail: JsonObject): JsonObject | null {
  const { type, text, signature, data } = detail;
  if (!isThinkingDetail(detail)) return null;
  if (type === "reasoning.text" && typeof signature === "string" && signature !== "")
    return { type: "thinking", thinking: textOrEmpty(text), signature };
  if (type === "reasoning.encrypted" && typeof data === "string" && data !== "")
    return { type: "redacted_thinking", data };
  return null;
}
