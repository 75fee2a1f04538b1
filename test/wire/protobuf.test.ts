// The writer of Protocol Buffers, read back by the decoder of the tests; and compared with the bytes in the encoding's
// own guide.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ProtobufWriter } from "../../src/wire/protobuf.ts";
import { encodeSpans } from "../../src/observe/integrations/otlp/span.ts";
import type { AttributeValue } from "../../src/observe/integrations/otlp/attributes.ts";
import { decodeTraces, encodedSpan } from "../harness/servers/otlp-messages.ts";

function written(write: (writer: ProtobufWriter) => void): string {
  const writer = new ProtobufWriter();
  write(writer);
  return Buffer.from(writer.bytes()).toString("hex");
}

describe("bytes", () => {
  test("match the guide's examples", () => {
    expect(written((writer) => writer.integer(1, 150))).toBe("089601");
    expect(written((writer) => writer.text(2, "testing"))).toBe("120774657374696e67");
    expect(
      written((writer) => {
        const start = writer.begin(3);
        writer.integer(1, 150);
        writer.end(start);
      }),
    ).toBe("1a03089601");
    expect(written((writer) => writer.integer(1, -2))).toBe("08feffffffffffffffff01");
  });
  test("are written for fixed numbers, doubles and hex digits", () => {
    expect(written((writer) => writer.fixed32(16, 0x301))).toBe("850101030000");
    expect(written((writer) => writer.fixed64(1, 2 ** 53 - 1))).toBe("09ffffffffffff1f00");
    expect(written((writer) => writer.double(4, 1))).toBe("21000000000000f03f");
    expect(written((writer) => writer.hex(1, "0af7651916cd43dd"))).toBe("0a080af7651916cd43dd");
    expect(written((writer) => writer.packedFixed64(6, [1, 2]))).toBe("321001000000000000000200000000000000");
    expect(written((writer) => writer.boolean(2, true))).toBe("1001");
  });
  test("nanoseconds are right to the microsecond, also in the year 2200", () => {
    for (const ms of [0, 0.001, 1, 1_767_225_600_123.456, 7_258_118_400_000.999, 4_294_967.295, 4_294_967.296]) {
      const hex = written((writer) => writer.nanoseconds(7, ms)).slice(2);
      expect(Buffer.from(hex, "hex").readBigUInt64LE()).toBe(BigInt(Math.round(ms * 1000)) * 1000n);
    }
  });
});

const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({ unit: "binary-ascii", maxLength: 60 }),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(fc.string({ maxLength: 60 }), { maxLength: 5 }),
  fc.record({ double: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
);

/** As the decoder tells them: whole numbers are bigints. */
function told(given: AttributeValue): unknown {
  if (typeof given === "number") return Number.isSafeInteger(given) ? BigInt(given) : given;
  return typeof given === "object" && "double" in given ? given.double : given;
}

test("attributes of any size come back as they were, spans of any length in one export", () => {
  const writer = new ProtobufWriter();
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string({ minLength: 1, maxLength: 40 }), value, { maxKeys: 30 }), {
        minLength: 1,
        maxLength: 8,
      }),
      (all) => {
        const spans = all.map((attributes, index) => ({
          traceId: "1".repeat(32),
          spanId: index.toString(16).padStart(16, "0"),
          parentSpanId: null,
          hasRemoteParent: false,
          traceState: null,
          name: `span ${index}`,
          kind: "client" as const,
          startMs: index,
          endMs: index + 1,
          attributes,
          error: index % 2 === 0 ? null : "why",
        }));
        const received = decodeTraces(encodeSpans(writer, { "service.name": "test" }, spans.map(encodedSpan)));
        expect(received.map((span) => [span.name, span.status.message])).toEqual(
          spans.map((span) => [span.name, span.error ?? ""]),
        );
        for (const [index, span] of received.entries())
          expect(Object.entries(span.attributes)).toEqual(
            Object.entries(all[index]!).map(([key, given]) => [key, told(given)]),
          );
      },
    ),
    { numRuns: 300 },
  );
});
