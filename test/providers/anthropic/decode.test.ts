// Whole answers of the Messages API.
import { describe, expect, test } from "bun:test";
import type { AnswerChoice, ChatAnswer, Message } from "../../../src/core/chat.ts";
import { anthropic } from "../../../src/providers/anthropic/provider.ts";
import { turnContent } from "../../../src/providers/anthropic/turn-content.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";

const USAGE = { input_tokens: 10, output_tokens: 5 };

function decode(answer: object, memo: unknown = null): ChatAnswer {
  return anthropic.decodeResponse(
    JSON.stringify({
      type: "message",
      id: "msg_1",
      role: "assistant",
      stop_reason: "end_turn",
      usage: USAGE,
      ...answer,
    }),
    { model: "m", memo },
  );
}
function choice(answer: object, memo?: unknown): AnswerChoice {
  return decode(answer, memo).choices[0]!;
}

describe("content", () => {
  test("text blocks are joined into one text, and the id is the vendor's", () => {
    expect(
      decode({
        content: [
          { type: "text", text: "A " },
          { type: "text", text: "b" },
        ],
      }),
    ).toEqual({
      id: "msg_1",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "A b" },
          finish_reason: "stop",
          native_finish_reason: "end_turn",
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  });
  test("an empty answer is an empty text", () => {
    expect(choice({ content: [] })).toMatchObject({ message: { content: "" }, finish_reason: "stop" });
  });
  test("white space before the body is ignored", () => {
    expect(
      anthropic.decodeResponse(`\n\n  ${JSON.stringify({ content: [{ type: "text", text: "x" }] })}`, {
        model: "m",
        memo: null,
      }).choices[0]?.message.content,
    ).toBe("x");
  });
  test("thinking is reasoning text, and each block keeps its signature", () => {
    const content = [
      { type: "thinking", thinking: "One. ", signature: "czE=" },
      { type: "redacted_thinking", data: "cmVk" },
      { type: "thinking", thinking: "Two.", signature: "czI=" },
      { type: "thinking", thinking: "", signature: "" },
      { type: "text", text: "So." },
    ];
    expect(choice({ content }).message).toEqual({
      role: "assistant",
      content: "So.",
      reasoning_content: "One. Two.",
      reasoning_details: [
        { type: "reasoning.text", text: "One. ", signature: "czE=", format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.encrypted", data: "cmVk", format: "anthropic-claude-v1", index: 1 },
        { type: "reasoning.text", text: "Two.", signature: "czI=", format: "anthropic-claude-v1", index: 2 },
      ],
    });
  });
  test("thinking that the vendor withholds keeps its signature", () => {
    const { message } = choice({
      content: [
        { type: "thinking", thinking: "", signature: "czE=" },
        { type: "text", text: "So." },
      ],
    });
    expect(message.reasoning_content).toBeUndefined();
    expect(message.reasoning_details).toEqual([
      { type: "reasoning.text", text: "", signature: "czE=", format: "anthropic-claude-v1", index: 0 },
    ]);
  });
  test("calls keep every digit of their input, beside text or alone", () => {
    const body =
      '{"content":[{"type":"text","text":"Let me."},{"type":"tool_use","id":"toolu_1","name":"f","input":{"n":12345678901234567890},"caller":{"type":"direct"}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}],"stop_reason":"tool_use"}';
    expect(anthropic.decodeResponse(body, { model: "m", memo: null }).choices).toEqual([
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Let me.",
          tool_calls: [
            { id: "toolu_1", type: "function", function: { name: "f", arguments: '{"n":12345678901234567890}' } },
            { id: "toolu_2", type: "function", function: { name: "g", arguments: "{}" } },
          ],
        },
        finish_reason: "tool_calls",
        native_finish_reason: "tool_use",
      },
    ]);
    expect(choice({ content: [{ type: "tool_use", id: "t", name: "g", input: {} }] }).message.content).toBeNull();
  });
  test("tools that the vendor ran are not calls, and are kept beside the message; their sources become annotations of the text before them", () => {
    const cited = {
      type: "web_search_result_location",
      url: "https://example.com/a",
      title: "A",
      cited_text: "..",
      encrypted_index: "x",
    };
    const content = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      { type: "text", text: "Known: " },
      {
        type: "text",
        text: "it is so.",
        citations: [
          cited,
          { type: "char_location", document_index: 0, document_title: "D", start_char_index: 0, end_char_index: 4 },
        ],
      },
      {
        type: "text",
        text: " And so.",
        citations: [{ type: "search_result_location", source: "https://example.com/b", title: null }],
      },
    ];
    expect(choice({ content }).message).toEqual({
      role: "assistant",
      content: "Known: it is so. And so.",
      annotations: [
        {
          type: "url_citation",
          url_citation: { start_index: 7, end_index: 16, url: "https://example.com/a", title: "A" },
        },
        {
          type: "url_citation",
          url_citation: {
            start_index: 16,
            end_index: 24,
            url: "https://example.com/b",
            title: "https://example.com/b",
          },
        },
      ],
      extra_content: { anthropic: { content } },
    });
  });
  test("[d12.9] the places of a citation in a search result are kept beside the message, and go back with the turn", () => {
    const places = { search_result_index: 0, start_block_index: 1, end_block_index: 2, cited_text: "It." };
    const cited = { type: "search_result_location", source: "https://example.com/b", title: "B", ...places };
    const content = [{ type: "text", text: "It is so.", citations: [cited] }];
    const { message } = choice({ content });
    expect(message).toMatchObject({
      content: "It is so.",
      annotations: [{ type: "url_citation", url_citation: { url: "https://example.com/b", title: "B" } }],
      extra_content: { anthropic: { content } },
    });
    expect(turnContent(message as unknown as Message)).toEqual(content);
  });
  test("[d12.9] blocks of types that a message cannot say are kept beside it, whatever their names", () => {
    for (const type of ["hologram", "constructor"]) {
      const content = [
        { type, light: "x" },
        { type: "text", text: "It is so." },
      ];
      expect(choice({ content }).message).toMatchObject({ extra_content: { anthropic: { content } } });
    }
  });
  test("a call without input has an empty object, unless it may have been cut off", () => {
    const call = (input: object) => ({ type: "tool_use", id: "t", name: "f", input });
    const written = (stop_reason: string, ...inputs: readonly object[]) =>
      choice({ content: inputs.map(call), stop_reason }).message.tool_calls!.map((made) => made.function.arguments);
    expect(written("tool_use", {}, {})).toEqual(["{}", "{}"]);
    expect(written("max_tokens", {}, {})).toEqual(["{}", ""]);
    expect(written("max_tokens", {}, { a: 1 })).toEqual(["{}", '{"a":1}']);
  });
  test("[d6.8] the forced call of JSON mode becomes content again, and a cut-off one keeps length and is JSON where it is empty", () => {
    const content = [{ type: "tool_use", id: "t", name: "respond_with_json", input: { a: [1] } }];
    const memo = { answerTool: "respond_with_json" };
    expect(choice({ content, stop_reason: "tool_use" }, memo)).toEqual({
      index: 0,
      message: { role: "assistant", content: '{"a":[1]}' },
      finish_reason: "stop",
      native_finish_reason: "tool_use",
    });
    expect(choice({ content, stop_reason: "max_tokens" }, memo).finish_reason).toBe("length");
    const cutBefore = [{ ...content[0], input: {} }];
    expect(choice({ content: cutBefore, stop_reason: "max_tokens" }, memo).message.content).toBe("{}");
    expect(
      choice(
        { content: [...content, { type: "tool_use", id: "u", name: "f", input: {} }], stop_reason: "tool_use" },
        memo,
      ),
    ).toMatchObject({ message: { content: '{"a":[1]}', tool_calls: [{ id: "u" }] }, finish_reason: "tool_calls" });
  });
});

