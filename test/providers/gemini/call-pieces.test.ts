// Calls whose arguments come in pieces, named by paths.
import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";
import { MalformedAnswer } from "../../../src/providers/interface/upstream-failure.ts";

const frameOf = (functionCall: JsonObject, more: JsonObject = {}, part: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: "model", parts: [{ functionCall, ...part }] }, ...more }],
});
const piece = (jsonPath: string, value: JsonObject, willContinue = true): JsonObject =>
  frameOf({ partialArgs: [{ jsonPath, ...value }], ...(willContinue && { willContinue }) });
function callsOf(frames: readonly JsonObject[], end = true): Json {
  const decoder = gemini.openStream({ model: "gemini-3-pro-preview", memo: null });
  const chunks = [
    ...frames.flatMap((frame) => decoder.push({ event: "", data: JSON.stringify(frame) })),
    ...(end ? decoder.end() : []),
  ];
  const calls = chunks.flatMap((chunk) => chunk.choices).flatMap((choice) => choice.delta?.tool_calls ?? []);
  return calls.map(({ index, function: called, extra_content: extra }) => ({
    index: index!,
    name: called!.name!,
    arguments: JSON.parse(called!.arguments!) as Json,
    ...(extra !== undefined && { extra }),
  }));
}

describe("a call in pieces", () => {
  test("becomes one call with all its pieces, in the place where it ended", () => {
    const frames = [
      frameOf({ name: "cook", willContinue: true }, {}, { thoughtSignature: "S" }),
      piece("$.dish.steps[0]", { stringValue: "Pre" }),
      piece("$.dish.steps[0]", { stringValue: "heat" }),
      piece("$.dish.steps[1]", { stringValue: "Bake" }),
      piece("$['dish'].heat", { numberValue: 180.5 }),
      piece("$.dish.vegan", { boolValue: false }),
      piece('$.dish["a.b"]', { nullValue: "NULL_VALUE" }),
      frameOf({}),
      frameOf({ name: "clock", args: { zone: "UTC" } }, { finishReason: "STOP" }),
    ];
    expect(callsOf(frames)).toEqual([
      {
        index: 0,
        name: "cook",
        arguments: { dish: { steps: ["Preheat", "Bake"], heat: 180.5, vegan: false, "a.b": null } },
        extra: { google: { thought_signature: "S" } },
      },
      { index: 1, name: "clock", arguments: { zone: "UTC" } },
    ]);
  });
  test("has its pieces in members of its own, whatever they are called", () => {
    const frames = [
      frameOf({ name: "run", args: { given: {} }, willContinue: true }),
      piece("$.given.__proto__.polluted", { stringValue: "yes" }),
      piece("$.__proto__.x", { numberValue: 1 }),
      piece("$.rawJSON", { stringValue: "12" }, false),
      { candidates: [{ index: 0, content: { parts: [] }, finishReason: "STOP" }] },
    ];
    const [call] = callsOf(frames) as readonly JsonObject[];
    expect(JSON.stringify(call!["arguments"])).toBe(
      '{"given":{"__proto__":{"polluted":"yes"}},"__proto__":{"x":1},"rawJSON":"12"}',
    );
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });
  test("ends with the next call, or with the answer, where its own end is missing", () => {
    const open = (name: string): JsonObject => frameOf({ name, willContinue: true });
    expect(
      callsOf([
        open("a"),
        piece("$.x", { stringValue: "1" }),
        open("b"),
        { candidates: [{ index: 0, content: { parts: [{ text: "" }] }, finishReason: "STOP" }] },
      ]),
    ).toEqual([
      { index: 0, name: "a", arguments: { x: "1" } },
      { index: 1, name: "b", arguments: {} },
    ]);
  });
  test("is not sent on when the stream was cut before its end", () => {
    expect(callsOf([frameOf({ name: "a", willContinue: true }), piece("$.x", { stringValue: "1" })])).toEqual([]);
  });
  test("keeps to its own arguments, whatever the path contains", () => {
    expect(
      callsOf([
        frameOf({ name: "a", willContinue: true }),
        piece("$.__proto__.polluted", { boolValue: true }),
        piece("x", { boolValue: true }),
        frameOf({}, { finishReason: "STOP" }),
      ]),
    ).toEqual([{ index: 0, name: "a", arguments: JSON.parse('{"__proto__":{"polluted":true}}') }]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(() =>
      callsOf([frameOf({ name: "a", willContinue: true }), piece("$.list[900000000]", { numberValue: 1 })]),
    ).toThrow(MalformedAnswer);
  });
});

test("[d8.5] what stands in place of a number counts in the size of a call", () => {
  const long = { note: "x".repeat(1024 * 1024) } as unknown as number;
  const pieces = Array.from({ length: 5 }, (_, at) => piece(`$.list[${at}]`, { numberValue: long }));
  expect(() => callsOf([frameOf({ name: "cook", willContinue: true }), ...pieces])).toThrow(MalformedAnswer);
});
