// Parses just enough of HTTP/1.1 to find the end of an answer, because a slow load generator would measure itself:
// Content-Length and chunks (RFC 9112, sections 6 and 7.1), no trailers, one answer at a time.

type Place = "head" | "length" | "chunk-size" | "chunk";

const LF = 0x0a;
const ZERO = 0x30;
const NINE = 0x39;

export class AnswerReader {
  status = 0;
  /** Without the framing. */
  bodyBytes = 0;
  #place: Place = "head";
  #held: Buffer | null = null;
  /** The bytes that remain of the body, or of the chunk and its line end. */
  #left = 0;
  #chunkSize = 0;
  #isLastChunk = false;

  /**
   * Returns true once the answer is complete. Throws for anything that is not an HTTP answer, and for bytes after its
   * end.
   */
  push(bytes: Buffer): boolean {
    if (this.#place !== "head") return this.#readBody(bytes, 0);
    this.status = this.bodyBytes = 0;
    const all = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    const headEnd = all.indexOf("\r\n\r\n");
    this.#held = headEnd < 0 ? Buffer.from(all) : null;
    if (headEnd < 0) return false;
    this.#readHead(all.toString("latin1", 0, headEnd));
    return this.#readBody(all, headEnd + 4);
  }

  #readHead(head: string): void {
    this.status = Number(head.slice(9, 12));
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined && !/\ntransfer-encoding: *chunked/i.test(head))
      throw new Error(`an answer without length and chunks: ${JSON.stringify(head.slice(0, 200))}`);
    this.#place = length === undefined ? "chunk-size" : "length";
    this.#left = Number(length ?? 0);
    this.#chunkSize = 0;
  }

  #readBody(bytes: Buffer, from: number): boolean {
    let at = from;
    if (this.#place === "length") {
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      this.bodyBytes += taken;
      return this.#left === 0 && this.#end(bytes, at + taken);
    }
    while (at < bytes.length) {
      if (this.#place === "chunk-size") {
        at = this.#readChunkSize(bytes, at);
        continue;
      }
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      at += taken;
      if (this.#left > 0) return false;
      if (this.#isLastChunk) return this.#end(bytes, at);
      this.#place = "chunk-size";
      this.#chunkSize = 0;
    }
    return false;
  }

  /** Returns the position after what was read; the size may be split anywhere between two reads. */
  #readChunkSize(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === LF) {
        this.#place = "chunk";
        this.#isLastChunk = this.#chunkSize === 0;
        this.bodyBytes += this.#chunkSize;
        this.#left = this.#chunkSize + 2;
        return at + 1;
      }
      if (byte >= ZERO && byte <= NINE) this.#chunkSize = this.#chunkSize * 16 + byte - ZERO;
      else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
        this.#chunkSize = this.#chunkSize * 16 + (byte | 0x20) - 0x57;
    }
    return bytes.length;
  }

  #end(bytes: Buffer, at: number): true {
    if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes after the end of the answer`);
    this.#place = "head";
    return true;
  }
}
