// Finish reasons that several vendors document in place of OpenAI's words. A vendor's own further words stand in its row.
import { isFinishReason } from "../../core/chat.ts";
import type { FinishWord, OpenAICompatibleRow } from "./row.ts";

/** In lower case. Sources: Together's and TGI's API references, Anthropic's, Bedrock's and Google's stop reasons, which gateways hand on,, Mistral's and OpenRouter's finish reasons. */
const KNOWN: Readonly<Record<string, FinishWord>> = {
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
  refusal: "content_filter",
  safety: "content_filter",
  recitation: "content_filter",
  prohibited_content: "content_filter",
  content_filtered: "content_filter",
  guardrail_intervened: "content_filter",
  error: { failure: "server" },
  abort: { failure: "server" },
};

export type FinishWords = ReadonlyMap<string, FinishWord>;

export function finishWords(row: Pick<OpenAICompatibleRow, "finishReasons">): FinishWords {
  return new Map(Object.entries({ ...KNOWN, ...row.finishReasons }));
}

/**
 * Null for no reason yet. A word that nobody documents is a reason all the same: the answer has ended, and since the client's form has no other word
 * for it, as `stop`; the vendor's own goes along.
 */
export function finishWord(words: FinishWords, said: unknown): FinishWord | null {
  if (typeof said !== "string" || said === "") return null;
  const lower = said.toLowerCase();
  return isFinishReason(lower) ? lower : (words.get(lower) ?? "stop");
}
