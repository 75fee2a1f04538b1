// The mock provider: a raw TCP server that writes prebuilt bytes, so that the machine's time goes to what is measured.
// The first segment of the path selects the answer; a POST to /release ends the streams that are held open.
import type { Socket, TCPSocketListener } from "bun";
import { ANSWERS, type MockAnswer } from "./answers.ts";

interface Connection {
  /** The received part of an incomplete request. */
  held: Buffer | null;
  writes: readonly Uint8Array[];
  nextWrite: number;
  /** The bytes of the next write that the kernel has accepted. */
  offset: number;
}

const EMPTY_ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const NOT_THERE = Buffer.from("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");

/** Listens on a free loopback port. */
export function startMock(): TCPSocketListener<Connection> {
  const writing = new Set<Socket<Connection>>();
  const open = new Map<Socket<Connection>, Uint8Array>();
  let scheduled = false;

  /** Writes once to each stream in flight, then waits for the next turn of the event loop. */
  function turn(): void {
    scheduled = false;
    for (const socket of writing) if (!writeOn(socket) || isWritten(socket.data)) writing.delete(socket);
    schedule();
  }
  function schedule(): void {
    if (scheduled || writing.size === 0) return;
    scheduled = true;
    setImmediate(turn);
  }
  function begin(socket: Socket<Connection>, writes: readonly Uint8Array[]): void {
    Object.assign(socket.data, { writes, nextWrite: 0, offset: 0 });
    if (writeOn(socket) && !isWritten(socket.data)) writing.add(socket);
    schedule();
  }
  function answer(socket: Socket<Connection>, path: string): void {
    if (path === "release") {
      for (const [streaming, rest] of open) begin(streaming, [rest]);
      open.clear();
      begin(socket, [EMPTY_ANSWER]);
      return;
    }
    const found: MockAnswer | undefined = ANSWERS.get(path);
    if (found === undefined) return begin(socket, [NOT_THERE]);
    if (found.kind === "held") open.set(socket, found.rest);
    begin(socket, found.kind === "whole" ? [found.bytes] : found.kind === "writes" ? found.writes : [found.beginning]);
  }

  return Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { held: null, writes: [], nextWrite: 0, offset: 0 };
      },
      data(socket, bytes) {
        const { data } = socket;
        const request = data.held === null ? bytes : Buffer.concat([data.held, bytes]);
        const path = wholeRequestPath(request);
        data.held = path === null ? Buffer.from(request) : null;
        if (path !== null) answer(socket, path);
      },
      drain(socket) {
        if (isWritten(socket.data)) return;
        writing.add(socket);
        schedule();
      },
      close(socket) {
        writing.delete(socket);
        open.delete(socket);
      },
    },
  });
}

/** Returns false when the kernel accepts no more for now. */
function writeOn(socket: Socket<Connection>): boolean {
  const { data } = socket;
  const bytes = data.writes[data.nextWrite];
  if (bytes === undefined) return true;
  const taken = Math.max(0, socket.write(data.offset === 0 ? bytes : bytes.subarray(data.offset)));
  if (data.offset + taken < bytes.length) {
    data.offset += taken;
    return false;
  }
  data.nextWrite += 1;
  data.offset = 0;
  return true;
}

function isWritten({ writes, nextWrite }: Connection): boolean {
  return nextWrite >= writes.length;
}

/**
 * Returns the first segment of the path once the request is complete, otherwise null. Every client here sends a
 * Content-Length.
 */
function wholeRequestPath(request: Buffer): string | null {
  const headEnd = request.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const head = request.toString("latin1", 0, headEnd);
  const length = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (request.length < headEnd + 4 + length) return null;
  const start = head.indexOf("/") + 1;
  return /^[\w-]*/.exec(head.slice(start, start + 64))![0];
}
