// Promise 5.8: the sandbox's work for a request is bounded by the request's length, and its answer by bounds of its
// own. Work is counted, not timed.
import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import type { Message } from "../../../src/core/chat.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { completionOf } from "../../../src/providers/sandbox/completions.ts";
import { embeddingsOf, rankingOf } from "../../../src/providers/sandbox/embeddings.ts";
import { planOf } from "../../../src/providers/sandbox/planned-calls.ts";
import { readingOf, type SandboxReading } from "../../../src/providers/sandbox/reading.ts";
import { sampleOf } from "../../../src/providers/sandbox/schema-sample.ts";
import { countWords, wordsOf } from "../../../src/providers/sandbox/words.ts";

const reading = (model: string, content: string, more: object = {}): SandboxReading =>
  readingOf(JSON.stringify({ model, messages: [{ role: "user", content }], ...more }));
function answered(found: SandboxReading) {
  if (!("answer" in found.result)) throw new Error(found.result.refusal.message);
  return found.result.answer;
}

/** The same value, which counts how many members were looked at by walking over an object. */
function watched(schema: JsonObject): { readonly schema: JsonObject; readonly members: () => number } {
  let members = 0;
  const wrap = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? new Proxy(value, {
          get: (target, key, receiver) => wrap(Reflect.get(target, key, receiver)),
          ownKeys(target) {
            const keys = Reflect.ownKeys(target);
            members += keys.length;
            return keys;
          },
        })
      : value;
  return { schema: wrap(schema) as JsonObject, members: () => members };
}
const many = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
const eightfold = (arrays: number, items: JsonObject): JsonObject => ({
  type: "array",
  minItems: 8,
  items: arrays === 1 ? items : eightfold(arrays - 1, items),
});
const sized = (value: Json): number => JSON.stringify(value).length;

describe("generated words", () => {
  test("are counted without being generated, and equal those that a stream sends", () => {
    const space = fc.constantFrom(
      ...Array.from(" \t\n\u000b\f\r\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"),
    );
    const letter = fc.constantFrom(...Array.from("ab\u0085\u180e\u200b\u2060é字"), "\ud83d", "\ude00", "\u0000");
    fc.assert(
      fc.property(fc.string({ unit: fc.oneof(space, letter) }), fc.nat(8), (text, most) => {
        const words = text.match(/\S+\s*|^\s+/g) ?? [];
        expect([...wordsOf(text)]).toEqual([...words]);
        expect(countWords(text)).toEqual({ words: words.length, end: text.length });
        const first = words.slice(0, most);
        expect(countWords(text, most)).toEqual({ words: first.length, end: first.join("").length });
      }),
    );
  });
});

describe("repeated text", () => {
  const long = "word ".repeat(60_000);

  test("[d5.8] has at most 100,000 characters and ends with length; the prompt is counted completely", () => {
    for (const model of ["echo", "assistant", "slow-1", "tools"]) {
      const found = reading(model, long);
      expect(found.promptTokens).toBe(60_000);
      expect(answered(found)).toEqual({ text: long.slice(0, 100_000), calls: [], finish: "length" });
    }
    expect(answered(reading("echo", long.slice(0, 100_000))).finish).toBe("stop");
    const result = readingOf(
      JSON.stringify({ model: "tools", messages: [{ role: "tool", tool_call_id: "1", content: long }] }),
    );
    expect(answered(result).text).toHaveLength(100_000);
    expect(answered(reading("json", long)).text).toHaveLength(100_000);
  });

  test("[d5.8] is shorter with many choices, and a stop within it still ends it", () => {
    expect(answered(reading("echo", long, { n: 128 }))).toMatchObject({ finish: "length" });
    expect(answered(reading("echo", long, { n: 128 })).text).toHaveLength(32_768);
    expect(answered(reading("words-100000", "x", { n: 128 })).text).toHaveLength(32_768);
    expect(answered(reading("echo", `one two three ${long}`, { stop: ["three"] }))).toMatchObject({
      text: "one two ",
      finish: "stop",
    });
    expect(answered(reading("words-100000", "x")).finish).toBe("stop");
  });

  test("more than four stop sequences are refused, as by OpenAI", () => {
    expect(reading("echo", "x", { stop: ["a", "b", "c", "d"] }).result).toHaveProperty("answer");
    expect(reading("echo", "x", { stop: ["a", "b", "c", "d", "e"] }).result).toMatchObject({
      refusal: { status: 400, param: "stop" },
    });
  });
});

describe("a value that fits a schema", () => {
  test("[d5.8] reads some 50,000 members at most, however often the schema refers to the same", () => {
    const $defs = {
      object: { type: "object", properties: many(9000) },
      choice: { anyOf: [{ $ref: "#/$defs/choice" }], ...many(9000) },
      all: { allOf: [eightfold(1, { $ref: "#/$defs/all" })], ...many(9000) },
    };
    for (const name of Object.keys($defs)) {
      const { schema, members } = watched({ $defs, ...eightfold(3, { $ref: `#/$defs/${name}` }) });
      sampleOf(schema);
      expect([name, members() <= 70_000]).toEqual([name, true]);
    }
  });

  test("[d5.8] copies at most 50,000 characters of the schema, and follows no reference of more than 1,000", () => {
    const constant = "x".repeat(40_000);
    const named = { type: "object", required: [constant], properties: { [constant]: true } };
    for (const items of [{ const: constant }, { enum: [[constant]] }, { default: { a: constant } }, named])
      expect(sized(sampleOf(eightfold(3, items as JsonObject)))).toBeLessThan(50_000);
    expect(sampleOf({ const: constant })).toBe(constant);
    const key = "y".repeat(1000);
    expect(sampleOf({ $ref: `#/${key}`, [key]: { const: 1 } })).toBeNull();
    expect(sampleOf({ $ref: "#/y", y: { const: 1 } })).toBe(1);
  });
});

