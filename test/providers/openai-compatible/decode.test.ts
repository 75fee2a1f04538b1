// Non-streaming answers: deviations of OpenAI-shaped servers are corrected; everything else stays unchanged.
import { describe, expect, test } from "bun:test";
import type { AnswerMessage, ChatAnswer } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { unnamedFigures } from "../../../src/core/record/usage.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { chunksOf, CONTEXT, provider, providerOf, thrownBy } from "./calls.ts";

const acme = providerOf({});

function decode(body: string | JsonObject, from = acme): ChatAnswer {
  return from.decodeResponse(typeof body === "string" ? body : JSON.stringify(body), CONTEXT);
}
const answerWith = (message: JsonObject, choice: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  id: "a-1",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }],
  ...rest,
});
const messageOf = (message: JsonObject, from = acme): AnswerMessage =>
  decode(answerWith(message), from).choices[0]!.message;
const usageOf = (usage: JsonObject | null, rest: JsonObject = {}, from = acme): JsonObject | null | undefined =>
  decode(answerWith({ content: "x" }, {}, { usage, ...rest }), from).usage;

describe("the answer", () => {
  test("keeps unknown fields and every digit", () => {
    const body =
      '{"id":"a","vendor":{"x":1},"choices":[{"index":0,"seed":12345678901234567890,"message":{"role":"assistant","content":"x","annotations":[]},"finish_reason":"stop"}],"citations":["u"]}';
    expect(JSON.stringify(decode(body))).toBe(body);
  });
  test("may come after white space, which some servers send to keep the connection", () => {
    expect(decode(`\n\n   \n${JSON.stringify(answerWith({ content: "x" }))}`).choices[0]!.message.content).toBe("x");
  });
  test("has its text in message, delta or text", () => {
    expect(decode({ choices: [{ message: { content: "a" }, delta: { content: "" } }] }).choices).toEqual([
      { message: { content: "a" }, finish_reason: null },
    ]);
    expect(decode({ choices: [{ delta: { content: "a" } }] }).choices[0]!.message.content).toBe("a");
    expect(decode({ choices: [{ text: "a", finish_reason: "stop" }] }).choices).toEqual([
      { message: { content: "a" }, finish_reason: "stop" },
    ]);
  });
  test("may have no choices at all, as null", () => {
    expect(decode({ choices: null, usage: null }).choices).toEqual([]);
  });
});

describe("content", () => {
  test("a list of blocks becomes its text and its reasoning", () => {
    const message = messageOf({
      content: [
        {
          type: "thinking",
          thinking: [
            { type: "text", text: "so " },
            { type: "text", text: "what" },
          ],
        },
        { type: "text", text: "Yes" },
        { type: "text", text: "!" },
      ],
    });
    expect(message).toEqual({ role: "assistant", content: "Yes!", reasoning_content: "so what" } as never);
    expect(messageOf({ content: ["a", { type: "thinking", thinking: "t" }] })).toMatchObject({
      content: "a",
      reasoning_content: "t",
    });
  });
  test("an object becomes its JSON", () => {
    expect(messageOf({ content: { city: "Riga", n: [1] } }).content).toBe('{"city":"Riga","n":[1]}');
  });
  test("think tags are left in the content", () => {
    expect(messageOf({ content: "<think>hm</think>Yes" }).content).toBe("<think>hm</think>Yes");
  });
});

describe("reasoning has one name", () => {
  test("whichever the server uses", () => {
    for (const given of [
      { reasoning: "r" },
      { reasoning_content: "r" },
      { reasoning: "r", reasoning_content: "r" },
      { reasoning: "r", reasoning_content: "" },
      { reasoning: "r", reasoning_content: null },
    ])
      expect(messageOf({ content: "x", ...given })).toEqual({
        role: "assistant",
        content: "x",
        reasoning_content: "r",
      } as never);
    expect(messageOf({ content: "x", reasoning: null })).toEqual({ role: "assistant", content: "x" } as never);
  });
  test("a row may give another name", () => {
    expect(messageOf({ content: "x", thoughts: "r" }, providerOf({ reasoningField: "thoughts" }))).toEqual({
      role: "assistant",
      content: "x",
      reasoning_content: "r",
    } as never);
  });
  test("details stay, with the members that are needed to send them back", () => {
    const details = [{ type: "reasoning.encrypted", data: "…", id: "rs_1", format: "x", index: 0 }];
    expect(messageOf({ content: "x", reasoning: "r", reasoning_details: details }, provider("openrouter"))).toEqual({
      role: "assistant",
      content: "x",
      reasoning_content: "r",
      reasoning_details: details,
    } as never);
  });
});

