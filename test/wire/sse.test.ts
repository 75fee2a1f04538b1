// The event stream parser: the rules of the format one by one, bounds, any stream cut anywhere against itself and against eventsource-parser, and the
// conformance vectors where they are.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { createSseParser, type SseEvent } from "../../src/wire/sse.ts";
import { UpstreamFault } from "../../src/wire/upstream.ts";
import { vectorsFolder } from "../traffic/cases.ts";
import { encoder, readAll, type Reading, ROOMY } from "./http/parser-reading.ts";
import { growth, MOST_GROWTH } from "../harness/time/cpu-time.ts";

const read = (chunks: readonly Uint8Array[], maxEventBytes = ROOMY): Reading =>
  readAll(createSseParser({ maxEventBytes }), chunks);

function eventsOf(...chunks: readonly (string | Uint8Array)[]): readonly SseEvent[] {
  const { events, fault } = read(chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk)));
  expect(fault).toBeNull();
  return events;
}
const eventOf = (data: string): string => `data: ${data}\n\n`;
const dataOf = (...chunks: readonly (string | Uint8Array)[]): readonly string[] =>
  eventsOf(...chunks).map((event) => event.data);

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const borders = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return borders.slice(1).map((border, index) => bytes.subarray(borders[index], border));
}
function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

