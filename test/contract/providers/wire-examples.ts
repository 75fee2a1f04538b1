// The type of examples of a wire form: answers streamed and non-streaming, and what a client has to receive of either.
import type { JsonObject } from "../../../src/core/json.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";

/** What a client sees of a choice; what is absent is not there, or empty. */
export interface SeenChoice {
  readonly text?: string;
  readonly refusal?: string;
  readonly reasoning?: string;
  readonly details?: readonly unknown[];
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly annotations?: readonly unknown[];
  readonly finish: string;
}

export interface Example {
  readonly name: string;
  /** Members of the request beside model and conversation. */
  readonly asked?: JsonObject;
  readonly whole: JsonObject;
  readonly events: readonly SseEvent[];
  readonly choices: readonly SeenChoice[];
}

export interface WireExamples {
  readonly answers: readonly Example[];
  /** Errors as the vendor says them, in a body or in an event of that name. */
  readonly errors: readonly { readonly event: string; readonly body: JsonObject; readonly message: string }[];
}

export const WEATHER_AND_CLOCK: readonly JsonObject[] = ["weather", "clock"].map((name) => ({
  type: "function",
  function: { name },
}));

/** What a client sees of Claude's thinking, of which a part is hidden, and of the beginning of its text. */
export const CLAUDE_CUT_OFF: SeenChoice = {
  text: "It is",
  reasoning: "Think first.",
  details: [
    { type: "reasoning.text", text: "Think first.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.encrypted", data: "aGlkZGVu", format: "anthropic-claude-v1", index: 1 },
  ],
  finish: "length",
};