describe("tool calls", () => {
  const call = (value: unknown, finish = "tool_calls"): unknown => {
    const body = answerWith(
      {
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: value as string } }],
      },
      { finish_reason: finish },
    );
    return decode(body).choices[0]!.message.tool_calls![0]!.function.arguments;
  };
  test("arguments are always text", () => {
    expect(call('{"a": 1}')).toBe('{"a": 1}');
    expect(call({ a: 1 })).toBe('{"a":1}');
    expect(call("")).toBe("{}");
    expect(call(null)).toBe("{}");
    expect(call(undefined)).toBe("{}");
  });
  test("a text that was cut off is kept unchanged", () => {
    expect(call('{"a": "b', "length")).toBe('{"a": "b');
    expect(call("", "length")).toBe("");
  });
  test("an empty list is absent, and a single call becomes a list", () => {
    for (const tool_calls of [[], null])
      expect(messageOf({ content: "x", tool_calls })).not.toHaveProperty("tool_calls");
    expect(
      messageOf({ content: null, tool_calls: { id: "c", function: { name: "f", arguments: "{}" } } }).tool_calls,
    ).toEqual([{ id: "c", function: { name: "f", arguments: "{}" } }] as never);
  });
  test("the deprecated form stays, null is absent", () => {
    expect(messageOf({ content: null, function_call: { name: "f", arguments: { a: 1 } } })["function_call"]).toEqual({
      name: "f",
      arguments: '{"a":1}',
    });
    expect(messageOf({ content: "x", function_call: null })).not.toHaveProperty("function_call");
  });
});

describe("the finish reason", () => {
  const finish = (word: string | null, from = acme): unknown[] => {
    const [choice] = decode(answerWith({ content: "x" }, { finish_reason: word }), from).choices;
    return [choice!.finish_reason, choice!.native_finish_reason];
  };
  test("[d8.6] one of the five stays, also beside tool calls", () => {
    for (const word of ["stop", "length", "tool_calls", "content_filter", "function_call"])
      expect(finish(word)).toEqual([word, undefined]);
    const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
    expect(decode(answerWith({ content: null, tool_calls: calls })).choices[0]!.finish_reason).toBe("stop");
  });
  test("[d8.6] a documented vendor value is mapped and kept beside it", () => {
    expect(finish("eos")).toEqual(["stop", "eos"]);
    expect(finish("eos_token")).toEqual(["stop", "eos_token"]);
    expect(finish("model_length")).toEqual(["length", "model_length"]);
    for (const word of ["max_output_tokens", "model_context_window_exceeded"])
      expect(finish(word)).toEqual(["length", word]);
    for (const word of ["tool_use", "tool_call"]) expect(finish(word)).toEqual(["tool_calls", word]);
    for (const word of ["refusal", "SAFETY", "recitation", "content_filtered", "guardrail_intervened"])
      expect(finish(word)).toEqual(["content_filter", word]);
    expect(finish("DONE", providerOf({ finishReasons: { done: "stop" } }))).toEqual(["stop", "DONE"]);
  });
  test("capitals make no difference", () => {
    expect(finish("STOP")).toEqual(["stop", "STOP"]);
    expect(finish("Length")).toEqual(["length", "Length"]);
  });
  test("an unknown value counts as stop, and a missing one stays missing", () => {
    expect(finish("satisfied")).toEqual(["stop", "satisfied"]);
    expect(finish("")).toEqual([null, undefined]);
    expect(finish(null)).toEqual([null, undefined]);
  });
  test("a vendor's native reason is kept", () => {
    expect(
      decode(answerWith({ content: "x" }, { finish_reason: "eos", native_finish_reason: "EOS" })).choices[0]!
        .native_finish_reason,
    ).toBe("EOS");
  });
  test("a value that stands for a failure becomes one", () => {
    expect(thrownBy(StreamError, () => finish("error")).failure.class).toBe("server");
    expect(thrownBy(StreamError, () => finish("abort")).failure.class).toBe("server");
    expect(
      thrownBy(StreamError, () => finish("insufficient_system_resource", provider("deepseek"))).failure,
    ).toMatchObject({ class: "overloaded", nativeCode: "insufficient_system_resource" });
  });
});

