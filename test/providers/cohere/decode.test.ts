// Cohere's answers, whole and streamed, beyond what the examples of the contract suite show: figures, likelihoods, citations, odd calls, failures.
import { describe, expect, test } from "bun:test";
import { cohere } from "../../../src/providers/cohere/provider.ts";
import { StreamError } from "../../../src/providers/interface/upstream-failure.ts";

const CONTEXT = { model: "m", memo: null };
const decode = (message: object, more: object = {}): any =>
  cohere.decodeResponse(
    JSON.stringify({ id: "c1", finish_reason: "COMPLETE", message: { role: "assistant", ...message }, ...more }),
    CONTEXT,
  );
const TEXT = { content: [{ type: "text", text: "Hello" }] };

function chunks(...events: readonly object[]): readonly any[] {
  const decoder = cohere.openStream(CONTEXT);
  return [...events.flatMap((event) => decoder.push({ event: "", data: JSON.stringify(event) })), ...decoder.end()];
}
const said = (type: string, message: object, more: object = {}) => ({ type, delta: { message }, ...more });
function failureOf(run: () => unknown) {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof StreamError) return thrown.failure;
    throw thrown;
  }
  throw new Error("nothing was thrown");
}

test("calls with interleaved pieces keep their own", () => {
  const start = (index: number, name: string) =>
    said(
      "tool-call-start",
      { tool_calls: { id: name, type: "function", function: { name, arguments: "" } } },
      { index },
    );
  const piece = (index: number, text: string) =>
    said("tool-call-delta", { tool_calls: { function: { arguments: text } } }, { index });
  const told: string[] = [];
  for (const chunk of chunks(
    start(0, "f"),
    start(1, "g"),
    piece(0, '{"a"'),
    piece(1, '{"b"'),
    piece(0, ":1}"),
    piece(1, ":2}"),
  ))
    for (const call of chunk.choices[0].delta.tool_calls)
      told[call.index] = (told[call.index] ?? "") + (call.function.name ?? "") + call.function.arguments;
  expect(told).toEqual(['f{"a":1}', 'g{"b":2}']);
});

describe("figures", () => {
  test("are those of the tokens, with the billed ones beside them", () => {
    const usage = {
      billed_units: { input_tokens: 5, output_tokens: 3 },
      tokens: { input_tokens: 72, output_tokens: 9, reasoning_tokens: 4, image_tokens: 60 },
      cached_tokens: 64,
    };
    expect(decode(TEXT, { usage })["usage"]).toEqual({
      prompt_tokens: 72,
      completion_tokens: 9,
      total_tokens: 81,
      prompt_tokens_details: { cached_tokens: 64, image_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 4 },
      billed_units: usage.billed_units,
    });
    expect(decode(TEXT, { usage: { billed_units: { input_tokens: 5, output_tokens: 3 } } })["usage"]).toMatchObject({
      prompt_tokens: 5,
      completion_tokens: 3,
    });
    expect(decode(TEXT)["usage"]).toBeNull();
  });
  test("of log probabilities have one entry for each piece of text", () => {
    const logprobs = [
      { text: "He", token_ids: [1], logprobs: [-0.5] },
      { text: "llo", token_ids: [2, 3], logprobs: [-0.25, -0.5] },
    ];
    const entry = (token: string, logprob: number) => ({
      token,
      logprob,
      bytes: [...Buffer.from(token)],
      top_logprobs: [],
    });
    expect(decode(TEXT, { logprobs })["choices"][0].logprobs).toEqual({
      content: [entry("He", -0.5), entry("llo", -0.75)],
      refusal: null,
    });
    const [chunk] = chunks(said("content-delta", { content: { text: "He" } }, { index: 0, logprobs: logprobs[0] }));
    expect(chunk.choices[0].logprobs).toEqual({ content: [entry("He", -0.5)], refusal: null });
  });
});

