// What a call with tool servers knows of them (promises, chapter 10): made before the first round from the request (open-tool-session.ts), asked by the rounds.
import type { ChatRequest, Message, ToolCall } from "../../core/chat.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ToolActivity } from "../../core/tool.ts";

/** Whose a call of the model is: `gateway` runs here, `approval` goes to the client for its word, `client` is the client's own function. */
export type ToolCallOwner = "gateway" | "approval" | "client";

export interface ToolSession {
  /** The request as the model is to see it first: tools as functions, what the client brought back of earlier rounds in its place, `tool_choice` as it was asked. */
  readonly request: ChatRequest;
  /** Calls at the end of the conversation that the client has approved: they run before the first round (`run` with round 0, then `next` without a turn). */
  readonly approved: readonly ToolCall[];
  readonly maxRounds: number;
  /** In the order of the request, for explanations and for `x_gateway_mcp`. */
  readonly servers: readonly SessionServer[];
  ownerOf(call: ToolCall): ToolCallOwner;
  /**
   * Runs one of the gateway's, or one that was approved; `tell` hears of its start and its end, once each; `spanId` is the span of the run (null: not traced). A tool that fails is text for the model. Throws what ends
   * the whole call: its signal's reason, a guard's `policy_violation`. The rounds keep the record of it.
   */
  run(
    call: ToolCall,
    round: number,
    tell: (activity: ToolActivity) => void,
    spanId: string | null,
  ): Promise<ToolOutcome>;
  /**
   * The request of the next round: this turn and what came of its calls behind the conversation, which otherwise stays as it is. From the second round on no choice is
   * forced; in the last one no tool may be called. `turn` null: the calls are those that were approved, and the round is the first.
   */
  next(request: ChatRequest, turn: Message | null, outcomes: readonly ToolOutcome[], isLast: boolean): ChatRequest;
  /**
   * `x_gateway_mcp.replay` of an answer: all that `request`, the last that `next` made, has more than the client sent. Approved calls have their results before
   * images of earlier ones, so that is not simply what stands at the end.
   */
  replay(request: ChatRequest): readonly Message[];
}

export interface SessionServer {
  readonly label: string;
  readonly isRegistered: boolean;
  readonly tools: readonly SessionTool[];
  /** Why it could not be asked for its tools; null: it said them. */
  readonly failure: ErrorCode | null;
}

export interface SessionTool {
  readonly tool: string;
  /** Of the function. */
  readonly name: string;
  readonly needsApproval: boolean;
}

export interface ToolOutcome {
  readonly call: ToolCall;
  /** The `tool` message that answers the call, and the parts of a `user` message behind all of them where it has images. */
  readonly message: Message;
  /** The same as the client may have it, in `replay`. */
  readonly shown: Message;
  readonly images: readonly JsonObject[];
  readonly server: string;
  readonly tool: string;
  /** Null: it came to an end of its own, also where the tool says that it failed. */
  readonly code: ErrorCode | null;
  readonly isError: boolean;
  /** Null: there is no result. */
  readonly bytes: number | null;
}
