// Thinking blocks as reasoning details and back, so that the signatures, without which the vendor takes no thinking, survive a turn.
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
import type { Message, ReasoningDetail } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

const FORMAT = "anthropic-claude-v1";

/** Null when there is nothing in the block. The text may be empty: newer models keep it back and sign all the same. */
export function thinkingDetail(text: string, signature: string, index: number): ReasoningDetail | null {
  if (text === "" && signature === "") return null;
  return { type: "reasoning.text", text, ...(signature !== "" && { signature }), format: FORMAT, index };
}

export function redactedDetail(data: string, index: number): ReasoningDetail {
  return { type: "reasoning.encrypted", data, format: FORMAT, index };
}

/**
 * The thinking blocks of an earlier answer. Reasoning without a signature (`reasoning_content` alone, other vendors' details) is left out: the
 * vendor refuses it, and the model that reads it would not be the one that wrote it.
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
