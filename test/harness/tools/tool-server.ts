// A tool server (MCP, Streamable HTTP, protocol 2025-11-25) written by hand, so that it can lie, stall, break off and
// forget, which a well-kept library would not let a server do. It records what it was sent.
import type { Json, JsonObject } from "../../../src/core/json.ts";
import type { ToolAsker } from "../../../src/mcp/tool-servers.ts";

export interface ServedTool {
  readonly name: string;
  readonly description?: string;
  /** As it is listed; left out: any object. */
  readonly inputSchema?: Json;
  /** What a call of it does; left out: it says the arguments back. */
  readonly run?: (call: ServedCall) => Promise<Answer> | Answer;
}

export interface ServedCall {
  readonly args: JsonObject;
  readonly server: ToolServerEnd;
  /** Aborted when the client says `notifications/cancelled`, or lets go of the answer. */
  readonly signal: AbortSignal;
  /** Asks the client something, as `elicitation/create` or `sampling/createMessage`, and gives its answer. Makes the answer a stream. */
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>;
  readonly notify: (method: string, params: JsonObject) => void;
  /** Answers now, over a stream that stays open. */
  readonly answer: (result: JsonObject) => void;
  /** When the client has cancelled the stream. */
  readonly closed: Promise<void>;
}

/** A result; the text of an answer with its content type; the bytes of one without end; `break`: the stream ends without an answer. */
export type Answer =
  | JsonObject
  | { readonly raw: string; readonly contentType?: string; readonly status?: number }
  | { readonly flood: number }
  | { readonly break: true };

export interface ToolServerEnd {
  readonly url: string;
  readonly port: number;
  /** Messages of the client in order, with the headers that they came with. */
  readonly sent: readonly { readonly message: JsonObject; readonly headers: Headers }[];
  /** Bytes of floods that were read. */
  readonly floodedBytes: number;
  /** How often a token was asked for. */
  readonly tokensIssued: number;
  sessions(): number;
  /** Streams of clients that receive its notifications. */
  listeners(): number;
  /** All sessions are unknown from now on. */
  forget(): void;
  /** No token that was given holds any more. */
  refuseTokens(): void;
  /** Replaces the tools and notifies the clients, unless it is asked not to. */
  change(tools: readonly ServedTool[], quietly?: boolean): void;
  /** Says so to every client, that often. */
  say(method: string, times?: number): void;
  stop(): Promise<void>;
}

export interface ToolServerOptions {
  readonly tools?: readonly ServedTool[];
  readonly port?: number;
  /** Tools in one page of the list; left out: all. */
  readonly pageSize?: number;
  /** Answers every request like this. */
  readonly respond?: (request: Request) => Response | null;
  /** It gives no sessions, and wants none. */
  readonly isStateless?: boolean;
  /** Only with a token of its own, which `/token` gives for this secret. */
  readonly secret?: string;
  /** The name that it gives itself; `faulty`, if left out. */
  readonly named?: (request: Request) => string;
  /** In the place of the whole answer to `tools/list`. */
  readonly list?: (cursor: string | undefined) => Json;
}

const ECHO: ServedTool = {
  name: "echo",
  description: "Says it back.",
  inputSchema: { type: "object", properties: { message: { type: "string" } } },
};
const encoder = new TextEncoder();

/** For whom tools run where it does not matter. */
export const ASKER: ToolAsker = { tenantId: "default", trace: null };

export function said(text: string): JsonObject {
  return { content: [{ type: "text", text }] };
}

