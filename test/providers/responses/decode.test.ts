// Answers of the Responses form, non-streaming and streamed: both say the same, whatever a server does with its events.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { unnamedFigures } from "../../../src/core/record/usage.ts";
import { decodeResponse } from "../../../src/providers/responses/decode-response.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import {
  call,
  customCall,
  eventsOf,
  message,
  numbered,
  type Read,
  readAnswer,
  reasoning,
  responseOf,
  RULES,
  streamed,
} from "./events.ts";

function plain(response: JsonObject): Read {
  return readAnswer(decodeResponse(JSON.stringify(response), RULES));
}
function fault(decode: () => unknown): StreamError | MalformedAnswer {
  try {
    decode();
  } catch (thrown) {
    if (thrown instanceof StreamError || thrown instanceof MalformedAnswer) return thrown;
    throw thrown;
  }
  throw new Error("nothing was thrown");
}
const typeOf = ({ data }: SseEvent): string => (JSON.parse(data) as { type: string }).type;
const TOKEN = { token: "Wien", logprob: -0.5, bytes: [87], top_logprobs: [] };

/** Answers with all that this form has of what chat completions say. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  text: responseOf([message("msg_1", "Guten Tag, Wien.")]),
  "reasoning, text and two calls": responseOf([
    reasoning("rs_1", ["Think first.", "Then speak."], "c2VhbGVk"),
    message("msg_1", "Let me see."),
    call("a", "weather", '{"city":"Wien"}'),
    call("b", "clock", ""),
  ]),
  "raw reasoning without encryption": responseOf([
    { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "They greet me." }] },
    message("msg_1", "Hello"),
  ]),
  "a custom call": responseOf([customCall("c", "patch", "*** Begin\nä")]),
  "a refusal": responseOf([
    { ...message("msg_1", ""), content: [{ type: "refusal", refusal: "I will not say that." }] },
  ]),
  "a citation in the second of two parts": responseOf([
    {
      ...message("msg_1", ""),
      content: [
        { type: "output_text", text: "So it is said: ", annotations: [] },
        {
          type: "output_text",
          text: "rain.",
          annotations: [
            { type: "url_citation", url: "https://example.com/a", title: "A", start_index: 0, end_index: 5 },
          ],
        },
      ],
    },
  ]),
  "log probabilities": responseOf([message("msg_1", "Wien", { logprobs: [TOKEN] })]),
  "reasoning between calls, and a search of the vendor": responseOf([
    reasoning("rs_1", ["First."], "b25l"),
    call("a", "weather", "{}"),
    { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "Wien" } },
    reasoning("rs_2", ["Second."], "dHdv"),
    call("b", "clock", "{}"),
  ]),
  "cut by a bound": responseOf([{ ...message("msg_1", "It is"), status: "incomplete" }], {
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  }),
  "withheld by a filter": responseOf([], { status: "incomplete", incomplete_details: { reason: "content_filter" } }),
};

describe("an answer", () => {
  test("text, reasoning, calls, finish reason and usage", () => {
    const read = plain(ANSWERS["reasoning, text and two calls"]!);
    expect(read.frame).toEqual(["resp_1", "m-1", 1_760_000_000]);
    expect(read.text).toBe("Let me see.");
    expect(read.reasoning).toBe("Think first.\n\nThen speak.");
    expect(read.details).toEqual([
      { type: "reasoning.summary", summary: "Think first.", id: "rs_1", format: "acme-responses-v1", index: 0 },
      { type: "reasoning.summary", summary: "Then speak.", id: "rs_1", format: "acme-responses-v1", index: 1 },
      { type: "reasoning.encrypted", data: "c2VhbGVk", id: "rs_1", format: "acme-responses-v1", index: 2 },
    ]);
    expect(read.calls).toEqual([
      { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Wien"}' } },
      { id: "call_b", type: "function", function: { name: "clock", arguments: "{}" } },
    ]);
    expect(read.finish).toBe("tool_calls");
    expect(read.usage).toEqual({
      prompt_tokens: 30,
      completion_tokens: 12,
      total_tokens: 42,
      prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 7 },
    });
    expect(read.extra).toBeNull();
  });
  test("[d8.9] searches count as the vendor bills them, and what its other tools used is noticed", () => {
    const output = [{ id: "ws_1", type: "web_search_call", status: "completed" }, message("msg_1", "A")];
    const pictures = { input_tokens: 0, output_tokens: 1056, total_tokens: 1056 };
    for (const [searches, counted] of [
      [3, { web_search: 3 }],
      [0, undefined],
    ] as const) {
      const told = responseOf(output, { tool_usage: { web_search: { num_requests: searches }, image_gen: pictures } });
      const { usage } = decodeResponse(JSON.stringify(told), RULES);
      expect(usage?.hosted_tools).toEqual(counted);
      expect(unnamedFigures(usage!)).toEqual({
        "tool_usage.image_gen.output_tokens": 1056,
        "tool_usage.image_gen.total_tokens": 1056,
      });
    }
  });
  test("[d8.9] tokens that were written to the cache for longer than usual are noticed, and no others", () => {
    const figuresOf = (lifetimes: JsonObject) => {
      const details = { cached_tokens: 0, cache_write_tokens: 100, cache_write_tokens_details: lifetimes };
      const told = { input_tokens: 200, input_tokens_details: details, output_tokens: 1, total_tokens: 201 };
      const answer = responseOf([message("msg_1", "A")], { usage: told });
      return unnamedFigures(decodeResponse(JSON.stringify(answer), RULES).usage!);
    };
    expect(figuresOf({ ttl_30m_tokens: 100, ttl_12h_tokens: 0 })).toBeNull();
    expect(figuresOf({ ttl_30m_tokens: 40, ttl_12h_tokens: 60 })).toEqual({
      "input_tokens_details.cache_write_tokens_details.ttl_12h_tokens": 60,
    });
  });
  test("what the vendor's moderation found is told as in chat completions", () => {
    const found = { type: "moderation_result", model: "m", flagged: true, categories: { violence: true } };
    const failed = { type: "error", code: "c", message: "Not now." };
    const told = responseOf([message("msg_1", "A")], { moderation: { input: found, output: failed } });
    expect(decodeResponse(JSON.stringify(told), RULES)["moderation"]).toEqual({
      input: { type: "moderation_results", model: "m", results: [found] },
      output: failed,
    });
  });
  test("raw reasoning is sent back as text, and reasoning that no one can send back has no details", () => {
    expect(plain(ANSWERS["raw reasoning without encryption"]!)).toMatchObject({
      reasoning: "They greet me.",
      details: [{ type: "reasoning.text", text: "They greet me.", id: "rs_1" }],
    });
    expect(plain(responseOf([reasoning("rs_1", ["Hm."]), message("msg_1", "A")]))).toMatchObject({
      reasoning: "Hm.",
      details: [],
    });
  });
  test("custom calls, refusals, log probabilities, and citations counted from the beginning of the text", () => {
    expect(plain(ANSWERS["a custom call"]!).calls).toEqual([
      { id: "call_c", type: "custom", custom: { name: "patch", input: "*** Begin\nä" } },
    ]);
    expect(plain(ANSWERS["a refusal"]!)).toMatchObject({ refusal: "I will not say that.", text: "", finish: "stop" });
    expect(plain(ANSWERS["log probabilities"]!).logprobs).toEqual([TOKEN]);
    expect(plain(ANSWERS["a citation in the second of two parts"]!).annotations).toEqual([
      {
        type: "url_citation",
        url_citation: { url: "https://example.com/a", title: "A", start_index: 15, end_index: 20 },
      },
    ]);
  });
  test("what a message cannot say is carried in order", () => {
    const response = ANSWERS["reasoning between calls, and a search of the vendor"]!;
    expect(plain(response).extra).toEqual({ acme: { content: response["output"]! } });
    const phased = responseOf([{ ...message("msg_1", "Looking."), phase: "commentary" }, message("msg_2", "Done.")]);
    expect(plain(phased)).toMatchObject({ text: "Looking.Done.", extra: { acme: { content: phased["output"] } } });
  });
  test("how it ended", () => {
    expect(plain(ANSWERS["cut by a bound"]!)).toMatchObject({ finish: "length", nativeFinish: "max_output_tokens" });
    expect(plain(ANSWERS["withheld by a filter"]!)).toMatchObject({ finish: "content_filter" });
    for (const details of [null, { reason: "constructor" }])
      expect(plain(responseOf([], { status: "incomplete", incomplete_details: details }))).toMatchObject({
        finish: "length",
      });
    const failed = fault(() =>
      plain(responseOf([], { status: "failed", error: { code: "rate_limit_exceeded", message: "Slow down." } })),
    );
    expect(failed).toBeInstanceOf(StreamError);
    expect((failed as StreamError).failure).toMatchObject({ class: "rate_limit", message: "Slow down." });
    expect(fault(() => plain(responseOf([], { status: "cancelled" }))).message).toBe(
      "The provider cancelled the response.",
    );
    for (const status of ["queued", "in_progress"])
      expect(fault(() => plain(responseOf([], { status })))).toBeInstanceOf(MalformedAnswer);
  });
  test("a call that was cut off before its arguments gets none, plain and streamed", () => {
    const response = responseOf([call("a", "weather", "", { status: "incomplete" })], {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    expect(plain(response).calls).toMatchObject([{ function: { name: "weather", arguments: "" } }]);
    expect(streamed(eventsOf(response)).read).toEqual(plain(response));
  });
  test("a body that is no answer", () => {
    expect(fault(() => decodeResponse('{"error":{"message":"No."}}', RULES)).message).toBe("No.");
    expect(fault(() => decodeResponse('{"object":"chat.completion","choices":[]}', RULES))).toBeInstanceOf(
      MalformedAnswer,
    );
  });
});

/** The calls of a stream have no arguments where there were none; the stream normalizer supplies them. */
function withArguments(read: Read): Read {
  return JSON.parse(JSON.stringify(read).replaceAll('"arguments":""', '"arguments":"{}"')) as Read;
}

