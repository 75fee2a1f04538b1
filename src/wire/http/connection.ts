// One TCP or TLS connection on Bun.connect, to a provider or through a proxy, with its writes, its pauses and its end.
// Received bytes go to its owner, which changes during its life. Each read of Bun returns memory of its own, so the
// bytes may be kept; a write passes on what the kernel accepts and copies nothing into a buffer.
import { createConnection, type Socket as ProbeSocket } from "node:net";
import type { Socket, SocketHandler, TLSOptions } from "bun";
import type { GatewayError } from "../../core/errors.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { descriptorShortage } from "./file-descriptors.ts";
import type { EncodedRequest, HttpTarget } from "./http-request-encoding.ts";
import { type ByteSocket, NestedTls } from "./nested-tls.ts";
import { TunnelAnswer } from "./proxy-tunnel.ts";
import type { UpstreamFault } from "../upstream.ts";

/** After `closed` no other method is called. */
export interface ConnectionOwner {
  /** From now on requests can be written; over TLS the certificate has been verified. */
  connected(connection: Connection): void;
  /** The kernel has accepted the rest of what `write` could not hand over at once. */
  sent?(connection: Connection): void;
  /** The owner may keep and change the bytes. */
  received(connection: Connection, bytes: Buffer): void;
  /** The peer has closed the connection in an orderly way (FIN); `closed` follows. */
  ended(connection: Connection): void;
  /**
   * `reason` is the code of the error if there was one, such as ECONNRESET, ECONNREFUSED or
   * ERR_TLS_CERT_ALTNAME_INVALID, the fault with which a proxy refused a tunnel, or the error of a process that may
   * open no further connection. Not called after close().
   */
  closed(connection: Connection, reason: CloseReason): void;
}

export type CloseReason = string | UpstreamFault | GatewayError | undefined;

/** What a connection that is being established waits for. */
export type ConnectStep = "provider" | "proxy" | "tunnel" | "provider in tunnel";

/**
 * How many bytes one connection hands to the kernel in a turn of the event loop. Many connections with large bodies
 * would otherwise delay all other calls while their bytes are copied.
 */
const MAX_BYTES_PER_TURN = 256 * 1024;

export class Connection {
  readonly target: HttpTarget;
  /** Key of the pool: the target and the partition whose calls may use the connection. */
  readonly poolKey: string;
  owner: ConnectionOwner;
  /**
   * Used by the pool: the monotonic time until which the connection may be reused, and the sequence number of its last
   * return.
   */
  idleUntilMs = 0;
  releaseNumber = 0;
  readonly #ca: string | undefined;
  #step: ConnectStep;
  #socket: ByteSocket | undefined = undefined;
  /** Until the proxy has answered the request for a tunnel. */
  #tunnelAnswer: TunnelAnswer | undefined = undefined;
  /** Inside the TLS connection to an https proxy. */
  #nestedTls: NestedTls | undefined = undefined;
  #probe: ProbeSocket | undefined = undefined;
  #state: "connecting" | "open" | "closed" = "connecting";
  #isAbandoned = false;
  #isPaused = false;
  /** The bytes that the kernel has not accepted yet. */
  #unsent: Uint8Array | undefined = undefined;
  /** The body that follows `#unsent`. */
  #unsentBody: Uint8Array | undefined = undefined;
  /** Whether the rest is to be written in the next turn of the event loop. */
  #isWriteScheduled = false;
  /**
   * Whether the peer reset the connection while a request was being sent. The kernel reports a reset once: what is read
   * afterwards ends as if the peer had closed the connection in an orderly way.
   */
  #isWriteRefused = false;
  /** The code of a TLS failure, which is known before the socket closes because of it. */
  #errorCode: string | undefined = undefined;

  /** `ca`: certificate authorities in PEM that are trusted in place of the built-in ones. */
  constructor(target: HttpTarget, poolKey: string, ca: string | undefined, owner: ConnectionOwner) {
    this.target = target;
    this.poolKey = poolKey;
    this.#ca = ca;
    this.#step = target.proxy !== undefined ? "proxy" : "provider";
    this.owner = owner;
  }

  /** While it is being established; afterwards the last step. */
  get step(): ConnectStep {
    return this.#step;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether a part of the last request has not been sent. */
  get hasUnsent(): boolean {
    return this.#unsent !== undefined;
  }

  /**
   * With `probeFirst`, the connection is attempted only after a probe, which close() can end, has shown that a server
   * listens there.
   */
  connect(probeFirst: boolean): void {
    if (!probeFirst) return this.#connect();
    this.#probe = createConnection({ host: this.target.hostname, port: this.target.port });
    this.#probe.once("error", (error) => this.#close(attemptFault(error)));
    this.#probe.once("connect", () => {
      if (this.#state === "closed") return;
      this.#probe?.destroy();
      this.#probe = undefined;
      this.#connect();
    });
  }

