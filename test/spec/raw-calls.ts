// Requests over a bare socket that no HTTP client would send: bodies that drip, have a wrong length, or are not JSON,
// UTF-8 or HTTP at all.
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** From the connection to the end of the answer. */
  readonly tookMs: number;
}

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly token: string;
  /** Beside Host, Authorization and Content-Type; an undefined one takes the standard one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent after the head, each after the pause before it. Content-Length is the length of all of them unless `headers` say something else. */
  readonly pieces?: readonly (string | Uint8Array | { readonly pauseMs: number })[];
}

const ANSWER_TIMEOUT_MS = 20_000;

export function rawCall(
  url: string,
  { method = "POST", path = "/api/v1/chat/completions", token, headers = {}, pieces = [] }: RawRequest,
): Promise<RawAnswer> {
  const length = pieces.reduce((sum, piece) => sum + (isPause(piece) ? 0 : Buffer.byteLength(piece)), 0);
  const standard = {
    host: "gateway.test",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": String(length),
  };
  const framed = headers["transfer-encoding"] === undefined ? standard : { ...standard, "content-length": undefined };
  const head = Object.entries({ ...framed, ...headers })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return rawBytes(url, [`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`, ...pieces]);
}

/** Writes the pieces and reads one answer. Rejects when the connection ends without one, or none comes in 20 s. */
export function rawBytes(url: string, pieces: NonNullable<RawRequest["pieces"]>): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let got = "";
    const end = (answer: RawAnswer | null, why: string): void => {
      clearTimeout(timer);
      socket.destroy();
      if (answer === null) reject(new Error(`${why}; got ${JSON.stringify(got.slice(0, 200))}`));
      else resolve(answer);
    };
    const timer = setTimeout(() => end(null, "no whole answer in time"), ANSWER_TIMEOUT_MS);
    socket.on("data", (bytes) => {
      got += bytes.toString("latin1");
      const answer = wholeAnswer(got, false, startedMs);
      if (answer !== null) end(answer, "");
    });
    // a server that has answered may refuse the rest of what is being written
    socket.on("error", () => {});
    socket.on("close", () => end(wholeAnswer(got, true, startedMs), "the connection ended"));
    socket.on("connect", () => void writeAll(socket, pieces));
  });
}

const isPause = (piece: string | Uint8Array | { readonly pauseMs: number }): piece is { readonly pauseMs: number } =>
  typeof piece === "object" && "pauseMs" in piece;

async function writeAll(socket: Socket, pieces: NonNullable<RawRequest["pieces"]>): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (isPause(piece)) await Bun.sleep(piece.pauseMs);
    else if (!socket.write(piece))
      await new Promise<void>((resolve) => socket.once("drain", resolve).once("close", () => resolve()));
  }
}

/** Null while something is missing. `got` has one character for each byte. */
function wholeAnswer(got: string, closed: boolean, startedMs: number): RawAnswer | null {
  const headEnd = got.indexOf("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(got)?.[1]);
  if (headEnd < 0 || !(status >= 200)) return null;
  const headers = new Headers(
    got
      .slice(0, headEnd)
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(/:\s*(.*)/s).slice(0, 2) as [string, string]),
  );
  const rest = got.slice(headEnd + 4);
  const body =
    headers.get("transfer-encoding") === "chunked"
      ? unchunked(rest)
      : bounded(rest, headers.get("content-length"), closed);
  return body === null
    ? null
    : { status, headers, text: Buffer.from(body, "latin1").toString("utf8"), tookMs: performance.now() - startedMs };
}

function bounded(rest: string, length: string | null, closed: boolean): string | null {
  if (length === null) return closed ? rest : null;
  return rest.length < Number(length) ? null : rest.slice(0, Number(length));
}

function unchunked(rest: string): string | null {
  let body = "";
  for (let at = 0; ;) {
    const sizeEnd = rest.indexOf("\r\n", at);
    if (sizeEnd < 0) return null;
    const size = Number.parseInt(rest.slice(at, sizeEnd), 16);
    if (size === 0) return body;
    if (rest.length < sizeEnd + 4 + size) return null;
    body += rest.slice(sizeEnd + 2, sizeEnd + 2 + size);
    at = sizeEnd + 4 + size;
  }
}

/** Pieces as the chunks of a chunked body. */
export function chunked(...pieces: readonly (string | Uint8Array)[]): readonly (string | Uint8Array)[] {
  return [...pieces.flatMap((piece) => [`${Buffer.byteLength(piece).toString(16)}\r\n`, piece, "\r\n"]), "0\r\n\r\n"];
}
