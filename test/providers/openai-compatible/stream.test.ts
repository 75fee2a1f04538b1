// Streams of OpenAI-shaped servers, event by event.
import { describe, expect, test } from "bun:test";
import type { ChunkDelta } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { chunksOf, CONTEXT, provider, providerOf, thrownBy } from "./calls.ts";

const acme = providerOf({});
const chunkWith = (delta: JsonObject | undefined, choice: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  id: "c-1",
  choices: [{ index: 0, ...(delta && { delta }), finish_reason: null, ...choice }],
  ...rest,
});
const deltaOf = (delta: JsonObject | undefined, choice: JsonObject = {}, from = acme): ChunkDelta | undefined =>
  chunksOf(from, chunkWith(delta, choice))[0]!.choices[0]!.delta;

describe("a usual chunk", () => {
  test("is passed on unchanged, with every digit", () => {
    const text =
      '{"id":"c","created":1,"vendor":{"a":1},"choices":[{"index":0,"delta":{"content":"Hi"},"seed":12345678901234567890,"logprobs":null,"finish_reason":null}],"usage":null}';
    expect(JSON.stringify(chunksOf(acme, text)[0])).toBe(text);
  });
  test("[DONE] gives no chunk, and neither does the end", () => {
    expect(chunksOf(acme, "[DONE]")).toEqual([]);
    expect(chunksOf(acme, "[DONE] ")).toEqual([]);
  });
  test("the event's name does not matter unless it is error", () => {
    expect(
      acme.openStream(CONTEXT).push({ event: "completion", data: JSON.stringify(chunkWith({ content: "a" })) }),
    ).toHaveLength(1);
  });
});

describe("quirks", () => {
  test("choices: [] without usage is neither an end nor a delta", () => {
    expect(chunksOf(acme, { id: "", choices: [], prompt_filter_results: [] })).toEqual([
      { id: "", choices: [], prompt_filter_results: [] },
    ] as never);
  });
  test("usage is read wherever it stands", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    expect(chunksOf(acme, chunkWith({ content: "a" }, {}, { usage }))[0]!.usage).toEqual(usage);
    expect(chunksOf(acme, { choices: [], usage })[0]!.usage).toEqual(usage);
    expect(chunksOf(acme, { usage: { ...usage, cached_tokens: 1 } })).toEqual([
      { choices: [], usage: { ...usage, cached_tokens: 1, prompt_tokens_details: { cached_tokens: 1 } } },
    ] as never);
    expect(chunksOf(acme, chunkWith({}, { usage }))[0]!.usage).toEqual(usage);
    expect(chunksOf(provider("groq"), chunkWith({ content: "a" }, {}, { x_groq: { usage } }))[0]!.usage).toEqual(usage);
  });
  test("a growing message beside the delta is ignored, and a message alone means a server that does not stream", () => {
    const [chunk] = chunksOf(
      provider("perplexity"),
      chunkWith({ content: "lo" }, { finish_reason: "stop", message: { role: "assistant", content: "Hello" } }),
    );
    expect(chunk!.choices[0]).toEqual({ index: 0, delta: { content: "lo" }, finish_reason: "stop" });
    expect(deltaOf(undefined, { message: { content: "Hello" } })).toEqual({ content: "Hello" });
  });
  test("text beside the delta is not repeated, and text alone is the delta", () => {
    expect(chunksOf(provider("together"), chunkWith({ content: "a" }, { text: "a" }))[0]!.choices[0]).toEqual({
      index: 0,
      delta: { content: "a" },
      finish_reason: null,
    });
    expect(deltaOf(undefined, { text: "a" })).toEqual({ content: "a" });
  });
  test("reasoning has one name", () => {
    for (const given of [{ reasoning: "r" }, { reasoning_content: "r" }, { reasoning: "r", reasoning_content: "r" }])
      expect(deltaOf({ content: "", ...given })).toEqual({ content: "", reasoning_content: "r" });
    expect(deltaOf({ content: "a", reasoning: null })).toEqual({ content: "a" });
    expect(deltaOf({ content: "a", thoughts: "r" }, {}, providerOf({ reasoningField: "thoughts" }))).toEqual({
      content: "a",
      reasoning_content: "r",
    });
  });
  test("reasoning details are passed on", () => {
    const reasoning_details = [{ type: "reasoning.text", text: "r", index: 0 }];
    expect(deltaOf({ role: "assistant", content: "", reasoning: "r", reasoning_details })).toEqual({
      role: "assistant",
      content: "",
      reasoning_content: "r",
      reasoning_details,
    } as never);
  });
  test("content as a list becomes text and reasoning", () => {
    expect(deltaOf({ content: [{ type: "thinking", thinking: [{ type: "text", text: "t" }] }] })).toEqual({
      content: "",
      reasoning_content: "t",
    });
    expect(deltaOf({ content: [{ type: "text", text: "a" }] })).toEqual({ content: "a" });
  });
  test("tool calls: an empty list is absent, a single call becomes a list, arguments are text", () => {
    expect(deltaOf({ content: "", tool_calls: [] })).toEqual({ content: "" });
    expect(deltaOf({ tool_calls: { id: "a", function: { name: "f", arguments: "{}" } } })).toEqual({
      tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }],
    });
    expect(
      deltaOf({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: { x: 1 } as never } }] })!
        .tool_calls![0]!.function!.arguments,
    ).toBe('{"x":1}');
    expect(
      deltaOf({ tool_calls: [{ index: 0, function: { name: "f", arguments: null } }] })!.tool_calls![0]!.function!
        .arguments,
    ).toBe("");
  });
  test("null tool calls and empty choices are left to the normalizer, which treats them as absent", () => {
    expect(deltaOf({ content: "a", tool_calls: null })).toMatchObject({ content: "a" });
    expect(chunksOf(acme, { choices: null })).toEqual([{ choices: [] }]);
    expect(deltaOf(undefined)).toEqual({});
  });
  test("an empty finish reason is absent, and a vendor's is mapped, each time it is sent", () => {
    const finish = (word: string, from = acme) =>
      chunksOf(from, chunkWith({ content: "a" }, { finish_reason: word }), chunkWith({}, { finish_reason: word })).map(
        (chunk) => chunk.choices[0]!.finish_reason,
      );
    expect(finish("")).toEqual([null, null]);
    expect(finish("eos")).toEqual(["stop", "stop"]);
    expect(finish("stop")).toEqual(["stop", "stop"]);
  });
  test("log probabilities keep OpenAI's keys alone", () => {
    const logprobs = { content: [{ token: "a", logprob: -1, id: 3 }], reasoning_content: null };
    expect(chunksOf(acme, chunkWith({ content: "a" }, { logprobs }))[0]!.choices[0]!.logprobs).toEqual({
      content: [{ token: "a", logprob: -1, top_logprobs: [] }],
      refusal: null,
    });
  });
  test("events of other protocols give nothing", () => {
    expect(chunksOf(acme, { type: "ping" })).toEqual([]);
  });
});

