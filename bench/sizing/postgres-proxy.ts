// A proxy in front of PostgreSQL that counts what passes: the statements that a client sends, the times for which it waits
// for a reply, and bytes. It reads only the first five bytes of each message, its type and its length:
// https://www.postgresql.org/docs/current/protocol-message-formats.html
import type { Socket } from "bun";

export interface PassedCounts {
  /** Simple queries, and executions of prepared statements. */
  readonly statements: number;
  /** Simple queries, and `Sync` messages, after which the server replies. */
  readonly waits: number;
  /** Both ways. */
  readonly bytes: number;
}

export interface PostgresProxy {
  /** The given address, by way of the proxy. */
  readonly url: string;
  readonly counts: () => PassedCounts;
  readonly stop: () => void;
}

const HEAD_BYTES = 5;
/** Of the first message of a connection, which has no type. */
const STARTUP_HEAD_BYTES = 4;
const QUERY = "Q".charCodeAt(0);
const EXECUTE = "E".charCodeAt(0);
const SYNC = "S".charCodeAt(0);

interface Client {
  readonly server: Promise<Socket>;
  readonly messages: MessageTypes;
}

export function startPostgresProxy(url: string): PostgresProxy {
  const target = new URL(url);
  const counts = { statements: 0, waits: 0, bytes: 0 };
  const count = (type: number): void => {
    if (type === QUERY || type === EXECUTE) counts.statements += 1;
    if (type === QUERY || type === SYNC) counts.waits += 1;
  };
  const listener = Bun.listen<Client>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        const server = Bun.connect({
          hostname: target.hostname,
          port: Number(target.port),
          socket: {
            data(_, bytes) {
              counts.bytes += bytes.length;
              writeAll(client, bytes);
            },
            drain: () => drained(client),
            close: () => void client.end(),
          },
        });
        client.data = { server, messages: new MessageTypes(count) };
      },
      data({ data: { server, messages } }, bytes) {
        counts.bytes += bytes.length;
        messages.read(bytes);
        const copy = Buffer.from(bytes);
        void server.then((socket) => writeAll(socket, copy));
      },
      drain: (client) => drained(client),
      close: ({ data: { server } }) => void server.then((socket) => socket.end()),
    },
  });
  const own = new URL(url);
  own.host = `127.0.0.1:${listener.port}`;
  return { url: own.href, counts: () => ({ ...counts }), stop: () => listener.stop(true) };
}

/** Finds where messages begin, however the bytes are cut. */
class MessageTypes {
  readonly #found: (type: number) => void;
  #head: number[] = [];
  #headBytes = STARTUP_HEAD_BYTES;
  #skip = 0;

  constructor(found: (type: number) => void) {
    this.#found = found;
  }

  read(bytes: Uint8Array): void {
    for (let offset = 0; offset < bytes.length;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - offset);
        this.#skip -= skipped;
        offset += skipped;
        continue;
      }
      this.#head.push(bytes[offset++]!);
      if (this.#head.length < this.#headBytes) continue;
      const isStartup = this.#headBytes === STARTUP_HEAD_BYTES;
      // The length counts itself, and not the type.
      this.#skip = Buffer.from(this.#head).readUInt32BE(isStartup ? 0 : 1) - STARTUP_HEAD_BYTES;
      if (!isStartup) this.#found(this.#head[0]!);
      this.#head = [];
      this.#headBytes = HEAD_BYTES;
    }
  }
}

const waiting = new WeakMap<object, Buffer[]>();

/** Writes, and keeps what the socket does not take yet. */
function writeAll(socket: Socket<unknown>, bytes: Uint8Array): void {
  const held = waiting.get(socket);
  if (held !== undefined) {
    held.push(Buffer.from(bytes));
    return;
  }
  const written = socket.write(bytes);
  if (written < bytes.length) waiting.set(socket, [Buffer.from(bytes.subarray(Math.max(0, written)))]);
}

function drained(socket: Socket<unknown>): void {
  const held = waiting.get(socket);
  waiting.delete(socket);
  for (const bytes of held ?? []) writeAll(socket, bytes);
}