describe("the end", () => {
  const text = [{ type: "text", text: "x" }];
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["compaction", "length"],
    ["refusal", "content_filter"],
    ["something_new", "stop"],
  ] as const)("%s becomes %s", (reason, finish) => {
    expect(choice({ content: text, stop_reason: reason })).toMatchObject({
      finish_reason: finish,
      native_finish_reason: reason,
    });
  });
  test("[d8.6] calls and a normal end say tool_calls, a cut or refused answer does not", () => {
    const content = [{ type: "tool_use", id: "t", name: "f", input: {} }];
    expect(
      ["end_turn", "tool_use", "max_tokens", "refusal"].map(
        (reason) => choice({ content, stop_reason: reason }).finish_reason,
      ),
    ).toEqual(["tool_calls", "tool_calls", "length", "content_filter"]);
  });
  test("a missing reason stays missing", () => {
    expect(choice({ content: text, stop_reason: null }).finish_reason).toBeNull();
  });
  test("a refusal keeps its explanation", () => {
    expect(
      choice({
        content: [],
        stop_reason: "refusal",
        stop_details: { type: "refusal", category: "bio", explanation: "Not this." },
      }),
    ).toMatchObject({ message: { content: "", refusal: "Not this." }, finish_reason: "content_filter" });
  });
});

describe("usage", () => {
  test("the prompt includes tokens read from and written to the cache; thinking is counted where it is reported", () => {
    const usage = {
      input_tokens: 3,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 100,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 4 },
      service_tier: "priority",
    };
    expect(decode({ content: [], usage })).toMatchObject({
      usage: {
        prompt_tokens: 123,
        completion_tokens: 7,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
      service_tier: "priority",
    });
  });
  test("a figure that was not reported is absent", () => {
    expect(
      decode({ content: [], usage: { ...USAGE, cache_read_input_tokens: null, service_tier: "batch" } }),
    ).toMatchObject({ usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
    expect(decode({ content: [], usage: null }).usage).toBeNull();
  });
  test("[d8.9] the usage says where the model ran, which can change the price", () => {
    const usage = { input_tokens: 1, output_tokens: 1, inference_geo: "us" };
    expect(decode({ content: [], usage }).usage).toMatchObject({ inference_geo: "us" });
    const unknown = decode({ content: [], usage: { ...usage, inference_geo: "not_available" } }).usage;
    expect(unknown).not.toHaveProperty("inference_geo");
    expect(decode({ content: [], usage: { ...USAGE, service_tier: "batch" } })).not.toHaveProperty("service_tier");
  });
});

describe("invalid answers", () => {
  const decodeBody = (body: string) => () => anthropic.decodeResponse(body, { model: "m", memo: null });
  test("an error inside a 200 answer is that error", () => {
    try {
      decodeBody('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')();
      throw new Error("it was decoded");
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(StreamError);
      expect((thrown as StreamError).failure).toEqual({
        class: "overloaded",
        message: "Overloaded",
        param: null,
        nativeCode: "overloaded_error",
      });
    }
  });
  test.each(["", "<html></html>", "[]", "null", '{"id":"x"}', '{"content":"text"}', '{"content":[{"type":"te'])(
    "%j is malformed",
    (body) => {
      expect(decodeBody(body)).toThrow(MalformedAnswer);
    },
  );
});