describe("an error inside the stream", () => {
  const failureOf = (event: JsonObject | string, from = acme) =>
    thrownBy(StreamError, () => chunksOf(from, event)).failure;
  test("as an object, with the status that it names", () => {
    expect(
      failureOf({ error: { message: "The server had an error", type: "server_error", param: null, code: null } }),
    ).toEqual({ class: "server", message: "The server had an error", param: null, nativeCode: "server_error" });
    expect(
      failureOf(
        { error: { message: "Bad call", type: "invalid_request_error", code: "tool_use_failed", status_code: 400 } },
        provider("groq"),
      ),
    ).toMatchObject({ class: "invalid_request", nativeCode: "tool_use_failed" });
  });
  test("as a string, beside empty choices, inside a choice, as a list", () => {
    expect(failureOf({ error: "thinking is not possible here" })).toMatchObject({
      class: "server",
      message: "thinking is not possible here",
    });
    expect(
      failureOf({ choices: [], error: { code: 502, message: "Provider returned error" } }, provider("openrouter"))
        .class,
    ).toBe("server");
    expect(
      failureOf(
        chunkWith({ content: "" }, { finish_reason: "error", error: { code: 429, message: "slow down" } }),
        provider("openrouter"),
      ).class,
    ).toBe("rate_limit");
    expect(failureOf('[{"error":{"code":503,"message":"busy"}}]').class).toBe("overloaded");
    expect(failureOf({ choices: null, code: "rate_limit_exceeded", message: "daily limit" })).toMatchObject({
      class: "rate_limit",
      message: "daily limit",
    });
  });
  test("as an event named error, whatever its data", () => {
    const push = (data: string) =>
      thrownBy(StreamError, () => acme.openStream(CONTEXT).push({ event: "error", data })).failure;
    expect(push('{"error":{"message":"late","status_code":503}}')).toMatchObject({
      class: "overloaded",
      message: "late",
    });
    expect(push("the model crashed")).toMatchObject({ class: "server", message: "the model crashed" });
  });
  test("[d8.3] as a finish reason of the model's maker, also where another host passes it on", () => {
    const ended = (reason: string, id: string): string =>
      failureOf(chunkWith({}, { finish_reason: reason }), provider(id)).class;
    for (const id of ["deepseek", "openrouter", "together"])
      expect(ended("insufficient_system_resource", id)).toBe("overloaded");
    for (const id of ["zai", "vercel", "siliconflow"]) expect(ended("network_error", id)).toBe("server");
  });
  test("an error that is null does not count", () => {
    expect(chunksOf(acme, chunkWith({ content: "a" }, {}, { error: null }))).toHaveLength(1);
  });
});

test("anything but a JSON object is malformed", () => {
  for (const event of ['{"choices":[', "hello", "<html></html>", "42", "null", "[1]"])
    expect(thrownBy(MalformedAnswer, () => chunksOf(acme, event)).message).toStartWith(
      "An event of the provider's stream is ",
    );
});