describe("an event stream", () => {
  test("gives a field `error`, which llama.cpp's server sends, as an event of that name", () => {
    expect(eventsOf('data: one\n\nerror: {"code":500}\n\n')).toEqual([
      { event: "", data: "one" },
      { event: "error", data: '{"code":500}' },
    ]);
    expect(eventsOf('error:{"code":500}')).toEqual([{ event: "error", data: '{"code":500}' }]);
    // no other name that begins like it
    expect(eventsOf("errors: x\n\n")).toEqual([]);
  });

  test("[d7.8] gives a JSON object without a field name, such as an error in a stream that has begun, as data", () => {
    const error = '{\n  "error": {\n    "code": 503,\n    "details": [\n      {}\n    ]\n  }\n}';
    expect(dataOf(`data: {"text":"one"}\n\n${error}\n`)).toEqual(['{"text":"one"}', error]);
    expect(dataOf(`data: {"text":"one"}\n{"error":1}\n{"error":2}\n\ndata: [DONE]\n\n`)).toEqual([
      '{"text":"one"}',
      '{"error":1}',
      '{"error":2}',
      "[DONE]",
    ]);
    expect(eventsOf('event: error\n{"error":1}')).toEqual([{ event: "error", data: '{"error":1}' }]);
    // neither other lines, nor what can be no object of its own
    expect(dataOf('data: {"text":\n{"error":1}\ndata: 2}\n\n"one"\n[DONE]\n\n')).toEqual(['{"text":\n2}']);
    expect(eventsOf('{\n\n{}\n\n{"error":\nevent: x\ndata: y\n\n')).toEqual([{ event: "x", data: "y" }]);
    // what is a field ends no object
    expect(dataOf('{\nid: 7\n: comment\n"error":1}\n\n')).toEqual(['{\n"error":1}']);
  });

  test("gives an event for each group of lines that a blank line ends", () => {
    expect(eventsOf("data: one\n\ndata: two\n\n")).toEqual([
      { event: "", data: "one" },
      { event: "", data: "two" },
    ]);
    expect(eventsOf("event: delta\ndata: one\n\ndata: two\n\n")).toEqual([
      { event: "delta", data: "one" },
      { event: "", data: "two" },
    ]);
    expect(eventsOf("data: one\nevent: late\n\n")).toEqual([{ event: "late", data: "one" }]);
    expect(eventsOf("event: first\nevent: second\ndata: one\n\nevent: lost\n\ndata: two\n\n")).toEqual([
      { event: "second", data: "one" },
      { event: "", data: "two" },
    ]);
    expect(eventsOf("event: named\nevent\ndata: one\n\n")).toEqual([{ event: "", data: "one" }]);
  });

  test("removes one space before the value and no more", () => {
    expect(dataOf("data:one\n\ndata:  two \n\ndata:\tthree\n\n")).toEqual(["one", " two ", "\tthree"]);
    expect(eventsOf("event:a\ndata:b\n\nevent:  a\ndata:b\n\n").map((event) => event.event)).toEqual(["a", " a"]);
  });

  test("joins the data lines of one event with line feeds", () => {
    expect(dataOf('data: {\ndata:  "a": 1\ndata\ndata: }\n\n')).toEqual(['{\n "a": 1\n\n}']);
  });

  test("begins a new event at a JSON object after another, where servers omit the blank line", () => {
    const stream = 'data: {"a":1}\ndata: {"b":\ndata: {}}\ndata: {"c":3}\n\ndata: {"d":4}\ndata: [DONE]\n\n';
    for (const size of [stream.length, 7, 1])
      expect(dataOf(...cut(encoder.encode(stream), size))).toEqual([
        '{"a":1}',
        '{"b":\n{}}',
        '{"c":3}',
        '{"d":4}',
        "[DONE]",
      ]);
    expect(dataOf("data: {\ndata: }\ndata: 1\n\n", 'event: output\ndata: {"a":1}\ndata: {"b":2}\n\n')).toEqual([
      "{\n}\n1",
      '{"a":1}\n{"b":2}',
    ]);
  });

  test("drops events without data, and keeps one whose data is a line feed", () => {
    expect(dataOf("data:\n\ndata\n\nevent: ping\n\n\n\ndata:\ndata\n\n")).toEqual(["\n"]);
  });

  test("an event that is dropped because it has no data is dropped with its name", () => {
    expect(eventsOf("event: ping\ndata:\n\ndata: x\n\n")).toEqual([{ event: "", data: "x" }]);
    expect(eventsOf("event: ping\ndata:", "\n", "\ndata: x\n\n")).toEqual([{ event: "", data: "x" }]);
  });

  test("ignores comments, id, retry and unknown fields", () => {
    expect(
      dataOf(": OPENROUTER PROCESSING\n\n:\nid: 7\nretry: 10\nx: y\ndatax: 1\n data: 2\nDATA: 3\ndata: 4\n\n: bye\n"),
    ).toEqual(["4"]);
  });

  test.each([
    ["line feed", "\n"],
    ["carriage return", "\r"],
    ["both", "\r\n"],
  ])("takes %s as the end of a line, wherever the reads are cut", (_name, end) => {
    const bytes = encoder.encode(["event: a", "data: 1", "data: 2", "", ": note", "", "data: 3", "", ""].join(end));
    for (let size = 1; size <= bytes.length; size++) {
      expect(read(cut(bytes, size)).events).toEqual([
        { event: "a", data: "1\n2" },
        { event: "", data: "3" },
      ]);
    }
  });

  test("a receiver may take an event that comes in several reads as one text, unless it is long", () => {
    const event = 'event: a\ndata: {"x":1}\n\n';
    const long = `event: a\ndata: ${"y".repeat(5000)}\nid: 1\n`;
    for (let place = 1; place < event.length; place++) {
      const [taken, pushed]: [string[], SseEvent[]] = [[], []];
      const parser = createSseParser({ maxEventBytes: ROOMY });
      for (const piece of cutAt(encoder.encode(event + event + long), [event.length + place]))
        parser.pushTo!(piece, {
          push: (one) => pushed.push(one),
          take: (text, start) => {
            if (!text.startsWith(event, start)) return start;
            taken.push(event);
            return start + event.length;
          },
        });
      expect([taken, pushed]).toEqual([[event, event], []]);
      expect(parser.end()).toEqual([{ event: "a", data: "y".repeat(5000) }]);
    }
  });

  test("a line feed is the second half of a line end only right after its carriage return", () => {
    expect(dataOf("data: a\r", "\ndata: b\r\n\r\n")).toEqual(["a\nb"]);
    expect(dataOf("data: a\rdata: b", "\n\ndata: c\n\n")).toEqual(["a\nb", "c"]);
    expect(dataOf("data: a\r", "", "\n\r", "\n")).toEqual(["a"]);
    expect(dataOf("data: a\r\r", "\ndata: b")).toEqual(["a", "b"]);
  });

  test("gives an event as soon as its blank line has arrived", () => {
    const parser = createSseParser({ maxEventBytes: ROOMY });
    expect(parser.push(encoder.encode("data: one\n"))).toEqual([]);
    expect(parser.push(encoder.encode("\n"))).toEqual([{ event: "", data: "one" }]);
    expect(parser.push(encoder.encode("data: two\r\r"))).toEqual([{ event: "", data: "two" }]);
    expect(parser.end()).toEqual([]);
    expect(parser.end()).toEqual([]);
  });

  test("gives the last event even if its blank line, or its line end, never arrived", () => {
    expect(dataOf("data: one\n\ndata: [DONE]")).toEqual(["one", "[DONE]"]);
    expect(dataOf("data: one\n\ndata: [DONE]\n")).toEqual(["one", "[DONE]"]);
    expect(dataOf("data: one\r\n\r\ndata: [DONE]\r")).toEqual(["one", "[DONE]"]);
    expect(eventsOf("event: end\ndata: x")).toEqual([{ event: "end", data: "x" }]);
    expect(eventsOf("event: end\n")).toEqual([]);
    expect(eventsOf()).toEqual([]);
  });

  test("reads UTF-8 whose characters are cut, and puts U+FFFD for invalid bytes", () => {
    const bytes = encoder.encode("data: ไธ… 😀é\n\n");
    for (let size = 1; size < 8; size++)
      expect(read(cut(bytes, size)).events).toEqual([{ event: "", data: "ไธ… 😀é" }]);
    expect(
      dataOf(
        joinBytes([encoder.encode("data: a"), new Uint8Array([0xff, 0xe2, 0x82]), encoder.encode("\n\ndata: b\n\n")]),
      ),
    ).toEqual(["a\ufffd\ufffd", "b"]);
    expect(dataOf(joinBytes([encoder.encode("data: a"), new Uint8Array([0xf0, 0x9f])]))).toEqual(["a\ufffd"]);
  });

  test("removes a byte order mark at the start of the stream and nowhere else", () => {
    const mark = new Uint8Array([0xef, 0xbb, 0xbf]);
    expect(dataOf(mark, "data: a\n\n")).toEqual(["a"]);
    expect(
      dataOf(mark.subarray(0, 1), mark.subarray(1), "data: \ufeffa\n\n", mark, "data: lost\n\n", "data: b\n\n"),
    ).toEqual(["\ufeffa", "b"]);
    expect(dataOf(mark, mark, "data: lost\n\ndata: b\n\n")).toEqual(["b"]);
    expect(dataOf(mark, "data: a")).toEqual(["a"]);
  });

  test("an event of any JSON is read back", () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { maxLength: 5 }), (texts) => {
        expect(dataOf(texts.map(eventOf).join(""))).toEqual(texts);
      }),
    );
  });
});

