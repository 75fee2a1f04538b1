// Providers for tests: one that answers as a handler says, and one that writes raw bytes as a script says.
import { createServer, type Socket } from "node:net";

export interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface FakeUpstream {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  last(): SeenRequest;
  stop(): Promise<void>;
}

/** An HTTP server on a free port of loopback that keeps what it was asked. */
export function startUpstream(
  answer: (request: SeenRequest, raw: Request) => Response | Promise<Response>,
): FakeUpstream {
  const seen: SeenRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(raw) {
      const text = await raw.text();
      const url = new URL(raw.url);
      const request: SeenRequest = {
        path: url.pathname + url.search,
        headers: Object.fromEntries(raw.headers),
        text,
        body: text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {},
      };
      seen.push(request);
      return answer(request, raw);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, seen, last: () => seen.at(-1)!, stop: () => server.stop(true) };
}

export interface RawUpstream {
  readonly url: string;
  /** Connections that are open now. */
  open(): number;
  /** Resolves when a connection has been closed by the other side; gives the time of it. */
  closed(): Promise<number>;
  stop(): Promise<void>;
}

/** A TCP server that calls `script` with the socket once a whole request has come in. */
export async function startRawUpstream(script: (socket: Socket, request: string) => void): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  let tellClosed: (atMs: number) => void = () => {};
  let closed = new Promise<number>((resolve) => (tellClosed = resolve));
  const server = createServer((socket) => {
    sockets.add(socket);
    let got = "";
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      got += bytes.toString("latin1");
      const head = got.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0);
      if (head < 0 || got.length < head + 4 + length) return;
      const request = got;
      got = "";
      script(socket, request);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      tellClosed(performance.now());
      closed = new Promise((resolve) => (tellClosed = resolve));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => sockets.size,
    closed: () => closed,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A plain answer in OpenAI's form. */
export function openaiAnswer(
  content: string | null = "Hello",
  extra: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_767_000_000,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, refusal: null, ...(extra["message"] as object) },
        logprobs: null,
        finish_reason: extra["finish_reason"] ?? "stop",
      },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  };
}

/** The text of an event stream with these data, `[DONE]` at the end. */
export function eventStream(...data: readonly (object | string)[]): string {
  return [...data, "[DONE]"]
    .map((item) => `data: ${typeof item === "string" ? item : JSON.stringify(item)}\n\n`)
    .join("");
}

/** A chunk in OpenAI's form. */
export function openaiChunk(delta: object, finish: string | null = null, extra: object = {}): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_767_000_000,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    ...extra,
  };
}
