// A client on a bare socket: it reads or does not read as the test asks, and there may be thousands of it, which fetch
// does not allow.
import { connect, type Socket } from "node:net";

export interface RawClient {
  /** Everything that came, the head too, still in its chunks. */
  text(): string;
  /** Resolves when `part` has come; rejects when the connection ends before. */
  saw(part: string): Promise<void>;
  /** Resolves when the connection has ended. */
  ended(): Promise<void>;
  leave(): void;
  readonly socket: Socket;
}

export interface RawCall {
  readonly url: string;
  readonly token: string;
  readonly body: object;
  /** False: never reads a byte. */
  readonly reads?: boolean;
}

export function rawCall({ url, token, body, reads = true }: RawCall): RawClient {
  const { hostname, port, host } = new URL(url);
  const text = JSON.stringify(body);
  const socket = connect({ host: hostname, port: Number(port) });
  let got = "";
  let isOver = false;
  const waiting = new Set<() => void>();
  const wake = (): void => waiting.forEach((look) => look());
  const over = (): void => {
    isOver = true;
    wake();
  };
  socket.on("error", () => {});
  socket.on("close", over);
  socket.on("end", over);
  socket.on("connect", () => {
    socket.write(
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
    );
    if (!reads) socket.pause();
  });
  if (reads)
    socket.on("data", (bytes) => {
      got += bytes.toString("utf8");
      wake();
    });
  const when = (holds: () => boolean, lost: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!holds() && !lost()) return;
        waiting.delete(look);
        if (holds()) resolve();
        else reject(new Error(`the connection ended after ${JSON.stringify(got.slice(-300))}`));
      };
      waiting.add(look);
      look();
    });
  return {
    socket,
    text: () => got,
    saw: (part) =>
      when(
        () => got.includes(part),
        () => isOver,
      ),
    ended: () =>
      when(
        () => isOver,
        () => false,
      ),
    leave: () => void socket.destroy(),
  };
}