describe("the bound on events", () => {
  const faultOf = (stream: string, maxEventBytes: number): Reading => read([encoder.encode(stream)], maxEventBytes);

  test.each([
    ["a line that has no end yet", "data: 0123456789"],
    ["a line that has an end", "data: 0123456789\n\n"],
    ["a comment", ": 0123456789abcdef\n"],
    ["an event of many lines", "data: 012\ndata: 345\ndata: 678\ndata: 9ab\n\n"],
    ["a line of few characters and many bytes", "data: ไไไไ\n\n"],
  ])("refuses %s", (_name, stream) => {
    const { events, fault } = faultOf(stream, 14);
    expect(events).toEqual([]);
    expect(fault).toBeInstanceOf(UpstreamFault);
    expect((fault as UpstreamFault).kind).toBe("too_large");
  });

  test("accepts an event of exactly that size", () => {
    expect(faultOf("data: 01234567\n\n", 14)).toEqual({ events: [{ event: "", data: "01234567" }], fault: null });
    expect(faultOf("data: 01234567", 14)).toEqual({ events: [{ event: "", data: "01234567" }], fault: null });
    expect(faultOf("data: 012\ndata: 345\ndata: 678\ndata: ab\n\n", 14).events).toHaveLength(1);
    expect(faultOf("data: 01234567\n\n".repeat(50), 14).events).toHaveLength(50);
  });

  test("gives the events before the fault first, and keeps failing", () => {
    const parser = createSseParser({ maxEventBytes: 14 });
    expect(parser.push(encoder.encode("data: 1\n\ndata: 0123456789\n\ndata: 2\n\n"))).toEqual([
      { event: "", data: "1" },
    ]);
    expect(() => parser.push(encoder.encode("data: 3\n\n"))).toThrow(UpstreamFault);
    expect(() => parser.end()).toThrow(UpstreamFault);
  });

  test("does not depend on how the stream is cut", () => {
    const line = fc.constantFrom(
      "data: 1\n",
      "data: 0123456\n",
      "data: 01234567\n",
      "data: ไไ\n",
      "data: ไไไ\n",
      ": 0123456789ab\n",
      ": 0123456789abc\n",
      "\n",
      "\n",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 20 }), (lines, places) => {
        const bytes = encoder.encode(lines.join(""));
        const whole = read([bytes], 14);
        const pieces = read(cutAt(bytes, places), 14);
        expect(pieces.events).toEqual(whole.events);
        expect(pieces.fault instanceof UpstreamFault).toBe(whole.fault instanceof UpstreamFault);
      }),
      { numRuns: 500 },
    );
  });
});