describe("citations", () => {
  const nested = {
    type: "url_citation",
    url_citation: { start_index: 2, end_index: 5, url: "https://a.test", title: "A" },
  };
  test("[d8.8] whose members stand beside their type get OpenAI's form, plain and streamed", () => {
    const flat = { type: "url_citation", url: "https://b.test", title: "B", summary: "A page.", site_name: "b.test" };
    const untitled = { type: "url_citation", url: "https://c.test" };
    const place = { start_index: 0, end_index: 0 };
    const annotations = [nested, flat, untitled, { type: "file", file: {} }];
    const expected = [
      nested,
      {
        type: "url_citation",
        url_citation: { ...place, url: "https://b.test", title: "B", summary: "A page.", site_name: "b.test" },
      },
      { type: "url_citation", url_citation: { ...place, url: "https://c.test", title: "https://c.test" } },
      { type: "file", file: {} },
    ];
    expect(decode(answerWith({ content: "x", annotations })).choices[0]!.message["annotations"]).toEqual(expected);
    const chunk = { choices: [{ index: 0, delta: { role: "assistant", content: "", annotations } }] };
    expect(chunksOf(acme, chunk)[0]!.choices[0]!.delta!["annotations"]).toEqual(expected);
  });
});

describe("audio", () => {
  const audio = { id: "audio_1", data: "//OE" };
  test("[d8.8] has a transcript and a time, also where the server has neither", () => {
    expect(messageOf({ content: "", audio: { ...audio, expires_at: null, transcript: null } })["audio"]).toEqual({
      ...audio,
      expires_at: 0,
      transcript: "",
    });
  });
  test("is otherwise kept as it came", () => {
    for (const given of [audio, { ...audio, expires_at: 1_780_000_000, transcript: "Hi" }])
      expect(messageOf({ content: null, audio: given })["audio"]).toEqual(given);
  });
});

describe("log probabilities", () => {
  const logprobsOf = (logprobs: unknown): unknown =>
    decode(answerWith({ content: "x" }, { logprobs: logprobs as JsonObject })).choices[0]!.logprobs;
  test("have OpenAI's keys alone, and top_logprobs in each entry", () => {
    expect(
      logprobsOf({
        content: [{ token: "x", logprob: -1, bytes: [1], id: 7 }],
        reasoning_content: [{ token: "y", logprob: 0 }],
      }),
    ).toEqual({
      content: [{ token: "x", logprob: -1, bytes: [1], top_logprobs: [] }],
      refusal: null,
      reasoning_content: [{ token: "y", logprob: 0, top_logprobs: [] }],
    });
    expect(
      logprobsOf({ content: [{ token: "x", logprob: -1, top_logprobs: [{ token: "z", logprob: -2, id: 1 }] }] }),
    ).toEqual({ content: [{ token: "x", logprob: -1, top_logprobs: [{ token: "z", logprob: -2 }] }], refusal: null });
  });
  test("as parallel lists become entries", () => {
    expect(logprobsOf({ tokens: ["a", "b"], token_logprobs: [-1, -2], top_logprobs: [{ c: -3 }] })).toEqual({
      content: [
        { token: "a", logprob: -1, top_logprobs: [{ token: "c", logprob: -3 }] },
        { token: "b", logprob: -2, top_logprobs: [] },
      ],
      refusal: null,
    });
  });
  test("as parallel lists keep alternatives that are a list of entries, as Together writes them", () => {
    const top_logprobs = [
      [
        { token: "a", logprob: -1 },
        { token: "c", logprob: -3 },
      ],
    ];
    expect(logprobsOf({ tokens: ["a"], token_logprobs: [-1], token_ids: [null], top_logprobs })).toEqual({
      content: [{ token: "a", logprob: -1, top_logprobs: top_logprobs[0]! }],
      refusal: null,
    });
  });
  test("have the bytes of a token as a list, also where the server writes them in base64, as Novita does", () => {
    const hello = { token: "Hello", logprob: -1, bytes: "SGVsbG8=" };
    const bytes = [72, 101, 108, 108, 111];
    expect(logprobsOf({ content: [{ ...hello, top_logprobs: [hello, { ...hello, bytes: null }] }] })).toEqual({
      content: [
        {
          ...hello,
          bytes,
          top_logprobs: [
            { ...hello, bytes },
            { ...hello, bytes: null },
          ],
        },
      ],
      refusal: null,
    });
  });
  test("that are empty are null", () => {
    expect(logprobsOf(null)).toBeNull();
    expect(logprobsOf([])).toBeNull();
  });
});

