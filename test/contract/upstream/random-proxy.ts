// A proxy for the model test of the upstream client: on each connection it plays one of the ways in which proxies open tunnels, refuse them and break them off.
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import fc from "fast-check";
import type { Identity } from "./upstream-tls.suite.ts";

export interface ProxyPlay {
  /** What the proxy sends before the tunnel. */
  readonly answer: string;
  /** Whether a tunnel follows that answer. Where none follows, the client has to report a connection fault. */
  readonly isTunnel: boolean;
  /** The answer goes out byte by byte, and what the provider sends in small pieces. */
  readonly isTrickling: boolean;
  /** Both connections are destroyed when the provider has sent so many bytes through the tunnel, TLS included. */
  readonly severAfterBytes: number;
}

const OPEN = "HTTP/1.1 200 Connection established\r\n\r\n";
const tunnelAnswers = fc.constantFrom(
  OPEN,
  OPEN,
  "HTTP/1.0 200\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 40\r\nTransfer-Encoding: gzip\r\n\r\n",
  `HTTP/1.1 100 Continue\r\n\r\n${OPEN}`,
);
const refusalAnswers = fc.constantFrom(
  "",
  "HTTP/1.1 200 O",
  "HTTP/1.1 403 Forbidden\r\n\r\n",
  'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 2\r\n\r\nno',
  "HTTP/1.1 502 Bad Gateway\r\n\r\n",
  "SSH-2.0-x\r\n",
  `\r\n${OPEN}`,
  `junk${OPEN}`,
  `${OPEN}junk`,
  `${OPEN}${OPEN}`,
  OPEN.replaceAll("\r\n", "\n"),
);
export const proxyPlay: fc.Arbitrary<ProxyPlay> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      answer: tunnelAnswers,
      isTunnel: fc.constant(true),
      isTrickling: fc.boolean(),
      severAfterBytes: fc.oneof(
        { weight: 4, arbitrary: fc.constant(Infinity) },
        { weight: 1, arbitrary: fc.nat(4_000) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: refusalAnswers.map((answer) => ({
      answer,
      isTunnel: false,
      isTrickling: false,
      severAfterBytes: Infinity,
    })),
  },
);

export interface RandomProxy {
  readonly url: string;
  /** Connections on which it opened no tunnel, or destroyed it. */
  harmedConnections(): number;
  /** Whether the connection that reached the provider from this port of the proxy was destroyed by the proxy. */
  hasSevered(port: number): boolean;
  close(): Promise<void>;
}

export async function openRandomProxy(
  plays: readonly ProxyPlay[],
  targetPort: number,
  identity: Identity | undefined,
): Promise<RandomProxy> {
  const sockets = new Set<Socket>();
  const severed = new Set<number>();
  let connections = 0;
  let refusals = 0;
  const accept = (socket: Socket): void => {
    const play = plays[connections++ % plays.length]!;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    socket.once("data", () => {
      if (!play.isTunnel) {
        refusals++;
        socket.on("data", () => undefined);
        if (play.answer !== "") socket.write(play.answer);
        if (!play.answer.endsWith("\n")) setImmediate(() => socket.end());
        return;
      }
      void answered(socket, play).then(() => join(socket, play));
    });
  };
  const answered = async (socket: Socket, { answer, isTrickling }: ProxyPlay): Promise<void> => {
    socket.pause();
    for (const part of isTrickling ? answer : [answer]) {
      socket.write(part);
      if (isTrickling) await nextTurn();
    }
  };
  const join = (socket: Socket, { isTrickling, severAfterBytes }: ProxyPlay): void => {
    const peer = createConnection({ host: "127.0.0.1", port: targetPort, allowHalfOpen: true, noDelay: true });
    sockets.add(peer);
    let bytesLeft = severAfterBytes;
    let writing = Promise.resolve();
    const write = async (bytes: Buffer): Promise<void> => {
      const pieces = isTrickling ? [bytes.subarray(0, 3), bytes.subarray(3)] : [bytes];
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (isTrickling) await nextTurn();
      }
    };
    peer
      .on("data", (bytes: Buffer) => {
        const part = bytes.subarray(0, bytesLeft);
        bytesLeft -= part.length;
        writing = writing.then(() => write(part));
        if (bytesLeft > 0) return;
        severed.add(peer.localPort!);
        void writing.then(() => [socket, peer].forEach((one) => one.destroy()));
      })
      .on("end", () => void writing.then(() => socket.end()))
      .on("error", () => void writing.then(() => reset(socket)))
      .on("close", () => sockets.delete(peer));
    socket
      .on("data", (bytes) => {
        if (peer.destroyed || peer.write(bytes)) return;
        socket.pause();
        peer.once("drain", () => socket.resume());
      })
      .on("end", () => peer.end())
      .on("close", () => peer.destroy());
    socket.resume();
  };
  const server =
    identity === undefined
      ? createServer({ allowHalfOpen: true, noDelay: true }, accept)
      : createTlsServer(identity, accept);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    harmedConnections: () => refusals + severed.size,
    hasSevered: (port) => severed.has(port),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function reset(socket: Socket): void {
  if (socket.destroyed) return;
  // A TLS socket has no reset of its own.
  if (typeof socket.resetAndDestroy === "function") socket.resetAndDestroy();
  else socket.destroy();
}

const nextTurn = (): Promise<void> => new Promise((resume) => setImmediate(resume));
