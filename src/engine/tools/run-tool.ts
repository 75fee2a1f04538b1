// Runs one tool call (promises 10.2, 10.4): checks its arguments, calls its tool server, and turns the result into text
// and images for the model. A message of role tool holds only text, so images follow in a message of role user. Results
// are untrusted, so guards search them before they are used (promise 3.3).

// Decides (the answer): Which tool runs, and what does the model see of it? By: `runTool`, `callServer`. Also: the
// loop: `tool-rounds.ts` (`ToolRounds`). Rule: A fault becomes a `tool` message that begins with `Error:`.
import { isDeepStrictEqual } from "node:util";
import type { Message, ToolCall } from "../../core/chat.ts";
import { asGatewayError, type ErrorCode } from "../../core/errors.ts";
import { type JsonObject, jsonIn } from "../../core/json.ts";
import type {
  ReportedActivity,
  ToolActivity,
  ToolDefinition,
  ToolResult,
  ToolServer,
} from "../../core/configured/tool.ts";
import type { Call } from "../call/call.ts";
import type { ToolOutcome } from "./tool-session.ts";
import { withReadableArguments } from "./tool-turns.ts";
import { searchedMessages } from "../guards/guard-request.ts";

/** The parts of a call that a tool session needs. */
export type ToolCaller = Pick<Call, "snapshot" | "signal" | "clock" | "policies" | "traceHeaders" | "record"> & {
  readonly context: Pick<Call["context"], "toolServers" | "argumentChecks">;
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
  readonly onActivity: (reported: ReportedActivity) => void;
  readonly spanId: string | null;
  readonly call: ToolCaller;
  readonly results: ResultsSoFar;
  /** Why the tool does not run; `null` where it does. */
  readonly refused: string | null;
  readonly write: ResultWriter;
}

/** Writes the result of the tool with this name as the message that answers its call. */
export type ResultWriter = (result: ToolResult, name: string) => WrittenResult;

export interface WrittenResult {
  /** The members of the message beside its role and the id of the call. */
  readonly message: Omit<Message, "role" | "tool_call_id">;
  /** Parts of a further message, with the images of the result. */
  readonly images: readonly JsonObject[];
}

/**
 * The size of all tool results of one call so far. Each further round sends them again, and so together they may be as
 * large as a request.
 */
export interface ResultsSoFar {
  bytes: number;
}

/** The result of a tool call, before guards have searched it. */
interface Ended extends WrittenResult {
  readonly code: ErrorCode | null;
  /** The error for the client, without hosts and secrets. */
  readonly error: string | null;
  readonly bytes: number | null;
}

const MAX_NAME = 128;

/**
 * `offered` is null if the function was not offered, but its name begins like a tool of a server. Throws the signal's
 * reason, or a guard's `policy_violation`.
 */
export async function runTool(
  toolCall: ToolCall,
  offered: OfferedTool | null,
  { label, round, onActivity, spanId, call, results, refused, write }: ToolRunning,
): Promise<ToolOutcome> {
  const startedMs = call.clock.elapsedMs();
  const name = toolCall.function.name.slice(0, MAX_NAME);
  const place = {
    call_id: toolCall.id,
    server_label: offered?.server.label ?? label,
    tool: offered?.tool.name ?? name,
    round,
  };
  // as the call goes back to the model
  const { arguments: text } = withReadableArguments(toolCall).function;
  const report = (activity: ToolActivity, output: string | null): void =>
    onActivity({ activity, arguments: text, output });
  report({ type: "tool_start", ...place }, null);
  const runs = async (): Promise<Ended> => {
    if (offered === null) return failed(`Unknown tool ${JSON.stringify(name)}.`);
    return refused === null ? callServer(toolCall, offered, { spanId, call, results, write }) : failed(refused);
  };
  const ended = await runs();
  const message = await searched({ role: "tool", tool_call_id: toolCall.id, ...ended.message }, call);
  const shown = (await call.policies?.answers.shown(message)) ?? message;
  const over = { ...place, duration_ms: Math.round(call.clock.elapsedMs() - startedMs) };
  const output = typeof shown.content === "string" ? shown.content : "";
  if (ended.error === null) report({ type: "tool_end", ...over }, output);
  else report({ type: "tool_error", ...over, error: ended.error }, output);
  return {
    call: toolCall,
    message,
    shown,
    images: ended.images,
    server: place.server_label,
    tool: place.tool,
    code: ended.code,
    isError: ended.error !== null,
    bytes: ended.bytes,
  };
}

async function callServer(
  toolCall: ToolCall,
  { server, tool, name }: OfferedTool,
  { spanId, call, results, write }: Pick<ToolRunning, "spanId" | "call" | "results" | "write">,
): Promise<Ended> {
  const { args, fault } = call.context.argumentChecks.check(toolCall.function.arguments, tool.inputSchema);
  if (args === null) return { ...failed(fault), code: "invalid_request" };
  let result: ToolResult;
  try {
    result = await call.clock.waiting(
      call.context.toolServers.call(server, tool.name, args, call.signal, {
        tenantId: call.record.tenantId ?? "",
        trace: call.traceHeaders(spanId),
      }),
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
  return {
    ...write(result, name),
    code: null,
    error: result.isError ? "The tool reported an error." : null,
    bytes: result.bytes,
  };
}

function failed(error: string): Ended {
  return {
    message: { content: `Error: ${error}` },
    images: [],
    code: null,
    error: error.slice(0, MAX_ERROR),
    bytes: null,
  };
}
/** The length of an error that the client sees. The model reads the full text. */
const MAX_ERROR = 500;

async function searched(message: Message, { policies }: ToolCaller): Promise<Message> {
  if (policies === null) return message;
  return (await policies.requests.apply(searchedMessages([message]), null, "tool_result"))[0]!;
}

/** The types of images that models can see. For any other type, the text names the type. */
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp)$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Writes a result as text, as models take it. A line before each image names its tool. */
export const resultForModel: ResultWriter = (result, name) => {
  const lines: string[] = [];
  const images: JsonObject[] = [];
  for (const part of result.parts) {
    if (part.kind === "text") lines.push(part.text);
    else if (!IMAGE_TYPE.test(part.mediaType) || !BASE64.test(part.base64))
      lines.push(`[an image of type ${part.mediaType.slice(0, 64)}, which cannot be shown]`);
    else {
      const label = `image ${images.length / 2 + 1} of ${name}`;
      lines.push(`[${label}: ${part.mediaType.toLowerCase()}, shown below to models that take images]`);
      images.push(
        { type: "text", text: `[${label}]` },
        { type: "image_url", image_url: { url: `data:${part.mediaType.toLowerCase()};base64,${part.base64}` } },
      );
    }
  }
  const { structured } = result;
  if (structured !== undefined && !lines.some((line) => repeats(line, structured)))
    lines.push(JSON.stringify(structured));
  const text = lines.join("\n");
  // some providers refuse messages without content
  const content = text.trim() === "" ? "(no content)" : text;
  return { message: { content: result.isError ? `Error: ${content}` : content }, images };
};

/** Servers repeat structured content as text, for clients that do not support structured content. */
function repeats(line: string, structured: unknown): boolean {
  const first = line.trimStart()[0];
  return first !== undefined && '{["-0123456789tfn'.includes(first) && isDeepStrictEqual(jsonIn(line), structured);
}
