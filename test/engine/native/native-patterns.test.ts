// Events that pass as text: those that differ from an earlier one only in text, number and padding, and no others.
import { describe, expect, test } from "bun:test";
import { newTally } from "../../../src/accounting/estimate.ts";
import { NativePatterns } from "../../../src/engine/native/native-patterns.ts";
import type { ChatChunk } from "../../../src/core/chat.ts";

const chunk = (content: string): readonly ChatChunk[] => [{ choices: [{ index: 0, delta: { content } }] }];
const numbers = {
  place: "<1>",
  run: (events: string, first: number, count: number) => `<${first}, ${count}>${events}`,
};
const patterns = (passes: (event: string) => boolean = () => true, passesPiece = passes) => {
  const generated = newTally();
  const passing = { passes, pieces: () => passesPiece, numbers, growing: null };
  return { generated, patterns: new NativePatterns({ maxEventBytes: 1_000_000, passing, decoder: {}, generated }) };
};

const delta = (text: string, index = 0): string =>
  `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${JSON.stringify(text)}}}`;
const event = (data: string): string => `event: content_block_delta\ndata: ${data}\n\n`;

describe("events that pass as text", () => {
  test("pass byte for byte, with escapes and other scripts, and are counted", () => {
    const { patterns: known, generated } = patterns();
    known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Hi")));
    const more = [
      delta(" the\nre"),
      delta('é日"\\'),
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\u00e9"}}',
    ];
    const text = more.map(event).join("");
    expect(known.take(text, 0)).toBe(text.length);
    expect(known.takeShown()).toBe(text);
    expect(generated).toMatchObject({ ascii: 9, other: 3 });
  });

  test("stop at the first event that is another one: of another block, of another kind, cut, or without text", () => {
    for (const other of [
      delta("x", 1),
      '{"type":"content_block_stop","index":0}',
      delta("x").slice(0, -2),
      delta(""),
    ]) {
      const { patterns: known } = patterns();
      known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Hi")));
      const first = event(delta("one"));
      expect(known.take(first + event(other), 0)).toBe(first.length);
    }
  });

  test("an event that is not passed as it came makes no pattern, and one that brings no text ends them", () => {
    const { patterns: known } = patterns();
    known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Ho")));
    expect(known.take(event(delta("x")), 0)).toBe(0);
    known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Hi")));
    known.learn({ event: "content_block_stop", data: "{}" }, [], "");
    expect(known.take(event(delta("x")), 0)).toBe(0);
  });

  test("numbers that follow upon each other make a run, and one that does not grow is not taken", () => {
    const { patterns: known } = patterns();
    const counted = (text: string, number: string, padding: string): string =>
      `event: d\ndata: {"type":"d","sequence_number":${number},"item_id":"i","delta":${JSON.stringify(text)},"logprobs":[],"obfuscation":"${padding}"}\n\n`;
    const data = counted("Hi", "4", "abc").slice("event: d\ndata: ".length, -2);
    known.learn({ event: "d", data }, chunk("Hi"), counted("Hi", "<1>", "abc"));
    const text = counted("a", "5", "") + counted("b", "6", "x") + counted("c", "9", "xyz");
    expect(known.take(text + counted("d", "9", ""), 0)).toBe(text.length);
    for (const other of ["011", "1234567890123456"]) expect(known.take(counted("d", other, ""), 0)).toBe(0);
    const [first, second, third] = [counted("a", "5", ""), counted("b", "6", "x"), counted("c", "9", "xyz")];
    expect(known.takeShown()).toBe(`<5, 2>${first}${second}<9, 1>${third}`);
  });

  test("an event that may not pass as it is is left to the decoder", () => {
    const { patterns: known } = patterns((one) => !one.includes("key"));
    known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Hi")));
    expect(known.take(event(delta("a key")), 0)).toBe(0);
  });

  test("an event whose piece may not pass as it is is left to the decoder, whatever its spelling", () => {
    const { patterns: known } = patterns(undefined, (piece) => !piece.endsWith("é"));
    known.learn({ event: "content_block_delta", data: delta("Hi") }, chunk("Hi"), event(delta("Hi")));
    const [first, second] = [event(delta("one")), event(delta("two e").replace('e"', '\\u00e9"'))];
    expect(known.take(first + second, 0)).toBe(first.length);
  });
});
