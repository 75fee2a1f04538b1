// The framing of the channel between supervisor and workers: what was sent arrives, whatever the sizes of the reads.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FrameReader, frameOf, MAX_FRAME_BYTES } from "../../../src/process/workers/frames.ts";

const message = fc.record({
  kind: fc.oneof(fc.string(), fc.constant(null)),
  id: fc.nat(),
  body: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  bytes: fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined }),
  isError: fc.boolean(),
});

/** The bytes in pieces of these sizes, over and over; the last piece is what is left. */
function pieces(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const cut: Uint8Array[] = [];
  for (let offset = 0, index = 0; offset < bytes.length; index++) {
    const size = sizes[index % sizes.length]!;
    cut.push(bytes.slice(offset, offset + size));
    offset += size;
  }
  return cut;
}

describe("frames", () => {
  test("messages arrive in order and unchanged, however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(message, { maxLength: 6 }), { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 }),
        (turns, sizes) => {
          const sent = Buffer.concat(turns.map((turn) => frameOf(turn)));
          const reader = new FrameReader();
          const arrived = pieces(sent, sizes).flatMap((piece) => {
            const read = reader.read(piece);
            // the memory of a read belongs to the socket, which uses it again
            piece.fill(0xff);
            return read;
          });
          expect(arrived).toEqual(turns.flat());
        },
      ),
    );
  });

  test("a length that no frame has is refused before memory is set aside for it", () => {
    for (const length of [0, 3, MAX_FRAME_BYTES, 0xffff_ffff]) {
      const head = new Uint8Array(8);
      new DataView(head.buffer).setUint32(0, length);
      expect(() => new FrameReader().read(head)).toThrow("is no length of a frame");
    }
  });

  test("JSON and attached bytes have to be inside of their frame", () => {
    const frame = frameOf([{ kind: "a", id: 1, body: null, bytes: new Uint8Array(4) }]);
    const long = frame.slice();
    new DataView(long.buffer).setUint32(4, frame.length);
    expect(() => new FrameReader().read(long)).toThrow("the JSON of a frame is longer than the frame");
    const short = frame.slice(0, -1);
    new DataView(short.buffer).setUint32(0, short.length - 4);
    expect(() => new FrameReader().read(short)).toThrow("not in its frame");
  });
});
