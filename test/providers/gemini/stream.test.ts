// The events of a stream as chunks, cut anywhere; and a turn that is sent back unchanged.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatChunk } from "../../../src/core/chat.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { targetFor } from "../../harness/targets.ts";

const context = { model: "gemini-3-flash-preview", memo: null };
const event = (frame: Json): { event: string; data: string } => ({ event: "", data: JSON.stringify(frame) });
const frame = (parts: Json, candidate: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...candidate }],
  responseId: "r1",
  ...more,
});
function run(frames: readonly Json[], whole = true): ChatChunk[] {
  const decoder = gemini.openStream(context);
  return [...frames.flatMap((one) => decoder.push(event(one))), ...(whole ? decoder.end() : [])];
}
const choices = (chunks: readonly ChatChunk[]) => chunks.flatMap((chunk) => chunk.choices);
const finishes = (chunks: readonly ChatChunk[]) =>
  choices(chunks)
    .map((choice) => choice.finish_reason)
    .filter((reason) => reason !== undefined && reason !== null);

describe("events", () => {
  test("thoughts, text, the signature of the text, and the end", () => {
    const chunks = run([
      frame([{ text: "hm", thought: true }]),
      frame([{ text: "He" }]),
      frame([{ text: "llo" }, { text: "!" }]),
      frame([{ text: "", thoughtSignature: "T" }], { finishReason: "STOP" }),
    ]);
    expect(choices(chunks)).toEqual([
      { index: 0, delta: { reasoning_content: "hm" } },
      { index: 0, delta: { content: "He" } },
      { index: 0, delta: { content: "llo!" } },
      { index: 0, delta: { extra_content: { google: { thought_signature: "T" } } } },
      { index: 0, delta: {}, finish_reason: "stop", native_finish_reason: "STOP" },
    ]);
    expect(chunks.every((chunk) => chunk.id === "r1")).toBe(true);
  });
  test("[d8.7] a citation that later events repeat is told once, as in an answer that comes whole", () => {
    const groundingChunks = ["a", "b"].map((name) => ({ web: { uri: `https://${name}.test`, title: name } }));
    const supports = [
      { segment: { startIndex: 0, endIndex: 4 }, groundingChunkIndices: [0] },
      { segment: { startIndex: 5, endIndex: 8 }, groundingChunkIndices: [1] },
    ];
    const grounded = (text: string, count: number, more: JsonObject = {}): JsonObject =>
      frame([{ text }], {
        groundingMetadata: { groundingChunks, groundingSupports: supports.slice(0, count) },
        ...more,
      });
    const told = choices(run([grounded("Wien", 1), grounded(" ist", 2), grounded("!", 2, { finishReason: "STOP" })]))
      .flatMap(({ delta }) => (delta?.["annotations"] ?? []) as readonly JsonObject[])
      .map(({ url_citation: citation }) => citation);
    expect(told).toMatchObject([
      { url: "https://a.test", start_index: 0, end_index: 4 },
      { url: "https://b.test", start_index: 5, end_index: 8 },
    ]);
  });
  test("[d4.2] searches are those of all choices, as in an answer that comes whole", () => {
    const counted = { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    const searched = (index: number, ...queries: readonly string[]) =>
      frame([{ text: "x" }], { index, groundingMetadata: { webSearchQueries: queries } }, counted);
    const frames = [searched(0, "a", "b"), searched(1, "c"), searched(0, "a", "b"), searched(1, "c", "d")];
    const last = run(frames)
      .flatMap(({ usage }) => usage ?? [])
      .at(-1);
    const candidates = [frames[0], frames[3]].flatMap((one) => one!["candidates"] as Json[]);
    const plain = gemini.decodeResponse(JSON.stringify({ candidates, ...counted }), context);
    expect([last, plain.usage]).toMatchObject([{ hosted_tools: { google_search: 4 } }, last!]);
  });
  test("calls arrive whole and are numbered over the whole stream", () => {
    const chunks = run([
      frame([
        { functionCall: { name: "a", args: { x: 1 }, id: "i1" }, thoughtSignature: "S" },
        { functionCall: { name: "b" } },
      ]),
      frame([{ functionCall: { name: "c", args: {}, id: "i1" } }]),
      frame([{ text: "" }], { finishReason: "STOP" }),
    ]);
    const calls = choices(chunks).flatMap((choice) => choice.delta?.tool_calls ?? []);
    expect(calls.map((call) => [call.index, call.function?.name, call.function?.arguments])).toEqual([
      [0, "a", `{"x":1}`],
      [1, "b", "{}"],
      [2, "c", "{}"],
    ]);
    expect(calls[0]).toMatchObject({ id: "i1", extra_content: { google: { thought_signature: "S" } } });
    expect(new Set(calls.map((call) => call.id)).size).toBe(3);
    expect(finishes(chunks)).toEqual(["tool_calls"]);
  });
  test("several candidates have their own calls and ends", () => {
    const chunks = run([
      {
        candidates: [
          { index: 0, content: { parts: [{ text: "A" }] } },
          { index: 1, content: { parts: [{ functionCall: { name: "f" } }] }, finishReason: "STOP" },
        ],
      },
      { candidates: [{ index: 0, finishReason: "MAX_TOKENS" }] },
    ]);
    expect(
      choices(chunks)
        .filter((choice) => choice.finish_reason !== undefined)
        .map((choice) => [choice.index, choice.finish_reason]),
    ).toEqual([
      [0, "length"],
      [1, "tool_calls"],
    ]);
    expect(choices(chunks).find((choice) => choice.index === 1)!.delta!.tool_calls![0]!.index).toBe(0);
  });
  test("the last usage is the final one, and an event with usage alone is accepted", () => {
    const chunks = run([
      frame([{ text: "a" }], {}, { usageMetadata: { trafficType: "ON_DEMAND" } }),
      frame([{ text: "b" }], {}, { usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }),
      {
        usageMetadata: {
          promptTokenCount: 3,
          candidatesTokenCount: 2,
          thoughtsTokenCount: 4,
          totalTokenCount: 9,
          serviceTier: "flex",
        },
      },
      frame([], { finishReason: "STOP" }),
    ]);
    expect(chunks[0]!.usage).toBeUndefined();
    expect(chunks.findLast((chunk) => chunk.usage !== undefined)!.usage).toMatchObject({
      prompt_tokens: 3,
      completion_tokens: 6,
      total_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
    expect(chunks[2]!.choices).toEqual([]);
    expect(chunks.at(-1)!["service_tier"]).toBe("flex");
  });
  test("images, audio, sources and log probabilities", () => {
    const picture = choices(run([frame([{ inlineData: { mimeType: "image/png", data: "QUJD" } }])]))[0]!;
    expect(picture.delta!["images"]).toEqual([{ type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } }]);
    const sound = choices(run([frame([{ inlineData: { mimeType: "audio/L16", data: "QUJD" } }])]))[0]!;
    expect(sound.delta!["audio"]).toMatchObject({ id: "audio_r1_0", data: "QUJD" });
    const cited = run([
      frame([{ text: "über " }]),
      frame([{ text: "uns" }], {
        citationMetadata: { citationSources: [{ startIndex: 6, endIndex: 9, uri: "https://a.test" }] },
      }),
    ]);
    expect(choices(cited)[1]!.delta!["annotations"]).toEqual([
      {
        type: "url_citation",
        url_citation: { start_index: 5, end_index: 8, url: "https://a.test", title: "https://a.test" },
      },
    ]);
    const likely = choices(
      run([frame([{ text: "a" }], { logprobsResult: { chosenCandidates: [{ token: "a", logProbability: -1 }] } })]),
    )[0]!;
    expect(likely.logprobs).toMatchObject({ content: [{ token: "a" }] });
  });
  test("empty events give nothing", () => {
    expect(run([{}, frame([]), { candidates: [{}] }, frame([{ text: "" }]), { modelVersion: "m" }])).toEqual([]);
    expect(gemini.openStream(context).push({ event: "", data: "[DONE]" })).toEqual([]);
  });
});

describe("the end", () => {
  test("the last reason counts: old servers send STOP with every event", () => {
    const chunks = run([
      frame([{ text: "a" }], { finishReason: "STOP" }),
      frame([{ text: "b" }], { finishReason: "STOP" }),
      { candidates: [{ index: 0, finishReason: "RECITATION" }] },
    ]);
    expect(finishes(chunks)).toEqual(["content_filter"]);
    expect(
      finishes(run([frame([{ text: "a" }], { finishReason: 0 }), frame([{ text: "b" }], { finishReason: 1 })])),
    ).toEqual(["stop"]);
  });
  test("a refused prompt is content_filter", () => {
    const chunks = run([
      { promptFeedback: { blockReason: "OTHER" }, usageMetadata: { promptTokenCount: 2, totalTokenCount: 2 } },
    ]);
    expect(choices(chunks)).toEqual([
      { index: 0, delta: {}, finish_reason: "content_filter", native_finish_reason: "OTHER" },
    ]);
  });
  test("[d8.3] a stream that is cut anywhere has no reason that the server did not give", () => {
    const part = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ text: fc.string(), thought: fc.constant(true) }),
      fc.record({ functionCall: fc.record({ name: fc.constant("f"), args: fc.constant({}) }) }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.array(part, { maxLength: 3 }), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        (events, at) => {
          const frames = events.map((parts, index) =>
            frame(parts as Json, index === events.length - 1 ? { finishReason: "STOP" } : {}),
          );
          const cut = frames.slice(0, at % frames.length);
          expect(finishes(run(cut))).toEqual([]);
          expect(finishes(run(frames, false))).toEqual([]);
          expect(finishes(run(frames))).toHaveLength(1);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("failures", () => {
  test("an error in the stream is thrown with its class", () => {
    const decoder = gemini.openStream(context);
    expect(decoder.push(event(frame([{ text: "a" }])))).toHaveLength(1);
    const failure = { error: { code: 429, message: "Resource exhausted", status: "RESOURCE_EXHAUSTED" } };
    for (const bad of [failure, [failure]]) {
      try {
        decoder.push(event(bad));
        throw new Error("not reached");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(StreamError);
        expect((thrown as StreamError).failure).toMatchObject({ class: "rate_limit", message: "Resource exhausted" });
      }
    }
  });
  test("an invalid response is malformed", () => {
    const decoder = gemini.openStream(context);
    for (const data of ["{", "null", "[1,2]", `"x"`])
      expect(() => decoder.push({ event: "", data })).toThrow(MalformedAnswer);
  });
});

describe("a turn that is sent back", () => {
  test("equals what the server sent: parts, calls and signatures", () => {
    const parts = [
      { text: "Looking.", thoughtSignature: "T" },
      { functionCall: { id: "q1", name: "find", args: { what: "cat" } }, thoughtSignature: "C" },
      { functionCall: { id: "q2", name: "find", args: {} } },
    ];
    const { message } = gemini.decodeResponse(JSON.stringify(frame(parts, { finishReason: "STOP" })), context)
      .choices[0]!;
    const request = {
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", ...message },
      ],
      params: {},
      extra: {},
    };
    const target = targetFor(gemini, { model: context.model });
    const sent = JSON.parse(gemini.encodeRequest(request as never, target).request.body) as { contents: JsonObject[] };
    expect(sent.contents[1]).toEqual({ role: "model", parts });
  });
});

test("[d8.5] a stream with ever new candidates ends", () => {
  const decoder = gemini.openStream(context);
  expect(() => {
    for (let index = 0; index < 200; index++) decoder.push(event(frame([{ text: "x" }], { index: index / 2 })));
  }).toThrow("more than 128 candidates");
});
