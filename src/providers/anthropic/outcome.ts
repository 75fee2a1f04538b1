// How an answer ended and what it used, in our words: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons and the usage object.
import type { FinishReason, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { tokenCount } from "../token-count.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  // a tool of the vendor's own ran too long; the caller sends the turn back to go on
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  compaction: "length",
  refusal: "content_filter",
};

export interface Finish {
  readonly finish_reason: FinishReason;
  readonly native_finish_reason: string;
}

/** `hasCalls`: the answer holds calls that the caller has to run. A word that the vendor adds later ends an answer like `end_turn`. */
export function finishOf(stopReason: string, hasCalls: boolean): Finish {
  const word = FINISH[stopReason] ?? "stop";
  const isNormal = word === "stop" || word === "tool_calls";
  return { finish_reason: isNormal ? (hasCalls ? "tool_calls" : "stop") : word, native_finish_reason: stopReason };
}

/** True where the end may have fallen into the middle of a call's input. */
export function isCutOff(stopReason: string): boolean {
  return FINISH[stopReason] === "length";
}

/** Why the vendor refused, where it says so. */
export function refusalOf(details: Json | undefined): string | null {
  const explanation = isObject(details) ? details["explanation"] : null;
  return typeof explanation === "string" && explanation !== "" ? explanation : null;
}

/** `input_tokens` leaves out what was read from and written to the cache; our prompt counts all three. */
export function usageOf(native: JsonObject): Usage {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens_details: details } = native;
  const prompt = tokenCount(native["input_tokens"]) + tokenCount(read) + tokenCount(written);
  const completion = tokenCount(native["output_tokens"]);
  const hour = isObject(native["cache_creation"]) ? tokenCount(native["cache_creation"]["ephemeral_1h_input_tokens"]) : 0;
  const thought = isObject(details) ? details["thinking_tokens"] : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...((typeof read === "number" || typeof written === "number") && {
      prompt_tokens_details: { ...(typeof read === "number" && { cached_tokens: read }), ...(typeof written === "number" && { cache_write_tokens: written }), ...(hour > 0 && { cache_write_1h_tokens: hour }) },
    }),
    ...(typeof thought === "number" && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}

const TIERS: Readonly<Record<string, string>> = { standard: "default", priority: "priority" };

/** The tier that served the call, where OpenAI has a word for it. */
export function serviceTierOf({ service_tier: tier }: JsonObject): { readonly service_tier?: string } {
  const word = typeof tier === "string" ? TIERS[tier] : undefined;
  return word === undefined ? {} : { service_tier: word };
}
