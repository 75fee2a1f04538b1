// The parser of AWS event streams: streams made by the codec of AWS's own clients and cut anywhere, corrupt and hostile bytes, bounds, and the vectors of
// that codec where they are.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { createAwsEventStreamParser } from "../../src/wire/aws-event-stream.ts";
import type { SseEvent } from "../../src/wire/sse.ts";
import { UpstreamFault } from "../../src/wire/upstream.ts";
import { awsEvent, awsEventStream, awsMessage } from "../harness/servers/aws-events.ts";
import { vectorsFolder } from "../traffic/cases.ts";

const ROOMY = 1 << 20;

interface Reading {
  readonly events: readonly SseEvent[];
  readonly fault: unknown;
}

/** All that a stream gives, to its end or to the fault that ends it. Each chunk is overwritten once it was pushed: the parser may not keep it. */
function read(chunks: readonly Uint8Array[], maxEventBytes = ROOMY): Reading {
  const parser = createAwsEventStreamParser({ maxEventBytes });
  const events: SseEvent[] = [];
  try {
    for (const chunk of chunks) {
      const buffer = Uint8Array.from(chunk);
      events.push(...parser.push(buffer));
      buffer.fill(0x78);
    }
    events.push(...parser.end());
    return { events, fault: null };
  } catch (fault) {
    return { events, fault };
  }
}

function piecesOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

const kindOf = ({ fault }: Reading): string | null =>
  fault instanceof UpstreamFault ? fault.kind : fault === null ? null : "another";

