// What a call with tool servers knows of them (decisions 10): made before the first round from the request, asked by the rounds.
import type { ChatRequest, Message, ToolCall } from "../core/chat.ts";
import type { JsonObject } from "../core/json.ts";
import type { ToolActivity } from "../core/tool.ts";

/** Whose a call of the model is: `gateway` runs here, `approval` goes to the client for its word, `client` is the client's own function. */
export type ToolCallOwner = "gateway" | "approval" | "client";

export interface ToolSession {
  /** The request as the model is to see it first: tools as functions, what the client brought back of earlier rounds in its place, `tool_choice` as it was asked. */
  readonly request: ChatRequest;
  /** Calls at the end of the conversation that the client has approved: they run before the first round. */
  readonly approved: readonly ToolCall[];
  readonly maxRounds: number;
  ownerOf(call: ToolCall): ToolCallOwner;
  /** Runs one of the gateway's. A tool that fails is text for the model. Throws what ends the whole call: its signal's reason, a guard's `policy_violation`. */
  run(call: ToolCall, round: number, tell: (activity: ToolActivity) => void): Promise<ToolOutcome>;
  /** The request of the next round: the conversation with this turn and what came of its calls. From the second round on no choice is forced; in the last one no tool may be called. */
  next(request: ChatRequest, turn: Message, outcomes: readonly ToolOutcome[], isLast: boolean): ChatRequest;
}

export interface ToolOutcome {
  readonly call: ToolCall;
  /** The `tool` message that answers the call, and a `user` message with images behind all of them where it has some. */
  readonly message: Message;
  readonly images: readonly JsonObject[];
}
