// The port to the servers of tools: connections, lists and sessions are behind it.
import type { CancelSignal } from "../core/cancellation.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { TraceHeaders } from "../core/trace.ts";
import type { ToolDefinition, ToolResult, ToolServer } from "../core/tool.ts";

export interface ToolServers {
  /** The tools that may be used there, by the server's own allow-list. Kept until the server says that they changed. Throws `tool_server_failed`, `address_not_allowed`, or the signal's reason. */
  list(server: ToolServer, signal: CancelSignal): Promise<readonly ToolDefinition[]>;
  /** Runs one; `trace` goes along as `_meta` of the request (https://modelcontextprotocol.io/seps/414-request-meta). A tool that says itself that it failed is a result. Throws `tool_server_failed`, `tool_timeout`, `address_not_allowed`, or the signal's reason. */
  call(
    server: ToolServer,
    tool: string,
    args: JsonObject,
    signal: CancelSignal,
    trace: TraceHeaders | null,
  ): Promise<ToolResult>;
  /** Reaches it as a call would, and says how. Throws like `list`. */
  test(server: ToolServer, signal: CancelSignal): Promise<ToolServerStanding>;
  /** The keys of all that are configured: connections to what no longer is are ended when their calls are. */
  configured(keys: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export interface ToolServerStanding {
  readonly transport: "streamable_http" | "sse" | "stdio";
  readonly protocolVersion: string;
  /** What the server calls itself; null: it does not say. */
  readonly name: string | null;
  readonly version: string | null;
  /** Milliseconds until the connection stood; near 0 where there was one. */
  readonly connectMs: number;
  /** Milliseconds until it had said its tools: it is asked afresh. */
  readonly listMs: number;
  readonly tools: number;
}

/** For processes that answer no calls. */
export const noToolServers: ToolServers = {
  list: ({ label }) => Promise.reject(notCalled(label)),
  call: ({ label }) => Promise.reject(notCalled(label)),
  test: ({ label }) => Promise.reject(notCalled(label)),
  configured: () => {},
  close: () => Promise.resolve(),
};

function notCalled(label: string): GatewayError {
  return new GatewayError("tool_server_failed", `No tool server is called here; ${label} was not asked.`);
}
