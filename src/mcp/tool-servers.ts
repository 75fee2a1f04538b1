// The port to the servers of tools: connections, lists and sessions are behind it.
import type { CancelSignal } from "../core/cancellation.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { TraceHeaders } from "../core/trace.ts";
import type { ToolDefinition, ToolResult, ToolServer } from "../core/tool.ts";

export interface ToolServers {
  /** The tools that may be used there, by the server's own allow-list. Kept until the server says that they changed. Throws `tool_server_failed`. */
  list(server: ToolServer, signal: CancelSignal): Promise<readonly ToolDefinition[]>;
  /** Runs one; `trace` goes along as `_meta` of the request (https://modelcontextprotocol.io/seps/414-request-meta). A tool that says itself that it failed is a result. Throws `tool_server_failed`, `tool_timeout`, or the signal's reason. */
  call(server: ToolServer, tool: string, args: JsonObject, signal: CancelSignal, trace: TraceHeaders | null): Promise<ToolResult>;
  close(): Promise<void>;
}

/** For processes that answer no calls. */
export const noToolServers: ToolServers = {
  list: ({ label }) => Promise.reject(new GatewayError("tool_server_failed", `No tool server is called here; ${label} was not asked.`)),
  call: ({ label }) => Promise.reject(new GatewayError("tool_server_failed", `No tool server is called here; ${label} was not asked.`)),
  close: () => Promise.resolve(),
};
