// What was said in a call. It exists only where the tenant keeps it (decisions 11.3), beside the record and never in it, and is redacted where it is made.
import type { FinishReason, Message, ToolCall } from "./chat.ts";
import type { JsonObject } from "./json.ts";
import type { Detector } from "./policy.ts";

export interface CallContent {
  /** As the caller sent them; where they are too long, the last ones. */
  readonly messages: readonly Message[];
  /** Definitions of functions that the caller offered. */
  readonly tools: readonly JsonObject[];
  /** Turns of earlier rounds of tools that the gateway ran. */
  readonly rounds?: readonly Message[];
  /** By choice; of a stream that was cut, what was sent. */
  readonly answers: readonly SaidAnswer[];
  /** What did not fit; null: it is whole. */
  readonly leftOut?: LeftOut | null;
  /** Until when it is kept in the database, in milliseconds since 1970; null or left out: it goes to integrations alone. */
  readonly keptUntilMs?: number | null;
}

export interface SaidAnswer {
  readonly index: number;
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly refusal: string | null;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason | null;
}

export interface LeftOut {
  /** From the beginning of the conversation. */
  readonly messages: number;
  readonly tools: number;
  /** The answer was longer. */
  readonly isAnswerCut: boolean;
}

/** How a project keeps what is said in its calls. */
export interface ContentRules {
  /** The share of calls, 0 to 1. */
  readonly sample: number;
  readonly retentionMs: number;
  readonly isStored: boolean;
  /** Of one call, in UTF-16 units. */
  readonly maxCharacters: number;
  readonly detectors: readonly Detector[];
}

/** By project; empty where nobody keeps anything. */
export type ContentLogs = ReadonlyMap<string, ContentRules>;
