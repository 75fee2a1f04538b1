// The port to tool servers, which hides connections, lists and sessions.
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { TraceHeaders } from "../core/record/trace.ts";
import type { ToolDefinition, ToolResult, ToolServer } from "../core/configured/tool.ts";

export interface ToolServers {
  /**
   * The tools that calls may use, according to the server's allow-list. The list is cached until the server
   * announces a change or its connection ends, for at most five minutes. Throws `tool_server_failed`, `address_not_allowed`, or the signal's reason.
   */
  list(server: ToolServer, signal: CancelSignal): Promise<readonly ToolDefinition[]>;
  /**
   * Runs a tool. A tool that reports its own failure returns a result. Throws `tool_server_failed`, `tool_timeout`,
   * `address_not_allowed`, or the signal's reason.
   */
  call(server: ToolServer, tool: string, args: JsonObject, signal: CancelSignal, asker: ToolAsker): Promise<ToolResult>;
  /** Connects as a call would and describes the server. Throws like `list`. */
  test(server: ToolServer, signal: CancelSignal): Promise<ToolServerStatus>;
  /**
   * Calls `listener` with a server whose list of tools may have changed: the server says so, or its connection
   * has ended. Servers that nobody uses say nothing. Returns what ends it.
   */
  onListChanged(listener: (server: ToolServer) => void): () => void;
  /**
   * `keys` are those of all configured servers: connections to servers that are no longer configured end with their
   * calls.
   */
  configured(keys: ReadonlySet<string>): void;
  close(): Promise<void>;
}

/** For whom a tool runs. */
export interface ToolAsker {
  /** Tenants that wait for slots of one server take turns. */
  readonly tenantId: string;
  /** Sent as `_meta` of the request (https://modelcontextprotocol.io/seps/414-request-meta); `null` for none. */
  readonly trace: TraceHeaders | null;
}

export interface ToolServerStatus {
  readonly transport: "streamable_http" | "sse" | "stdio";
  readonly protocolVersion: string;
  /** The name that the server gives itself; `null` when it gives none. */
  readonly name: string | null;
  readonly version: string | null;
  /** Milliseconds until the connection was established; near 0 when there was one. */
  readonly connectMs: number;
  /** Milliseconds until the server had sent its list of tools, which is not taken from the cache. */
  readonly listMs: number;
  readonly tools: number;
}

/** For processes that serve no calls. */
export const noToolServers: ToolServers = {
  list: ({ label }) => Promise.reject(notCalled(label)),
  call: ({ label }) => Promise.reject(notCalled(label)),
  test: ({ label }) => Promise.reject(notCalled(label)),
  onListChanged: () => () => {},
  configured: () => {},
  close: () => Promise.resolve(),
};

function notCalled(label: string): GatewayError {
  return new GatewayError("tool_server_failed", `Tool servers cannot be called here; ${label} was not called.`);
}