describe("a stream", () => {
  for (const [name, response] of Object.entries(ANSWERS)) {
    const events = eventsOf(response);
    const expected = { read: plain(response), isComplete: true };
    const result = (given: readonly SseEvent[]): object => {
      const { read, isComplete } = streamed(given);
      return { read: withArguments(read), isComplete };
    };
    test(`${name}: says the same as the whole answer`, () => {
      expect(result(events)).toEqual(expected);
    });
    test(`${name}: each event twice`, () => {
      expect(result(events.flatMap((event) => [event, event]))).toEqual(expected);
    });
    test(`${name}: deltas, ends or beginnings that never come`, () => {
      for (const lost of [/\.delta$/, /_item\.done$/, /\.done$/, /\.added$/, /^(?!response\.(completed|incomplete)$)/])
        expect(result(events.filter((event) => !lost.test(typeOf(event))))).toEqual(expected);
    });
    test(`${name}: an end without the output`, () => {
      const emptied = events.map((event, at) => {
        if (at < events.length - 1) return event;
        const last = JSON.parse(event.data) as { response: JsonObject };
        return { ...event, data: JSON.stringify({ ...last, response: { ...last.response, output: [] } }) };
      });
      expect(result(emptied)).toEqual(expected);
    });
    test(`${name}: cut before its terminal event, it is not complete`, () => {
      for (let length = 0; length < events.length; length++) {
        const { read, isComplete } = streamed([...events.slice(0, length), { event: "", data: "[DONE]" }]);
        expect([isComplete, read.finish]).toEqual([false, null]);
      }
    });
  }
  test("an item's beginning comes after its deltas", () => {
    const response = ANSWERS["reasoning, text and two calls"]!;
    const late = eventsOf(response).toSorted(
      (one, other) =>
        Number(/item\.(added|done)$/.test(typeOf(one))) - Number(/item\.(added|done)$/.test(typeOf(other))),
    );
    const last = late.findIndex((event) => typeOf(event) === "response.completed");
    const { read } = streamed([...late.slice(0, last), ...late.slice(last + 1), late[last]!]);
    expect(withArguments(read)).toEqual(plain(response));
  });
  test("interleaved calls keep their pieces apart, with dense indexes", () => {
    const at = (index: number, delta: string): JsonObject => ({
      type: "response.function_call_arguments.delta",
      output_index: index,
      item_id: `other-${delta}`,
      delta,
    });
    const added = (index: number, item: JsonObject): JsonObject => ({
      type: "response.output_item.added",
      output_index: index,
      item: { ...item, arguments: "" },
    });
    const [one, two] = [call("a", "weather", '{"city":"Wien"}'), call("b", "clock", '{"zone":"CET"}')];
    const { read } = streamed(
      numbered([
        added(3, one),
        at(3, '{"city'),
        added(5, two),
        at(5, '{"zone":'),
        at(3, '":"Wien"}'),
        at(5, '"CET"}'),
        { type: "response.completed", response: responseOf([]) },
      ]),
    );
    expect(read.calls.map(({ id, function: called }) => [id!, called!])).toEqual([
      ["call_a", { name: "weather", arguments: '{"city":"Wien"}' }],
      ["call_b", { name: "clock", arguments: '{"zone":"CET"}' }],
    ]);
  });
  test("several items at one index, and servers that do not count", () => {
    const response = ANSWERS["reasoning, text and two calls"]!;
    const flat = eventsOf(response).map(({ event, data }) => {
      const parsed = JSON.parse(data) as JsonObject;
      const place = parsed["output_index"] === undefined ? {} : { output_index: 0 };
      return { event, data: JSON.stringify({ ...parsed, ...place, sequence_number: 0 }) };
    });
    expect(withArguments(streamed(flat).read)).toEqual(plain(response));
  });
  test("a server that counts the parts of all items together", () => {
    const counted = responseOf([
      { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "First of all." }] },
      message("msg_1", "The answer."),
      { id: "rs_2", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "And then." }] },
      message("msg_2", "The rest."),
    ]);
    const events = eventsOf(counted).map(({ event, data }) => {
      const said = JSON.parse(data) as Record<string, any>;
      const at = "content_index" in said ? { content_index: said["output_index"] } : {};
      return { event, data: JSON.stringify({ ...said, ...at }) };
    });
    expect(streamed(events)).toEqual({ ...streamed(eventsOf(counted)), isComplete: true });
  });
  test("unknown events and pings are ignored", () => {
    const response = ANSWERS["text"]!;
    const events = eventsOf(response).flatMap((event) => [
      { event: "keepalive", data: '{"type":"keepalive"}' },
      event,
      { event: "acme:trace", data: '{"type":"acme:trace","output_index":0}' },
    ]);
    expect(streamed(events).read).toEqual(plain(response));
  });
  test("errors in every form end it", () => {
    const errors: readonly JsonObject[] = [
      { type: "error", code: "server_error", message: "Stopped.", param: null },
      { type: "error", error: { type: "server_error", code: null, message: "Stopped." } },
      { error: { message: "Stopped." } },
      {
        type: "response.failed",
        response: responseOf([], { status: "failed", error: { code: "server_error", message: "Stopped." } }),
      },
      { type: "response.completed", response: responseOf([], { error: { code: "x", message: "Stopped." } }) },
    ];
    for (const error of errors) {
      const thrown = fault(() => streamed(numbered([error])));
      expect(thrown).toBeInstanceOf(StreamError);
      expect(thrown.message).toBe("Stopped.");
    }
    const failed = responseOf([message("msg_1", "Something else")], {
      status: "failed",
      error: { code: "server_error", message: "Stopped." },
    });
    const begun = eventsOf(responseOf([message("msg_1", "Guten Tag")])).slice(0, -1);
    const end = { event: "", data: JSON.stringify({ type: "response.failed", response: failed }) };
    expect(fault(() => streamed([...begun, end])).message).toBe("Stopped.");
    expect(fault(() => streamed([{ event: "error", data: "Stopped." }])).message).toBe("Stopped.");
    expect(fault(() => streamed([{ event: "", data: "<html>" }]))).toBeInstanceOf(MalformedAnswer);
  });
});
