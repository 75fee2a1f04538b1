// What answers and streams of this form say in the same way: identity, usage and the reason for the end.
// https://platform.claude.com/docs/en/api/messages, .../build-with-claude/handling-stop-reasons
import type { Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { isCount } from "../../core/record/token-count.ts";
import { wholeCounts } from "../../core/record/usage.ts";
import { isThinkingDetail } from "../../providers/conversation/signed-thinking.ts";
import { toolInput } from "../../providers/conversation/tool-calls.ts";
import { clientCallId } from "./call-names.ts";

/** What an answer says of its call. */
export interface AnswerFacts {
  readonly id: string;
  /** As the client wrote it; null where a route has chosen the model. */
  readonly model: string | null;
  /** The client's names of tools by those that the model knows, where they differ. */
  readonly toolNames: Readonly<Record<string, string>>;
  /** The tokens of the request, before the provider has counted them. */
  readonly promptTokens: number;
}

export function messageFrame({ id, model }: AnswerFacts, usedModel: string): JsonObject {
  return { id, type: "message", role: "assistant", model: model ?? usedModel };
}

export function toolUse(id: string, name: string, input: JsonObject, { toolNames }: AnswerFacts): JsonObject {
  const own = Object.hasOwn(toolNames, name) ? toolNames[name]! : name;
  return { type: "tool_use", id: clientCallId(id), name: own, input };
}

/** The input of a call as the object that this form requires, whatever the model wrote. */
export function inputOf(text: string): JsonObject {
  return text.trim() === "null" ? {} : toolInput(text);
}

/**
 * `input_tokens` excludes what was read from a cache or written to it. `output_tokens` includes the reasoning. What is not
 * known is left out.
 */
export function messageUsage(usage: Usage): JsonObject {
  const details: JsonObject = usage.prompt_tokens_details ?? {};
  const read = countOf(details["cached_tokens"]);
  const written = countOf(details["cache_write_tokens"]);
  const hour = countOf(details["cache_write_1h_tokens"]);
  const thought = countOf(usage.completion_tokens_details?.reasoning_tokens);
  const { prompt, completion } = wholeCounts(usage);
  return {
    input_tokens: Math.max(0, prompt - (read ?? 0) - (written ?? 0)),
    ...(written !== undefined && { cache_creation_input_tokens: written }),
    ...(read !== undefined && { cache_read_input_tokens: read }),
    ...(hour !== undefined && {
      cache_creation: {
        ephemeral_5m_input_tokens: Math.max(0, (written ?? 0) - hour),
        ephemeral_1h_input_tokens: hour,
      },
    }),
    output_tokens: completion,
    ...(thought !== undefined && { output_tokens_details: { thinking_tokens: thought } }),
    ...(typeof usage["inference_geo"] === "string" && { inference_geo: usage["inference_geo"] }),
  };
}

/** A provider may send any value as a detail. */
function countOf(value: Json | undefined): number | undefined {
  return isCount(value) ? value : undefined;
}

export interface Ending {
  readonly finishReason: Json | undefined;
  /** The provider's own word for it. */
  readonly native: Json | undefined;
  readonly stopSequence: Json | undefined;
  /** The text of a refusal; empty when there is none. */
  readonly refusal: string;
  readonly hasCalls: boolean;
}

/** Reasons of this form that chat completions do not tell apart. */
const NATIVE: Readonly<Record<string, readonly string[]>> = {
  length: ["model_context_window_exceeded"],
  stop: ["pause_turn"],
};

/** Returns `stop_reason`, `stop_sequence` and `stop_details`. An answer with calls of tools always says so. */
export function messageEnd({ finishReason, native, stopSequence, refusal, hasCalls }: Ending): JsonObject {
  const reason = stopReason(finishReason, native, stopSequence, refusal, hasCalls);
  const isRefused = reason === "refusal";
  return {
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? stopSequence! : null,
    stop_details: isRefused ? { type: "refusal", category: null, explanation: refusal === "" ? null : refusal } : null,
  };
}

function stopReason(
  finish: Json | undefined,
  native: Json | undefined,
  stopSequence: Json | undefined,
  refusal: string,
  hasCalls: boolean,
): string {
  if (typeof finish === "string" && typeof native === "string" && NATIVE[finish]?.includes(native) === true)
    return native;
  if (finish === "length") return "max_tokens";
  if (finish === "content_filter") return "refusal";
  if (hasCalls) return "tool_use";
  if (refusal !== "") return "refusal";
  return typeof stopSequence === "string" ? "stop_sequence" : "end_turn";
}

/** The signature of a block of reasoning that a provider of signed reasoning accepts again; empty for all others. */
export function signatureOf(detail: Json | undefined): string {
  if (!isObject(detail) || detail["type"] !== "reasoning.text" || !isThinkingDetail(detail)) return "";
  const { signature } = detail;
  return textOrEmpty(signature);
}

/** The block of reasoning that only its provider can read; null for other details. */
export function redactedBlock(detail: Json | undefined): JsonObject | null {
  if (!isObject(detail) || detail["type"] !== "reasoning.encrypted" || !isThinkingDetail(detail)) return null;
  const { data } = detail;
  return typeof data === "string" && data !== "" ? { type: "redacted_thinking", data } : null;
}
