// Streamed answers of the Messages API, event by event and cut after each of them.
import { describe, expect, test } from "bun:test";
import type { ChatChunk } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { anthropic } from "../../../src/providers/anthropic/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { createSseParser, type SseEvent } from "../../../src/wire/sse.ts";

const start = (more: object = {}): object => ({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 },
    ...more,
  },
});
const open = (index: number, block: object): object => ({ type: "content_block_start", index, content_block: block });
const delta = (index: number, of: object): object => ({ type: "content_block_delta", index, delta: of });
const close = (index: number): object => ({ type: "content_block_stop", index });
const finish = (reason: string, more: object = {}): readonly object[] => [
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null, ...more }, usage: { output_tokens: 7 } },
  { type: "message_stop" },
];
const textBlock = (index: number, ...pieces: readonly string[]): readonly object[] => [
  open(index, { type: "text", text: "" }),
  ...pieces.map((text) => delta(index, { type: "text_delta", text })),
  close(index),
];
const callBlock = (index: number, name: string, ...pieces: readonly string[]): readonly object[] => [
  open(index, { type: "tool_use", id: `toolu_${index}`, name, input: {} }),
  ...pieces.map((piece) => delta(index, { type: "input_json_delta", partial_json: piece })),
  close(index),
];

const asEvents = (events: readonly object[]): readonly SseEvent[] =>
  events.map((event) => ({ event: (event as { readonly type: string }).type, data: JSON.stringify(event) }));

