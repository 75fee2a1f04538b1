// TLS to a provider inside the TLS connection to an https proxy. Bun's sockets add TLS to plain connections only, so
// that node:tls does it here, over a stream that is joined to the outer socket.
import { isIP } from "node:net";
import { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";

/** The part of a socket that connections use; Bun's sockets have it. */
export interface ByteSocket {
  /** Returns how many bytes were accepted, or -1 when the socket is closed. `drain` follows a short count. */
  write(data: string | Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Closes in an orderly way, or at once. */
  end(): void;
  terminate(): void;
}

/** What happens to the inner connection, in the words of Bun's socket handlers. */
export interface NestedTlsEvents {
  authorized(isTrusted: boolean, error: Error | null): void;
  received(bytes: Buffer): void;
  drained(): void;
  ended(): void;
  lost(error: Error | undefined): void;
}

export interface NestedTlsOptions {
  /** A name or an IP address, for which the certificate has to be valid. */
  readonly serverName: string;
  readonly ca: string | undefined;
}

export class NestedTls implements ByteSocket {
  readonly #outer: ByteSocket;
  readonly #stream: Duplex;
  readonly #inner: TLSSocket;
  #error: Error | undefined = undefined;
  #isFull = false;
  /** What the outer socket has not accepted yet, and what to call when it has. */
  #unsent: { readonly bytes: Uint8Array; readonly done: () => void } | undefined = undefined;

  constructor(outer: ByteSocket, { serverName, ca }: NestedTlsOptions, events: NestedTlsEvents) {
    this.#outer = outer;
    this.#stream = new Duplex({
      read: () => outer.resume(),
      write: (bytes: Uint8Array, _, done) => this.#writeOuter(bytes, done),
      final: (done) => {
        outer.end();
        done();
      },
      destroy: (error, done) => {
        outer.terminate();
        done(error);
      },
    });
    this.#inner = connect({
      socket: this.#stream,
      // The name that the certificate is checked for. An IP address is no SNI (RFC 6066).
      host: serverName,
      ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { ca }),
    });
    this.#inner
      .on("secureConnect", () => events.authorized(this.#inner.authorized, null))
      .on("data", (bytes: Buffer) => events.received(bytes))
      .on("drain", () => {
        this.#isFull = false;
        events.drained();
      })
      .on("end", () => events.ended())
      .on("error", (error: Error) => (this.#error ??= error))
      .on("close", () => events.lost(this.#error));
  }

  write(data: string | Uint8Array): number {
    if (!this.#inner.writable) return -1;
    if (this.#isFull) return 0;
    this.#isFull = !this.#inner.write(data);
    return typeof data === "string" ? Buffer.byteLength(data) : data.length;
  }

  pause(): void {
    this.#inner.pause();
  }

  resume(): void {
    this.#inner.resume();
  }

  end(): void {
    this.#inner.end();
  }

  terminate(): void {
    this.#inner.destroy();
    this.#outer.terminate();
  }

  /** The methods below are for the handlers of the outer socket. */
  outerReceived(bytes: Buffer): void {
    if (!this.#stream.push(bytes)) this.#outer.pause();
  }

  outerDrained(): void {
    if (this.#unsent !== undefined) this.#writeOuter(this.#unsent.bytes, this.#unsent.done);
  }

  outerEnded(): void {
    this.#stream.push(null);
  }

  outerLost(error: Error | undefined): void {
    this.#error ??= error;
    this.#stream.destroy(error);
    this.#inner.destroy(error);
  }

  #writeOuter(bytes: Uint8Array, done: (error?: Error) => void): void {
    const written = this.#outer.write(bytes);
    this.#unsent = written >= bytes.length ? undefined : { bytes: bytes.subarray(Math.max(written, 0)), done };
    if (this.#unsent === undefined) done();
  }
}
