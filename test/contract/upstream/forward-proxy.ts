// A forward proxy on real sockets that changes nothing but the request line: what the provider does with its connection
// happens to the client's too, and the other way round. It forwards requests to http addresses, and opens tunnels to
// all others.
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Identity } from "./upstream-tls.suite.ts";

export interface ForwardProxy extends AsyncDisposable {
  /** Without credentials. */
  readonly url: string;
  readonly port: number;
  /** The heads of all requests that came, as they came. */
  readonly heads: readonly string[];
  /** Connections to it that are open now. */
  open(): number;
}

export interface ForwardProxyOptions {
  /** Makes it an https proxy. */
  readonly identity?: Identity | undefined;
  /** Answers a CONNECT in place of opening the tunnel; the connection then stays open. */
  readonly answerConnect?: ((socket: Socket) => unknown) | undefined;
}

export async function forwardProxy({ identity, answerConnect }: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const sockets = new Set<Socket>();
  const heads: string[] = [];
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    let held: Buffer = Buffer.alloc(0);
    let peer: Socket | undefined = undefined;
    /** Bytes of a request's body that are still to come; Infinity in a tunnel. */
    let bodyLeft = 0;
    const forward = (bytes: Buffer): void => {
      if (bytes.length === 0 || peer === undefined || peer.destroyed || peer.write(bytes)) return;
      socket.pause();
      peer.once("drain", () => socket.resume());
    };
    const take = (bytes: Buffer): void => {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      while (held.length > 0) {
        if (bodyLeft > 0) {
          const part = held.subarray(0, bodyLeft);
          held = held.subarray(part.length);
          bodyLeft -= part.length;
          forward(part);
          continue;
        }
        const headEnd = held.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const head = held.toString("latin1", 0, headEnd);
        held = held.subarray(headEnd + 4);
        heads.push(head);
        const [, method = "", destination = ""] = /^(\S+) (\S+) HTTP\/1\.1\r\n/.exec(head) ?? [];
        if (method === "CONNECT") {
          if (answerConnect !== undefined) return void answerConnect(socket);
          bodyLeft = Infinity;
          peer = reach(socket, new URL(`http://${destination}`), () =>
            socket.write("HTTP/1.1 200 Connection established\r\n\r\n"),
          );
          continue;
        }
        const url = new URL(destination);
        peer ??= reach(socket, url);
        forward(Buffer.from(`${rewritten(head, method, url)}\r\n\r\n`, "latin1"));
        bodyLeft = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      }
    };
    socket.on("data", take).on("end", () => (peer === undefined ? socket.end() : undefined));
  };
  const server =
    identity === undefined ? createServer({ allowHalfOpen: true }, accept) : createTlsServer(identity, accept);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    heads,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The request as the target gets it: in origin form, and without the proxy's credentials. */
function rewritten(head: string, method: string, url: URL): string {
  const fields = head.split("\r\n").slice(1);
  return [
    `${method} ${url.pathname}${url.search} HTTP/1.1`,
    ...fields.filter((field) => !/^proxy-authorization:/i.test(field)),
  ].join("\r\n");
}

/** Connects to the target, and joins both connections until one of them ends. */
function reach(socket: Socket, { hostname, port }: URL, onConnect?: () => void): Socket {
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const peer = createConnection({ host, port: Number(port || 80), allowHalfOpen: true, noDelay: true });
  let isConnected = false;
  const breakOff = (): void => {
    if (socket.destroyed) return;
    // A TLS socket has no reset of its own.
    if (typeof socket.resetAndDestroy === "function") socket.resetAndDestroy();
    else socket.destroy();
  };
  peer
    .on("connect", () => {
      isConnected = true;
      onConnect?.();
    })
    .on("data", (bytes) => {
      if (socket.destroyed || socket.write(bytes)) return;
      peer.pause();
      socket.once("drain", () => peer.resume());
    })
    .on("end", () => socket.end())
    .on("error", () => {
      if (isConnected || onConnect === undefined) breakOff();
      else socket.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    });
  socket.on("end", () => peer.end()).on("close", (hadError) => (hadError ? peer.resetAndDestroy() : peer.destroy()));
  return peer;
}