function decode(events: readonly SseEvent[], memo: unknown = null): readonly ChatChunk[] {
  const decoder = anthropic.openStream({ model: "m", memo });
  return [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
}
const chunksOf = (events: readonly object[], memo?: unknown): readonly ChatChunk[] => decode(asEvents(events), memo);

/** A stream put together as a client does it. */
function assemble(chunks: readonly ChatChunk[]) {
  const whole = {
    content: "",
    reasoning: "",
    refusal: "",
    calls: [] as { id: string; name: string; arguments: string }[],
    details: [] as JsonObject[],
    finish: [] as string[],
    usage: undefined as ChatChunk["usage"],
  };
  for (const { choices, usage } of chunks) {
    if (usage) whole.usage = usage;
    for (const { delta: piece = {}, finish_reason: reason } of choices) {
      whole.content += piece.content ?? "";
      whole.reasoning += piece.reasoning_content ?? "";
      whole.refusal += piece.refusal ?? "";
      whole.details.push(...(piece.reasoning_details ?? []));
      for (const call of piece.tool_calls ?? []) {
        const known = (whole.calls[call.index!] ??= { id: "", name: "", arguments: "" });
        known.id += call.id ?? "";
        known.name += call.function?.name ?? "";
        known.arguments += call.function?.arguments ?? "";
      }
      if (reason) whole.finish.push(reason);
    }
  }
  return whole;
}

describe("events", () => {
  test("text arrives chunk by chunk", () => {
    expect(
      chunksOf([
        start({ usage: { input_tokens: 10, output_tokens: 1, service_tier: "standard" } }),
        ...textBlock(0, "Hel", "", "lo"),
        ...finish("end_turn"),
      ]),
    ).toEqual([
      {
        id: "msg_1",
        choices: [{ index: 0, delta: { role: "assistant" } }],
        usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
        service_tier: "default",
      },
      { choices: [{ index: 0, delta: { content: "Hel" } }] },
      { choices: [{ index: 0, delta: { content: "lo" } }] },
      {
        choices: [{ index: 0, delta: {}, finish_reason: "stop", native_finish_reason: "end_turn" }],
        usage: { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17 },
      },
    ]);
  });
  test("calls are numbered among themselves, and their input is passed on as it is written", () => {
    const events = [
      start(),
      ...textBlock(0, "Let me."),
      ...callBlock(1, "f", "", '{"a": ', "1}"),
      ...callBlock(2, "g", '{"b":2}'),
      ...finish("tool_use"),
    ];
    expect(assemble(chunksOf(events))).toMatchObject({
      content: "Let me.",
      calls: [
        { id: "toolu_1", name: "f", arguments: '{"a": 1}' },
        { id: "toolu_2", name: "g", arguments: '{"b":2}' },
      ],
      finish: ["tool_calls"],
    });
  });
  test("a call without input has an empty object, unless it may have been cut off", () => {
    const events = [start(), ...callBlock(0, "f", ""), ...callBlock(1, "g")];
    expect(assemble(chunksOf([...events, ...finish("tool_use")])).calls.map((call) => call.arguments)).toEqual([
      "{}",
      "{}",
    ]);
    expect(assemble(chunksOf([...events, ...finish("max_tokens")]))).toMatchObject({
      calls: [{ arguments: "{}" }, { arguments: "" }],
      finish: ["length"],
    });
    const whole = open(0, { type: "tool_use", id: "toolu_0", name: "f", input: { a: 1 } });
    expect(assemble(chunksOf([start(), whole, close(0), ...finish("max_tokens")])).calls).toMatchObject([
      { arguments: '{"a":1}' },
    ]);
  });
  test("thinking is streamed as text, and each block's signature follows whole", () => {
    const events = [
      start(),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "Hm, " }),
      delta(0, { type: "thinking_delta", thinking: "yes." }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      close(0),
      open(1, { type: "redacted_thinking", data: "cmVk" }),
      close(1),
      open(2, { type: "thinking", thinking: "", signature: "" }),
      delta(2, { type: "signature_delta", signature: "b25seQ==" }),
      close(2),
      ...textBlock(3, "Yes."),
      ...finish("end_turn"),
    ];
    expect(assemble(chunksOf(events))).toMatchObject({
      content: "Yes.",
      reasoning: "Hm, yes.",
      details: [
        { type: "reasoning.text", text: "Hm, yes.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.encrypted", data: "cmVk", format: "anthropic-claude-v1", index: 1 },
        { type: "reasoning.text", text: "", signature: "b25seQ==", format: "anthropic-claude-v1", index: 2 },
      ],
    });
  });
  test("citations follow once their text is complete", () => {
    const citation = { type: "web_search_result_location", url: "https://example.com/a", title: "A" };
    const events = [
      start(),
      ...textBlock(0, "So: "),
      open(1, { type: "text", text: "", citations: [] }),
      delta(1, { type: "citations_delta", citation }),
      delta(1, { type: "text_delta", text: "true" }),
      close(1),
      ...finish("end_turn"),
    ];
    expect(
      chunksOf(events)
        .map(({ choices }) => choices[0]?.delta?.["annotations"])
        .filter((value) => value !== undefined),
    ).toEqual([
      [
        {
          type: "url_citation",
          url_citation: { start_index: 4, end_index: 8, url: "https://example.com/a", title: "A" },
        },
      ],
    ]);
  });
  test("[d6.8] the forced call of JSON mode is streamed as content", () => {
    const memo = { answerTool: "respond_with_json" };
    expect(
      assemble(
        chunksOf([start(), ...callBlock(0, "respond_with_json", "", '{"a"', ":1}"), ...finish("tool_use")], memo),
      ),
    ).toMatchObject({ content: '{"a":1}', calls: [], finish: ["stop"] });
    expect(
      assemble(chunksOf([start(), ...callBlock(0, "respond_with_json", '{"a"'), ...finish("max_tokens")], memo)),
    ).toMatchObject({ content: '{"a"', finish: ["length"] });
    expect(
      assemble(chunksOf([start(), ...callBlock(0, "respond_with_json"), ...finish("tool_use")], memo)).content,
    ).toBe("{}");
    expect(assemble(chunksOf([start(), ...callBlock(0, "f", "{}"), ...finish("tool_use")], memo))).toMatchObject({
      content: "",
      calls: [{ name: "f" }],
      finish: ["tool_calls"],
    });
  });
  test("blocks that message_start already contains are sent first", () => {
    const content = [
      {
        type: "tool_use",
        id: "toolu_9",
        name: "f",
        input: { a: 1 },
        caller: { type: "code_execution_20250825", tool_id: "s" },
      },
    ];
    const chunks = chunksOf([start({ content, stop_reason: "tool_use" }), { type: "message_stop" }]);
    expect(assemble(chunks)).toMatchObject({
      calls: [{ id: "toolu_9", name: "f", arguments: '{"a":1}' }],
      finish: ["tool_calls"],
    });
    expect(chunks[1]?.choices[0]?.delta?.tool_calls?.[0]?.extra_content).toEqual({
      anthropic: { caller: { type: "code_execution_20250825", tool_id: "s" } },
    });
  });
  test("a refusal keeps its explanation", () => {
    const events = [
      start(),
      ...textBlock(0, "Par"),
      ...finish("refusal", { stop_details: { type: "refusal", category: null, explanation: "Not this." } }),
    ];
    expect(assemble(chunksOf(events))).toMatchObject({
      content: "Par",
      refusal: "Not this.",
      finish: ["content_filter"],
    });
  });
  test("tools that the vendor runs, pings and unknown events are skipped", () => {
    const events = [
      start(),
      { type: "ping" },
      open(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
      delta(0, { type: "input_json_delta", partial_json: '{"query":"q"}' }),
      close(0),
      open(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
      close(1),
      { type: "block_of_tomorrow", index: 2 },
      open(3, { type: "hologram" }),
      delta(3, { type: "hologram_delta", light: "x" }),
      close(3),
      ...textBlock(4, "Found."),
      ...finish("end_turn"),
    ];
    expect(assemble(chunksOf(events))).toMatchObject({ content: "Found.", calls: [], finish: ["stop"] });
    expect(
      decode([...asEvents([start(), ...textBlock(0, "x"), ...finish("end_turn")]), { event: "", data: "[DONE]" }]),
    ).toHaveLength(3);
  });
});

describe("usage", () => {
  test("message_delta corrects message_start and leaves other figures unchanged", () => {
    const last = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: null,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 3 },
      },
    };
    expect(assemble(chunksOf([start(), last, { type: "message_stop" }])).usage).toEqual({
      prompt_tokens: 45,
      completion_tokens: 9,
      total_tokens: 54,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });
  test("message_delta whose figures of the prompt are zero leaves those of message_start", () => {
    const told = { input_tokens: 10, cache_creation_input_tokens: 6, cache_creation: { ephemeral_1h_input_tokens: 6 } };
    const zero = { input_tokens: 0, cache_creation_input_tokens: 0, cache_creation: { ephemeral_1h_input_tokens: 0 } };
    const last = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { ...zero, output_tokens: 7 },
    };
    expect(assemble(chunksOf([start({ usage: told }), last, { type: "message_stop" }])).usage).toEqual({
      prompt_tokens: 16,
      completion_tokens: 7,
      total_tokens: 23,
      prompt_tokens_details: { cache_write_tokens: 6, cache_write_1h_tokens: 6 },
    });
  });
  test("usage without an end is counted and ends nothing", () => {
    expect(chunksOf([start(), { type: "message_delta", delta: {}, usage: { output_tokens: 4 } }]).at(-1)).toMatchObject(
      { choices: [], usage: { completion_tokens: 4 } },
    );
  });
});

