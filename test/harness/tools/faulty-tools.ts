// A faulty tool server of the test, and what calls it.
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { ToolServer } from "../../../src/core/configured/tool.ts";
import type { LinkBounds } from "../../../src/mcp/links.ts";
import { openToolServers, type OpenToolServers, type ToolServersOptions } from "../../../src/mcp/open-tool-servers.ts";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { ASKER, openToolServer, type ServedTool, type ToolServerEnd, type ToolServerOptions } from "./tool-server.ts";

const closing: (() => Promise<unknown>)[] = [];

export async function closeFaultyTools(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

export interface FaultyTools {
  readonly servers: OpenToolServers;
  readonly server: ToolServer;
  readonly end: ToolServerEnd;
  readonly told: readonly string[];
  readonly call: (tool: string, args?: JsonObject, signal?: Cancellation) => Promise<string>;
  readonly names: () => Promise<readonly string[]>;
  /** Connects and lists before a test whose calls have a short time: on a busy machine that alone may take longer. */
  readonly connect: () => Promise<void>;
}

export function openFaultyTools(
  options: ToolServerOptions = {},
  settings: Partial<ToolServer> & { readonly transport?: never } = {},
  transport: Record<string, unknown> = {},
  more: Partial<ToolServersOptions & LinkBounds> = {},
): FaultyTools {
  const end = openToolServer(options);
  const told: string[] = [];
  const servers = openToolServers(
    {
      clock: systemClock,
      upstream: createSocketUpstream(),
      allowPrivateAddresses: () => false,
      log: (_level, words, fields) => told.push(`${words}: ${fields["error_detail"] ?? ""}`),
      ...more,
    },
    more,
  );
  closing.push(
    () => servers.close(),
    () => end.stop(),
  );
  const server = {
    key: end.url,
    tenantId: null,
    label: "faulty",
    timeoutMs: 20_000,
    maxResultBytes: 64 * 1024,
    maxConcurrent: 16,
    allowedTools: null,
    role: null,
    approval: "never",
    ...settings,
    transport: { kind: "streamable_http", url: end.url, headers: {}, oauth: null, guarded: false, ...transport },
  } as ToolServer;
  const call = async (tool: string, args = {}, signal = new Cancellation()): Promise<string> => {
    const { parts, isError } = await servers.call(server, tool, args, signal, ASKER);
    return `${isError ? "error: " : ""}${parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("|")}`;
  };
  const names = async (): Promise<readonly string[]> =>
    (await servers.list(server, new Cancellation())).map(({ name }) => name);
  const connect = async (): Promise<void> =>
    void (await servers.list({ ...server, timeoutMs: 20_000 }, new Cancellation()));
  return { servers, server, end, told, call, names, connect };
}

export const failure = async (promise: Promise<unknown>): Promise<GatewayError> => {
  const thrown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof GatewayError)) throw new Error(`expected an error of the catalogue, got ${String(thrown)}`);
  return thrown;
};

export const tool = (name: string, run: ServedTool["run"]): ServedTool => ({ name, ...(run !== undefined && { run }) });
