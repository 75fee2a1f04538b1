// The load generator: a closed loop of keep-alive connections on raw sockets, each of which sends one prebuilt request
// after the other. An answer with another status than 200, or with another length than the first one, ends the run,
// because a row with failures is not a measurement.
import type { Socket } from "bun";
import { AnswerReader } from "./http-answer.ts";

export interface Endpoint {
  readonly port: number;
  /** A complete HTTP/1.1 request. */
  readonly request: Uint8Array;
}

export interface LoadResult {
  readonly requests: number;
  /** The sum over all answers, without the framing. */
  readonly bodyBytes: number;
  readonly seconds: number;
  /** From sending a request to its complete answer, ascending. */
  readonly totalMs: Float64Array;
  /** From sending a request to the first byte of the body, ascending. */
  readonly firstMs: Float64Array;
}

export function httpRequest(port: number, path: string, body: string, token: string | null): Uint8Array {
  const authorization = token === null ? "" : `authorization: Bearer ${token}\r\n`;
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${authorization}content-type: application/json\r\naccept: */*\r\nuser-agent: bench\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Sends requests for `durationMs`, then waits for the answers in flight. Rejects at the first failure. */
export async function runLoad(
  endpoint: Endpoint,
  options: { readonly connections: number; readonly durationMs: number },
): Promise<LoadResult> {
  const totalMs: number[] = [];
  const firstMs: number[] = [];
  let bodyBytes = 0;
  const startedMs = performance.now();
  const endMs = startedMs + options.durationMs;
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      callInLoop(endpoint, (sentMs, firstAtMs, nowMs, bytes) => {
        totalMs.push(nowMs - sentMs);
        firstMs.push(firstAtMs - sentMs);
        bodyBytes += bytes;
        return nowMs < endMs;
      }),
    ),
  );
  return {
    requests: totalMs.length,
    bodyBytes,
    seconds: (performance.now() - startedMs) / 1000,
    totalMs: Float64Array.from(totalMs).toSorted(),
    firstMs: Float64Array.from(firstMs).toSorted(),
  };
}

/** Returns the value below which the given share of the ascending values lies. */
export function quantile(ascending: Float64Array, share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}

export interface OpenStreams {
  /** Resolves when every stream has ended. */
  readonly ended: Promise<unknown>;
}

/** Opens `count` streams, each on its own connection, and resolves when each has sent a part of its body. */
export async function openStreams(endpoint: Endpoint, count: number): Promise<OpenStreams> {
  const ended: Promise<void>[] = [];
  const begun = Array.from(
    { length: count },
    () =>
      new Promise<void>((resolve, reject) => {
        const end = callOnce(endpoint, resolve);
        end.catch(reject);
        ended.push(end);
      }),
  );
  await Promise.all(begun);
  return { ended: Promise.all(ended) };
}

/** Receives the times of each answer, and returns whether to send another request. */
type Took = (sentMs: number, firstAtMs: number, nowMs: number, bodyBytes: number) => boolean;

function callInLoop({ port, request }: Endpoint, took: Took): Promise<void> {
  const reader = new AnswerReader();
  let sentMs = 0;
  let firstAtMs = 0;
  let expectedBytes = -1;
  const send = (socket: Socket): void => {
    firstAtMs = 0;
    sentMs = performance.now();
    write(socket, request);
  };
  return connect(port, send, (socket, bytes) => {
    const whole = reader.push(bytes);
    const nowMs = performance.now();
    if (firstAtMs === 0 && reader.bodyBytes > 0) firstAtMs = nowMs;
    if (!whole) return false;
    if (reader.status !== 200)
      throw new Error(`an answer with status ${reader.status}: ${bytes.toString("latin1", 0, 600)}`);
    if (expectedBytes < 0) expectedBytes = reader.bodyBytes;
    if (reader.bodyBytes !== expectedBytes)
      throw new Error(`an answer of ${reader.bodyBytes} bytes, where the first had ${expectedBytes}`);
    if (!took(sentMs, firstAtMs, nowMs, reader.bodyBytes)) return true;
    send(socket);
    return false;
  });
}

function callOnce({ port, request }: Endpoint, begun: () => void): Promise<void> {
  const reader = new AnswerReader();
  return connect(
    port,
    (socket) => write(socket, request),
    (_, bytes) => {
      const whole = reader.push(bytes);
      if (reader.status !== 0 && reader.status !== 200) throw new Error(`an answer with status ${reader.status}`);
      if (reader.bodyBytes > 0) begun();
      return whole;
    },
  );
}

/**
 * Resolves and closes the connection once `data` reports that it has everything it needs; rejects when the connection
 * is closed before.
 */
function connect(
  port: number,
  opened: (socket: Socket) => void,
  data: (socket: Socket, bytes: Buffer) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (socket: Socket | null, error: unknown): void => {
      reject(error instanceof Error ? error : new Error(String(error)));
      socket?.terminate();
    };
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: opened,
        data(socket, bytes) {
          try {
            if (!data(socket, bytes)) return;
            resolve();
            socket.end();
          } catch (thrown) {
            fail(socket, thrown);
          }
        },
        close: () => reject(new Error("the connection was closed before the end of an answer")),
        error: (socket, error) => fail(socket, error),
      },
    }).catch((thrown: unknown) => fail(null, thrown));
  });
}

/** Never waits, because a request is far smaller than the empty buffer of its socket. */
function write(socket: Socket, request: Uint8Array): void {
  if (socket.write(request) !== request.length) throw new Error("a request did not fit into its socket");
}