describe("usage", () => {
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  test("is kept as the provider reports it, also where reasoning is billed separately or more is cached than requested", () => {
    for (const usage of [
      counts,
      { ...counts, total_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } },
      { ...counts, prompt_tokens_details: { cached_tokens: 64 } },
    ])
      expect(usageOf(usage)).toEqual(usage);
    expect(usageOf(null)).toBeNull();
  });
  test("[d8.9] the audio of a prompt, which Mistral counts in the total alone, is named, also where it lasts no second", () => {
    const usage = { ...counts, total_tokens: 390 };
    for (const prompt_audio_seconds of [0, 316])
      expect(usageOf({ ...usage, prompt_audio_seconds })).toEqual({
        ...usage,
        prompt_audio_seconds,
        prompt_tokens_details: { audio_tokens: 375 },
      });
    const counted = { ...usage, prompt_audio_seconds: 5, prompt_tokens_details: { audio_tokens: 300 } };
    expect(usageOf(counted)).toEqual(counted);
    for (const silent of [
      { ...counts, prompt_audio_seconds: 0 },
      { ...usage, prompt_audio_seconds: null },
      { ...usage, prompt_audio_seconds: {} },
    ])
      expect(usageOf(silent)).toEqual(silent);
  });
  test("[d8.9] prices that a vendor computes and times are no unknown figures", () => {
    const unnamedOf = (more: JsonObject): JsonObject | null =>
      unnamedFigures(decode(answerWith({ content: "x" }, {}, { usage: { ...counts, ...more } })).usage!);
    expect(unnamedOf({ cost: 0.1, market_cost: 0.2, latency_checkpoint: { total_duration_ms: 812 } })).toBeNull();
    expect(unnamedOf({ web_search_usage: { tool_usage: 5 } })).toEqual({ "web_search_usage.tool_usage": 5 });
  });
  test("cached tokens are read under every vendor's name", () => {
    for (const name of ["prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"])
      expect(usageOf({ ...counts, [name]: 4 })).toEqual({
        ...counts,
        [name]: 4,
        prompt_tokens_details: { cached_tokens: 4 },
      });
    expect(usageOf({ ...counts, cached_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } })).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3 },
    });
    expect(usageOf({ ...counts, cached_tokens: 4, prompt_tokens_details: null })).toMatchObject({
      prompt_tokens_details: { cached_tokens: 4 },
    });
  });
  test("reasoning tokens are read at the top level too", () => {
    expect(usageOf({ ...counts, reasoning_tokens: 3, citation_tokens: 1 })).toMatchObject({
      citation_tokens: 1,
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });
  test("is read under the names of the Responses form", () => {
    expect(usageOf({ input_tokens: 1, output_tokens: 2, total_tokens: 3 })).toMatchObject({
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
    });
  });
  test("is read where the row says, when it is not at the top level", () => {
    expect(usageOf(null, { x_groq: { id: "r", usage: counts } }, provider("groq"))).toEqual(counts);
    expect(usageOf({ ...counts, total_tokens: 16 }, { x_groq: { usage: counts } }, provider("groq"))).toMatchObject({
      total_tokens: 16,
    });
  });
});

describe("a 200 without an answer", () => {
  test("is the error that it contains", () => {
    const failure = (body: JsonObject | string, from = acme) => thrownBy(StreamError, () => decode(body, from)).failure;
    expect(failure({ error: { message: "Filtered", code: "content_filter", status: 400 } })).toEqual({
      class: "content_policy",
      message: "Filtered",
      param: null,
      nativeCode: "content_filter",
    });
    expect(failure({ error: { message: "Upstream gone", code: 502 } }, provider("openrouter")).class).toBe("server");
    expect(failure({ code: "Some sentence", error: "Too many requests" }, provider("xai"))).toMatchObject({
      class: "rate_limit",
      message: "Too many requests",
    });
    expect(failure({ error: "Model not found" }).message).toBe("Model not found");
    expect(failure('[{"error":{"message":"listed","code":503}}]')).toMatchObject({
      class: "overloaded",
      message: "listed",
    });
    expect(failure({ object: "error", message: "flat", type: "invalid_api_key" })).toMatchObject({
      class: "authentication",
      message: "flat",
    });
    expect(failure({ detail: "Not today" }).message).toBe("Not today");
    expect(failure(answerWith({ content: "" }, { error: { code: 429, message: "slow down" } })).class).toBe(
      "rate_limit",
    );
  });
  test("an error that is null or empty does not count", () => {
    for (const error of [null, "", {}])
      expect(decode(answerWith({ content: "x" }, {}, { error })).choices).toHaveLength(1);
  });
  test("is malformed when it contains nothing", () => {
    const message = (body: string) => thrownBy(MalformedAnswer, () => decode(body)).message;
    expect(message("")).toBe("The provider's answer is empty, not JSON.");
    expect(message("<!DOCTYPE html><html>secret</html>")).toBe("The provider's answer is an HTML page, not JSON.");
    expect(message('data: {"choices":[]}')).toBe("The provider's answer is an event stream, not JSON.");
    expect(message('{"choices":[')).toBe("The provider's answer is text, not JSON.");
    expect(message("{}")).toBe("The provider's answer has no choices.");
    expect(message('"hello"')).toBe("The provider's answer is JSON, but not an object.");
  });
});