test("[d12.9] a delta of an unknown type is kept with its block, whatever its name", () => {
  for (const type of ["hologram_delta", "constructor"]) {
    const events = [start(), open(0, { type: "hologram" }), delta(0, { type, light: "x" }), close(0)];
    const carried = chunksOf([...events, ...finish("end_turn")]).flatMap(({ choices }) =>
      choices.flatMap(({ delta: piece }) => piece?.["extra_content"] ?? []),
    );
    expect(carried).toEqual([{ anthropic: { content: [{ type: "hologram", light: "x" }] } }]);
  }
});

test("a turn is not carried whose blocks are too long to be kept, also where they come whole", () => {
  const result = (index: number, length: number): readonly object[] => [
    open(index, { type: "web_search_tool_result", tool_use_id: "s", content: "x".repeat(length) }),
    close(index),
  ];
  const carriedOf = (length: number) =>
    chunksOf([start(), ...[0, 1, 2].flatMap((index) => result(index, length)), ...finish("end_turn")])
      .flatMap(({ choices }) => choices)
      .filter(({ delta: piece }) => piece?.extra_content !== undefined).length;
  expect([carriedOf(1000), carriedOf(6 * 1024 * 1024)]).toEqual([1, 0]);
});

describe("broken streams", () => {
  const whole = [start(), ...textBlock(0, "Let me."), ...callBlock(1, "f", '{"a":', "1}"), ...finish("tool_use")];

  test("[d8.3] a stream that is cut after any event has no finish reason that the vendor did not send", () => {
    for (let length = 0; length < whole.length - 2; length++)
      expect(assemble(chunksOf(whole.slice(0, length))).finish).toEqual([]);
    expect(assemble(chunksOf(whole.slice(0, -1))).finish).toEqual(["tool_calls"]);
    expect(assemble(chunksOf(whole)).finish).toEqual(["tool_calls"]);
  });
  test("[d8.3] an end without a reason does not count as an end", () => {
    const [text, call] = [textBlock(0, "Let me."), callBlock(1, "f", "")];
    expect(
      assemble(
        chunksOf([
          start(),
          ...text,
          ...call,
          { type: "message_delta", delta: { stop_reason: null } },
          { type: "message_stop" },
        ]),
      ).finish,
    ).toEqual([]);
  });
  test("bytes cut anywhere give the same answer", () => {
    const bytes = Buffer.from(
      asEvents([start(), ...textBlock(0, "Gr", "üße 🌍"), ...callBlock(1, "f", '{"ü":1}'), ...finish("tool_use")])
        .map(({ event, data }) => `event: ${event}\r\ndata: ${data}\r\n\r\n`)
        .join(""),
    );
    for (const size of [1, 7, bytes.length]) {
      const parser = createSseParser({ maxEventBytes: 100_000 });
      const events: SseEvent[] = [];
      for (let at = 0; at < bytes.length; at += size) events.push(...parser.push(bytes.subarray(at, at + size)));
      expect(assemble(decode([...events, ...parser.end()]))).toMatchObject({
        content: "Grüße 🌍",
        calls: [{ arguments: '{"ü":1}' }],
        finish: ["tool_calls"],
      });
    }
  });
  test.each([
    [
      "event: error",
      {
        event: "error",
        data: '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}',
      },
      "overloaded",
    ],
    [
      "no name",
      { event: "", data: '{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}' },
      "rate_limit",
    ],
    ["a proxy's form", { event: "", data: '{"error":"upstream broke"}' }, "server"],
    ["no JSON", { event: "error", data: "upstream connect error" }, "server"],
  ] as const)("an error in the stream keeps its class: %s", (_, event, failureClass) => {
    const decoder = anthropic.openStream({ model: "m", memo: null });
    for (const each of asEvents([start(), ...textBlock(0, "Let")])) decoder.push(each);
    try {
      decoder.push(event);
      throw new Error("it was taken");
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(StreamError);
      expect((thrown as StreamError).failure.class).toBe(failureClass);
    }
  });
  test.each(["{", "[]", '"x"', "7"])("an event that contains %s is malformed", (data) => {
    expect(() => anthropic.openStream({ model: "m", memo: null }).push({ event: "", data })).toThrow(MalformedAnswer);
  });
});

test("[d8.5] a stream of long citations in one text, and one of blocks without end, end where they hold too much", () => {
  const cited = (): readonly object[] => {
    const citation = {
      type: "web_search_result_location",
      url: "https://example.com",
      cited_text: "x".repeat(4_194_304),
    };
    return [
      start(),
      open(0, { type: "text", text: "" }),
      ...Array.from({ length: 5 }, () => delta(0, { type: "citations_delta", citation })),
    ];
  };
  const blocks = (): readonly object[] => [
    start(),
    ...Array.from({ length: 70_000 }, (_, index) => open(index, { type: "text", text: "" })),
  ];
  for (const events of [cited(), blocks()]) {
    const decoder = anthropic.openStream({ model: "claude", memo: null });
    expect(() => {
      for (const event of asEvents(events)) decoder.push(event);
    }).toThrow(MalformedAnswer);
  }
});
