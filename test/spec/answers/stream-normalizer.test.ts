// The demands of common clients on a stream (S1 to S28) and on a non-streaming answer (N1 to N5), each tested with a
// provider that violates it. The points and their sources: promise 8.7.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import { manualUpstream } from "../manual-upstream.ts";
import { ASK, choiceChunk, chunk, grammarFaults, play, USAGE, usageChunk } from "./played-stream.ts";

const HELLO = [chunk({ role: "assistant", content: "" }), chunk({ content: "Hello" }), chunk({}, "stop"), usageChunk()];
const WITH_USAGE = { stream_options: { include_usage: true } };
const call = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  text: string | undefined,
): object => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: "function" }),
  function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
});
const calls = (...list: readonly object[]): object => ({ tool_calls: list });
const dataLines = (text: string): readonly string[] => text.split("\n\n").filter((block) => block !== "");

describe("the checker of the grammar", () => {
  const event = (delta: object, finish: string | null = null, extra: object = {}) => ({
    id: "a",
    object: "chat.completion.chunk",
    created: 1,
    model: "p:m",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    ...extra,
  });
  const outer = { route: "direct", x_gateway_trace_id: "t" };
  const opening = event({ role: "assistant", content: "" }, null, outer);
  const end = event({}, "stop", outer);
  const judge = (events: readonly Record<string, any>[], done = true) =>
    grammarFaults(
      { events, done, comments: 0, content: "", error: events.find((one) => one["error"])?.["error"] ?? null },
      false,
    );

  test("finds nothing in a good stream and something in each bad one", () => {
    expect(judge([opening, event({ content: "x" }), end])).toEqual([]);
    const bad: readonly (readonly Record<string, any>[])[] = [
      [opening, event({ content: "x" }, null, outer)],
      [opening, event({ role: "assistant" }), end],
      [opening, event({ content: "x", reasoning_content: "y" }), end],
      [opening, end, end],
      [opening, event(calls(call(1, "a", "f", ""))), event({}, "tool_calls", outer)],
      [
        opening,
        event(calls(call(0, "a", "f", ""))),
        event(calls(call(0, "a", undefined, "{}"))),
        event({}, "tool_calls", outer),
      ],
      [opening, event({ content: ["x"] }), end],
      [opening, event({}, "stop", { ...outer, id: "b" })],
      [opening, event({}, "stop", { ...outer, usage: USAGE })],
      [opening, event({}, "done", outer)],
      [opening, { error: { message: "m", code: "c" }, choices: [] }],
      [event({ content: "x" }, null, outer), end],
      [opening, event({ content: "x" }), event({}, "stop")],
      [event({ role: "assistant", content: "" }), event({ content: "x" }), end],
      [opening, event({ content: "x" }, null, outer), end],
      [opening, event({ content: "x" }), { ...end, route: "other" }],
    ];
    for (const events of bad) expect(judge(events)).not.toEqual([]);
    expect(judge([opening, end], false)).not.toEqual([]);
  });
});

