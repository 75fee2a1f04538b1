// A tool server of the protocol's version 2026-07-28, which has no sessions and no handshake, made with the official library.
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface ModernToolServer {
  readonly url: string;
  /** Methods of what it was sent. */
  readonly methods: readonly string[];
  /** Calls of `slow` that have begun, and those whose client went. */
  readonly slowBegun: number;
  readonly cancelled: number;
  /** Adds a tool and says so. */
  grow(name: string): void;
  stop(): Promise<void>;
}

/** Methods that are answered once. */
const WITH_RESULTS: ReadonlySet<string> = new Set(["server/discover", "tools/list", "tools/call"]);

async function withoutResultType(answer: Response): Promise<Response> {
  const text = await answer.text();
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  return new Response(text.replaceAll(/,"resultType":"complete"|"resultType":"complete",/g, ""), {
    status: answer.status,
    headers,
  });
}

export function openModernToolServer({
  legacy = "reject",
  saysResultType = true,
}: { readonly legacy?: "stateless" | "reject"; readonly saysResultType?: boolean } = {}): ModernToolServer {
  const methods: string[] = [];
  const further: string[] = [];
  let slowBegun = 0;
  let cancelled = 0;
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: "modern", version: "2.0.0" },
        { capabilities: { tools: { listChanged: true } } },
      );
      server.registerTool(
        "echo",
        { description: "Says it back.", inputSchema: z.object({ message: z.string() }) },
        ({ message }) => ({ content: [{ type: "text", text: message }] }),
      );
      server.registerTool(
        "sum",
        { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
        ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
      );
      server.registerTool("asks", { inputSchema: z.object({}) }, () =>
        inputRequired({
          inputRequests: {
            confirm: inputRequired.elicit({ message: "Really?", requestedSchema: z.object({ yes: z.boolean() }) }),
          },
        }),
      );
      server.registerTool("slow", { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
        slowBegun += 1;
        await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve));
        cancelled += 1;
        return { content: [] };
      });
      for (const name of further) server.registerTool(name, { inputSchema: z.object({}) }, () => ({ content: [] }));
      return server;
    },
    { legacy },
  );
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { method } =
        request.method === "POST" ? ((await request.clone().json()) as { readonly method: string }) : { method: null };
      if (method !== null) methods.push(method);
      const answer = await handler.fetch(request);
      return saysResultType || method === null || !WITH_RESULTS.has(method) ? answer : await withoutResultType(answer);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    methods,
    get slowBegun() {
      return slowBegun;
    },
    get cancelled() {
      return cancelled;
    },
    grow(name) {
      further.push(name);
      handler.notify.toolsChanged();
    },
    async stop() {
      await handler.close();
      await server.stop(true);
    },
  };
}
