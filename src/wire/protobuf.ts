// Writes the Protocol Buffers wire format into a growing buffer that is reused.
// https://protobuf.dev/programming-guides/encoding/

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;
const FIRST_BYTES = 64 * 1024;
/** In characters. Texts up to this length are encoded byte by byte, which is faster than the encoder. */
const SHORT_TEXT = 48;
const MAX_VARINT = 10;
const TWO_32 = 2 ** 32;

const ENCODER = new TextEncoder();

/**
 * Fields may be written in any order. The length of a message precedes it but is known only after it: `begin` reserves
 * one byte for it, and `end` makes room when it needs more.
 */
export class ProtobufWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #at = 0;

  constructor(firstBytes = FIRST_BYTES) {
    this.#bytes = new Uint8Array(firstBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get length(): number {
    return this.#at;
  }

  clear(): void {
    this.#at = 0;
  }

  /** The bytes written so far; valid until the next write. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#at);
  }

  /** A copy of the bytes written so far. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#at);
  }

  /** Begins a message and returns the value to pass to `end`. */
  begin(field: number): number {
    this.#room(MAX_VARINT + 1);
    this.#tag(field, DELIMITED);
    this.#at += 1;
    return this.#at;
  }

  end(start: number): void {
    const length = this.#at - start;
    if (length <= 0x7f) {
      this.#bytes[start - 1] = length;
      return;
    }
    const size = varintSize(length);
    this.#room(size);
    this.#bytes.copyWithin(start + size - 1, start, this.#at);
    this.#at = start - 1;
    this.#varint(length);
    this.#at += length;
  }

  text(field: number, value: string): void {
    this.#room(MAX_VARINT * 2 + value.length * 3);
    this.#tag(field, DELIMITED);
    if (value.length <= SHORT_TEXT && this.#shortText(value)) return;
    const start = this.#at + 1;
    this.#at = start + ENCODER.encodeInto(value, this.#bytes.subarray(start)).written;
    this.end(start);
  }

  /** Returns false, and writes nothing, when the text is not ASCII. */
  #shortText(value: string): boolean {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[at++] = code;
    }
    bytes[this.#at] = value.length;
    this.#at = at;
    return true;
  }

  /** Appends fields that are already encoded. */
  raw(fields: Uint8Array): void {
    this.#room(fields.length);
    this.#bytes.set(fields, this.#at);
    this.#at += fields.length;
  }

  /** Writes a bytes field given as hex digits. */
  hex(field: number, digits: string): void {
    this.#room(MAX_VARINT * 2 + digits.length);
    this.#tag(field, DELIMITED);
    this.#varint(digits.length / 2);
    for (let index = 0; index < digits.length; index += 2)
      this.#bytes[this.#at++] = (nibble(digits.charCodeAt(index)) << 4) | nibble(digits.charCodeAt(index + 1));
  }

  /** Accepts integers up to 2^53, including negative ones. */
  integer(field: number, value: number): void {
    this.#room(MAX_VARINT * 2);
    this.#tag(field, VARINT);
    if (value >= 0) this.#varint(value);
    else this.#negative(value);
  }

  boolean(field: number, value: boolean): void {
    this.integer(field, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    this.#room(MAX_VARINT + 8);
    this.#tag(field, FIXED64);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Accepts integers from 0 to 2^53. */
  fixed64(field: number, value: number): void {
    this.#room(MAX_VARINT + 8);
    this.#tag(field, FIXED64);
    this.#rawFixed64(value);
  }

  fixed32(field: number, value: number): void {
    this.#room(MAX_VARINT + 4);
    this.#tag(field, FIXED32);
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  /** Writes a time as nanoseconds since 1970, with microsecond precision. */
  nanoseconds(field: number, ms: number): void {
    this.#room(MAX_VARINT + 8);
    this.#tag(field, FIXED64);
    // The value exceeds 2^53 a thousand times, so it is written in two halves.
    const microseconds = Math.max(0, Math.round(ms * 1000));
    const low = (microseconds % TWO_32) * 1000;
    this.#view.setUint32(this.#at, low % TWO_32, true);
    this.#view.setUint32(this.#at + 4, Math.floor(microseconds / TWO_32) * 1000 + Math.floor(low / TWO_32), true);
    this.#at += 8;
  }

  packedFixed64(field: number, values: ArrayLike<number>): void {
    this.#room(MAX_VARINT * 2 + values.length * 8);
    this.#tag(field, DELIMITED);
    this.#varint(values.length * 8);
    for (let index = 0; index < values.length; index++) this.#rawFixed64(values[index]!);
  }

  packedDouble(field: number, values: readonly number[]): void {
    this.#room(MAX_VARINT * 2 + values.length * 8);
    this.#tag(field, DELIMITED);
    this.#varint(values.length * 8);
    for (const value of values) {
      this.#view.setFloat64(this.#at, value, true);
      this.#at += 8;
    }
  }

  #rawFixed64(value: number): void {
    this.#view.setUint32(this.#at, value % TWO_32, true);
    this.#view.setUint32(this.#at + 4, Math.floor(value / TWO_32), true);
    this.#at += 8;
  }

  #tag(field: number, wireType: number): void {
    if (field < 16) this.#bytes[this.#at++] = field * 8 + wireType;
    else this.#varint(field * 8 + wireType);
  }

  #varint(value: number): void {
    let left = value;
    while (left > 0x7f) {
      if (left < 2 ** 31) return this.#smallVarint(left);
      this.#bytes[this.#at++] = (left % 128) | 0x80;
      left = Math.floor(left / 128);
    }
    this.#bytes[this.#at++] = left;
  }

  #smallVarint(value: number): void {
    let left = value;
    while (left > 0x7f) {
      this.#bytes[this.#at++] = (left & 0x7f) | 0x80;
      left >>>= 7;
    }
    this.#bytes[this.#at++] = left;
  }

  /** Writes the two's complement of 64 bits. */
  #negative(value: number): void {
    let left = BigInt.asUintN(64, BigInt(value));
    while (left > 0x7fn) {
      this.#bytes[this.#at++] = Number(left & 0x7fn) | 0x80;
      left >>= 7n;
    }
    this.#bytes[this.#at++] = Number(left);
  }

  #room(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let left = value; left > 0x7f; left = Math.floor(left / 128)) size += 1;
  return size;
}

/** `code` is that of a lower-case hex digit. */
function nibble(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
