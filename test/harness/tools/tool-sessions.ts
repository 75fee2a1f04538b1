// Tool sessions of requests, without rounds: the real parser and the real session, with tool servers that are functions of the test.
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Principal } from "../../../src/core/identity.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { ToolActivity, ToolDefinition, ToolResult, ToolServer } from "../../../src/core/configured/tool.ts";
import type { CallPolicies } from "../../../src/engine/policies/call-policies.ts";
import { openToolSession } from "../../../src/engine/tools/open-tool-session.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { CallClock } from "../../../src/engine/call/call-clock.ts";
import type { ToolCaller } from "../../../src/engine/tools/run-tool.ts";
import type { ToolSession } from "../../../src/engine/tools/tool-session.ts";
import { ArgumentChecks } from "../../../src/mcp/tool-arguments.ts";

export interface ServerOfTest {
  /** As the server lists them, or why it does not. */
  readonly tools: readonly ToolDefinition[] | GatewayError;
  readonly settings?: Partial<ToolServer>;
  readonly run?: (tool: string, args: JsonObject) => ToolResult | Promise<ToolResult>;
}

export interface SessionWorld {
  open(body: JsonObject): Promise<ToolSession>;
  /** Servers that were asked for their tools. */
  readonly listed: ToolServer[];
  readonly called: { readonly server: ToolServer; readonly tool: string; readonly args: JsonObject }[];
  readonly told: ToolActivity[];
  readonly cancellation: Cancellation;
}

export const USER = { role: "user", content: "What is there?" } as const;
export const PRINCIPAL: Principal = {
  tokenId: "token",
  tokenKind: "project",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer",
  permissions: new Set(),
  restrictions: null,
};

export function toolOf(name: string, inputSchema: JsonObject = { type: "object", properties: {} }): ToolDefinition {
  return { name, title: null, description: `Does ${name}.`, inputSchema };
}

export function callOf(id: string, name: string, args: JsonObject = {}) {
  return { id, type: "function" as const, function: { name, arguments: JSON.stringify(args) } };
}

export function saysText(text: string): ToolResult {
  return {
    parts: [{ kind: "text", text }],
    blocks: [{ type: "text", text }],
    structured: undefined,
    isError: false,
    bytes: text.length,
  };
}

/** Registered servers by label; others have addresses of the request. */
export function sessionWorld(
  servers: Readonly<Record<string, ServerOfTest>>,
  {
    principal = PRINCIPAL,
    policies = null,
  }: { readonly principal?: Principal; readonly policies?: CallPolicies | null } = {},
): SessionWorld {
  const listed: ToolServer[] = [];
  const called: { readonly server: ToolServer; readonly tool: string; readonly args: JsonObject }[] = [];
  const told: ToolActivity[] = [];
  const cancellation = new Cancellation();
  const registered = new Map(
    Object.entries(servers).map(([label, { settings }]) => [
      label,
      { ...REGISTERED, key: `default/default ${label}`, label, ...settings },
    ]),
  );
  const call = {
    snapshot: {
      limits: { maxBodyBytes: 1_000_000 },
      toolServers: {
        of: (tenantId: string, projectId: string) =>
          tenantId === "default" && projectId === "default" ? registered : new Map<string, ToolServer>(),
      },
    },
    record: { tenantId: principal.tenantId },
    signal: cancellation,
    clock: new CallClock({ monotonic: () => 0 }),
    traceHeaders: () => null,
    policies,
    context: {
      argumentChecks: new ArgumentChecks(),
      toolServers: {
        list: (server: ToolServer) => {
          listed.push(server);
          const { tools } = servers[server.label]!;
          return tools instanceof GatewayError ? Promise.reject(tools) : Promise.resolve(tools);
        },
        call: async (server: ToolServer, tool: string, args: JsonObject) => {
          called.push({ server, tool, args });
          const { run } = servers[server.label]!;
          return run === undefined ? saysText(`${tool} ran`) : run(tool, args);
        },
        close: () => Promise.resolve(),
      },
    },
  } as unknown as ToolCaller;
  return {
    listed,
    called,
    told,
    cancellation,
    open: async (body) =>
      (await openToolSession(
        parseChatRequest(JSON.stringify({ model: "sandbox:echo", messages: [USER], ...body })),
        principal,
        call,
      ))!,
  };
}

const REGISTERED: Omit<ToolServer, "key" | "label"> = {
  tenantId: null,
  transport: {
    kind: "streamable_http",
    url: "http://tools.test/mcp",
    headers: { "x-team": "search" },
    oauth: null,
    guarded: false,
  },
  timeoutMs: 5_000,
  maxResultBytes: 1_000_000,
  maxConcurrent: 8,
  allowedTools: null,
  role: null,
  approval: "never",
};

/** What a promise fails with, as `<status> <code> <param>`. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return `${thrown.entry.status} ${thrown.code} ${thrown.param ?? "-"}`;
    throw thrown;
  }
  return "no failure";
}
