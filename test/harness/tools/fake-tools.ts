// Tool servers within the process: each tool is a function of the test. For tests of many rounds, or with a simulated
// clock.
import type { CancelSignal } from "../../../src/core/concurrency/cancellation.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { ToolResult, ToolServer, ToolServerSet } from "../../../src/core/configured/tool.ts";
import type { ToolServers } from "../../../src/mcp/tool-servers.ts";

export interface FakeTool {
  readonly inputSchema?: JsonObject;
  run(args: JsonObject, signal: CancelSignal): ToolResult | Promise<ToolResult>;
}

export interface FakeToolCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Null: it runs. */
  ended: "result" | "failed" | "cancelled" | null;
}

export interface FakeToolServers {
  readonly toolServers: ToolServers;
  readonly set: ToolServerSet;
  /** In the order in which they began. */
  readonly calls: readonly FakeToolCall[];
  /** Most calls that ran at once. */
  readonly mostAtOnce: () => number;
}

export function says(text: string, isError = false): ToolResult {
  return {
    parts: [{ kind: "text", text }],
    blocks: [{ type: "text", text }],
    structured: undefined,
    isError,
    bytes: text.length,
  };
}

/** On the global timers; the signal ends it at once. */
export { pause as waitFor } from "../../../src/core/concurrency/timeout.ts";

/** By label and name of the tool. All are registered, for every project, and need no approval. */
export function fakeToolServers(
  servers: Readonly<Record<string, Readonly<Record<string, FakeTool>>>>,
): FakeToolServers {
  const calls: FakeToolCall[] = [];
  let now = 0;
  let most = 0;
  const known = new Map(
    Object.keys(servers).map((label): [string, ToolServer] => [
      label,
      {
        key: label,
        tenantId: null,
        label,
        transport: {
          kind: "streamable_http",
          url: `http://${label}.test/mcp`,
          headers: {},
          oauth: null,
          guarded: false,
        },
        timeoutMs: 60_000,
        maxResultBytes: 1_000_000,
        maxConcurrent: 8,
        allowedTools: null,
        role: null,
        approval: "never",
      },
    ]),
  );
  const toolServers: ToolServers = {
    list: ({ label }) =>
      Promise.resolve(
        Object.entries(servers[label]!).map(([name, { inputSchema }]) => ({
          name,
          title: null,
          description: `Does ${name}.`,
          inputSchema: inputSchema ?? { type: "object" },
        })),
      ),
    async call({ label }, tool, args, signal) {
      const one: FakeToolCall = { server: label, tool, args, ended: null };
      calls.push(one);
      most = Math.max(most, ++now);
      try {
        const fake = servers[label]?.[tool];
        if (fake === undefined) throw new GatewayError("tool_server_failed", "There is no such tool.");
        const result = await fake.run(args, signal);
        one.ended = "result";
        return result;
      } catch (thrown) {
        one.ended = signal.aborted ? "cancelled" : "failed";
        throw thrown;
      } finally {
        now -= 1;
      }
    },
    test: ({ label }) =>
      Promise.resolve({
        transport: "streamable_http",
        protocolVersion: "2025-11-25",
        name: label,
        version: null,
        connectMs: 0,
        listMs: 0,
        tools: Object.keys(servers[label]!).length,
      }),
    onListChanged: () => () => {},
    configured: () => {},
    close: () => Promise.resolve(),
  };
  return { toolServers, set: { of: () => known, keys: new Set(known.keys()) }, calls, mostAtOnce: () => most };
}