/** A prelude with a right checksum, whatever it promises. */
function prelude(total: number, headers: number): Uint8Array {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(total, 0);
  bytes.writeUInt32BE(headers, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

const EVENTS: readonly SseEvent[] = [
  { event: "messageStart", data: '{"role":"assistant"}' },
  { event: "contentBlockDelta", data: '{"delta":{"text":"Grüße, 世界 😀"}}' },
  { event: "contentBlockDelta", data: JSON.stringify({ delta: { text: "x".repeat(700) } }) },
  { event: "messageStop", data: '{"stopReason":"end_turn"}' },
];
const STREAM = awsEventStream(EVENTS);

describe("AWS event streams", () => {
  test("give their events, however the bytes are cut", () => {
    for (let size = 1; size <= STREAM.length; size++)
      expect(read(piecesOf(STREAM, size))).toEqual({ events: EVENTS, fault: null });
    for (let cut = 0; cut <= STREAM.length; cut++)
      expect(read([STREAM.subarray(0, cut), STREAM.subarray(cut)])).toEqual({ events: EVENTS, fault: null });
  });
  test("give any events of any texts, cut anywhere", () => {
    const event = fc.record({
      event: fc.string({ minLength: 1, maxLength: 20 }).filter((name) => !/exception$/i.test(name)),
      data: fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 }),
    });
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 8 }),
        fc.array(fc.nat({ max: 4000 }), { maxLength: 6 }),
        (events, cuts) => {
          const bytes = awsEventStream(events);
          const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
          expect(read(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))).toEqual({
            events,
            fault: null,
          });
        },
      ),
      { numRuns: 300 },
    );
  });
  test("end with a fault at every damaged byte, also where the headers are those of an earlier message", () => {
    const [first, second] = [awsEvent(EVENTS[1]!), awsEvent({ ...EVENTS[1]!, data: '{"delta":{"text":"x"}}' })];
    for (let at = 12; at < second.length; at++) {
      const damaged = Uint8Array.from(second);
      damaged[at]! ^= 0x20;
      const reading = read([first, damaged]);
      expect([reading.events, kindOf(reading)]).toEqual([[EVENTS[1]!], "malformed"]);
    }
  });
  test("give the complete events when a chunk ends in the next one", () => {
    const parser = createAwsEventStreamParser({ maxEventBytes: ROOMY });
    const first = awsEvent(EVENTS[0]!);
    expect(parser.push(STREAM.subarray(0, first.length + 20))).toEqual([EVENTS[0]!]);
    expect(parser.push(STREAM.subarray(first.length + 20))).toEqual(EVENTS.slice(1));
    expect(parser.end()).toEqual([]);
  });
  test("name exceptions by their type and errors of the framing by `error`; an exception without a message is one all the same", () => {
    const exception = awsMessage(
      { ":message-type": "exception", ":exception-type": "throttlingException" },
      '{"message":"Slow down."}',
    );
    const silent = awsMessage({ ":message-type": "exception", ":exception-type": "validationException" }, "");
    const error = awsMessage(
      { ":message-type": "error", ":error-code": "InternalFailure", ":error-message": "Broken." },
      "",
    );
    expect(read([exception, silent, error]).events).toEqual([
      { event: "throttlingException", data: '{"message":"Slow down."}' },
      { event: "validationException", data: "{}" },
      { event: "error", data: '{"code":"InternalFailure","message":"Broken."}' },
    ]);
  });
  test("give each byte of a binary payload as a character, so that one cut inside a character survives", () => {
    const text = Buffer.from("data: é\n\n");
    const parts = [text.subarray(0, 7), text.subarray(7)].map((part) =>
      awsMessage(
        { ":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream" },
        part,
      ),
    );
    expect(
      Buffer.from(
        read(parts)
          .events.map(({ data }) => data)
          .join(""),
        "latin1",
      ).toString("utf8"),
    ).toBe("data: é\n\n");
  });
  test("drop an event without a payload", () => {
    expect(read([awsMessage({ ":message-type": "event", ":event-type": "initial-response" }, ""), STREAM])).toEqual({
      events: EVENTS,
      fault: null,
    });
  });
  test("[d8.3] that end inside a message are reported as cut", () => {
    const ends = EVENTS.map((_, index) => awsEventStream(EVENTS.slice(0, index + 1)).length);
    for (let length = 1; length < STREAM.length; length++) {
      const reading = read([STREAM.subarray(0, length)]);
      expect(kindOf(reading)).toBe(ends.includes(length) ? null : "cut");
      expect(reading.events.length).toBe(ends.filter((end) => end <= length).length);
    }
  });
  test("with any byte changed are malformed, and give nothing that was not sent", () => {
    const bytes = awsEvent(EVENTS[1]!);
    for (let at = 0; at < bytes.length; at++) {
      const corrupt = Uint8Array.from(bytes);
      corrupt[at]! ^= 0x41;
      expect([at, kindOf(read([awsEvent(EVENTS[0]!), corrupt])), read([awsEvent(EVENTS[0]!), corrupt]).events]).toEqual(
        [at, "malformed", [EVENTS[0]!]],
      );
      expect(kindOf(read(piecesOf(corrupt, 3)))).toBe("malformed");
    }
  });
  test("with impossible lengths are malformed as soon as they are read", () => {
    for (const [total, headers] of [
      [0, 0],
      [11, 0],
      [15, 0],
      [16, 1],
      [40, 25],
      [100, 0xffffffff],
      [0xffffffff, 0xffffffff],
    ] as const)
      expect([total, kindOf(read([prelude(total, headers)]))]).toEqual([total, "malformed"]);
    for (const text of ["HTTP/1.1 200 OK\r\n", "<html><body>", 'data: {"a":1}\n\n'])
      expect(kindOf(read([Buffer.from(text)]))).toBe("malformed");
  });
  test("[d8.3] with a message over the bound are too large, before it has arrived, and the complete events are given first", () => {
    const [small, large] = [awsEvent(EVENTS[0]!), awsEvent(EVENTS[2]!)];
    const bound = large.length - 1;
    const parser = createAwsEventStreamParser({ maxEventBytes: bound });
    expect(parser.push(Buffer.concat([small, large.subarray(0, 12)]))).toEqual([EVENTS[0]!]);
    expect(() => parser.push(new Uint8Array(1))).toThrow(UpstreamFault);
    expect(() => parser.end()).toThrow(UpstreamFault);
    expect(kindOf(read([prelude(0xffffffff, 0)]))).toBe("too_large");
    for (const size of [1, 5, 4096])
      expect(kindOf(read(piecesOf(Buffer.concat([small, large]), size), bound))).toBe("too_large");
    expect(read([large], large.length)).toEqual({ events: [EVENTS[2]!], fault: null });
  });
  test("any bytes give events or a fault of the upstream, and nothing else", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat({ max: STREAM.length }),
        fc.integer({ min: 1, max: 50 }),
        (bytes, keep, size) => {
          const reading = read(piecesOf(Buffer.concat([STREAM.subarray(0, keep), bytes]), size));
          expect(reading.fault === null || reading.fault instanceof UpstreamFault).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

const folder = join(vectorsFolder, "eventstream");
const vectorsMissing = !existsSync(folder);
if (vectorsMissing) console.log("vectors/eventstream: not on this machine (DRAGOMAN_TRAFFIC), its tests are skipped");

describe.skipIf(vectorsMissing)("the codec's own vectors", () => {
  interface Vector {
    readonly name: string;
    readonly expect: "positive" | "negative";
    readonly encoded_b64: string;
    readonly decoded: { readonly payload: string } | string;
  }
  const vectors = vectorsMissing
    ? []
    : readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Vector);
  test("there are nine", () => expect(vectors.length).toBe(9));
  test.each(vectors.map((vector) => [`${vector.expect} ${vector.name}`, vector] as const))("%s", (_, vector) => {
    const bytes = Buffer.from(vector.encoded_b64, "base64");
    for (const size of [1, 7, bytes.length]) {
      const reading = read(piecesOf(bytes, size));
      if (vector.expect === "negative") expect([kindOf(reading), reading.events]).toEqual(["malformed", []]);
      else {
        const payload = Buffer.from((vector.decoded as { readonly payload: string }).payload, "base64").toString(
          "utf8",
        );
        expect(reading).toEqual({ events: payload === "" ? [] : [{ event: "", data: payload }], fault: null });
      }
    }
  });
});
