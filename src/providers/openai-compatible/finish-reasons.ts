// Finish reasons that several vendors document in place of OpenAI's. A vendor's other finish reasons are in its row.
import { type FinishReason, isFinishReason } from "../../core/chat.ts";
import { StreamError } from "../interface/upstream-failure.ts";
import type { FinishOutcome, OpenAICompatibleRow } from "./row.ts";

/**
 * The keys are in lower case. Sources: Together's and TGI's API references; the stop reasons of Anthropic, Bedrock and
 * Google, and those of DeepSeek and Z.ai, which gateways and other hosts of their models pass on; Mistral's and
 * OpenRouter's finish reasons.
 */
const KNOWN: Readonly<Record<string, FinishOutcome>> = {
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  max_tokens: "length",
  model_length: "length",
  max_output_tokens: "length",
  max_completion_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  tool_call: "tool_calls",
  refusal: "content_filter",
  safety: "content_filter",
  recitation: "content_filter",
  prohibited_content: "content_filter",
  blocklist: "content_filter",
  spii: "content_filter",
  image_safety: "content_filter",
  sensitive: "content_filter",
  content_filtered: "content_filter",
  guardrail_intervened: "content_filter",
  error: { failure: "server" },
  network_error: { failure: "server" },
  insufficient_system_resource: { failure: "overloaded" },
  abort: { failure: "server" },
};

export type FinishReasonTable = ReadonlyMap<string, FinishOutcome>;

export function finishReasonTable(row: Pick<OpenAICompatibleRow, "finishReasons">): FinishReasonTable {
  return new Map(Object.entries({ ...KNOWN, ...row.finishReasons }));
}

/**
 * `null` as long as there is no reason. An undocumented reason also ends the answer. It counts as `stop`, because the
 * client's form has no other value for it, and the vendor's own reason is sent beside it. Throws StreamError for a
 * reason that stands for a failure.
 */
export function finishReasonOf(native: unknown, table: FinishReasonTable): FinishReason | null {
  if (typeof native !== "string" || native === "") return null;
  const reason = native.toLowerCase();
  if (isFinishReason(reason)) return reason;
  const outcome = table.get(reason) ?? "stop";
  if (typeof outcome === "string") return outcome;
  throw new StreamError({
    class: outcome.failure,
    message: `The provider ended the answer with the finish reason ${JSON.stringify(native)}.`,
    param: null,
    nativeCode: native,
  });
}