describe("a plan", () => {
  const user = (content: NonNullable<Message["content"]>): Message => ({ role: "user", content });

  test("[d5.8] has at most 128 calls, and reads the arguments of each once", () => {
    const parse = spyOn(JSON, "parse");
    try {
      for (const args of ["", "{[}", '{"}}}}', '{"a": "}"}']) {
        parse.mockClear();
        const plan = planOf([user(`call f ${args} `.repeat(4000))], [{ name: "f" }]);
        expect(plan!.calls).toHaveLength(128);
        expect(parse.mock.calls.length).toBeLessThanOrEqual(128);
      }
    } finally {
      parse.mockRestore();
    }
  });

  test("[d5.8] reads the names of functions once, and compares 256 different words with them at most", () => {
    let reads = 0;
    const functions = Array.from({ length: 500 }, (_, at) => ({
      get name() {
        reads += 1;
        return `f${at}`;
      },
    }));
    const ends = spyOn(String.prototype, "endsWith");
    try {
      const parts = Array.from({ length: 1000 }, (_, at) => ({
        type: "text" as const,
        text: `call a${at} call b${at} call zz`,
      }));
      expect(
        planOf(
          parts.map((part) => user([part])),
          functions,
        ),
      ).toBeNull();
      expect(ends.mock.calls.length).toBeLessThanOrEqual(256 * functions.length);
    } finally {
      ends.mockRestore();
    }
    expect(reads).toBe(functions.length);
  });

  test("[d5.8] writes no more in all its calls than an answer may hold", () => {
    const parameters = { type: "object", required: ["a"], properties: { a: { const: "x".repeat(40_000) } } };
    const { calls } = answered(
      reading("tools", "call f, ".repeat(200), { tools: [{ type: "function", function: { name: "f", parameters } }] }),
    );
    expect(calls).toHaveLength(128);
    expect(calls.reduce((sum, call) => sum + call.arguments.length, 0)).toBeLessThan(101_000);
  });
});

describe("legacy completions", () => {
  const long = "word ".repeat(60_000);
  const completed = (model: string, body: object) => completionOf(JSON.stringify({ model, ...body })).choices;

  test("[d5.8] have at most 4,194,304 characters in all choices, with the prompts that they repeat, and 65,536 where each word has likelihoods", () => {
    for (const [model, body, most] of [
      ["echo", { prompt: long, echo: true, n: 128 }, 4_194_304],
      ["words-100000", { prompt: Array.from({ length: 128 }, () => "x") }, 4_194_304],
      ["echo", { prompt: long, echo: true, logprobs: 0 }, 65_536],
      ["words-100000", { prompt: ["x", "y"], logprobs: 1 }, 65_536],
    ] as const) {
      const choices = completed(model, body);
      const characters = choices.reduce((sum, { echo, text }) => sum + echo.length + text.length, 0);
      expect([model, characters <= most, new Set(choices.map(({ finish }) => finish))]).toEqual([
        model,
        true,
        new Set(["length"]),
      ]);
    }
    expect(completed("echo", { prompt: "a b", echo: true })).toMatchObject([
      { echo: "a b", text: "a b", finish: "stop" },
    ]);
  });

  test("[d5.8] that are refused are not answered first", () => {
    const indexOf = spyOn(String.prototype, "indexOf");
    try {
      const stop = Array.from({ length: 1000 }, (_, at) => `stop ${at}`);
      const { refusal } = completionOf(JSON.stringify({ model: "echo", prompt: "x", stop }));
      expect(refusal).toMatchObject({ status: 400, param: "stop" });
      expect(indexOf.mock.calls.length).toBeLessThan(10);
    } finally {
      indexOf.mockRestore();
    }
  });
});

describe("vectors", () => {
  test("[d5.8] have at most 1,000,000 numbers in an answer; a request for more is refused", () => {
    const asked = (texts: number) =>
      embeddingsOf(JSON.stringify({ model: "embed-4096", input: Array.from({ length: texts }, () => "a") }));
    expect(asked(244).status).toBe(200);
    expect(asked(245)).toMatchObject({ status: 400, body: { error: { param: "input" } } });
  });

  test("[d5.8] of documents are compared by the entries that their words fill, and not by all", () => {
    const hypot = spyOn(Math, "hypot");
    try {
      const documents = Array.from({ length: 100 }, () => "bear");
      const { body } = rankingOf(JSON.stringify({ model: "rerank", query: "bear", documents }));
      expect(body).toMatchObject({ results: documents.map(() => ({ relevance_score: 1 })) });
      const entries = hypot.mock.calls.reduce((sum, values) => sum + values.length, 0);
      expect(entries).toBeLessThanOrEqual(4 * 101);
    } finally {
      hypot.mockRestore();
    }
  });
});
