// A server on a real socket that answers with whatever bytes a test wants, framed or not; for the contract suite of upstream clients.
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface RawRequest {
  readonly head: string;
  readonly body: string;
  /** 1 for the first request of the server's life. */
  readonly number: number;
  /** 1 for the first connection. */
  readonly connection: number;
}

export interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly requests: readonly RawRequest[];
  /** Connections that were ever made. */
  connections(): number;
  /** Connections that are open now. */
  open(): number;
  /** Resolves when no connection is open, with the milliseconds that took; rejects after `timeoutMs`. */
  allClosed(timeoutMs: number): Promise<number>;
}

/** `answer` is called once for each whole request. */
export async function rawServer(
  answer: (socket: Socket, request: RawRequest) => void,
  host = "127.0.0.1",
): Promise<RawServer> {
  return serve(createServer(), "connection", "http", answer, host);
}

export async function serve(
  server: Server,
  event: "connection" | "secureConnection",
  scheme: "http" | "https",
  answer: (socket: Socket, request: RawRequest) => void,
  host = "127.0.0.1",
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const requests: RawRequest[] = [];
  let connections = 0;
  server.on(event, (socket: Socket) => {
    const connection = ++connections;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    // A reset by the client is what half of the tests are about.
    socket.on("error", () => socket.destroy());
    let received = "";
    socket.on("data", (bytes: Buffer) => {
      received += bytes.toString("latin1");
      for (;;) {
        const headEnd = received.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const head = received.slice(0, headEnd);
        const end = headEnd + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
        if (received.length < end) return;
        const request: RawRequest = {
          head,
          body: Buffer.from(received.slice(headEnd + 4, end), "latin1").toString("utf8"),
          number: requests.length + 1,
          connection,
        };
        received = received.slice(end);
        requests.push(request);
        answer(socket, request);
      }
    });
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}/v1/chat`,
    requests,
    connections: () => connections,
    open: () => sockets.size,
    async allClosed(timeoutMs) {
      const startedMs = performance.now();
      while (sockets.size > 0) {
        if (performance.now() - startedMs > timeoutMs)
          throw new Error(`${sockets.size} connections are still open after ${timeoutMs} ms`);
        await Bun.sleep(1);
      }
      return performance.now() - startedMs;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A server that answers every request with these bytes, and then does `then` with the connection. */
export function answering(bytes: string | Uint8Array, then: "keep" | "end" | "reset" = "keep"): Promise<RawServer> {
  return rawServer(answerWith(bytes, then));
}

function answerWith(bytes: string | Uint8Array, then: "keep" | "end" | "reset" = "keep"): (socket: Socket) => void {
  return (socket) => {
    socket.write(bytes);
    if (then === "end") socket.end();
    // Not at once: a reset may overtake the bytes before it.
    if (then === "reset") setTimeout(() => socket.resetAndDestroy(), 30);
  };
}

export interface RawServers {
  readonly rawServer: (answer: (socket: Socket, request: RawRequest) => void) => Promise<RawServer>;
  readonly answering: typeof answering;
}

export const PLAIN_SERVERS: RawServers = { rawServer, answering };

/** The same servers behind TLS, with a certificate for their address. */
export function tlsServers(identity: { readonly key: string; readonly cert: string }): RawServers {
  const secureServer: RawServers["rawServer"] = (answer) => {
    const server = createTlsServer(identity);
    server.on("tlsClientError", () => undefined);
    return serve(server, "secureConnection", "https", answer);
  };
  return { rawServer: secureServer, answering: (bytes, then) => secureServer(answerWith(bytes, then)) };
}

/** A whole answer with Content-Length. */
export function plain(body: string | Uint8Array, head = ""): Buffer {
  const bytes = Buffer.from(body as string);
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${head}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
}

export const CHUNKED_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
export const LAST_CHUNK = "0\r\n\r\n";

/** Writes `bytes` over and over for as long as the peer takes them; gives a count of what went out. */
export function flood(socket: Socket, bytes: Buffer, limitBytes = Infinity): () => number {
  let sent = 0;
  const write = (): void => {
    while (!socket.destroyed && sent < limitBytes) {
      sent += bytes.length;
      if (!socket.write(bytes)) return;
    }
  };
  socket.on("drain", write);
  write();
  return () => sent;
}
