// Bytes of a stream that are kept until what they belong to is complete: a line, or a message.

const EMPTY = new Uint8Array(0);
/** A larger buffer is released once it is emptied, so that one long line does not occupy memory until the stream ends. */
const LARGEST_KEPT = 65_536;

/** The capacity doubles, so that what arrives byte by byte is not copied for every byte. */
export function createGrowingBuffer() {
  let room = EMPTY;
  let held = 0;
  return {
    length: () => held,
    /** Valid until more is added. */
    bytes: () => room.subarray(0, held),
    add(bytes: Uint8Array): void {
      if (held + bytes.length > room.length) {
        const larger = new Uint8Array(Math.max(held + bytes.length, 2 * room.length, 256));
        larger.set(room.subarray(0, held));
        room = larger;
      }
      room.set(bytes, held);
      held += bytes.length;
    },
    clear(): void {
      held = 0;
      if (room.length > LARGEST_KEPT) room = EMPTY;
    },
  };
}
