// The parser of newline-delimited JSON: lines and their ends, the bound, and any stream cut anywhere against itself and against a plain split.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createNdjsonParser } from "../../src/wire/ndjson.ts";
import { UpstreamFault } from "../../src/wire/upstream.ts";
import { encoder, readAll, type Reading, ROOMY } from "./http/parser-reading.ts";

const read = (chunks: readonly Uint8Array[], maxEventBytes = ROOMY): Reading =>
  readAll(createNdjsonParser({ maxEventBytes }), chunks);

function linesOf(...chunks: readonly (string | Uint8Array)[]): readonly string[] {
  const { events, fault } = read(chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk)));
  expect(fault).toBeNull();
  for (const { event } of events) expect(event).toBe("");
  return events.map(({ data }) => data);
}

function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const borders = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return borders.slice(1).map((border, index) => bytes.subarray(borders[index], border));
}
const everyByte = (bytes: Uint8Array): Uint8Array[] => [...bytes].map((byte) => new Uint8Array([byte]));

describe("lines of JSON", () => {
  test("each line is one event without a name", () => {
    expect(linesOf('{"a":1}\n{"a":2}\n')).toEqual(['{"a":1}', '{"a":2}']);
  });

  test.each([
    ["line feed", "\n"],
    ["both", "\r\n"],
  ])("takes %s as the end of a line, in two pieces cut at any byte", (_name, end) => {
    const texts = ['{"text":"ไธ… 😀é"}', '{"done":false}', "", "  ", '{"done":true}'];
    const bytes = encoder.encode(texts.join(end) + end);
    for (let at = 0; at <= bytes.length; at++)
      expect(linesOf(bytes.subarray(0, at), bytes.subarray(at))).toEqual([texts[0]!, texts[1]!, texts[4]!]);
    expect(linesOf(...everyByte(bytes))).toEqual([texts[0]!, texts[1]!, texts[4]!]);
  });

  test("gives a line as soon as its end has arrived, and the last one at the end of the bytes", () => {
    const parser = createNdjsonParser({ maxEventBytes: ROOMY });
    expect(parser.push(encoder.encode('{"a":'))).toEqual([]);
    expect(parser.push(encoder.encode('1}\n{"b"'))).toEqual([{ event: "", data: '{"a":1}' }]);
    expect(parser.push(encoder.encode(":2}"))).toEqual([]);
    expect(parser.end()).toEqual([{ event: "", data: '{"b":2}' }]);
    expect(parser.end()).toEqual([]);
  });

  test("nothing, and blank lines alone, give nothing", () => {
    expect(linesOf()).toEqual([]);
    expect(linesOf("\n\r\n \t\n")).toEqual([]);
  });

  test("removes a byte order mark at the start, and puts U+FFFD for invalid UTF-8", () => {
    expect(linesOf(new Uint8Array([0xef, 0xbb, 0xbf]), "{}\n")).toEqual(["{}"]);
    expect(linesOf(new Uint8Array([0x61, 0xff, 0x0a, 0x62, 0xf0, 0x9f]))).toEqual(["a\ufffd", "b\ufffd"]);
  });
});

describe("the bound on lines", () => {
  test.each([
    ["a line that has no end yet", '{"a":"01234567"}'],
    ["a line that has an end", '{"a":"01234567"}\n'],
    ["a line of few characters and many bytes", '{"a":"ไไไ"}\n'],
    ["white space without end", " ".repeat(15)],
  ])("refuses %s", (_name, stream) => {
    const { events, fault } = read([encoder.encode(stream)], 14);
    expect(events).toEqual([]);
    expect(fault).toBeInstanceOf(UpstreamFault);
    expect((fault as UpstreamFault).kind).toBe("too_large");
  });

  test("accepts a line of exactly that size", () => {
    expect(read([encoder.encode('{"a":"012345"}\n'.repeat(50))], 14).events).toHaveLength(50);
    expect(read([encoder.encode('{"a":"012345"}')], 14)).toEqual({
      events: [{ event: "", data: '{"a":"012345"}' }],
      fault: null,
    });
  });

  test("gives the lines before the fault first, and keeps failing", () => {
    const parser = createNdjsonParser({ maxEventBytes: 14 });
    expect(parser.push(encoder.encode('{"a":1}\n{"a":"0123456789"}\n{"a":2}\n'))).toEqual([
      { event: "", data: '{"a":1}' },
    ]);
    expect(() => parser.push(encoder.encode("{}\n"))).toThrow(UpstreamFault);
    expect(() => parser.end()).toThrow(UpstreamFault);
  });
});

describe("any stream", () => {
  const piece = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom("\n", "\r\n", "\n\n", "\r", "{}", " ", '{"a":1}', "ไ", "😀", "0123456789abcdef")
        .map((text) => encoder.encode(text)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }) },
  );
  const stream = fc.array(piece, { maxLength: 40 }).map((parts) => new Uint8Array(Buffer.concat(parts)));

  test("gives the same lines however it is cut, and to the same bound", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 30 }), fc.constantFrom(ROOMY, 16), (bytes, places, bound) => {
        const whole = read([bytes], bound);
        for (const chunks of [cutAt(bytes, places), everyByte(bytes)]) {
          const pieces = read(chunks, bound);
          expect(pieces.events).toEqual(whole.events);
          expect(pieces.fault instanceof UpstreamFault).toBe(whole.fault instanceof UpstreamFault);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("gives what a split at line ends gives", () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const plain = new TextDecoder()
          .decode(bytes)
          .split(/\r\n|\n|\r/)
          .filter((line) => /[^ \t]/.test(line));
        expect(read([bytes]).events.map(({ data }) => data)).toEqual(plain);
      }),
      { numRuns: 1000 },
    );
  });
});
