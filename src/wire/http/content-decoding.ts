// Decompresses bodies in gzip, deflate and br (RFC 9110 8.4.1) as their reader asks for them. At most one buffer is
// decompressed ahead, so that the reader can reject a small body that expands to a large one. zstd is not supported,
// because the runtime accepts a truncated zstd body as complete (Bun 1.4.4).
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from "node:zlib";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { readBytes, decodeUtf8 } from "../body-bytes.ts";
import { UpstreamFault, type UpstreamBody } from "../upstream.ts";

type Decompressor = Gunzip | Inflate | InflateRaw | BrotliDecompress;

/**
 * `encoding` is a Content-Encoding in lower case. From now on `raw` is read and cancelled only through the returned
 * body.
 */
export function decodedBody(raw: UpstreamBody, encoding: string, signal: CancelSignal): UpstreamBody {
  return new DecodedBody(raw, encoding, signal);
}

class DecodedBody implements UpstreamBody {
  readonly #raw: UpstreamBody;
  readonly #encoding: string;
  readonly #signal: CancelSignal;
  #stream: Decompressor | undefined = undefined;
  /** Whether the decompressor is still working on the last write: its output has to be read first. */
  #isWriting = false;
  #writtenBytes = 0;
  #hasEnded = false;
  #failure: { readonly reason: unknown } | undefined = undefined;
  #wake: () => void = () => undefined;

  constructor(raw: UpstreamBody, encoding: string, signal: CancelSignal) {
    this.#raw = raw;
    this.#encoding = encoding;
    this.#signal = signal;
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#hasEnded) return null;
      if (this.#signal.aborted) this.#stop(this.#signal.reason);
      if (this.#failure !== undefined) throw this.#failure.reason;
      const decoded = this.#stream?.read() as Buffer | null | undefined;
      if (decoded != null) return decoded;
      if (this.#isWriting) await new Promise<void>((resolve) => (this.#wake = resolve));
      else await this.#feed();
    }
  }

  async text(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<string> {
    return decodeUtf8(await this.bytes(maxBytes, shouldContinue));
  }

  bytes(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<Uint8Array> {
    return readBytes(this, maxBytes, (fault) => this.#stop(fault), shouldContinue);
  }

  accept(): void {
    this.#raw.accept();
  }

  cancel(): void {
    if (this.#hasEnded) return this.#raw.cancel();
    this.#stop(new UpstreamFault("cut", "the body was cancelled by its reader"));
  }

  async #feed(): Promise<void> {
    let bytes: Uint8Array | null;
    try {
      bytes = await this.#raw.read();
      if (bytes !== null) this.#stream ??= this.#open(bytes);
    } catch (reason) {
      this.#stop(reason);
      return;
    }
    if (this.#failure !== undefined) return;
    // An empty body is not valid compressed data; it means a response without content.
    if (bytes === null && this.#stream === undefined) this.#hasEnded = true;
    else this.#write(bytes);
  }

  #write(bytes: Uint8Array | null): void {
    this.#isWriting = true;
    this.#writtenBytes += bytes?.length ?? 0;
    if (bytes === null) this.#stream?.end();
    else
      this.#stream?.write(bytes, () => {
        this.#isWriting = false;
        this.#wake();
      });
  }

  #open(firstBytes: Uint8Array): Decompressor {
    const stream = decompressor(this.#encoding, firstBytes);
    stream.on("readable", () => this.#wake());
    stream.on("end", () => {
      // Bytes after the end of the compressed data are not consumed. The end of the raw body has not been reached in
      // that case.
      if (stream.bytesWritten < this.#writtenBytes)
        this.#stop(
          new UpstreamFault("malformed", "the provider's answer continues after the end of the compressed data"),
        );
      else this.#hasEnded = true;
      this.#wake();
    });
    stream.on("error", (error: Error) => this.#stop(decodingFault(error)));
    return stream;
  }

  #stop(reason: unknown): void {
    if (this.#hasEnded || this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#raw.cancel();
    this.#stream?.destroy();
    this.#wake();
  }
}

function decompressor(encoding: string, firstBytes: Uint8Array): Decompressor {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return isZlib(firstBytes) ? createInflate() : createInflateRaw();
    case "br":
      return createBrotliDecompress();
    default:
      throw new UpstreamFault("malformed", "the provider's answer has a content encoding that was not requested");
  }
}

/**
 * RFC 9110 8.4.1.2: some senders of `deflate` omit the zlib header. With the header, the first byte names the method
 * and the two bytes together are a multiple of 31.
 */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (second === 0 || (256 * first + second) % 31 === 0);
}

function decodingFault(error: Error): UpstreamFault {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "Z_BUF_ERROR") return new UpstreamFault("cut", "the provider's answer broke off (Z_BUF_ERROR)", error);
  return new UpstreamFault("malformed", `the provider's answer cannot be decompressed (${code ?? error.name})`, error);
}
