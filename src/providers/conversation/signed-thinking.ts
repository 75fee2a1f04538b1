// Reasoning details of thinking that its provider signs. The signatures are kept across turns, because the vendor
// accepts no thinking without them.
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
import type { ReasoningDetail } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";

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

/** Whether a detail can be of this format: it does not say that it has that of another vendor. */
export function isThinkingDetail({ format }: JsonObject): boolean {
  return typeof format !== "string" || format === "unknown" || format.startsWith("anthropic-");
}

/** The block in which the vendor takes its own thinking back; null for details that are not one block of it. */
export function signedBlock(details: readonly ReasoningDetail[]): JsonObject | null {
  const [detail] = details;
  if (detail === undefined || details.length > 1 || !isThinkingDetail(detail)) return null;
  const { type, text, signature, data } = detail;
  if (type === "reasoning.encrypted") return typeof data === "string" ? { type: "redacted_thinking", data } : null;
  return typeof signature === "string" ? { type: "thinking", thinking: text ?? "", signature } : null;
}
