// Reasoning in and out: `reasoning_effort` in the field that each family has for it, and blocks with signatures that come back with their turn.
// https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html, .../nova/latest/nova2-userguide/extended-thinking.html
import type { Message, ReasoningDetail } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { redactedDetail, thinkingBlocks, thinkingDetail } from "../anthropic/reasoning.ts";
import { encodeThinking } from "../anthropic/thinking.ts";
import type { FamilyFacts } from "./models.ts";

/** Members of `additionalModelRequestFields`. Throws `unsupported_value` where a budget does not fit into the bound on the answer. */
export function encodeEffort(
  effort: string | undefined,
  { reasoning, claude }: FamilyFacts,
  maxTokens: number | undefined,
): JsonObject {
  if (effort === undefined) return {};
  switch (reasoning) {
    case "claude":
      // without a bound the service takes the model's own
      return claude === null ? {} : encodeThinking(effort, claude, maxTokens ?? claude.maxOutputTokens);
    case "nova":
      return {
        reasoningConfig: effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort },
      };
    case "gpt_oss":
      return { reasoning_effort: effort };
    case "qwen":
      return { reasoning_config: effort };
    default:
      return {};
  }
}

/** Reasoning of Claude is in its own format whoever serves it; that of other models has none that a later turn could name. */
function formatted(detail: ReasoningDetail, model: string): ReasoningDetail {
  return /claude/.test(model) ? detail : { ...detail, format: "unknown" };
}

/** Null where there is nothing that has to come back: text without a signature is refused by those who sign, and of no use to the others. */
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