export function openToolServer(options: ToolServerOptions = {}): ToolServerEnd {
  let tools = options.tools ?? [ECHO];
  const sessions = new Set<string>();
  const tokens = new Set<string>();
  const sent: { message: JsonObject; headers: Headers }[] = [];
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const running = new Map<string, AbortController>();
  const asked = new Map<string, (answer: JsonObject) => void>();
  let floodedBytes = 0;
  let tokensIssued = 0;
  let made = 0;

  const json = (body: Json, init: ResponseInit = {}): Response => Response.json(body, init);
  const rpc = (id: Json | undefined, result: Json): JsonObject => ({ jsonrpc: "2.0", id: id ?? null, result });
  const event = (message: Json): Uint8Array => encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);

  const list = (cursor: string | undefined): Json => {
    if (options.list !== undefined) return options.list(cursor);
    const from = Number(cursor ?? 0);
    const size = options.pageSize ?? tools.length;
    const page = tools
      .slice(from, from + size)
      .map(({ name, description = "", inputSchema = { type: "object" } }) => ({ name, description, inputSchema }));
    return { tools: page, ...(from + size < tools.length && { nextCursor: String(from + size) }) };
  };

  const flood = (bytes: number): Response => {
    const piece = encoder.encode("x".repeat(64 * 1024));
    let left = bytes;
    const head = encoder.encode('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
    let begun = false;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (left <= 0) return controller.close();
        controller.enqueue(begun ? piece : head);
        begun = true;
        left -= piece.length;
        floodedBytes += piece.length;
        await Bun.sleep(0);
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };

  const call = (message: JsonObject, session: string, request: Request): Promise<Response> | Response => {
    const { id, params } = message as {
      readonly id: number;
      readonly params: { readonly name: string; readonly arguments?: JsonObject };
    };
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      return json({ jsonrpc: "2.0", id, error: { code: -32602, message: `Unknown tool: ${params.name}` } });
    const abort = new AbortController();
    const key = `${session} ${id}`;
    running.set(key, abort);
    request.signal.addEventListener("abort", () => abort.abort());
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own), cancel: close });
    const { promise: first, resolve: begin } = Promise.withResolvers<"stream">();
    const push = (sends: Json): void => {
      begin("stream");
      controller.enqueue(event(sends));
    };
    const served: ServedCall = {
      args: params.arguments ?? {},
      server: end,
      signal: abort.signal,
      notify: (method, own) => push({ jsonrpc: "2.0", method, params: own }),
      answer: (result) => push(rpc(id, result)),
      closed,
      ask: (method, own) => {
        const askId = `ask-${++made}`;
        push({ jsonrpc: "2.0", id: askId, method, params: own });
        return new Promise((resolve) => asked.set(askId, resolve));
      },
    };
    const answered = (async () =>
      (tool.run ?? ((one: ServedCall) => said(JSON.stringify(one.args))))(served))().finally(() => running.delete(key));
    const finish = async (): Promise<void> => {
      const answer = await answered;
      if (!("break" in answer)) controller.enqueue(event(rpc(id, answer)));
      controller.close();
    };
    return Promise.race([first, answered]).then((answer) => {
      if (answer === "stream" || "break" in answer) {
        void finish().catch(() => undefined);
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      }
      if ("flood" in answer) return flood(answer.flood as number);
      if ("raw" in answer)
        return new Response(answer.raw as string, {
          status: (answer.status as number | undefined) ?? 200,
          headers: { "content-type": (answer.contentType as string | undefined) ?? "application/json" },
        });
      return json(rpc(id, answer));
    });
  };

  const post = async (request: Request): Promise<Response> => {
    const message = (await request.json()) as JsonObject;
    sent.push({ message, headers: request.headers });
    const { id, method } = message;
    if (method === "initialize") {
      const session = `session-${++made}`;
      sessions.add(session);
      return json(
        rpc(id, {
          protocolVersion: "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: options.named?.(request) ?? "faulty", version: "1.2.3" },
        }),
        options.isStateless === true ? {} : { headers: { "mcp-session-id": session } },
      );
    }
    const session = request.headers.get("mcp-session-id") ?? "";
    if (options.isStateless !== true && !sessions.has(session))
      return json(
        {
          jsonrpc: "2.0",
          id: null,
          error: { code: -32000, message: session === "" ? "Bad Request: no session" : "Session not found" },
        },
        { status: session === "" ? 400 : 404 },
      );
    if (method === undefined) {
      asked.get(id as string)?.(message);
      return new Response(null, { status: 202 });
    }
    if (method === "notifications/cancelled")
      running.get(`${session} ${(message["params"] as { readonly requestId: number }).requestId}`)?.abort();
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === "tools/list")
      return json(rpc(id, list((message["params"] as { cursor?: string } | undefined)?.cursor)));
    if (method === "tools/call") return await call(message, session, request);
    return json({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  };

  const listen = (request: Request): Response => {
    if (!sessions.has(request.headers.get("mcp-session-id") ?? ""))
      return new Response("Session not found", { status: 404 });
    let own: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        streams.add(controller);
        controller.enqueue(encoder.encode(": here\n\n"));
      },
      cancel: () => void streams.delete(own),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  const token = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text());
    const [, basic = ""] = /^Basic (.*)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    const secret =
      form.get("client_secret") ??
      new URLSearchParams(`secret=${Buffer.from(basic, "base64").toString().split(":")[1] ?? ""}`).get("secret");
    if (secret !== options.secret) return json({ error: "invalid_client" }, { status: 401 });
    const text = `token-by-name-and-number-${++tokensIssued}`;
    tokens.add(text);
    return json({ access_token: text, token_type: "Bearer", expires_in: 3600 });
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/token") return await token(request);
      const other = options.respond?.(request) ?? null;
      if (other !== null) return other;
      if (
        options.secret !== undefined &&
        !tokens.has((request.headers.get("authorization") ?? "").replace("Bearer ", ""))
      )
        return new Response("no token", { status: 401, headers: { "www-authenticate": "Bearer" } });
      if (request.method === "POST") return await post(request);
      if (request.method === "GET") return listen(request);
      sessions.delete(request.headers.get("mcp-session-id") ?? "");
      return new Response(null, { status: 204 });
    },
  });

  const end: ToolServerEnd = {
    url: `http://127.0.0.1:${server.port}/mcp`,
    port: server.port!,
    sent,
    get floodedBytes() {
      return floodedBytes;
    },
    get tokensIssued() {
      return tokensIssued;
    },
    sessions: () => sessions.size,
    listeners: () => streams.size,
    forget: () => sessions.clear(),
    refuseTokens: () => tokens.clear(),
    change(other, quietly = false) {
      tools = other;
      if (!quietly) end.say("notifications/tools/list_changed");
    },
    say(method, times = 1) {
      for (const stream of streams)
        for (let count = 0; count < times; count++) stream.enqueue(event({ jsonrpc: "2.0", method }));
    },
    stop: () => server.stop(true),
  };
  return end;
}
