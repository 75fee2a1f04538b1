// What was said in a call. It exists only where the tenant keeps it (decisions 11.3), beside the record and never in it, and is redacted where it is made.
import type { FinishReason, Message, ToolCall } from "./chat.ts";
import type { JsonObject } from "./json.ts";

export interface CallContent {
  /** As the caller sent them. */
  readonly messages: readonly Message[];
  /** Definitions of functions that the caller offered. */
  readonly tools: readonly JsonObject[];
  /** By choice; of a stream that was cut, what was sent. */
  readonly answers: readonly SaidAnswer[];
}

export interface SaidAnswer {
  readonly index: number;
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly refusal: string | null;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason | null;
}