describe("any stream", () => {
  const piece = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .constantFrom(
          "data: ",
          "data:",
          "data",
          "event: ",
          "event:",
          "event",
          ":",
          "id: 1",
          "retry: 5",
          " ",
          "{}",
          "a",
          "ไ",
          "😀",
          "\0",
        )
        .map((text) => encoder.encode(text)),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\r").map((text) => encoder.encode(text)),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom([0xef, 0xbb, 0xbf], [0xf0, 0x9f, 0x98], [0xff], [0x80], [0xc3])
        .map((bytes) => new Uint8Array(bytes)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }) },
  );
  const stream = fc.array(piece, { maxLength: 40 }).map(joinBytes);

  test("gives the same events however it is cut", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 30 }), (bytes, places) => {
        const whole = read([bytes]);
        expect(read(cutAt(bytes, places))).toEqual(whole);
        expect(read(cut(bytes, 1))).toEqual(whole);
      }),
      { numRuns: 1000 },
    );
  });

  test("gives the events that eventsource-parser gives", () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const theirs: SseEvent[] = [];
        // Ours drops events without data, and flushes at the end what theirs gives after a blank line.
        const oracle = createParser({
          onEvent: ({ event, data }) => data !== "" && theirs.push({ event: event ?? "", data }),
        });
        oracle.feed(`${new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)}\n\n`);
        expect(read([bytes]).events).toEqual(theirs);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a large stream", () => {
  // Copying what is held for each new byte is work of the second order.
  test("of one long line that comes byte by byte takes time in proportion to its length", async () => {
    const readBytes = (bytes: Uint8Array): void => {
      const parser = createSseParser({ maxEventBytes: 2 << 20 });
      let events = 0;
      for (let at = 0; at < bytes.length; at++) events += parser.push(bytes.subarray(at, at + 1)).length;
      expect(events).toBe(1);
    };
    const made = (size: number): Uint8Array => encoder.encode(`data: ${"x".repeat(size)}\n\n`);
    expect(await growth(made, readBytes, 1 << 16)).toBeLessThan(MOST_GROWTH);
  });

  test("of 100,000 small events is read completely from reads of 64 KB", () => {
    const texts = Array.from({ length: 100_000 }, (_, index) => `{"index":${index},"text":"é"}`);
    const bytes = encoder.encode(texts.map(eventOf).join(""));
    expect(read(cut(bytes, 65_536)).events.map((event) => event.data)).toEqual(texts);
  });
});

interface Vector {
  readonly name: string;
  readonly chunks_b64: readonly string[];
  readonly expect: readonly { readonly type: string; readonly data: string }[];
}
const vectorsFile = join(vectorsFolder, "sse/vectors.json");
const vectors = existsSync(vectorsFile) ? (JSON.parse(readFileSync(vectorsFile, "utf8")) as readonly Vector[]) : [];
if (vectors.length === 0) console.log(`skipped: the event stream vectors, because ${vectorsFile} is not there`);

/** Their streams are cut before the last blank line to show that a browser then gives nothing. Providers end streams so, and the event counts. */
const FLUSHED_AT_THE_END: Readonly<Record<string, SseEvent>> = {
  "data before final empty line is not dispatched": { event: "", data: "test2" },
};

describe.skipIf(vectors.length === 0)("the conformance vectors", () => {
  test.each(vectors.map((vector) => [vector.name, vector] as const))("%s", (name, vector) => {
    const flushed = FLUSHED_AT_THE_END[name];
    const expected = [
      ...vector.expect
        .filter(({ data }) => data !== "")
        .map(({ type, data }) => ({ event: type === "message" ? "" : type, data })),
      ...(flushed === undefined ? [] : [flushed]),
    ];
    const chunks = vector.chunks_b64.map((chunk) => new Uint8Array(Buffer.from(chunk, "base64")));
    expect(read(chunks)).toEqual({ events: expected, fault: null });
    expect(read([joinBytes(chunks)])).toEqual({ events: expected, fault: null });
    expect(read(cut(joinBytes(chunks), 1))).toEqual({ events: expected, fault: null });
  });
});
