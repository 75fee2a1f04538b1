// The tool session of a call (promises, chapter 10). It is opened from the request before the first round
// (open-tool-session.ts), and the rounds use it.
import type { ChatRequest, Message, ToolCall } from "../../core/chat.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ReportedActivity, ToolDefinition } from "../../core/configured/tool.ts";

/**
 * Who handles a tool call of the model: with `gateway` the gateway runs it, with `approval` the client must approve it,
 * and with `client` it is a call of the client's own function.
 */
export type ToolCallOwner = "gateway" | "approval" | "client";

export interface ToolSession {
  /**
   * The request of the first round: tools are offered as functions, earlier rounds that the client sent back are in
   * their places, and `tool_choice` is as requested.
   */
  readonly request: ChatRequest;
  /**
   * The calls at the end of the conversation that the client has approved. They run before the first round: `run` with
   * round 0, then `next` without a turn.
   */
  readonly approved: readonly ToolCall[];
  readonly maxRounds: number;
  /** The most calls that run in all rounds; `null` where the client sets no bound. */
  readonly maxCalls: number | null;
  /** The servers in the order of the request, for explanations and for `x_gateway_mcp`. */
  readonly servers: readonly SessionServer[];
  ownerOf(call: ToolCall): ToolCallOwner;
  /** The owner of the calls of the function with this name. */
  ownerOfName(name: string): ToolCallOwner;
  /**
   * Runs a call of owner `gateway`, or an approved one. `onActivity` is called once at its start and once at its end.
   * `spanId` is the span of the run, or null if the call is not traced. If the tool fails, the model gets the error as
   * text; it gets `refused` where that says why the tool does not run. Throws errors that end the whole call: the signal's reason, or a guard's `policy_violation`.
   */
  run(
    call: ToolCall,
    round: number,
    onActivity: (reported: ReportedActivity) => void,
    spanId: string | null,
    refused?: string | null,
  ): Promise<ToolOutcome>;
  /**
   * Returns the next round: `turn` and the outcomes of its calls are appended to the conversation of `request`. From the
   * second round on no choice is forced, and in the last round no tool may be called. If `turn` is null, the outcomes
   * are those of approved calls, and the next round is the first.
   */
  next(request: ChatRequest, turn: Message | null, outcomes: readonly ToolOutcome[], isLast: boolean): NextRound;
}

export interface SessionServer {
  readonly label: string;
  readonly isRegistered: boolean;
  readonly tools: readonly SessionTool[];
  /** Why the tools of the server could not be listed; null if they were. */
  readonly failure: ErrorCode | null;
}

export interface SessionTool {
  readonly tool: string;
  /** The name of the function. */
  readonly name: string;
  readonly needsApproval: boolean;
  readonly definition: ToolDefinition;
}

export interface ToolOutcome {
  readonly call: ToolCall;
  /** The message of role tool that answers the call. Images follow in a message of role user behind all results. */
  readonly message: Message;
  /** The message as the client sees it in `replay`. */
  readonly shown: Message;
  readonly images: readonly JsonObject[];
  readonly server: string;
  readonly tool: string;
  /** The error of the tool server, such as a timeout; null otherwise, even if the tool itself reports an error. */
  readonly code: ErrorCode | null;
  readonly isError: boolean;
  /** Null if there is no result. */
  readonly bytes: number | null;
}

/** What the next round begins with. */
export interface NextRound {
  readonly request: ChatRequest;
  /** The messages that were added to the conversation, in its order. */
  readonly added: readonly Message[];
  /** The same messages as the client sees them, in `x_gateway_mcp.replay`. */
  readonly replay: readonly Message[];
}
