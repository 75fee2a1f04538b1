// Runs one tool call (promises 10.2, 10.4): checks its arguments, calls its tool server, and turns the result into text
// and images for the model. Results are untrusted, so guards search them before they are used (promise 3.3).
import type { Message, ToolCall } from "../../core/chat.ts";
import { asGatewayError, type ErrorCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ToolActivity, ToolDefinition, ToolResult, ToolServer } from "../../core/tool.ts";
import type { Call } from "../call/call.ts";
import { checkedArguments } from "./tool-arguments.ts";
import { toldResult } from "./tool-result.ts";
import type { ToolOutcome } from "./tool-session.ts";

/** The parts of a call that a tool session needs. */
export type ToolCaller = Pick<Call, "snapshot" | "signal" | "clock" | "policies" | "traceHeaders"> & {
  readonly context: Pick<Call["context"], "toolServers">;
};

export interface OfferedTool {
  /** The name of the function. */
  readonly name: string;
  readonly server: ToolServer;
  readonly tool: ToolDefinition;
  readonly needsApproval: boolean;
}

export interface ToolRunning {
  /** The label of the tool server with which the function's name begins. */
  readonly label: string;
  readonly round: number;
  readonly tell: (activity: ToolActivity) => void;
  readonly spanId: string | null;
  readonly call: ToolCaller;
  readonly results: ResultsSoFar;
}

/**
 * The size of all tool results of one call so far. Each further round sends them again, and so together they may be as
 * large as a request.
 */
export interface ResultsSoFar {
  bytes: number;
}

/** The result of a tool call, before guards have searched it. */
interface Ended {
  readonly text: string;
  readonly images: readonly JsonObject[];
  readonly code: ErrorCode | null;
  /** The error for the client, without hosts and secrets. */
  readonly error: string | null;
  readonly bytes: number | null;
}

const MAX_NAME_TOLD = 128;

/**
 * `offered` is null if the function was not offered, but its name begins like a tool of a server. Throws the signal's
 * reason, or a guard's `policy_violation`.
 */
export async function runTool(
  toolCall: ToolCall,
  offered: OfferedTool | null,
  { label, round, tell, spanId, call, results }: ToolRunning,
): Promise<ToolOutcome> {
  const startedMs = call.clock.elapsedMs();
  const name = toolCall.function.name.slice(0, MAX_NAME_TOLD);
  const place = {
    call_id: toolCall.id,
    server_label: offered?.server.label ?? label,
    tool: offered?.tool.name ?? name,
    round,
  };
  tell({ type: "tool_start", ...place });
  const ended =
    offered === null
      ? failed(`Unknown tool ${JSON.stringify(name)}.`)
      : await called(toolCall, offered, spanId, call, results);
  const guarded = await lookedAt(ended, call);
  const message: Message = { role: "tool", tool_call_id: toolCall.id, content: guarded.text };
  const shown = call.policies?.shown(message) ?? message;
  const durationMs = Math.round(call.clock.elapsedMs() - startedMs);
  if (ended.error === null) tell({ type: "tool_end", ...place, duration_ms: durationMs });
  else tell({ type: "tool_error", ...place, duration_ms: durationMs, error: ended.error });
  return {
    call: toolCall,
    message,
    shown: shown instanceof Promise ? await shown : shown,
    images: guarded.images,
    server: place.server_label,
    tool: place.tool,
    code: ended.code,
    isError: ended.error !== null,
    bytes: ended.bytes,
  };
}

async function called(
  toolCall: ToolCall,
  { server, tool, name }: OfferedTool,
  spanId: string | null,
  call: ToolCaller,
  results: ResultsSoFar,
): Promise<Ended> {
  const { args, fault } = checkedArguments(toolCall.function.arguments, tool.inputSchema);
  if (args === null) return failed(fault);
  let result: ToolResult;
  try {
    result = await call.clock.waiting(
      call.context.toolServers.call(server, tool.name, args, call.signal, call.traceHeaders(spanId)),
    );
  } catch (thrown) {
    if (call.signal.aborted) throw call.signal.reason;
    const { code } = asGatewayError(thrown);
    if (code === "internal_error") throw thrown;
    return {
      ...failed(
        code === "tool_timeout"
          ? `The tool did not answer within ${server.timeoutMs / 1000} s.`
          : "The tool server failed or could not be reached.",
      ),
      code,
    };
  }
  const { maxBodyBytes } = call.snapshot.limits;
  if (results.bytes + result.bytes > maxBodyBytes)
    return failed(
      `The result is too large: all tool results of one request may have at most ${maxBodyBytes} bytes together.`,
    );
  results.bytes += result.bytes;
  const { text, images } = toldResult(result, name);
  return {
    text,
    images,
    code: null,
    error: result.isError ? "The tool reported an error." : null,
    bytes: result.bytes,
  };
}

function failed(words: string): Ended {
  return { text: `Error: ${words}`, images: [], code: null, error: words.slice(0, MAX_ERROR), bytes: null };
}
/** The length of an error that the client sees. The model reads the full text. */
const MAX_ERROR = 500;

async function lookedAt(
  { text, images }: Ended,
  { policies }: ToolCaller,
): Promise<{ readonly text: string; readonly images: readonly JsonObject[] }> {
  if (policies === null) return { text, images };
  const looked = policies.untrusted([{ role: "tool", content: text }]);
  const [message] = looked instanceof Promise ? await looked : looked;
  return { text: message!.content as string, images };
}
