// One TCP or TLS connection on Bun.connect: made, written to, paused and closed. What comes on it goes to its owner, which changes over its life.
// Each read of Bun comes in memory of its own, so the bytes may be kept; a write takes what the kernel takes and buffers nothing.
import { createConnection, type Socket as ProbeSocket } from "node:net";
import type { Socket, SocketHandler, TLSOptions } from "bun";
import type { EncodedRequest, HttpTarget } from "./http-request-encoding.ts";

/** After `closed` nothing more is called. */
export interface ConnectionOwner {
  /** Only now something can be written; over TLS the certificate has been checked. */
  connected(connection: Connection): void;
  /** The kernel has taken the rest of what `write` could not hand over at once. */
  sent?(connection: Connection): void;
  /** The bytes are the owner's to keep and to change. */
  received(connection: Connection, bytes: Buffer): void;
  /** The peer has closed in order (FIN); `closed` follows. */
  ended(connection: Connection): void;
  /** `code` says why where there is an error: ECONNRESET, ECONNREFUSED, ERR_TLS_CERT_ALTNAME_INVALID. Not called after close(). */
  closed(connection: Connection, code: string | undefined): void;
}

/** What one connection hands to the kernel in a turn of the loop. Many connections with large bodies would otherwise hold all other calls while their bytes are copied. */
const MAX_TURN_BYTES = 256 * 1024;

export class Connection {
  /** Of the target that it leads to. */
  readonly targetKey: string;
  /** The pool's: of the target and of whose calls may use it. */
  readonly poolKey: string;
  owner: ConnectionOwner;
  /** The pool's: until when it may be used again, of a clock that never goes back, and as how manieth it was put back. */
  idleUntilMs = 0;
  keptAs = 0;
  #socket: Socket<Connection> | undefined = undefined;
  #probe: ProbeSocket | undefined = undefined;
  #state: "connecting" | "open" | "closed" = "connecting";
  #isAbandoned = false;
  #paused = false;
  /** What the kernel has not taken yet. */
  #unsent: Uint8Array | undefined = undefined;
  /** What follows `#unsent`. */
  #unsentBody: Uint8Array | undefined = undefined;
  /** The rest is written on in the next turn of the loop. */
  #waitsForTurn = false;
  /** What a TLS failure says, before the socket closes for it. */
  #errorCode: string | undefined = undefined;

  constructor(targetKey: string, poolKey: string, owner: ConnectionOwner) {
    this.targetKey = targetKey;
    this.poolKey = poolKey;
    this.owner = owner;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** A part of the last request has not been sent. */
  get hasUnsent(): boolean {
    return this.#unsent !== undefined;
  }

  /** `probeFirst`: only after another attempt, which close() can end, has shown that something answers there. */
  connect(target: HttpTarget, tls: TLSOptions | undefined, probeFirst: boolean): void {
    if (!probeFirst) return this.#connect(target, tls);
    this.#probe = createConnection({ host: target.hostname, port: target.port });
    this.#probe.once("error", (error) => this.#close(codeOf(error) ?? "ECONNREFUSED"));
    this.#probe.once("connect", () => {
      if (this.#state === "closed") return;
      this.#probe?.destroy();
      this.#probe = undefined;
      this.#connect(target, tls);
    });
  }

  #connect({ hostname, port }: HttpTarget, tls: TLSOptions | undefined): void {
    const attempt =
      tls === undefined
        ? Bun.connect<Connection>({ hostname, port, socket: PLAIN_HANDLERS, data: this })
        : Bun.connect<Connection>({ hostname, port, tls, socket: TLS_HANDLERS, data: this });
    attempt.catch((thrown: unknown) => this.#close(codeOf(thrown) ?? "ECONNREFUSED"));
  }

  /** All of it leaves in order, now or as the peer takes it. False: the connection is gone, without a byte sent. */
  write(request: EncodedRequest): boolean {
    const { data, byteLength, body } = request;
    const written = this.#socket?.write(data) ?? -1;
    if (written < 0) return false;
    if (written < byteLength) {
      this.#unsent = (typeof data === "string" ? Buffer.from(data) : data).subarray(written);
      this.#unsentBody = body;
    } else if (body !== undefined && body.length > 0) {
      this.#unsent = body;
      this.#writeOn();
    }
    return true;
  }

  pause(): void {
    this.#paused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#socket?.resume();
  }

