// Ollama's answers beyond what the examples of the contract suite show, and its errors in their classes.
import { describe, expect, test } from "bun:test";
import { ollama } from "../../../src/providers/ollama/provider.ts";
import { StreamError } from "../../../src/providers/interface/upstream-failure.ts";

const CONTEXT = { model: "m", memo: null };
const decode = (answer: object): any =>
  ollama.decodeResponse(
    JSON.stringify({ message: { role: "assistant", content: "Hello" }, done: true, ...answer }),
    CONTEXT,
  );
function chunks(...lines: readonly object[]): readonly any[] {
  const decoder = ollama.openStream(CONTEXT);
  return [...lines.flatMap((line) => decoder.push({ event: "", data: JSON.stringify(line) })), ...decoder.end()];
}
const call = (name: string, args: unknown, more: object = {}) => ({ ...more, function: { name, arguments: args } });

describe("answers", () => {
  test("have their time, their figures and their duration", () => {
    const counts = { prompt_eval_count: 10, eval_count: 3, total_duration: 9_000_000_000, load_duration: 1 };
    const told = {
      usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 },
      total_duration: 9_000_000_000,
      load_duration: 1,
    };
    expect(decode({ created_at: "2026-01-02T03:04:05.678912345Z", ...counts })).toMatchObject({
      created: 1_767_323_045,
      ...told,
    });
    expect(
      chunks(
        { created_at: "2026-01-02T03:04:05.6Z", message: { content: "Hello" }, done: false },
        { done: true, ...counts },
      ),
    ).toMatchObject([{ created: 1_767_323_045 }, told]);
    expect("created" in decode({ created_at: "1970-01-01T00:00:00Z" })).toBe(false);
  });
  test("with a fully cached prompt count none of it; without figures there are none", () => {
    expect(decode({ eval_count: 3 })["usage"]).toEqual({ prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 });
    expect(decode({})["usage"]).toBeNull();
    const cached = { prompt_eval_count: 10, prompt_eval_cached_count: 8, eval_count: 3 };
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 8 },
    };
    expect([decode(cached)["usage"], chunks({ done: true, ...cached })[0].usage]).toEqual([usage, usage]);
  });
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["load", "stop"],
    ["unload", "stop"],
    ["something", "stop"],
  ])("that end with %s end with %s", (reason, finish) => {
    expect(decode({ done_reason: reason })["choices"][0]).toMatchObject({
      finish_reason: finish,
      native_finish_reason: reason,
    });
    expect(chunks({ done: true, done_reason: reason })[0].choices[0]).toMatchObject({
      finish_reason: finish,
      native_finish_reason: reason,
    });
  });
  test("of an old server have no finish reason", () => {
    expect(decode({})["choices"][0]).toEqual({
      index: 0,
      message: { role: "assistant", content: "Hello" },
      finish_reason: "stop",
    });
  });
  test("have log probabilities where they were requested", () => {
    const logprobs = [{ token: "Hello", logprob: -0.1, bytes: [72], top_logprobs: [{ token: "Hi", logprob: -2 }] }];
    expect(decode({ logprobs })["choices"][0].logprobs).toEqual({ content: logprobs, refusal: null });
    expect(chunks({ message: { content: "Hello" }, logprobs, done: false })[0].choices[0].logprobs).toEqual({
      content: logprobs,
      refusal: null,
    });
  });
  test("stream no end before the line with done, and nothing after it", () => {
    expect(
      chunks({ message: { content: "Hello" }, done: false })
        .flatMap((chunk) => chunk.choices)
        .some((choice) => "finish_reason" in choice),
    ).toBe(false);
    expect(chunks({ done: true, done_reason: "stop" }, { message: { content: "more" }, done: false })).toHaveLength(1);
    expect(chunks({ message: { content: "all" }, done: true, done_reason: "stop" })[0].choices[0]).toMatchObject({
      delta: { content: "all" },
      finish_reason: "stop",
    });
  });
});

describe("calls", () => {
  test.each([
    [{ city: "Wien" }, '{"city":"Wien"}'],
    ['{"city":"Wien"}', '{"city":"Wien"}'],
    [null, "{}"],
    ["", "{}"],
    [undefined, "{}"],
  ])("with arguments %j have the text %s", (given, text) => {
    const message = { role: "assistant", content: "", tool_calls: [call("weather", given, { id: "a" })] };
    expect(decode({ message })["choices"][0].message).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: text } }],
    });
  });
  test("of a stream are numbered by their order, whatever numbers the server sends", () => {
    const line = (...calls: readonly object[]) => ({ message: { content: "", tool_calls: calls }, done: false });
    const deltas = chunks(
      line(call("a", {}), call("b", {})),
      line({ id: "x", function: { index: 0, name: "c", arguments: {} } }),
    ).flatMap((chunk) => chunk.choices[0].delta.tool_calls);
    expect(deltas.map(({ index, id, function: { name } }) => [index, id, name])).toEqual([
      [0, "", "a"],
      [1, "", "b"],
      [2, "x", "c"],
    ]);
  });
});

describe("errors", () => {
  test.each([
    [400, { error: '"llama2" does not support tools' }, "invalid_request"],
    [400, { error: "the input length exceeds the context length" }, "context_length"],
    [500, { error: "the prompt is longer than the context length currently available to the model" }, "context_length"],
    [401, { error: "unauthorized", signin_url: "https://ollama.com/connect" }, "authentication"],
    [403, { error: "ollama cloud is disabled" }, "permission"],
    [404, { error: "model 'x' not found" }, "not_found"],
    [429, { error: "too many requests" }, "rate_limit"],
    [500, { error: "model runner has unexpectedly stopped" }, "server"],
    [502, { error: "bad gateway" }, "server"],
    [503, { error: "server busy, please try again.  maximum pending requests exceeded" }, "overloaded"],
    [200, { error: "an error was encountered while running the model" }, "server"],
    [200, { StatusCode: 429, Status: "429 Too Many Requests", error: "slow down" }, "rate_limit"],
    [200, { error: "unauthorized" }, "authentication"],
  ] as const)("%d %j is %s", (status, body, failureClass) => {
    expect(ollama.classifyError({ status, body: JSON.stringify(body) })).toEqual({
      class: failureClass,
      message: body.error,
      param: null,
      nativeCode: null,
    });
  });
  test("the field at fault is reported", () => {
    expect(ollama.classifyError({ status: 400, body: '{"error":"top_logprobs must be between 0 and 20"}' }).param).toBe(
      "top_logprobs",
    );
  });
  test("in the middle of a stream end it", () => {
    expect(() => chunks({ message: { content: "Hel" }, done: false }, { error: "the runner stopped" })).toThrow(
      StreamError,
    );
  });
});
