// Reads a chunked body (RFC 9112 7.1) from bytes that may be split anywhere: returns its data without sizes, extensions
// and trailer fields, which are ignored.
import { malformed } from "../upstream.ts";

/** Bounds the extensions of one chunk, and all trailer fields together. */
const MAX_SKIPPED_BYTES = 16 * 1024;

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const SEMICOLON = 0x3b;
/** The value of a hexadecimal digit; 255 for every other byte. */
const HEX_DIGIT = new Uint8Array(256).fill(255);
for (let digit = 0; digit < 16; digit++)
  for (const character of [digit.toString(16), digit.toString(16).toUpperCase()])
    HEX_DIGIT[character.charCodeAt(0)] = digit;

type Phase =
  | "size"
  | "padding"
  | "extension"
  | "size line feed"
  | "data"
  | "data end"
  | "data line feed"
  | "trailer"
  | "trailer text"
  | "trailer line feed"
  | "last line feed";

export class ChunkReader {
  #phase: Phase = "size";
  /** Bytes of the current chunk that have not arrived yet. */
  #left = 0;
  #sizeDigits = 0;
  #skippedBytes = 0;
  #hasLastChunk = false;
  #complete = false;
  #hasExcess = false;

  /** Whether the last chunk has arrived; the end of the trailer may still be missing. */
  get hasLastChunk(): boolean {
    return this.#hasLastChunk;
  }

  get complete(): boolean {
    return this.#complete;
  }

  /** Whether bytes followed the end of the body. */
  get hasExcess(): boolean {
    return this.#hasExcess;
  }

  /**
   * Returns the data in these bytes, or null. The data is moved together, in place, to where it first begins. Throws
   * UpstreamFault `malformed`.
   */
  push(bytes: Buffer): Buffer | null {
    const length = bytes.length;
    let dataStart = 0;
    let dataEnd = 0;
    let at = 0;
    while (at < length && !this.#complete) {
      if (this.#phase === "size" && this.#sizeDigits === 0) at = this.#readPlainSize(bytes, at);
      if (this.#phase !== "data") {
        if (at < length) this.#readFrame(bytes[at++] as number);
        continue;
      }
      const end = Math.min(length, at + this.#left);
      if (dataStart === dataEnd) dataStart = dataEnd = at;
      if (dataEnd !== at) bytes.copyWithin(dataEnd, at, end);
      dataEnd += end - at;
      this.#left -= end - at;
      at = end;
      if (this.#left > 0) continue;
      // The same as #readFrame does byte by byte, for the line end that follows nearly every chunk.
      if (at + 1 < length && bytes[at] === CR && bytes[at + 1] === LF) {
        at += 2;
        this.#phase = "size";
      } else this.#phase = "data end";
    }
    if (at < length) this.#hasExcess = true;
    return dataEnd > dataStart ? bytes.subarray(dataStart, dataEnd) : null;
  }

  /**
   * Reads a size that is complete, has no extension and is not that of the last chunk, and returns where reading
   * continues. All other sizes are read byte by byte.
   */
  #readPlainSize(bytes: Buffer, start: number): number {
    let at = start;
    let size = 0;
    for (
      let digit = HEX_DIGIT[bytes[at] as number] as number;
      digit < 16 && at - start < 7;
      digit = HEX_DIGIT[bytes[at] as number] as number
    ) {
      size = 16 * size + digit;
      at++;
    }
    if (size === 0 || bytes[at] !== CR || bytes[at + 1] !== LF) return start;
    this.#left = size;
    this.#phase = "data";
    return at + 2;
  }

  /** Reads one byte of the framing around the data. */
  #readFrame(byte: number): void {
    switch (this.#phase) {
      case "size": {
        const digit = HEX_DIGIT[byte] as number;
        if (digit < 16) {
          this.#left = 16 * this.#left + digit;
          if (++this.#sizeDigits > 16 || this.#left > Number.MAX_SAFE_INTEGER)
            throw malformed("has a chunk that is too large");
          return;
        }
        if (this.#sizeDigits === 0) throw malformed("has a chunk whose size is not a number");
        this.#afterSize(byte);
        return;
      }
      case "padding":
        this.#afterSize(byte);
        return;
      case "extension":
        this.#skip(byte);
        if (byte === CR) this.#phase = "size line feed";
        return;
      case "size line feed":
        expectLineFeed(byte);
        this.#sizeDigits = 0;
        this.#skippedBytes = 0;
        this.#hasLastChunk = this.#left === 0;
        this.#phase = this.#hasLastChunk ? "trailer" : "data";
        return;
      case "data end":
        if (byte !== CR) throw malformed("has a chunk that is longer than its size");
        this.#phase = "data line feed";
        return;
      case "data line feed":
        expectLineFeed(byte);
        this.#phase = "size";
        return;
      case "trailer":
      case "trailer text":
        this.#skip(byte);
        if (byte !== CR) this.#phase = "trailer text";
        else this.#phase = this.#phase === "trailer" ? "last line feed" : "trailer line feed";
        return;
      case "trailer line feed":
        expectLineFeed(byte);
        this.#phase = "trailer";
        return;
      case "last line feed":
        expectLineFeed(byte);
        this.#complete = true;
        return;
      case "data":
    }
  }

  #afterSize(byte: number): void {
    if (byte === CR) this.#phase = "size line feed";
    else if (byte === SEMICOLON) this.#phase = "extension";
    else if (byte === SP || byte === HTAB) {
      this.#skip(byte);
      this.#phase = "padding";
    } else throw malformed("has a chunk whose size is not a number");
  }

  #skip(byte: number): void {
    if (byte === LF || byte === 0) throw malformed("has a bare line feed or a zero byte between its chunks");
    if (++this.#skippedBytes > MAX_SKIPPED_BYTES) throw malformed("has too much data between its chunks");
  }
}

function expectLineFeed(byte: number): void {
  if (byte !== LF) throw malformed("has a bare carriage return between its chunks");
}
