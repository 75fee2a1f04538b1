// Encodes `reasoning_effort` in the field that each family has for it, and converts signed reasoning blocks, which are
// sent back with their turn. https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html,
// .../nova/latest/nova2-userguide/extended-thinking.html
import type { Message, ReasoningDetail } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { thinkingBlocks } from "../claude/thinking-blocks.ts";
import { redactedDetail, thinkingDetail } from "../conversation/signed-thinking.ts";
import { encodeThinking } from "../claude/reasoning-effort.ts";
import type { FamilyFacts } from "./models.ts";

/**
 * Returns members of `additionalModelRequestFields`. Throws GatewayError `unsupported_value` when a budget does not fit
 * into the output bound.
 */
export function encodeEffort(
  effort: string | undefined,
  { reasoning, claude }: FamilyFacts,
  maxTokens: number | undefined,
  isShown: boolean,
): JsonObject {
  if (effort === undefined) return {};
  // Without a bound the service uses the model's own.
  if (claude !== null && claude.thinking !== "none")
    return encodeThinking(effort, claude, maxTokens ?? claude.maxOutputTokens, isShown);
  switch (reasoning) {
    case "nova":
      return {
        reasoningConfig: effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort },
      };
    case "gpt_oss":
      return { reasoning_effort: effort };
    // They answer "Unknown parameter: 'reasoning_effort'": https://github.com/anomalyco/opencode/pull/48195
    case "openai":
      return { reasoning: { effort } };
    case "qwen":
      return { reasoning_config: effort };
    default:
      return {};
  }
}

/**
 * Reasoning of Claude has the same format on every platform. Reasoning of other models has no format that a later turn
 * could name.
 */
function formatted(detail: ReasoningDetail, model: string): ReasoningDetail {
  return /claude/.test(model) ? detail : { ...detail, format: "unknown" };
}

/**
 * `null` when nothing has to be sent back: models that sign refuse text without a signature, and the other models do
 * not use it.
 */
export function reasoningDetail(text: string, signature: string, index: number, model: string): ReasoningDetail | null {
  const detail = thinkingDetail(text, signature, index);
  return detail === null || (signature === "" && !/claude/.test(model)) ? null : formatted(detail, model);
}

export function hiddenDetail(data: string, index: number, model: string): ReasoningDetail {
  return formatted(redactedDetail(data, index), model);
}

/** The reasoning blocks of an earlier answer. */
export function reasoningBlocks(message: Message): JsonObject[] {
  return thinkingBlocks(message).map(({ type, thinking, signature, data }) => ({
    reasoningContent:
      type === "thinking" ? { reasoningText: { text: thinking, signature } } : { redactedContent: data },
  }));
}
