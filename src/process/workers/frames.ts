// The framing of the channel between supervisor and workers: the bytes of one frame hold all messages of one turn of the
// event loop. A frame is its length (four bytes, without themselves), the length of its JSON (four bytes), an array of
// messages as JSON, and the attached bytes of these messages, one after the other.

/** A message as it stands in a frame. */
export interface FramedMessage {
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
export function frameOf(messages: readonly FramedMessage[]): Uint8Array {
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

function jsonOf({ kind, id, body, bytes, isError }: FramedMessage): MessageJson {
  if (isError === true) return [kind, id, body, bytes?.length ?? NO_BYTES, 1];
  return bytes === undefined ? [kind, id, body] : [kind, id, body, bytes.length];
}

/** Puts frames together from reads of any size. */
export class FrameReader {
  /** The frame that has begun, or its head while its length is not known; `null` between two frames. */
  #begun: Uint8Array | null = null;
  #filled = 0;

  /**
   * Returns the messages of all frames that are complete with this read, whose memory may be used again afterwards.
   * Throws when the bytes are not frames; the reader is of no use afterwards.
   */
  read(bytes: Uint8Array): readonly FramedMessage[] {
    const messages: FramedMessage[] = [];
    let offset = 0;
    while (offset < bytes.length) {
      if (this.#begun !== null) {
        offset += this.#fill(bytes, offset, messages);
        continue;
      }
      const left = bytes.length - offset;
      const length = left < HEAD_BYTES ? HEAD_BYTES : frameLength(bytes, offset);
      if (left < length || left < HEAD_BYTES) {
        this.#begun = new Uint8Array(length);
        this.#filled = 0;
        continue;
      }
      readFrame(bytes.subarray(offset, offset + length), messages, false);
      offset += length;
    }
    return messages;
  }

  /** Returns how many bytes of the read were taken. */
  #fill(bytes: Uint8Array, offset: number, messages: FramedMessage[]): number {
    const begun = this.#begun!;
    const taken = Math.min(begun.length - this.#filled, bytes.length - offset);
    begun.set(bytes.subarray(offset, offset + taken), this.#filled);
    this.#filled += taken;
    if (this.#filled < begun.length) return taken;
    const length = frameLength(begun, 0);
    if (length > begun.length) {
      // So far it was the head alone.
      this.#begun = new Uint8Array(length);
      this.#begun.set(begun);
      return taken;
    }
    this.#begun = null;
    readFrame(begun, messages, true);
    return taken;
  }
}

function frameLength(bytes: Uint8Array, offset: number): number {
  const length = 4 + uint32(bytes, offset);
  if (length < HEAD_BYTES || length > MAX_FRAME_BYTES) throw new RangeError(`${length} is no length of a frame`);
  return length;
}

/** The memory of a frame that `isOwn` stays as it is; of any other one, attached bytes are copied. */
function readFrame(frame: Uint8Array, messages: FramedMessage[], isOwn: boolean): void {
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
      bytes: hasBytes ? ownBytes(frame.subarray(offset, offset + length), isOwn) : undefined,
      isError: isError === 1,
    });
    if (hasBytes) offset += length;
  }
}

function uint32(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + offset, 4).getUint32(0);
}

/** `slice` would not copy: a read is a Buffer, whose `slice` is a view of the same memory. */
function ownBytes(bytes: Uint8Array, isOwn: boolean): Uint8Array {
  return isOwn ? bytes : new Uint8Array(bytes);
}