  #connect(): void {
    const { hostname, port, serverName, proxy } = this.target;
    const [plain, secure] =
      proxy?.tunnel === undefined ? [PLAIN_HANDLERS, TLS_HANDLERS] : [PLAIN_PROXY_HANDLERS, TLS_PROXY_HANDLERS];
    const attempt =
      serverName === undefined
        ? Bun.connect<Connection>({ hostname, port, socket: plain, data: this })
        : Bun.connect<Connection>({
            hostname,
            port,
            tls: tlsOptions(serverName, this.#ca),
            socket: secure,
            data: this,
          });
    attempt.catch((thrown: unknown) => this.#close(attemptFault(thrown)));
  }

  /**
   * Sends the whole request in order, now or as the peer accepts it. Returns false when the connection is gone and no
   * byte was sent.
   */
  write(request: EncodedRequest): boolean {
    const { data, byteLength, body } = request;
    const written = this.#socket?.write(data) ?? -1;
    if (written < 0) return false;
    if (written < byteLength) {
      this.#unsent = (typeof data === "string" ? Buffer.from(data) : data).subarray(written);
      this.#unsentBody = body;
    } else if (body !== undefined && body.length > 0) {
      this.#unsent = body;
      this.#writeRest();
    }
    return true;
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket?.resume();
  }

  /** Closes at once, whatever is in flight: the peer sees a reset. The owner is not notified. */
  close(): void {
    this.#state = "closed";
    this.#unsent = this.#unsentBody = undefined;
    this.#probe?.destroy();
    this.#socket?.terminate();
  }

  /** Closes a connection on which nothing is in flight: the peer sees an orderly end. */
  closeGracefully(): void {
    if (this.#unsent !== undefined) return this.close();
    this.#state = "closed";
    this.#socket?.end();
  }

  /**
   * Like close(), for a connection that may not be established yet. Bun cannot end an attempt before it succeeds or the
   * kernel gives it up, which takes two minutes. Returns true when this is such an attempt; `owner` is then notified
   * when it has ended.
   */
  abandon(owner: ConnectionOwner): boolean {
    this.#isAbandoned = this.#state === "connecting" && this.#socket === undefined && this.#probe === undefined;
    if (this.#isAbandoned) this.owner = owner;
    else this.close();
    return this.#isAbandoned;
  }

  #close(reason: CloseReason): void {
    if (this.#state === "closed") return;
    this.close();
    this.owner.closed(this, reason);
  }

  /** The methods below are for the socket handlers, not for owners. */
  opened(socket: Socket<Connection>): void {
    this.#socket = socket;
    if (this.#isAbandoned || this.#state === "closed") {
      socket.terminate();
      this.#close(undefined);
      return;
    }
    // The clocks of calls keep the process alive; an idle connection does not.
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

  /** Many connections may be ready at once, so that each writes in a turn of its own. */
  drained(): void {
    if (this.#unsent !== undefined) void this.#writeRestLater();
  }

  /** Writes as much of the rest as the kernel accepts now, within the bound of one turn of the event loop. */
  #writeRest(): void {
    let leftBytes = MAX_BYTES_PER_TURN;
    while (this.#unsent !== undefined && this.#socket !== undefined) {
      if (leftBytes <= 0) return void this.#writeRestLater();
      const slice = this.#unsent.subarray(0, leftBytes);
      const written = this.#socket.write(slice);
      if (written < 0) {
        this.#isWriteRefused = true;
        return;
      }
      leftBytes -= written;
      if (written < this.#unsent.length) this.#unsent = this.#unsent.subarray(written);
      else {
        this.#unsent = this.#unsentBody;
        this.#unsentBody = undefined;
      }
      // The `drain` handler continues when the kernel accepts more.
      if (written < slice.length) return;
    }
  }

  async #writeRestLater(): Promise<void> {
    if (this.#isWriteScheduled) return;
    this.#isWriteScheduled = true;
    await yieldToLoop();
    this.#isWriteScheduled = false;
    if (this.#unsent === undefined) return;
    this.#writeRest();
    if (this.#unsent === undefined && this.#state === "open") this.owner.sent?.(this);
  }

  failed(error: Error): void {
    this.#errorCode ??= codeOf(error);
  }

  received(bytes: Buffer): void {
    if (this.#state === "open") this.owner.received(this, bytes);
  }

  ended(): void {
    if (this.#state !== "open") return;
    // While the rest of a request waits for its turn, only a write tells whether the peer has reset the connection.
    if (this.#unsent !== undefined) this.#writeRest();
    if (this.#isWriteRefused) this.#close(this.#errorCode ?? "ECONNRESET");
    else this.owner.ended(this);
  }

  lost(error: Error | undefined): void {
    this.#close(codeOf(error) ?? this.#errorCode);
  }

  /** The methods below are for the handlers of the socket to a proxy. It stays below the TLS socket in its tunnel. */
  proxyReady(isTrusted: boolean, error: Error | null): void {
    const { proxy } = this.target;
    if (this.#state !== "connecting" || proxy?.tunnel === undefined) return;
    if (!isTrusted || error !== null) return this.#close(codeOf(error) ?? "ERR_TLS_HANDSHAKE");
    this.#step = "tunnel";
    this.#tunnelAnswer = new TunnelAnswer(proxy.hasCredentials);
    this.#unsent = Buffer.from(proxy.tunnel.head, "latin1");
    this.#writeRest();
  }

  proxyAnswered(socket: Socket<Connection>, bytes: Buffer): void {
    if (this.#nestedTls !== undefined) return this.#nestedTls.outerReceived(bytes);
    if (this.#tunnelAnswer === undefined || this.#state === "closed") return;
    try {
      if (!this.#tunnelAnswer.push(bytes)) return;
    } catch (fault) {
      return this.#close(fault as UpstreamFault);
    }
    this.#tunnelAnswer = undefined;
    if (this.hasUnsent) return this.#close("ECONNRESET");
    this.#startTlsInTunnel(socket);
  }

  #startTlsInTunnel(socket: Socket<Connection>): void {
    const { serverName, proxy } = this.target;
    const inTunnel = proxy!.tunnel!.serverName;
    this.#step = "provider in tunnel";
    if (serverName === undefined) {
      socket.upgradeTLS({ data: this, tls: tlsOptions(inTunnel, this.#ca), socket: TLS_HANDLERS });
      return;
    }
    this.#nestedTls = new NestedTls(socket, { serverName: inTunnel, ca: this.#ca }, this);
    this.#socket = this.#nestedTls;
  }

  proxyDrained(): void {
    if (this.#nestedTls !== undefined) this.#nestedTls.outerDrained();
    else if (this.#step === "tunnel") this.drained();
  }

  proxyEnded(): void {
    if (this.#nestedTls !== undefined) this.#nestedTls.outerEnded();
    else if (this.#step === "tunnel") this.#close("ECONNRESET");
  }

  proxyLost(error: Error | undefined): void {
    if (this.#nestedTls !== undefined) this.#nestedTls.outerLost(error);
    else if (this.#step !== "provider in tunnel") this.lost(error);
  }
}

/** ALPN in the form of RFC 7301, with the length first; Bun sends nothing for a bare name. */
const ALPN_HTTP_1_1 = Buffer.from("\x08http/1.1", "latin1");

function tlsOptions(serverName: string, ca: string | undefined): TLSOptions {
  return {
    // Set explicitly, because an environment variable could otherwise disable it.
    rejectUnauthorized: true,
    ALPNProtocols: ALPN_HTTP_1_1,
    ...(serverName === "" ? {} : { serverName }),
    ...(ca === undefined ? {} : { ca }),
  };
}

const SHARED_HANDLERS: SocketHandler<Connection> = {
  binaryType: "buffer",
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  end: (socket) => socket.data.ended(),
  close: (socket, error) => socket.data.lost(error),
  error: (socket, error) => socket.data.failed(error),
  // The promise of Bun.connect reports the same error.
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
const SHARED_PROXY_HANDLERS: SocketHandler<Connection> = {
  ...SHARED_HANDLERS,
  data: (socket, bytes) => socket.data.proxyAnswered(socket, bytes),
  drain: (socket) => socket.data.proxyDrained(),
  end: (socket) => socket.data.proxyEnded(),
  close: (socket, error) => socket.data.proxyLost(error),
};
const PLAIN_PROXY_HANDLERS: SocketHandler<Connection> = {
  ...SHARED_PROXY_HANDLERS,
  open(socket) {
    socket.data.opened(socket);
    socket.data.proxyReady(true, null);
  },
};
const TLS_PROXY_HANDLERS: SocketHandler<Connection> = {
  ...SHARED_PROXY_HANDLERS,
  open: (socket) => socket.data.opened(socket),
  handshake: (socket, isTrusted, error) => socket.data.proxyReady(isTrusted, error),
};

function attemptFault(thrown: unknown): string | GatewayError {
  return descriptorShortage() ?? codeOf(thrown) ?? "ECONNREFUSED";
}

function codeOf(thrown: unknown): string | undefined {
  const code = typeof thrown === "object" && thrown !== null ? (thrown as { readonly code?: unknown }).code : undefined;
  return typeof code === "string" && code !== "" ? code : undefined;
}
