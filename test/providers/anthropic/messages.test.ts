// Conversations as the Messages API takes them: turns, calls and results, thinking, parts. Each request is parsed from the text that a client would
// send.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import type { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { anthropic } from "../../../src/providers/anthropic/provider.ts";
import { targetFor } from "../../harness/targets.ts";
import { refusedBy } from "../refused.ts";

const ASK = [{ role: "user", content: "What is a dragoman?" }];
const TARGET = targetFor(anthropic, { model: "claude-sonnet-4-6" });

function body(messages: readonly object[]): string {
  return anthropic.encodeRequest(parseChatRequest(JSON.stringify({ model: "anthropic:x", messages })), TARGET).request
    .body;
}
function sent(messages: readonly object[]): Record<string, unknown> {
  return JSON.parse(body(messages)) as Record<string, unknown>;
}
function turns(messages: readonly object[]): unknown {
  return sent(messages)["messages"];
}
const refusal = (messages: readonly object[]): GatewayError => refusedBy(() => body(messages));
const call = (id: string, name: string, text: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name, arguments: text },
  ...more,
});

describe("turns", () => {
  test("one system message is a string; system and developer messages from anywhere stand together, as blocks", () => {
    expect(sent([{ role: "system", content: "Be brief." }, ...ASK])).toMatchObject({
      system: "Be brief.",
      messages: ASK,
    });
    const marked = { type: "text", text: "Long.", cache_control: { type: "ephemeral" } };
    expect(
      sent([{ role: "system", content: [marked] }, ...ASK, { role: "developer", content: "Now in French." }]),
    ).toMatchObject({
      system: [marked, { type: "text", text: "Now in French." }],
      messages: ASK,
    });
    expect(sent([{ role: "system", content: "" }, ...ASK])).not.toHaveProperty("system");
  });
  test("an image in a system message is refused with its path", () => {
    const error = refusal([
      { role: "system", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
      ...ASK,
    ]);
    expect([error.code, error.param]).toEqual(["unsupported_content_block", "messages[0].content"]);
  });
  test("neighbouring messages of one role become one turn, and the results of tools stand first in it", () => {
    expect(
      turns([
        { role: "user", content: "a" },
        { role: "user", content: [{ type: "text", text: "b" }] },
        { role: "assistant", content: "c", tool_calls: [call("t1", "f", '{"x":1}'), call("t2", "g", "")] },
        { role: "user", content: "never mind" },
        { role: "tool", tool_call_id: "t1", content: "one" },
        {
          role: "tool",
          tool_call_id: "t2",
          content: [
            { type: "text", text: "two" },
            { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
          ],
        },
      ]),
    ).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "c" },
          { type: "tool_use", id: "t1", name: "f", input: { x: 1 } },
          { type: "tool_use", id: "t2", name: "g", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", content: "one" },
          {
            type: "tool_result",
            tool_use_id: "t2",
            content: [
              { type: "text", text: "two" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } },
            ],
          },
          { type: "text", text: "never mind" },
        ],
      },
    ]);
  });
  test("white space before a call is left out, unless it is marked or stands beside a text", () => {
    const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
    const marked = text(" ", { cache_control: { type: "ephemeral" } });
    const blocks = (content: unknown) =>
      (
        turns([...ASK, { role: "assistant", content, tool_calls: [call("t1", "f", "{}")] }]) as { content: unknown }[]
      )[1]!.content;
    const made = { type: "tool_use", id: "t1", name: "f", input: {} };
    for (const blank of ["\n\n", [text(" "), text("\n")]]) expect(blocks(blank)).toEqual([made]);
    for (const kept of [[marked], [text("\n"), text("Hm.")]]) expect(blocks(kept)).toEqual([...kept, made]);
    // alone, it is the vendor's to judge
    expect(turns([...ASK, { role: "assistant", content: " " }])).toEqual([...ASK, { role: "assistant", content: " " }]);
  });
  test("empty messages and parts leave no turn and no block behind", () => {
    expect(
      turns([
        ...ASK,
        { role: "assistant", content: "" },
        {
          role: "user",
          content: [
            { type: "text", text: "" },
            { type: "text", text: "still" },
          ],
        },
      ]),
    ).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is a dragoman?" },
          { type: "text", text: "still" },
        ],
      },
    ]);
  });
  test("arguments that are not an object reach the model wrapped, with all digits", () => {
    const inputs = turns([
      ...ASK,
      {
        role: "assistant",
        content: null,
        tool_calls: [
          call("a", "f", '{"city": "To'),
          call("b", "f", "[1]"),
          call("c", "f", '{"n":12345678901234567890}'),
        ],
      },
    ]);
    expect(inputs).toMatchObject([
      {},
      { content: [{ input: { INVALID_JSON: '{"city": "To' } }, { input: { INVALID_JSON: "[1]" } }, {}] },
    ]);
    expect(
      body([...ASK, { role: "assistant", content: null, tool_calls: [call("c", "f", '{"n":12345678901234567890}')] }]),
    ).toContain('"input":{"n":12345678901234567890}');
  });
  test("[d6.10] ids that the vendor refuses are changed at both ends of a call, and two of them never become equal", () => {
    const [, calls, results] = turns([
      ...ASK,
      {
        role: "assistant",
        content: null,
        tool_calls: [call("call.1:a", "f", "{}"), call("call_1.a", "f", "{}"), call("call_1_a", "f", "{}")],
      },
      ...["call.1:a", "call_1.a", "call_1_a"].map((id) => ({ role: "tool", tool_call_id: id, content: "" })),
    ]) as [unknown, any, any];
    const ids = calls.content.map((block: any) => block.id);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect([new Set(ids).size, ids[2]]).toEqual([3, "call_1_a"]);
    expect(results.content.map((block: any) => block.tool_use_id)).toEqual(ids);
  });
  test("a result that reports a failed tool reports it to the vendor", () => {
    expect(
      turns([
        ...ASK,
        { role: "assistant", content: null, tool_calls: [call("a", "f", "{}")] },
        { role: "tool", tool_call_id: "a", content: "no", is_error: true },
      ]),
    ).toMatchObject([{}, {}, { content: [{ type: "tool_result", is_error: true }] }]);
  });
  test("the deprecated function messages become calls and results as well", () => {
    expect(
      turns([
        ...ASK,
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "f", content: "42" },
      ]),
    ).toMatchObject([
      {},
      { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "42" }] },
    ]);
  });
  test("a refusal of an earlier answer becomes text", () => {
    expect(turns([...ASK, { role: "assistant", content: "", refusal: "I will not." }, ...ASK])).toMatchObject([
      {},
      { role: "assistant", content: [{ type: "text", text: "I will not." }] },
      {},
    ]);
    expect(
      turns([...ASK, { role: "assistant", content: [{ type: "refusal", refusal: "No." }] }, ...ASK]),
    ).toMatchObject([{}, { content: [{ type: "text", text: "No." }] }, {}]);
  });
  test("cache_control of a message marks its last block, that of a part or call its own", () => {
    const mark = { type: "ephemeral", ttl: "1h" };
    expect(
      turns([
        { role: "user", content: "a", cache_control: mark },
        { role: "assistant", content: "b", tool_calls: [call("t", "f", "{}", { cache_control: mark })] },
        { role: "tool", tool_call_id: "t", content: "c", cache_control: mark },
        {
          role: "user",
          content: [
            { type: "text", text: "d", cache_control: mark },
            { type: "text", text: "e" },
          ],
        },
      ]),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "a", cache_control: mark }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "b" },
          { type: "tool_use", id: "t", name: "f", input: {}, cache_control: mark },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t", content: "c", cache_control: mark },
          { type: "text", text: "d", cache_control: mark },
          { type: "text", text: "e" },
        ],
      },
    ]);
  });
  test("blocks of the vendor's own form pass unchanged", () => {
    const blocks = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    ];
    expect(turns([...ASK, { role: "assistant", content: blocks }, ...ASK])).toMatchObject([
      {},
      { role: "assistant", content: blocks },
      {},
    ]);
  });
});

