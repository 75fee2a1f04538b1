// The content of a call: what was said in it. It exists only where the tenant keeps it (promise 11.3), beside the
// record and never in it, and is redacted where it is created.
import type { FinishReason, Message, ToolCall } from "../chat.ts";
import type { JsonObject } from "../json.ts";
import type { Detector } from "./policy.ts";

export interface CallContent {
  /** The messages as the caller sent them. Where they are too long, only the last ones are kept. */
  readonly messages: readonly Message[];
  /** Definitions of the functions that the caller offered. */
  readonly tools: readonly JsonObject[];
  /** Turns of earlier rounds whose tools the gateway ran. */
  readonly rounds?: readonly Message[];
  /** One entry for each choice. For a stream that was interrupted, it has what was sent. */
  readonly answers: readonly AnswerContent[];
  /** What was left out because it did not fit; `null` when the content is complete. */
  readonly leftOut?: LeftOut | null;
  /** When the database deletes it, in milliseconds since 1970. Null or absent when only integrations receive it. */
  readonly keptUntilMs?: number | null;
}

export interface AnswerContent {
  readonly index: number;
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly refusal: string | null;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason | null;
}

export interface LeftOut {
  /** Messages that are missing from the beginning of the conversation. */
  readonly messages: number;
  readonly tools: number;
  /** The answer was longer than what is kept. */
  readonly isAnswerCut: boolean;
}

/** How a project keeps the content of its calls. */
export interface ContentRules {
  /** The share of calls whose content is kept, 0 to 1. */
  readonly sample: number;
  readonly retentionMs: number;
  readonly isStored: boolean;
  /** Bounds the content of one call, in UTF-16 units. */
  readonly maxCharacters: number;
  readonly detectors: readonly Detector[];
}

/** The rules by project; empty when no project keeps content. */
export type ContentLogs = ReadonlyMap<string, ContentRules>;
