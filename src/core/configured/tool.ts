// Tool servers (MCP) and what they exchange with a call (promise 10). https://modelcontextprotocol.io/specification
import type { ErrorCode } from "../errors.ts";
import type { Role } from "../identity.ts";
import type { Json, JsonObject } from "../json.ts";

/**
 * Which tools need the client's approval and which run without it. A tool in both lists needs approval. A tool in
 * neither list needs approval if there is a list `neverFor`; otherwise the server's settings decide.
 */
export type ToolApproval =
  | "always"
  | "never"
  | { readonly neverFor: ReadonlySet<string> | null; readonly alwaysFor: ReadonlySet<string> };

/** How a server is reached. `auto` means Streamable HTTP, with SSE for older servers that do not support it. */
export type ToolTransport =
  | {
      readonly kind: "auto" | "streamable_http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth: ToolOauth | null;
      /** The operator did not configure the address, so that the address guard checks it at each connection (promise 2.12). */
      readonly guarded: boolean;
    }
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
      readonly folder: string | null;
    };

/** Client credentials: https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
export interface ToolOauth {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How the client authenticates: in the form, or in a header (RFC 6749, 2.3.1). */
  readonly clientAuth: "post" | "basic";
  readonly scope: string | null;
  readonly audience: string | null;
}

/** One server that calls may use, either configured or of a single request. */
export interface ToolServer {
  /**
   * Identical as long as the same connection may be used: it consists of the server's place, its name and a digest of
   * how it is reached.
   */
  readonly key: string;
  /**
   * The tenant that has configured the server, or whose request names it or headers for it; `null` for a server that all
   * tenants have.
   */
  readonly tenantId: string | null;
  /** `server_label` of the request. */
  readonly label: string;
  readonly transport: ToolTransport;
  /** Milliseconds that one tool call may take. */
  readonly timeoutMs: number;
  /** The largest result in bytes; a larger one counts as a failure of the tool. */
  readonly maxResultBytes: number;
  /** The number of tool calls that run at the same time; the others wait within their timeout. */
  readonly maxConcurrent: number;
  /** The key of the configured server with whose calls these are counted, where a request adds headers to it. */
  readonly countedAs?: string;
  /** Names in which `*` matches any text; `null` when all tools are allowed. */
  readonly allowedTools: readonly string[] | null;
  /** The lowest role that may use the server; `null` when every caller may that can call models. */
  readonly role: Role | null;
  /** Applies when the request does not set it. */
  readonly approval: "always" | "never";
}

/** The configured servers, by label. */
export interface ToolServerSet {
  /**
   * A project's own servers override its tenant's, and those override the global ones. A `projectId` of null selects
   * what the tenant has without a project.
   */
  of(tenantId: string, projectId: string | null): ReadonlyMap<string, ToolServer>;
  /** The keys of all servers. */
  readonly keys: ReadonlySet<string>;
}

const NONE: ReadonlyMap<string, ToolServer> = new Map();
export const NO_TOOL_SERVERS: ToolServerSet = { of: () => NONE, keys: new Set() };

/** A tool as its server lists it. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  /** The JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of structured results; absent when the server names none. */
  readonly outputSchema?: JsonObject;
  /** Hints of the server about the tool, such as that it only reads; absent when it gives none. */
  readonly annotations?: JsonObject;
}

/** A block of a result. Blocks that are neither text nor image are described as text. */
export type ToolResultPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly mediaType: string; readonly base64: string };

export interface ToolResult {
  readonly parts: readonly ToolResultPart[];
  /** The blocks of the result as the server sent them, for clients that speak the protocol themselves. */
  readonly blocks: readonly Json[];
  /** `structuredContent` of the result; undefined when it has none. */
  readonly structured: Json | undefined;
  /** The tool itself reports that it failed. */
  readonly isError: boolean;
  readonly bytes: number;
}

/** One run of a tool, in the record of its call. It has names only, never an argument or a result. */
export interface ToolRun {
  /** The id of the model's tool call. */
  readonly callId: string;
  readonly server: string;
  readonly tool: string;
  /**
   * The round after whose answer the tool ran, counted from 1; 0 when it ran before the first round, after the client's
   * approval.
   */
  readonly round: number;
  /** Milliseconds from the arrival of the call. */
  readonly startMs: number;
  /** Milliseconds from the arrival of the call to the end of the run, as for attempts; `null` while it runs. */
  readonly totalMs: number | null;
  /** `null` while the tool runs, and when it ended by itself. */
  readonly code: ErrorCode | null;
  /** The tool reports that it failed, or it could not be called. */
  readonly isError: boolean;
  readonly resultBytes: number | null;
  readonly spanId: string | null;
}

/** What the gateway does with a call of a tool, and what is said to the tool and by it. */
export interface ReportedActivity {
  readonly activity: ToolActivity;
  readonly arguments: string;
  /** What the model is given, as the client may see it; `null` at the start. */
  readonly output: string | null;
}

/** `x_gateway_mcp` of a chunk: what the gateway does meanwhile. */
export interface ToolActivity extends JsonObject {
  readonly type: "tool_start" | "tool_end" | "tool_error";
  readonly call_id: string;
  readonly server_label: string;
  readonly tool: string;
  readonly round: number;
  /** Set for `tool_end` and `tool_error`, in milliseconds. */
  readonly duration_ms?: number;
  /** Set for `tool_error`: a message without hosts and keys. */
  readonly error?: string;
}