describe("thinking that is sent back", () => {
  const answer = (...details: object[]) => ({
    role: "assistant",
    content: "Sure.",
    reasoning_details: details,
    tool_calls: [call("t", "f", "{}")],
  });
  test("signed and redacted blocks stand first in their turn, unchanged", () => {
    expect(
      turns([
        ...ASK,
        answer(
          { type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
          { type: "reasoning.encrypted", data: "cmVk", format: "anthropic-claude-v1", index: 1 },
          { type: "reasoning.text", signature: "b25seQ==" },
        ),
      ]),
    ).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "Hm.", signature: "c2ln" },
          { type: "redacted_thinking", data: "cmVk" },
          { type: "thinking", thinking: "", signature: "b25seQ==" },
          { type: "text" },
          { type: "tool_use" },
        ],
      },
    ]);
  });
  test("blocks that the vendor would refuse are left out: unsigned thinking, other vendors' blocks", () => {
    const message = {
      ...answer(
        { type: "reasoning.text", text: "Hm." },
        { type: "reasoning.encrypted", data: "x", format: "openai-responses-v1" },
        { type: "reasoning.summary", summary: "s" },
      ),
      reasoning_content: "Hm.",
    };
    expect(turns([...ASK, message])).toMatchObject([
      {},
      { content: [{ type: "text", text: "Sure." }, { type: "tool_use" }] },
    ]);
  });
  test("a signature survives answer, client and next request", () => {
    const content = [
      { type: "thinking", thinking: "First.", signature: "U0lH" },
      { type: "redacted_thinking", data: "UkVE" },
      {
        type: "tool_use",
        id: "toolu_1",
        name: "f",
        input: { a: 1 },
        caller: { type: "code_execution_20250825", tool_id: "srvtoolu_9" },
      },
    ];
    const decoded = anthropic.decodeResponse(
      JSON.stringify({
        type: "message",
        id: "msg_1",
        content,
        stop_reason: "tool_use",
        usage: { input_tokens: 1, output_tokens: 2 },
      }),
      { model: "m", memo: null },
    );
    expect(turns([...ASK, decoded.choices[0]!.message])).toMatchObject([{}, { role: "assistant", content }]);
  });
  test("a call of a tool of a toolset goes back with the name of the toolset", () => {
    const click = {
      type: "tool_use",
      id: "toolu_1",
      name: "left_click",
      toolset_name: "browser",
      input: { ref: "r1" },
    };
    const content = [{ ...click, caller: { type: "direct" } }];
    const text = JSON.stringify({
      type: "message",
      id: "msg_1",
      content,
      stop_reason: "tool_use",
      usage: { output_tokens: 1 },
    });
    const { message } = anthropic.decodeResponse(text, { model: "m", memo: null }).choices[0]!;
    expect(turns([...ASK, message])).toMatchObject([{}, { role: "assistant", content: [click] }]);
  });
});