describe("ends", () => {
  test.each([
    ["COMPLETE", "stop"],
    ["STOP_SEQUENCE", "stop"],
    ["MAX_TOKENS", "length"],
    ["TOOL_CALL", "tool_calls"],
    ["ERROR_TOXIC", "content_filter"],
    ["ERROR_LIMIT", "length"],
    ["SOMETHING_NEW", "stop"],
  ])("%s becomes %s", (word, finish) => {
    const expected = { finish_reason: finish, native_finish_reason: word };
    expect(decode(TEXT, { finish_reason: word })["choices"][0]).toMatchObject(expected);
    expect(chunks({ type: "message-end", delta: { finish_reason: word } })[0].choices[0]).toMatchObject(expected);
  });
  test.each([
    ["ERROR", "The GPU is gone.", "server"],
    ["ERROR", "too many tokens: size limit exceeded by 20 tokens", "context_length"],
    ["TIMEOUT", undefined, "timeout"],
  ] as const)("%s with %s is a failure of class %s", (word, error, failureClass) => {
    const failures = [
      failureOf(() => decode(TEXT, { finish_reason: word, error })),
      failureOf(() => chunks({ type: "message-end", delta: { finish_reason: word, error } })),
    ];
    for (const failure of failures)
      expect(failure).toMatchObject({
        class: failureClass,
        nativeCode: word,
        message: error ?? "The provider ended its answer with TIMEOUT.",
      });
  });
  test("[d8.3] an error without a finish reason is a failure and no end of the answer", () => {
    const error = "The GPU is gone.";
    const failures = [
      failureOf(() => decode(TEXT, { finish_reason: undefined, error })),
      failureOf(() => chunks({ type: "message-end", delta: { error } })),
      failureOf(() => chunks({ type: "message-end", delta: { finish_reason: null, error } })),
    ];
    for (const failure of failures) expect(failure).toMatchObject({ class: "server", message: error });
  });
  test("a stream without message-end has no finish reason", () => {
    expect(
      chunks(said("content-delta", { content: { text: "Hello" } }), { type: "content-end", index: 0 })
        .flatMap((chunk) => chunk.choices)
        .some((choice) => "finish_reason" in choice),
    ).toBe(false);
  });
  test("events after the end, and empty events, are skipped", () => {
    expect(
      chunks({ type: "debug", prompt: "secret" }, { type: "tool-call-end", index: 0 }, { type: "something-new" }),
    ).toEqual([]);
    expect(
      chunks(
        { type: "message-end", delta: { finish_reason: "COMPLETE" } },
        { type: "message-end", delta: { finish_reason: "ERROR" } },
      ),
    ).toHaveLength(1);
  });
});

describe("citations", () => {
  const web = { type: "document", id: "doc:0", document: { url: "https://example.com/a", title: "A" } };
  const output = { type: "tool", id: "w1:0", tool_output: { url: "https://example.com/b" } };
  const cite = (sources: readonly object[], more: object = {}) => ({ start: 1, end: 4, text: "ell", sources, ...more });
  const annotation = (url: string, title: string, from: number) => ({
    type: "url_citation",
    url_citation: { start_index: from, end_index: from + 3, url, title },
  });

  test("with an address become annotations, and the vendor's own list stays", () => {
    const citations = [cite([web, output]), cite([{ type: "tool", id: "w1:0", tool_output: { rain: true } }])];
    expect(decode({ ...TEXT, citations })["choices"][0].message).toMatchObject({
      annotations: [
        annotation("https://example.com/a", "A", 1),
        annotation("https://example.com/b", "https://example.com/b", 1),
      ],
      citations,
    });
  });
  test("of thinking or the plan do not refer to the text", () => {
    for (const type of ["THINKING_CONTENT", "PLAN"])
      expect("annotations" in decode({ ...TEXT, citations: [cite([web], { type })] })["choices"][0].message).toBe(
        false,
      );
  });
  test("count from the block that they name", () => {
    const content = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "12345" },
      { type: "text", text: "Hello" },
    ];
    const citation = cite([web], { content_index: 2 });
    expect(decode({ content, citations: [citation] })["choices"][0].message["annotations"]).toEqual([
      annotation("https://example.com/a", "A", 6),
    ]);
    const streamed = chunks(
      ...content.map((block, index) => said("content-start", { content: block }, { index })),
      said("citation-start", { citations: citation }, { index: 0 }),
    );
    expect(streamed.at(-1).choices[0].delta).toEqual({
      annotations: [annotation("https://example.com/a", "A", 6)],
      citations: [citation],
    });
  });
});

describe("calls", () => {
  test("without arguments have an empty object, in whatever form", () => {
    for (const text of ["null", "", undefined, {}])
      expect(
        decode(
          { tool_calls: [{ id: "a", type: "function", function: { name: "clock", arguments: text } }] },
          { finish_reason: "TOOL_CALL" },
        )["choices"][0].message,
      ).toEqual({
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "clock", arguments: "{}" } }],
      });
  });
  test("keep arguments that are not JSON unchanged", () => {
    expect(
      decode(
        { tool_calls: [{ id: "a", function: { name: "clock", arguments: '{"cut' } }] },
        { finish_reason: "MAX_TOKENS" },
      )["choices"][0].message["tool_calls"][0].function.arguments,
    ).toBe('{"cut');
    expect(
      decode({ tool_calls: [{ id: "a", function: { name: "clock" } }] }, { finish_reason: "MAX_TOKENS" })["choices"][0]
        .message["tool_calls"][0].function.arguments,
    ).toBe("");
  });
  test("of a stream are distinguished by their index", () => {
    const start = (index: number, name: string) =>
      said(
        "tool-call-start",
        { tool_calls: { id: `id_${index}`, type: "function", function: { name, arguments: "" } } },
        { index },
      );
    const piece = (text: string) => said("tool-call-delta", { tool_calls: { function: { arguments: text } } });
    const deltas = chunks(start(0, "a"), piece("null"), start(1, "b"), piece('{"x":'), piece("null"), piece("}")).map(
      (chunk) => chunk.choices[0].delta.tool_calls[0],
    );
    expect(deltas.map(({ index, function: called }) => [index, called.name, called.arguments])).toEqual([
      [0, "a", ""],
      [1, "b", ""],
      [1, undefined, '{"x":'],
      [1, undefined, "null"],
      [1, undefined, "}"],
    ]);
  });
});
