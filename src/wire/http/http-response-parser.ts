// Parses HTTP/1.1 responses from bytes that may be split anywhere. The parser is strict: where RFC 9112 lets a client
// repair bare line feeds, folded fields or odd lengths, the response is rejected, because two readers that repair it
// differently would see two different responses.
import { ChunkReader } from "./http-chunks.ts";
import { malformed, type UpstreamFault } from "../upstream.ts";

/** Bytes of one head. Each informational head before it is bounded by itself. */
export const MAX_HEAD_BYTES = 64 * 1024;
export const MAX_HEAD_FIELDS = 256;
const MAX_INFORMATIONAL = 16;

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const COLON = 0x3a;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

const VERSION_START = Buffer.from("HTTP/1.");
/** 1 for each byte that a field name may contain. */
const IN_TOKEN = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  IN_TOKEN[character.charCodeAt(0)] = 1;
/** `head`: the head is incomplete. `close`: the body ends with the connection. */
type Phase = "head" | "length" | "chunked" | "close" | "complete";

const NO_BYTES = Buffer.alloc(0);

/** Parses one response. It may keep the bytes that it receives, and may move data within them. */
export class ResponseParser {
  readonly #isForConnect: boolean;
  #phase: Phase = "head";
  /** Whether any byte of this response has arrived, even of an informational head. */
  #started = false;
  #excess = false;
  /** Whether the framing is wrong in a way that lets the sender's next response be a part of this one. */
  #isMisframed = false;

  // The head while it is incomplete: its bytes up to #bufferedBytes, and how far they have been read.
  #buffer: Buffer = NO_BYTES;
  #bufferedBytes = 0;
  #headStart = 0;
  #lineStart = 0;
  #scanned = 0;
  #informational = 0;

  #status = 0;
  #minorVersion = 0;
  #fields = 0;
  #contentLength = -1;
  #transferEncoding: string | undefined = undefined;
  #connection: string | undefined = undefined;
  #keepAlive: string | undefined = undefined;
  #contentEncoding: string | undefined = undefined;
  #headText = "";

  /** Bytes of a body of known length that have not arrived yet. */
  #left = 0;
  #chunks: ChunkReader | undefined = undefined;

  /** `isForConnect`: the response is a proxy's answer to CONNECT. */
  constructor(isForConnect = false) {
    this.#isForConnect = isForConnect;
  }

  get started(): boolean {
    return this.#started;
  }

  get hasHead(): boolean {
    return this.#phase !== "head";
  }

  /** Whether the whole response has arrived. */
  get complete(): boolean {
    return this.#phase === "complete";
  }

  get status(): number {
    return this.#status;
  }

  /** The length of the body as the head announces it, if the body is framed by it. */
  get contentLength(): number | undefined {
    return this.#transferEncoding === undefined && this.#contentLength >= 0 ? this.#contentLength : undefined;
  }

  /** In lower case; undefined when the response has no content encoding. */
  get contentEncoding(): string | undefined {
    return this.#contentEncoding === undefined || this.#contentEncoding === "identity"
      ? undefined
      : this.#contentEncoding;
  }