  /** At once, whatever is under way: the peer sees a reset. Tells the owner nothing. */
  close(): void {
    this.#state = "closed";
    this.#unsent = this.#unsentBody = undefined;
    this.#probe?.destroy();
    this.#socket?.terminate();
  }

  /** As close(), where nothing is under way any more: the peer sees an orderly end. */
  retire(): void {
    if (this.#unsent !== undefined) return this.close();
    this.#state = "closed";
    this.#socket?.end();
  }

  /**
   * As close(), for a connection that may still be on its way. Bun gives no way to end an attempt before it succeeds or the kernel gives it up,
   * which takes two minutes. True: this is such an attempt, and it tells `owner` when it has ended.
   */
  abandon(owner: ConnectionOwner): boolean {
    this.#isAbandoned = this.#state === "connecting" && this.#socket === undefined && this.#probe === undefined;
    if (this.#isAbandoned) this.owner = owner;
    else this.close();
    return this.#isAbandoned;
  }

  #close(code: string | undefined): void {
    if (this.#state === "closed") return;
    this.close();
    this.owner.closed(this, code);
  }

  /** The handlers below; not for owners. */
  opened(socket: Socket<Connection>): void {
    this.#socket = socket;
    if (this.#isAbandoned || this.#state === "closed") {
      socket.terminate();
      this.#close(undefined);
      return;
    }
    // What keeps the process alive are the clocks of calls, not connections that wait for one.
    socket.unref();
    socket.setNoDelay(true);
  }

  ready(): void {
    if (this.#state !== "connecting") return;
    this.#state = "open";
    this.owner.connected(this);
  }

  authorized(isTrusted: boolean, error: Error | null): void {
    if (isTrusted && error === null) this.ready();
    else this.#close(codeOf(error) ?? "ERR_TLS_HANDSHAKE");
  }

  drained(): void {
    if (this.#unsent === undefined) return;
    this.#writeOn();
    if (this.#unsent === undefined && this.#state === "open") this.owner.sent?.(this);
  }

  /** As much of the rest as the kernel takes now, within what one connection may write in a turn of the loop. */
  #writeOn(): void {
    let leftBytes = MAX_TURN_BYTES;
    while (this.#unsent !== undefined && this.#socket !== undefined) {
      if (leftBytes <= 0) return this.#writeNextTurn();
      const slice = this.#unsent.subarray(0, leftBytes);
      const written = this.#socket.write(slice);
      if (written < 0) return;
      leftBytes -= written;
      if (written < this.#unsent.length) this.#unsent = this.#unsent.subarray(written);
      else {
        this.#unsent = this.#unsentBody;
        this.#unsentBody = undefined;
      }
      // the kernel says when it takes more
      if (written < slice.length) return;
    }
  }

  #writeNextTurn(): void {
    if (this.#waitsForTurn) return;
    this.#waitsForTurn = true;
    setImmediate(() => {
      this.#waitsForTurn = false;
      this.drained();
    });
  }

  failed(error: Error): void {
    this.#errorCode ??= codeOf(error);
  }

  received(bytes: Buffer): void {
    if (this.#state === "open") this.owner.received(this, bytes);
  }

  ended(): void {
    if (this.#state === "open") this.owner.ended(this);
  }

  lost(error: Error | undefined): void {
    this.#close(codeOf(error) ?? this.#errorCode);
  }
}

const SHARED_HANDLERS: SocketHandler<Connection> = {
  binaryType: "buffer",
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  end: (socket) => socket.data.ended(),
  close: (socket, error) => socket.data.lost(error),
  error: (socket, error) => socket.data.failed(error),
  // The promise of Bun.connect tells the same.
  connectError: () => undefined,
};
const PLAIN_HANDLERS: SocketHandler<Connection> = {
  ...SHARED_HANDLERS,
  open(socket) {
    socket.data.opened(socket);
    socket.data.ready();
  },
};
const TLS_HANDLERS: SocketHandler<Connection> = {
  ...SHARED_HANDLERS,
  open: (socket) => socket.data.opened(socket),
  handshake: (socket, isTrusted, error) => socket.data.authorized(isTrusted, error),
};

function codeOf(thrown: unknown): string | undefined {
  const code = typeof thrown === "object" && thrown !== null ? (thrown as { readonly code?: unknown }).code : undefined;
  return typeof code === "string" && code !== "" ? code : undefined;
}
