// The prompt cache of a vendor: whether a route or a project has the gateway use it, how a model takes its marks, and prompts as
// they are compared.
import type { JsonObject } from "../json.ts";

/** The member that marks a message, a part or a tool: the prompt up to it is to be kept. */
export const CACHE_MARK = "cache_control";
/** What the gateway writes there. */
export const SHORT_MARK: JsonObject = { type: "ephemeral" };

/** `auto`: the gateway sets marks and keeps conversations together; `off` is what `false` says in the configuration. */
export type PromptCaching = "auto" | "off";

/** How a model takes marks of its vendor's prompt cache. */
export interface CacheMarks {
  /** The most marks that one request may have of the gateway. */
  readonly most: number;
  /** Whether a tool may have one. */
  readonly inTools: boolean;
  /** Whether a turn of the model may have one. */
  readonly inAnswers: boolean;
}

/** A prompt as hashes of its pieces, in the order in which prompt caches read them: to compare it, not to read it. */
export interface PromptPieces {
  /** 0 when the prompt has no tools. */
  readonly tools: number;
  /** The system text before the conversation, where the client wrote it; 0 when the prompt has no such text. */
  readonly system: number;
  readonly messages: Uint32Array;
}

/** The pieces of a prompt that a client asked for. */
export interface NumberedPrompt extends PromptPieces {
  /** The number of each of the messages among those that the client sent, counted from 1. */
  readonly numbers: Uint32Array;
}

/** The first piece in which a prompt is not what it was: a message by its number, counted from 1 as the client sent them. */
export type ChangedPiece = "tools" | "system" | number;
