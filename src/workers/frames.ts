// The framing of the channel between supervisor and workers: the bytes of one frame hold all messages of one turn of the
// event loop. A frame is its length (four bytes, without themselves), the length of its JSON (four bytes), an array of
// messages as JSON, and the attached bytes of these messages, one after the other.

/** A message as it stands in a frame. */
export interface Message {
  /** The name of the message; `null` in a reply. */
  readonly kind: string | null;
  /** The number of a request, which its reply repeats; 0 when no reply is expected. */
  readonly id: number;
  /** Any JSON value. */
  readonly body: unknown;
  /** Bytes beside the body. */
  readonly bytes?: Uint8Array | undefined;
  /** Only in a reply: the request failed, and `body` says why. */
  readonly isError?: boolean | undefined;
}

/** `[kind, id, body, number of attached bytes (-1 for none), 1 in an error reply]`; the last two may be left out. */
type MessageJson = readonly [kind: string | null, id: number, body: unknown, bytes?: number, isError?: 1];

/** A longer frame is a fault of the other side: the largest batch of ledger rows is far below it. */
export const MAX_FRAME_BYTES = 256 * 1024 * 1024;
const HEAD_BYTES = 8;
const NO_BYTES = -1;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Throws RangeError when the frame is longer than MAX_FRAME_BYTES. */
export function frameOf(messages: readonly Message[]): Uint8Array {
  let attached = 0;
  for (const { bytes } of messages) attached += bytes?.length ?? 0;
  const json = encoder.encode(JSON.stringify(messages.map(jsonOf)));
  const length = HEAD_BYTES + json.length + attached;
  if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes is longer than ${MAX_FRAME_BYTES}`);
  const frame = new Uint8Array(length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, length - 4);
  view.setUint32(4, json.length);
  frame.set(json, HEAD_BYTES);
  let offset = HEAD_BYTES + json.length;
  for (const { bytes } of messages) {
    if (bytes === undefined) continue;
    frame.set(bytes, offset);
    offset += bytes.length;
  }
  return frame;
}

function jsonOf({ kind, id, body, bytes, isError }: Message): MessageJson {
  if (isError === true) return [kind, id, body, bytes?.length ?? NO_BYTES, 1];
  return bytes === undefined ? [kind, id, body] : [kind, id, body, bytes.length];
}

/** Puts frames together from reads of any size. */
export class FrameReader {
  #parts: Uint8Array[] = [];
  #length = 0;
  /** Bytes that have to be there before the next frame, or its head, is complete. */
  #needed = HEAD_BYTES;

  /**
   * Returns the messages of all frames that are complete with this read. The read is copied if it is needed later.
   * Throws when the bytes are not frames; the reader is of no use afterwards.
   */
  read(bytes: Uint8Array): readonly Message[] {
    if (this.#length + bytes.length < this.#needed) {
      this.#keep(bytes);
      return [];
    }
    const messages: Message[] = [];
    const all = this.#length === 0 ? bytes : joined([...this.#parts, bytes], this.#length + bytes.length);
    this.#parts = [];
    this.#length = 0;
    let offset = 0;
    for (;;) {
      const left = all.length - offset;
      const length = left < HEAD_BYTES ? HEAD_BYTES : frameLength(all, offset);
      if (left < length) {
        this.#needed = length;
        if (left > 0) this.#keep(all.subarray(offset));
        return messages;
      }
      readFrame(all.subarray(offset, offset + length), messages);
      offset += length;
    }
  }

  /** Copies the bytes. `slice` would not: a read is a Buffer, whose `slice` is a view of the same memory. */
  #keep(bytes: Uint8Array): void {
    this.#parts.push(new Uint8Array(bytes));
    this.#length += bytes.length;
  }
}

function frameLength(bytes: Uint8Array, offset: number): number {
  const length = 4 + uint32(bytes, offset);
  if (length < HEAD_BYTES || length > MAX_FRAME_BYTES) throw new RangeError(`${length} is no length of a frame`);
  return length;
}

function readFrame(frame: Uint8Array, messages: Message[]): void {
  const jsonEnd = HEAD_BYTES + uint32(frame, 4);
  if (jsonEnd > frame.length) throw new RangeError("the JSON of a frame is longer than the frame");
  let offset = jsonEnd;
  for (const [kind, id, body, length = NO_BYTES, isError] of JSON.parse(
    decoder.decode(frame.subarray(HEAD_BYTES, jsonEnd)),
  ) as readonly MessageJson[]) {
    const hasBytes = length !== NO_BYTES;
    if (hasBytes && offset + length > frame.length) throw new RangeError("the bytes of a message are not in its frame");
    messages.push({
      kind,
      id,
      body,
      bytes: hasBytes ? new Uint8Array(frame.subarray(offset, offset + length)) : undefined,
      isError: isError === 1,
    });
    if (hasBytes) offset += length;
  }
}

function uint32(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + offset, 4).getUint32(0);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}
