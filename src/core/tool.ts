// Servers of tools (MCP), and what passes between them and a call (decisions 10). https://modelcontextprotocol.io/specification
import type { ErrorCode } from "./errors.ts";
import type { Role } from "./identity.ts";
import type { Json, JsonObject } from "./json.ts";

/** Tools that wait for the client's word, and tools that run without asking. A tool that stands in both lists waits; one in neither waits where there is a list `neverFor`, and else does what its server's settings say. */
export type ToolApproval =
  | "always"
  | "never"
  | { readonly neverFor: ReadonlySet<string> | null; readonly alwaysFor: ReadonlySet<string> };

/** How a server is reached. `auto` is Streamable HTTP, and SSE where an older server does not know that. */
export type ToolTransport =
  | {
      readonly kind: "auto" | "streamable_http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth: ToolOauth | null;
      /** The address is not the operator's, and passes the guard at each connection (decisions 2.12). */ readonly guarded: boolean;
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
  /** How the client says who it is: in the form, or in a header (RFC 6749, 2.3.1). */
  readonly clientAuth: "post" | "basic";
  readonly scope: string | null;
  readonly audience: string | null;
}

/** One server that calls may use: configured, or of one request alone. */
export interface ToolServer {
  /** The same for as long as the very same connection may serve it: its place, its name and a digest of how it is reached. */
  readonly key: string;
  /** `server_label` of the request. */
  readonly label: string;
  readonly transport: ToolTransport;
  /** Milliseconds that one call of a tool may take. */
  readonly timeoutMs: number;
  /** Bytes of one result; a larger one is a failure of the tool. */
  readonly maxResultBytes: number;
  /** Calls of its tools that run at the same time; the others wait within their timeout. */
  readonly maxConcurrent: number;
  /** Names, with * for any text; null: all. */
  readonly allowedTools: readonly string[] | null;
  /** The least role that may use it; null: whoever may make calls. */
  readonly role: Role | null;
  /** What counts where the request does not say. */
  readonly approval: "always" | "never";
}

/** The servers that are configured, by label. */
export interface ToolServerSet {
  /** A project's own go before its tenant's, and those before everybody's. Null: what the tenant has without a project. */
  of(tenantId: string, projectId: string | null): ReadonlyMap<string, ToolServer>;
  /** Of all of them. */
  readonly keys: ReadonlySet<string>;
}

const NONE: ReadonlyMap<string, ToolServer> = new Map();
export const NO_TOOL_SERVERS: ToolServerSet = { of: () => NONE, keys: new Set() };

/** A tool as its server lists it. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
}

/** A block of a result. What is neither text nor image is told as text. */
export type ToolResultPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly mediaType: string; readonly base64: string };

export interface ToolResult {
  readonly parts: readonly ToolResultPart[];
  /** `structuredContent` of the result; undefined: it has none. */
  readonly structured: Json | undefined;
  /** The tool itself says that it failed. */
  readonly isError: boolean;
  readonly bytes: number;
}

/** One run of a tool, in the record of its call. Names alone: never an argument and never a result. */
export interface ToolRun {
  /** Of the model's call. */
  readonly callId: string;
  readonly server: string;
  readonly tool: string;
  /** The round after whose answer it ran, from 1; 0: before the first, by the client's approval. */
  readonly round: number;
  /** Milliseconds from the arrival of the call. */
  readonly startMs: number;
  /** Milliseconds from the arrival of the call to its end, as in an attempt; null: it still runs. */
  readonly totalMs: number | null;
  /** Null: it runs, or came to an end of its own. */
  readonly code: ErrorCode | null;
  /** The tool says that it failed, or could not be called. */
  readonly isError: boolean;
  readonly resultBytes: number | null;
  readonly spanId: string | null;
}

/** `x_gateway_mcp` of a chunk: what the gateway does meanwhile. */
export interface ToolActivity extends JsonObject {
  readonly type: "tool_start" | "tool_end" | "tool_error";
  readonly call_id: string;
  readonly server_label: string;
  readonly tool: string;
  readonly round: number;
  /** Of an end or an error. Milliseconds. */
  readonly duration_ms?: number;
  /** Of an error: words without hosts and keys. */
  readonly error?: string;
}