describe("a stream", () => {
  test("[d8.7] S1: every event is one data line and a blank line, the last one is [DONE], and no event has a name", async () => {
    const { text } = await play(
      `event: message\nid: 7\nretry: 10\ndata: ${JSON.stringify(HELLO[0])}\n\n${eventStream(chunk({ content: "two\nlines\u2028" }), chunk({}, "stop"))}`,
    );
    expect(text.endsWith("}\n\ndata: [DONE]\n\n")).toBe(true);
    for (const block of dataLines(text)) expect(block).toMatch(/^data: [^\n\r]+$/);
  });

  test("[d8.7] S2: a stream that merely stops does not count as ended", async () => {
    const { error, faults, done } = await play(
      HELLO.slice(0, 2)
        .map((data) => `data: ${JSON.stringify(data)}\n\n`)
        .join(""),
    );
    expect([error?.["code"], faults, done]).toEqual(["upstream_incomplete", [], true]);
  });

  test("[d8.7] S3: id, object, created, model and choices are present where the provider sends none of them", async () => {
    const { faults, events } = await play([
      { choices: [{ delta: { content: "bare" } }] },
      { type: "ping" },
      { choices: [{ delta: {}, finish_reason: "stop" }] },
    ]);
    expect(faults).toEqual([]);
    expect(events[0]).toMatchObject({ object: "chat.completion.chunk", model: "openai:m", choices: [{ index: 0 }] });
  });

  test("[d8.7] S3: a first chunk without id and choice leaves both to the provider's next chunk", async () => {
    const { faults, events } = await play([
      { id: "", created: 0, model: "", choices: [], prompt_filter_results: ["harmless"] },
      ...HELLO,
    ]);
    expect(faults).toEqual([]);
    const { id, created } = HELLO[0] as { id: string; created: number };
    expect(events.map((event) => [event["id"], event["created"]])).toEqual(events.map(() => [id, created]));
    expect(events[0]!["prompt_filter_results"]).toEqual(["harmless"]);
  });

  test("[d8.7] S4: id, created and model stay the same, whatever the provider changes on the way", async () => {
    const { faults, events } = await play([
      chunk({ content: "a" }, null, { id: "first", created: 5 }),
      chunk({ content: "b" }, null, { id: "second", created: 6, model: "other" }),
      chunk({}, "stop", { id: "" }),
    ]);
    expect(faults).toEqual([]);
    expect(new Set(events.map((event) => `${event["id"]} ${event["created"]} ${event["model"]}`))).toEqual(
      new Set(["first 5 openai:m"]),
    );
  });

  test("[d8.7] S5: indexes are whole numbers from 0 without holes, delta is an object, the finish reason null until the end", async () => {
    const { faults, choices } = await play(
      [
        choiceChunk({ index: 4, delta: { content: "four" } }),
        choiceChunk({ index: "7", delta: null }),
        choiceChunk({ index: 9, delta: { content: "nine" }, finish_reason: "" }),
        choiceChunk({ index: 4, finish_reason: "stop" }),
        choiceChunk({ index: 0, delta: {}, finish_reason: "stop" }),
        choiceChunk({ index: 9, finish_reason: "length" }),
      ],
      { ask: { n: 3 } },
    );
    expect(faults).toEqual([]);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(choices.find(({ text }) => text === "nine")?.finish).toBe("length");
  });

  test("[d8.7] S6: the role comes once for each choice, first and alone, and is assistant", async () => {
    const { faults, events } = await play([
      chunk({ role: "assistant", content: "a" }),
      chunk({ role: "assistant", content: "b" }),
      chunk({ role: "tool", content: "c" }),
      chunk({ role: "model" }, "stop"),
    ]);
    expect(faults).toEqual([]);
    expect(events.map((event) => event["choices"][0].delta.role).filter(Boolean)).toEqual(["assistant"]);
  });

  test("[d8.7] S7: content is text, also where the provider streams a list of blocks", async () => {
    const { faults, choices } = await play([
      chunk({
        content: [
          { type: "text", text: "from " },
          { type: "text", text: "blocks" },
        ],
      }),
      chunk({ content: null }),
      chunk({}, "stop"),
    ]);
    expect([faults, choices[0]?.text]).toEqual([[], "from blocks"]);
  });

  test("[d8.7] S8: a delta holds one kind of content", async () => {
    const { faults, choices } = await play([
      chunk({
        role: "assistant",
        content: "text",
        reasoning_content: "thought",
        refusal: "no",
        ...calls(call(0, "a", "f", "{}")),
      }),
      chunk({}, "tool_calls"),
    ]);
    expect(faults).toEqual([]);
    expect(choices[0]).toMatchObject({
      text: "text",
      reasoning: "thought",
      refusal: "no",
      calls: [{ name: "f", arguments: "{}" }],
    });
  });

  test("[d8.7] S9: a call opens with index, id, type and name, which come once, and each delta has its arguments", async () => {
    const { faults, choices } = await play([
      chunk(calls(call(3, "a", "f", undefined))),
      chunk(calls(call(3, "a", "f", '{"x"'))),
      chunk(calls({ index: 3, id: "a", type: "function", function: { name: null, arguments: ":1}" } })),
      chunk(calls(call(5, "b", "g", "{}"))),
      chunk({}, "tool_calls"),
    ]);
    expect(faults).toEqual([]);
    expect(choices[0]?.calls).toEqual([
      { id: "a", name: "f", arguments: '{"x":1}' },
      { id: "b", name: "g", arguments: "{}" },
    ]);
  });

  test("[d8.7] S9: calls without indexes, with an index that is always 0, and with a late name are distinguished", async () => {
    const unnumbered = await play([
      chunk(calls(call(undefined, "a", "f", '{"x":'))),
      chunk(calls(call(undefined, undefined, undefined, "1}"))),
      chunk(calls(call(undefined, "b", "f", '{"x":'))),
      chunk(calls(call(undefined, undefined, undefined, "2}"))),
      chunk({}, "tool_calls"),
    ]);
    const zeros = await play([
      chunk(calls(call(0, "a", "f", '{"x":'))),
      chunk(calls(call(0, undefined, undefined, "1}"))),
      chunk(calls(call(0, "b", "f", '{"x":'))),
      chunk(calls(call(0, undefined, undefined, "2}"))),
      chunk({}, "tool_calls"),
    ]);
    const byId = await play([
      chunk(calls(call(0, "a", "f", '{"x":'))),
      chunk(calls(call(0, "b", "f", '{"x":'))),
      chunk(calls(call(0, "a", undefined, "1}"))),
      chunk(calls(call(0, "b", undefined, "2}"))),
      chunk({}, "tool_calls"),
    ]);
    for (const { faults, choices } of [unnumbered, zeros, byId]) {
      expect(faults).toEqual([]);
      expect(choices[0]?.calls).toEqual([
        { id: "a", name: "f", arguments: '{"x":1}' },
        { id: "b", name: "f", arguments: '{"x":2}' },
      ]);
    }
    const oneId = (index?: number) =>
      play([
        chunk(calls(call(index, "x", "f", '{"x":'))),
        chunk(calls(call(index, "x", "f", "1}"))),
        chunk(calls(call(index, "x", "g", "{}"))),
        chunk({}, "tool_calls"),
      ]);
    for (const { faults, choices } of [await oneId(), await oneId(0)])
      expect([faults, choices[0]?.calls.map(({ name, arguments: given }) => [name, given])]).toEqual([
        [],
        [
          ["f", '{"x":1}'],
          ["g", "{}"],
        ],
      ]);
    const late = await play([
      chunk(calls(call(0, "a", undefined, '{"x":'), call(1, "b", "g", "{}"))),
      chunk(calls(call(0, undefined, "f", "1}"))),
      chunk({}, "tool_calls"),
    ]);
    expect(late.faults).toEqual([]);
    expect(late.choices[0]?.calls).toEqual([
      { id: "b", name: "g", arguments: "{}" },
      { id: "a", name: "f", arguments: '{"x":1}' },
    ]);
  });

  test("[d8.7] S10: a call without arguments ends as an empty object, an object of arguments becomes its text", async () => {
    const { faults, choices } = await play([
      chunk(calls(call(0, "a", "none", ""))),
      chunk(calls({ index: 1, id: "b", function: { name: "whole", arguments: { deep: [1] } } })),
      chunk({}, "tool_calls"),
    ]);
    expect([faults, choices[0]?.calls.map((one) => one.arguments)]).toEqual([[], ["{}", '{"deep":[1]}']]);
  });

  test("[d8.7] S10: arguments that the provider sends once more, all at the end or those so far with each piece, come once", async () => {
    const pieces = ['{"city":', ' "Paris", "inner":', '{"city":', ' "Paris"}', "}"];
    const whole = pieces.join("");
    const listed = '{"url": "https://x", "at": [1, 2], "of": {"a": "b, c:"}}';
    const begun = (index: number, id: string): object => chunk(calls(call(index, id, "f", "")));
    const piece = (index: number, text: string): object => chunk(calls(call(index, undefined, undefined, text)));
    const { faults, choices } = await play([
      begun(0, "again"),
      ...pieces.map((text) => piece(0, text)),
      piece(0, whole),
      begun(1, "grown"),
      ...["{", '{"city', '{"city": "Par', '{"city": "Paris"}', '{"city": "Paris"}'].map((text) => piece(1, text)),
      chunk(calls(call(2, "named", "f", whole))),
      chunk(calls(call(2, "named", "f", whole))),
      begun(3, "nested"),
      ...['{"node":', '{"node":', "{}}", "}"].map((text) => piece(3, text)),
      begun(4, "every cut"),
      ...Array.from(listed, (_, at) => piece(4, listed.slice(0, at + 1))),
      begun(5, "a brace as a name"),
      ...['{"', '{":0,"":""}'].map((text) => piece(5, text)),
      begun(6, "a brace as a name, in small pieces"),
      ...['{"', '{"', ":0}"].map((text) => piece(6, text)),
      chunk({}, "tool_calls"),
    ]);
    expect(faults).toEqual([]);
    expect(choices[0]?.calls.map((one) => one.arguments)).toEqual([
      whole,
      '{"city": "Paris"}',
      whole,
      '{"node":{"node":{}}}',
      listed,
      '{"{":0,"":""}',
      '{"{":0}',
    ]);
  });

  test("[d8.7] S11: ids of calls are the provider's own and unique, also where they repeat or are missing", async () => {
    const { faults, choices } = await play(
      [
        choiceChunk({
          index: 0,
          delta: calls(
            call(0, "functions.f:0", "f", "{}"),
            call(1, "functions.f:0", "f", '{"x":1}'),
            call(2, "", "g", "{}"),
            call(3, "y".repeat(200), "h", "{}"),
          ),
        }),
        choiceChunk({ index: 1, delta: calls(call(0, "functions.f:0", "f", "{}")), finish_reason: "tool_calls" }),
        chunk({}, "tool_calls"),
      ],
      { ask: { n: 2 } },
    );
    expect(faults).toEqual([]);
    const ids = choices.flatMap((choice) => choice.calls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(5);
    expect(ids).toEqual(expect.arrayContaining(["functions.f:0", "y".repeat(200)]));
  });

  test("[d8.7] S12: each choice has one finish reason, before the usage, even if the provider repeats it or goes on generating", async () => {
    const { faults, choices, events } = await play(
      [
        chunk({ content: "a" }, "stop"),
        chunk({ content: "b" }, "stop"),
        chunk({}, "stop"),
        usageChunk(),
        chunk(null, "length"),
      ],
      { ask: WITH_USAGE },
    );
    expect([faults, choices[0]?.text, choices[0]?.finish]).toEqual([[], "ab", "stop"]);
    expect(events.at(-2)?.["choices"][0].finish_reason).toBe("stop");
  });

  test("[d8.7, d8.6] S13: another finish reason becomes one of the five; the same wire form keeps the provider's reason beside calls, a translated one says tool_calls", async () => {
    const foreign = await play([chunk({ content: "x" }, "eos")]);
    const same = await play([chunk(calls(call(0, "a", "f", "{}"))), chunk({}, "stop")]);
    expect([foreign.choices[0]?.finish, same.choices[0]?.finish]).toEqual(["stop", "stop"]);
    expect(foreign.events.at(-1)?.["choices"][0].native_finish_reason).toBe("eos");
    const gemini = {
      candidates: [
        {
          content: { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      responseId: "r",
    };
    const translated = await play(`data: ${JSON.stringify(gemini)}\r\n\r\n`, {
      ask: { model: "gemini:gemini-2.5-flash", tools: [{ type: "function", function: { name: "f" } }] },
    });
    expect([translated.faults, translated.choices[0]?.finish]).toEqual([[], "tool_calls"]);
  });

  test("[d8.7, d8.2] S14: with include_usage each chunk has a null usage and one last chunk has the figures, wherever the provider put them", async () => {
    const onContent = await play(
      [
        chunk({ content: "a" }, null, { usage: { ...USAGE, total_tokens: 10, completion_tokens: 1 } }),
        chunk({}, "stop", { usage: USAGE }),
      ],
      { ask: WITH_USAGE },
    );
    const early = await play([usageChunk(), chunk({ content: "a" }, "stop")], { ask: WITH_USAGE });
    for (const { faults, usage } of [onContent, early]) expect([faults, usage]).toEqual([[], USAGE]);
  });

  test("[d8.7, d8.2] S15: without include_usage there is no usage and no chunk without choices", async () => {
    for (const ask of [{}, { stream_options: { include_usage: false } }]) {
      const { faults, events, stub } = await play(HELLO, { ask });
      expect(faults).toEqual([]);
      expect(events.some((event) => "usage" in event || event["choices"].length === 0)).toBe(false);
      expect(stub.records[0]).toMatchObject({ usage: USAGE, usageSource: "provider" });
    }
  });

  test("[d8.7] S16: usage is whole numbers, details are numbers or absent, and the prompt includes what was cached", async () => {
    const openai = await play(
      [
        chunk({ content: "a" }, "stop"),
        usageChunk({
          prompt_tokens: 8,
          completion_tokens: 2,
          prompt_tokens_details: { cached_tokens: null, audio_tokens: 0 },
          completion_tokens_details: null,
        }),
      ],
      { ask: WITH_USAGE },
    );
    expect(openai.usage).toEqual({
      prompt_tokens: 8,
      completion_tokens: 2,
      total_tokens: 10,
      prompt_tokens_details: { audio_tokens: 0 },
    });
    const events = [
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          stop_reason: null,
          usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } },
      { type: "message_stop" },
    ];
    const anthropic = await play(
      events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
      { ask: { ...WITH_USAGE, model: "anthropic:claude-sonnet-4-5" } },
    );
    expect(anthropic.usage).toMatchObject({
      prompt_tokens: 15,
      completion_tokens: 4,
      total_tokens: 19,
      prompt_tokens_details: { cached_tokens: 5 },
    });
  });

  test("[d8.7] S17: reasoning comes under one name, even if the provider sends it under two", async () => {
    const { faults, events, choices } = await play([
      chunk({ reasoning: "think", reasoning_content: "think" }),
      chunk({ reasoning: " more" }),
      chunk({ content: "said" }, "stop"),
    ]);
    expect([faults, choices[0]?.reasoning]).toEqual([[], "think more"]);
    expect(events.some((event) => "reasoning" in event["choices"][0].delta)).toBe(false);
  });

  test("[d8.7] S18: no chunk has an error that is null", async () => {
    const { faults, events } = await play([
      chunk({ content: "a" }, null, { error: null }),
      chunk({ content: "b" }, null, { error: {} }),
      chunk({}, "stop", { error: "" }),
    ]);
    expect(faults).toEqual([]);
    expect(events.some((event) => "error" in event)).toBe(false);
  });

  test("[d8.7, d8.3] S19: a failure in mid-stream is one event with an error and no choices, then [DONE]", async () => {
    const { faults, error, text, events } = await play([
      chunk({ content: "a" }),
      { error: { message: "The engine stopped.", type: "server_error", code: null } },
      chunk({ content: "b" }),
    ]);
    expect(faults).toEqual([]);
    expect(error).toMatchObject({
      message: "The engine stopped.",
      code: "upstream_error",
      type: "server_error",
      param: null,
    });
    expect(text).not.toContain('"b"');
    expect(events.at(-1)?.["x_gateway_trace_id"]).toBe(events[0]?.["x_gateway_trace_id"]);
  });

  test("[d8.7] S20: waiting is shown by comments, never by an event", async () => {
    const upstream = manualUpstream();
    const gateway = stubGateway({ upstream: upstream.client, limits: { headHoldMs: 10, keepAliveMs: 10 } });
    const response = await gateway.chat({ ...ASK, stream: true });
    let text = "";
    for await (const piece of response.body!) {
      text += Buffer.from(piece).toString();
      const waited = text.match(/: keep-alive/g)?.length ?? 0;
      if (waited >= 2 && !text.includes("data: ")) upstream.give(eventStream(...HELLO));
    }
    const blocks = dataLines(text);
    expect(blocks.filter((block) => block === ": keep-alive").length).toBeGreaterThanOrEqual(2);
    expect(blocks.every((block) => block === ": keep-alive" || /^data: (\{|\[DONE])/.test(block))).toBe(true);
  });

  test("[d8.7] S21: log probabilities have content and refusal alone, whole entries, and top_logprobs in each", async () => {
    const said = {
      content: [
        { token: "a", logprob: -0.1, extra: 1, top_logprobs: [{ token: "b", logprob: -2, rank: 2 }] },
        { token: "c", logprob: -0.2 },
      ],
      text_offset: [0],
    };
    const { events } = await play([
      choiceChunk({ index: 0, delta: { content: "ac" }, logprobs: said }),
      chunk({}, "stop"),
    ]);
    expect(events[1]?.["choices"][0].logprobs).toEqual({
      content: [
        { token: "a", logprob: -0.1, bytes: null, top_logprobs: [{ token: "b", logprob: -2, bytes: null }] },
        { token: "c", logprob: -0.2, bytes: null, top_logprobs: [] },
      ],
      refusal: null,
    });
    expect(events.filter((event) => event["choices"][0].logprobs !== null)).toHaveLength(1);
  });

  test("[d8.7] S22: other vendor fields stand at the top level of ordinary chunks", async () => {
    const { faults, events } = await play([
      chunk({ content: "a" }, null, { provider: "Somewhere", citations: ["https://a.test"] }),
      chunk({}, "stop"),
      { ...usageChunk(), x_late: 1 },
    ]);
    expect(faults).toEqual([]);
    expect(events[0]).toMatchObject({ provider: "Somewhere", citations: ["https://a.test"], route: "direct" });
    expect(events.at(-1)).toMatchObject({ x_late: 1 });
  });

  test("[d8.7] S23: system_fingerprint is a string or absent", async () => {
    const { events } = await play([
      chunk({ content: "a" }, null, { system_fingerprint: "fp_1" }),
      chunk({ content: "b" }, null, { system_fingerprint: null }),
      chunk({ content: "c" }, "stop", { system_fingerprint: 7 }),
    ]);
    expect(events.flatMap((event) => ("system_fingerprint" in event ? [event["system_fingerprint"]] : []))).toEqual([
      "fp_1",
    ]);
  });

  test("[d8.7] S24: a client that leaves ends the provider's call, and what was used is recorded", async () => {
    const upstream = manualUpstream();
    const gateway = stubGateway({ upstream: upstream.client });
    upstream.give(`data: ${JSON.stringify(chunk({ content: "some words of an answer" }))}\n\n`);
    const response = await gateway.chat({ ...ASK, stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(upstream.released()).toBe(true);
    expect(gateway.records).toHaveLength(1);
    expect(gateway.records[0]).toMatchObject({
      cancelled: true,
      status: 499,
      code: "client_closed",
      usageSource: "estimated",
    });
    expect(gateway.records[0]?.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test("[d8.7] S25: letters that are split between reads, CRLF and events of more than 64 KiB arrive unchanged", async () => {
    const long = "é漢字🎈".repeat(12_000);
    const text = eventStream(chunk({ content: long }), chunk({ content: "€" }), chunk({}, "stop")).replaceAll(
      "\n",
      "\r\n",
    );
    const { faults, content } = await play(text, { answer: { chunk: 4099 } });
    expect(faults).toEqual([]);
    expect(content === `${long}€`).toBe(true);
  });

  test("[d8.7] S26: nothing of an empty turn is sent before it is known to be empty, and it has its finish reason", async () => {
    const upstream = manualUpstream();
    const gateway = stubGateway({ upstream: upstream.client });
    let answered = false;
    const reply = async (): Promise<string> => {
      const response = await gateway.chat({ ...ASK, stream: true });
      answered = true;
      return response.text();
    };
    const answer = reply();
    upstream.give(`data: ${JSON.stringify(chunk({ role: "assistant", content: "" }))}\n\n`);
    await Bun.sleep(20);
    expect(answered).toBe(false);
    // a token that says nothing was generated; where there was none it is a fault (retries.test.ts)
    upstream.give(
      eventStream(chunk({}, "stop"), {
        choices: [],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      }),
    );
    expect(await answer).toContain('"finish_reason":"stop"');
    expect(gateway.records[0]?.finishReasons).toEqual(["stop"]);
  });

  test("[d8.7] S27: content that is filtered on the way is a finish reason, not an error", async () => {
    const { faults, error, choices } = await play([chunk({ content: "half" }), chunk({}, "content_filter")]);
    expect([faults, error, choices[0]?.finish]).toEqual([[], null, "content_filter"]);
  });

  test("[d8.7] S28: several choices are interleaved under their own numbers", async () => {
    const { faults, choices, stub } = await play(
      [
        choiceChunk({ index: 1, delta: { content: "one" } }),
        choiceChunk({ index: 0, delta: { content: "nought" } }),
        {
          choices: [
            { index: 2, delta: { content: "two" } },
            { index: 1, delta: {}, finish_reason: "stop" },
          ],
        },
        choiceChunk({ index: 0, finish_reason: "length" }),
        choiceChunk({ index: 2, finish_reason: "stop" }),
      ],
      { ask: { n: 3 } },
    );
    expect(faults).toEqual([]);
    expect(choices.map(({ text, finish }) => [text, finish])).toEqual([
      ["nought", "length"],
      ["one", "stop"],
      ["two", "stop"],
    ]);
    expect(JSON.parse(stub.sent[0]!.body)).toMatchObject({ n: 3 });
  });
});

describe("a plain answer", () => {
  async function whole(
    answer: object,
    ask: object = {},
  ): Promise<{ readonly body: Record<string, any>; readonly response: Response }> {
    const gateway = stubGateway({
      upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }),
    });
    const response = await gateway.chat({ ...ASK, ...ask });
    return { response, body: (await response.json()) as Record<string, any> };
  }
  const message = (fields: object, finish: string | null = "stop") => ({
    choices: [{ message: fields, finish_reason: finish }],
  });

  test("[d8.7] N1: the role is assistant, content a text or null, arguments of calls are text and ids are made where they are missing", async () => {
    const { body } = await whole(
      message(
        {
          role: "model",
          tool_calls: [
            { function: { name: "f", arguments: { x: 1 } } },
            { id: "b", type: "function", function: { name: "g" } },
          ],
        },
        "tool_calls",
      ),
    );
    const [first, second] = body["choices"][0].message.tool_calls;
    expect(body["choices"][0].message).toMatchObject({ role: "assistant", content: null });
    expect(first).toMatchObject({
      id: expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/),
      type: "function",
      function: { name: "f", arguments: '{"x":1}' },
    });
    expect(second).toEqual({ id: "b", type: "function", function: { name: "g", arguments: "{}" } });
  });

  test("[d8.7] N1: no two calls have one id, whatever the provider's own are", async () => {
    const tool_calls = ["x", "x_2", "x", "x"].map((id) => ({ id, function: { name: "f", arguments: "{}" } }));
    const { body } = await whole(message({ tool_calls }, "tool_calls"));
    const ids = body["choices"][0].message.tool_calls.map(({ id }: Record<string, any>) => id);
    expect([ids.slice(0, 2), new Set(ids).size]).toEqual([["x", "x_2"], 4]);
  });

  test("[d8.7] N2: no empty tool_calls and no function_call that is null", async () => {
    const { body } = await whole(openaiAnswer("x", { message: { tool_calls: [], function_call: null, audio: null } }));
    expect(Object.keys(body["choices"][0].message).toSorted()).toEqual(["content", "refusal", "role"]);
  });

  test("[d8.7, d8.8] N3: index, finish reason, logprobs and usage are always there", async () => {
    const { body, response } = await whole(
      { choices: [{ message: { content: "a" } }, { message: { content: "b" } }] },
      { n: 2 },
    );
    expect(body["choices"].map((choice: any) => [choice.index, choice.finish_reason, choice.logprobs])).toEqual([
      [0, "stop", null],
      [1, "stop", null],
    ]);
    for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"])
      expect(body["usage"][name]).toBeInteger();
    expect(response.headers.get("x-gateway-warnings")).toBe("usage_estimated");
  });

  test("[d8.7, d8.8] N4: refusal is null or a text, annotations are whole url citations", async () => {
    const citation = {
      type: "url_citation",
      url_citation: { url: "https://a.test", title: "A", start_index: 0, end_index: 1 },
    };
    const { body } = await whole(
      openaiAnswer("x", {
        message: {
          refusal: { odd: true },
          annotations: [
            citation,
            { type: "file_citation" },
            { type: "url_citation", url_citation: { url: "https://b.test" } },
          ],
        },
      }),
    );
    expect(body["choices"][0].message).toMatchObject({ refusal: null, annotations: [citation] });
    const spaced = {
      type: "url_citation",
      url_citation: { ...citation.url_citation, url: "https://a.test/ü b|c?d=%20" },
    };
    const { body: encoded } = await whole(openaiAnswer("x", { message: { annotations: [spaced] } }));
    expect(encoded["choices"][0].message.annotations[0].url_citation.url).toBe("https://a.test/%C3%BC%20b%7Cc?d=%20");
  });

  test("[d8.7, s:response.id, s:response.created, s:response.model] N5: id is not empty, created is in seconds, model is <provider>:<model_name> and so is x-gateway-model", async () => {
    const { body, response } = await whole({
      id: "",
      created: 1_767_000_000_123,
      model: "m-2026-01-01",
      ...message({ content: "x" }),
    });
    expect(body["id"]).toBe(`chatcmpl-${body["x_gateway_trace_id"]}`);
    expect([body["created"], body["model"], response.headers.get("x-gateway-model")]).toEqual([
      1_767_000_000,
      "openai:m",
      "openai:m",
    ]);
  });
});

test("[d8.6] an unknown finish reason ends a stream and a plain answer alike, with the vendor's reason beside it", async () => {
  const streamed = await play([
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Hello" }),
    chunk({}, "satisfied"),
  ]);
  const last = streamed.events.at(-1)!["choices"][0];
  expect([streamed.error, streamed.done, last.finish_reason, last.native_finish_reason]).toEqual([
    null,
    true,
    "stop",
    "satisfied",
  ]);
  const stub = stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("Hello", { finish_reason: "satisfied" })) }),
  });
  const plain = (await (
    await stub.chat({ model: "openai:m", messages: [{ role: "user", content: "Hi" }] })
  ).json()) as { choices: { finish_reason: string; native_finish_reason: string }[] };
  expect([plain.choices[0]!.finish_reason, plain.choices[0]!.native_finish_reason]).toEqual(["stop", "satisfied"]);
});