describe("parts", () => {
  const block = (part: object) =>
    (turns([{ role: "user", content: [part] }]) as readonly { readonly content: readonly JsonObject[] }[])[0]!
      .content[0];
  const base64 = (text: string) => Buffer.from(text).toString("base64");

  test("an image is sent by address or inline", () => {
    expect(
      block({
        type: "image_url",
        image_url: { url: "https://example.com/a.png", detail: "low" },
        cache_control: { type: "ephemeral" },
      }),
    ).toEqual({
      type: "image",
      source: { type: "url", url: "https://example.com/a.png" },
      cache_control: { type: "ephemeral" },
    });
    expect(block({ type: "image_url", image_url: { url: "data:image/JPEG;base64,QUJD" } })).toEqual({
      type: "image",
      source: { type: "base64", media_type: "image/jpeg", data: "QUJD" },
    });
    expect(block({ type: "image_url", image_url: { url: "data:application/pdf;base64,QUJD" } })).toEqual({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "QUJD" },
    });
    expect(block({ type: "image_url", image_url: { url: "data:image/svg+xml,%3Csvg/%3E" } })).toMatchObject({
      source: { data: base64("<svg/>") },
    });
  });
  test("an inline file is a document with its name as title; text is decoded, and an image is an image", () => {
    expect(block({ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,QUJD" } })).toEqual(
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "QUJD" }, title: "a.pdf" },
    );
    expect(block({ type: "file", file: { filename: "a.pdf", file_data: "QUJD" } })).toMatchObject({
      source: { type: "base64", media_type: "application/pdf", data: "QUJD" },
    });
    expect(
      block({ type: "file", file: { filename: "a.md", file_data: `data:text/markdown;base64,${base64("# Grüße")}` } }),
    ).toEqual({ type: "document", source: { type: "text", media_type: "text/plain", data: "# Grüße" }, title: "a.md" });
    expect(block({ type: "file", file: { file_data: "data:image/png;base64,QUJD" } })).toEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "QUJD" },
    });
  });
  test("a file by id is an upload, by address a document there", () => {
    expect(block({ type: "file", file: { file_id: "file_1" } })).toEqual({
      type: "document",
      source: { type: "file", file_id: "file_1" },
    });
    expect(block({ type: "file", file: { file_id: "file_2", filename: "cat.png" } })).toEqual({
      type: "image",
      source: { type: "file", file_id: "file_2" },
    });
    expect(block({ type: "file", file: { file_id: "https://example.com/a.pdf" } })).toEqual({
      type: "document",
      source: { type: "url", url: "https://example.com/a.pdf" },
    });
    expect(block({ type: "file", file: { file_id: "data:application/pdf;base64,QUJD" } })).toMatchObject({
      type: "document",
      source: { type: "base64", data: "QUJD" },
    });
  });
  test("a document keeps its options, and its source takes the form of its media type", () => {
    const options = { title: "T", context: "C", citations: { enabled: true } };
    expect(
      block({ type: "document", source: { type: "text", media_type: "text/plain", data: "x" }, ...options }),
    ).toEqual({ type: "document", source: { type: "text", media_type: "text/plain", data: "x" }, ...options });
    expect(
      block({ type: "document", source: { type: "base64", media_type: "text/csv", data: base64("a,b") } }),
    ).toEqual({ type: "document", source: { type: "text", media_type: "text/plain", data: "a,b" } });
    for (const type of ["application/toml", "application/json; charset=utf-8"])
      expect(block({ type: "document", source: { type: "base64", media_type: type, data: base64("a = 1") } })).toEqual({
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "a = 1" },
      });
    expect(block({ type: "document", source: { type: "text", media_type: "application/pdf", data: "QUJD" } })).toEqual({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "QUJD" },
    });
    expect(block({ type: "document", source: { type: "base64", media_type: "image/png", data: "QUJD" } })).toEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "QUJD" },
    });
    for (const source of [
      { type: "url", url: "https://example.com/a.pdf" },
      { type: "file", file_id: "f" },
      { type: "content", content: [{ type: "text", text: "t" }] },
    ])
      expect(block({ type: "document", source })).toEqual({ type: "document", source });
  });
  test("content for which the vendor has no block is refused with its path", () => {
    const error = refusal([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "input_audio", input_audio: { data: "QUJD", format: "wav" } },
        ],
      },
    ]);
    expect([error.code, error.param]).toEqual(["unsupported_content_block", "messages[0].content[1]"]);
  });
});