  /**
   * Whether the connection can take another request: the response is complete, no byte followed it, and the sender
   * keeps the connection open.
   */
  get reusable(): boolean {
    if (this.#phase !== "complete" || this.#excess || this.#isMisframed || this.#minorVersion === 0) return false;
    return this.#connection === undefined || !/(?:^|,)[ \t]*close[ \t]*(?:,|$)/.test(this.#connection);
  }

  /** How long the sender says that it keeps an idle connection, in ms. */
  get idleTimeoutMs(): number | undefined {
    const seconds =
      this.#keepAlive === undefined
        ? undefined
        : /(?:^|[, \t])timeout[ \t]*=[ \t]*"?(\d{1,9})/.exec(this.#keepAlive)?.[1];
    return seconds === undefined ? undefined : Number(seconds) * 1_000;
  }

  /** The value of a field by its lower-case name, or null. Values of repeated fields are joined by commas. */
  header(name: string): string | null {
    const text = this.#headText;
    let value: string | null = null;
    for (let lineFeed = text.indexOf("\n"); lineFeed >= 0; lineFeed = text.indexOf("\n", lineFeed + 1)) {
      const valueStart = lineFeed + name.length + 2;
      if (text.charCodeAt(valueStart - 1) !== COLON || !isNameInText(text, lineFeed + 1, name)) continue;
      const one = withoutSpace(text.slice(valueStart, text.indexOf("\r", valueStart)));
      value = value === null ? one : `${value}, ${one}`;
    }
    return value;
  }

  /** Returns the bytes of the body in these bytes, or null. Throws UpstreamFault `malformed`. */
  push(bytes: Buffer): Buffer | null {
    if (bytes.length === 0) return null;
    this.#started = true;
    if (this.#phase === "head") {
      const bodyStart = this.#readHead(bytes);
      if (bodyStart < 0 || bodyStart === bytes.length) return null;
      return this.#readBody(bodyStart === 0 ? bytes : bytes.subarray(bodyStart));
    }
    return this.#readBody(bytes);
  }

  /** The sender has closed the connection in an orderly way. Returns whether the response is complete. */
  end(): boolean {
    // RFC 9112 8: a chunked body is complete with its last chunk, even when the trailer has no end.
    if (this.#phase === "close" || (this.#phase === "chunked" && this.#chunks?.hasLastChunk === true))
      this.#phase = "complete";
    return this.#phase === "complete";
  }

  /** Returns where the body begins in `bytes`, or -1 while the head is incomplete. */
  #readHead(bytes: Buffer): number {
    const heldBefore = this.#bufferedBytes;
    this.#append(bytes);
    for (;;) {
      const end = this.#readLines();
      if (end < 0) {
        if (this.#bufferedBytes - this.#headStart > MAX_HEAD_BYTES)
          throw malformed(`has a head of more than ${MAX_HEAD_BYTES} bytes`);
        return -1;
      }
      if (end - this.#headStart > MAX_HEAD_BYTES) throw malformed(`has a head of more than ${MAX_HEAD_BYTES} bytes`);
      if (this.#status >= 200) {
        this.#headText = this.#buffer.toString("latin1", this.#headStart, end);
        this.#buffer = NO_BYTES;
        this.#chooseFraming();
        return end - heldBefore;
      }
      if (this.#status === 101) throw malformed("switches to a protocol that was not requested");
      if (++this.#informational > MAX_INFORMATIONAL) throw malformed("has too many informational heads");
      this.#forgetHead(end);
    }
  }

  #append(bytes: Buffer): void {
    if (this.#bufferedBytes === 0) {
      this.#buffer = bytes;
      this.#bufferedBytes = bytes.length;
      return;
    }
    const held = this.#bufferedBytes + bytes.length;
    if (this.#buffer.length < held) {
      const larger = Buffer.allocUnsafe(Math.max(held, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#bufferedBytes);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#bufferedBytes);
    this.#bufferedBytes = held;
  }

  #forgetHead(end: number): void {
    // RFC 9110 8.6 and RFC 9112 6.1: an informational response has no body and announces none.
    if (this.#contentLength >= 0 || this.#transferEncoding !== undefined) this.#isMisframed = true;
    this.#headStart = end;
    this.#status = 0;
    this.#fields = 0;
    this.#contentLength = -1;
    this.#transferEncoding = undefined;
    this.#connection = undefined;
    this.#keepAlive = undefined;
    this.#contentEncoding = undefined;
  }

  /** Returns the position after the blank line, or -1 when it has not arrived. */
  #readLines(): number {
    const buffer = this.#buffer;
    const held = this.#bufferedBytes;
    let lineStart = this.#lineStart;
    let at = this.#scanned;
    let end = -1;
    for (;;) {
      let byte = 1;
      while (at < held && ((byte = buffer[at] as number) > CR || (byte !== CR && byte !== LF && byte !== 0))) at++;
      if (at === held) break;
      if (byte !== CR)
        throw malformed(byte === LF ? "has a bare line feed in its head" : "has a zero byte in its head");
      if (at + 1 === held) break;
      if (buffer[at + 1] !== LF) throw malformed("has a bare carriage return in its head");
      const line = lineStart;
      const lineEnd = at;
      at += 2;
      lineStart = at;
      if (this.#status === 0) this.#readStatusLine(buffer, line, lineEnd);
      else if (line < lineEnd) this.#readField(buffer, line, lineEnd);
      else {
        end = at;
        break;
      }
    }
    this.#lineStart = lineStart;
    this.#scanned = at;
    // A server of another protocol may never end its first line.
    if (end < 0 && this.#status === 0 && !startsLike(buffer, lineStart, held)) throw notHttp();
    return end;
  }

  /** Reads `HTTP/1.1 200 OK`; the reason may be missing, with its space. */
  #readStatusLine(buffer: Buffer, start: number, end: number): void {
    const version = start + VERSION_START.length;
    if (end < version + 5 || !startsLike(buffer, start, end)) throw notHttp();
    this.#minorVersion = digitAt(buffer, version);
    const status =
      100 * digitAt(buffer, version + 2) + 10 * digitAt(buffer, version + 3) + digitAt(buffer, version + 4);
    // NaN fails both comparisons.
    if (!(this.#minorVersion <= 1) || !(status >= 100)) throw notHttp();
    if (buffer[version + 1] !== SP || (end > version + 5 && buffer[version + 5] !== SP)) throw notHttp();
    this.#status = status;
  }

  #readField(buffer: Buffer, start: number, end: number): void {
    if (++this.#fields > MAX_HEAD_FIELDS) throw malformed(`has more than ${MAX_HEAD_FIELDS} fields in its head`);
    let colon = start;
    while (colon < end && IN_TOKEN[buffer[colon] as number] === 1) colon++;
    // This also rejects a folded line, and a space before the colon.
    if (colon === start || buffer[colon] !== COLON)
      throw malformed("has a line in its head that is not a header field");
    switch (colon - start) {
      case 10:
        if (isName(buffer, start, "connection"))
          this.#connection = joined(this.#connection, lowerValue(buffer, colon, end));
        else if (isName(buffer, start, "keep-alive")) this.#keepAlive = lowerValue(buffer, colon, end);
        break;
      case 14:
        if (isName(buffer, start, "content-length"))
          this.#readContentLength(withoutSpace(buffer.toString("latin1", colon + 1, end)));
        break;
      case 16:
        if (isName(buffer, start, "content-encoding"))
          this.#contentEncoding = joined(this.#contentEncoding, lowerValue(buffer, colon, end));
        break;
      case 17:
        if (isName(buffer, start, "transfer-encoding"))
          this.#transferEncoding = joined(this.#transferEncoding, lowerValue(buffer, colon, end));
        break;
      default:
    }
  }

  /** Accepts `2, 2` as well, which proxies make of two equal fields (RFC 9110 8.6). */
  #readContentLength(value: string): void {
    for (const one of value.split(",")) {
      const digits = withoutSpace(one);
      const length = /^\d{1,16}$/.test(digits) ? Number(digits) : NaN;
      if (!Number.isSafeInteger(length)) throw malformed("has a Content-Length that is not a number");
      if (this.#contentLength >= 0) {
        if (this.#contentLength !== length) throw malformed("has two different Content-Length values");
        this.#isMisframed = true;
      }
      this.#contentLength = length;
    }
  }

  #chooseFraming(): void {
    // RFC 9110 9.3.6: with such an answer the tunnel is open, and fields that frame a body mean nothing.
    if (this.#isForConnect && this.#status < 300) {
      this.#phase = "close";
      return;
    }
    if (this.#transferEncoding !== undefined && this.#transferEncoding !== "chunked")
      throw malformed("has a transfer encoding other than chunked");
    // RFC 9112 6.3: a proxy in between may have framed the response by the other of the two.
    if (this.#transferEncoding !== undefined && this.#contentLength >= 0) this.#isMisframed = true;
    if (this.#status === 204 || this.#status === 304) this.#readNoBody();
    else if (this.#transferEncoding !== undefined) this.#phase = "chunked";
    else if (this.#contentLength < 0) this.#phase = "close";
    else {
      this.#left = this.#contentLength;
      this.#phase = this.#left === 0 ? "complete" : "length";
    }
  }

  /**
   * RFC 9110 8.6 and 15.4.5: a 204 announces no body, and a 304 answers a conditional request, which the gateway never
   * sends.
   */
  #readNoBody(): void {
    if (this.#status === 304 || this.#contentLength > 0 || this.#transferEncoding !== undefined)
      this.#isMisframed = true;
    this.#contentLength = 0;
    this.#phase = "complete";
  }

  #readBody(bytes: Buffer): Buffer | null {
    if (this.#phase === "chunked") return this.#readChunks(bytes, (this.#chunks ??= new ChunkReader()));
    if (this.#phase === "close") return bytes;
    if (this.#phase === "complete") {
      this.#excess = true;
      return null;
    }
    const left = this.#left;
    if (bytes.length < left) {
      this.#left = left - bytes.length;
      return bytes;
    }
    this.#phase = "complete";
    if (bytes.length === left) return bytes;
    this.#excess = true;
    return bytes.subarray(0, left);
  }

  #readChunks(bytes: Buffer, chunks: ChunkReader): Buffer | null {
    const data = chunks.push(bytes);
    if (chunks.complete) {
      this.#phase = "complete";
      this.#excess = chunks.hasExcess;
    }
    return data;
  }
}

function notHttp(): UpstreamFault {
  return malformed("is not HTTP");
}

function startsLike(buffer: Buffer, start: number, end: number): boolean {
  const length = Math.min(end - start, VERSION_START.length);
  for (let index = 0; index < length; index++) if (buffer[start + index] !== VERSION_START[index]) return false;
  return true;
}

function digitAt(buffer: Buffer, at: number): number {
  const digit = (buffer[at] as number) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : NaN;
}

/**
 * `name` holds lower-case letters and dashes, and is as long as the token at `start`. In a token, setting this bit only
 * turns upper-case letters into lower case.
 */
function isName(buffer: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++)
    if (((buffer[start + index] as number) | 0x20) !== name.charCodeAt(index)) return false;
  return true;
}

function isNameInText(text: string, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const code = text.charCodeAt(start + index);
    if ((code >= UPPER_A && code <= UPPER_Z ? code + 32 : code) !== name.charCodeAt(index)) return false;
  }
  return true;
}

function lowerValue(buffer: Buffer, colon: number, end: number): string {
  return withoutSpace(buffer.toString("latin1", colon + 1, end)).toLowerCase();
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** Removes spaces and tabs at both ends; trim() would remove more. */
function withoutSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === SP || code === HTAB;
}
