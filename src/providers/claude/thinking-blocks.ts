// Converts thinking blocks to reasoning details and back. The signatures are kept across turns, because the vendor
// accepts no thinking without them.
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
import type { Message, ReasoningDetail } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

const FORMAT = "anthropic-claude-v1";

/**
 * `null` when the block is empty. The text alone may be empty: newer models withhold it but still send a signature.
 */
export function thinkingDetail(text: string, signature: string, index: number): ReasoningDetail | null {
  if (text === "" && signature === "") return null;
  return { type: "reasoning.text", text, ...(signature !== "" && { signature }), format: FORMAT, index };
}

export function redactedDetail(data: string, index: number): ReasoningDetail {
  return { type: "reasoning.encrypted", data, format: FORMAT, index };
}

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
  const { type, text, signature, data, format } = detail;
  if (typeof format === "string" && format !== "unknown" && !format.startsWith("anthropic-")) return null;
  if (type === "reasoning.text" && typeof signature === "string" && signature !== "")
    return { type: "thinking", thinking: typeof text === "string" ? text : "", signature };
  if (type === "reasoning.encrypted" && typeof data === "string" && data !== "")
    return { type: "redacted_thinking", data };
  return null;
}
