// Claude on Vertex AI: requests to rawPredict, and answers, non-streaming, streamed and refused.
import { describe, expect, test } from "bun:test";
import { capabilityOf } from "../../../src/core/capability.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { vertex } from "../../../src/providers/vertex/provider.ts";
import { answeringGateway, ask } from "../../spec/chat-calls.ts";
import { bodyOf, encode, HELLO, refusalOf, WEATHER } from "./calls.ts";

const MODEL = "claude-sonnet-4-6";
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const JSON_SCHEMA = {
  response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema: SCHEMA } },
};

describe("the request", () => {
  test("has the version in the body and the model in the address", () => {
    expect(bodyOf(MODEL, { max_tokens: 10 })).toEqual({
      anthropic_version: "vertex-2023-10-16",
      max_tokens: 10,
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(bodyOf(MODEL, { stream: true, max_tokens: 10 })["stream"]).toBe(true);
    expect(encode(MODEL).request.headers).toEqual({ "content-type": "application/json" });
  });
  test("names with a version have the capabilities of their generation", () => {
    expect(
      [
        "claude-3-5-sonnet-v2@20241022",
        "claude-opus-4@20250514",
        "anthropic/claude-opus-4-1@20250805",
        "claude-opus-4-6@default",
      ].map((model) => bodyOf(model)["max_tokens"]),
    ).toEqual([8_192, 32_000, 32_000, 128_000]);
  });
  test("betas are a header, those of tools and those of the caller", () => {
    const { headers } = encode(
      MODEL,
      { tools: [{ type: "computer_20251124", name: "computer", display_width_px: 1, display_height_px: 1 }] },
      { headers: { "anthropic-beta": "context-1m-2025-08-07" } },
    ).request;
    expect(headers["anthropic-beta"]).toBe("context-1m-2025-08-07,computer-use-2025-11-24");
    expect(headers).not.toHaveProperty("anthropic-version");
  });
  test("tools, choices and thinking are the Messages API's", () => {
    const body = bodyOf("claude-opus-4-7@default", {
      tools: [WEATHER],
      tool_choice: "required",
      parallel_tool_calls: false,
      reasoning_effort: "high",
      max_tokens: 4_000,
    });
    expect(body["tools"]).toEqual([{ name: "weather", input_schema: WEATHER.function.parameters }]);
    expect(body["tool_choice"]).toEqual({ type: "any", disable_parallel_tool_use: true });
    expect([body["thinking"], body["output_config"]]).toEqual([{ type: "adaptive" }, { effort: "high" }]);
  });
  test("JSON is produced by a forced tool, because output_config.format is off unless an organization allows it", () => {
    const forced = bodyOf(MODEL, JSON_SCHEMA);
    expect(forced).not.toHaveProperty("output_config");
    expect(forced["tool_choice"]).toMatchObject({ type: "tool" });
    // where no tool can be forced it is the only way
    const plain = bodyOf("claude-opus-5-5", JSON_SCHEMA);
    expect(plain["output_config"]).toEqual({ format: { type: "json_schema", schema: SCHEMA } });
    expect([
      capabilityOf(vertex.capabilities, "response_format", MODEL).support,
      capabilityOf(vertex.capabilities, "response_format", "claude-opus-5-5").support,
    ]).toEqual(["emulated", "mapped"]);
  });
  test("uploaded files do not exist here; bytes and addresses do, and the gateway fetches the addresses", () => {
    const read = (file: JsonObject): JsonObject => ({
      messages: [
        ...HELLO,
        {
          role: "user",
          content: [
            { type: "text", text: "Read" },
            { type: "file", file },
          ],
        },
      ],
    });
    expect(refusalOf(() => encode(MODEL, read({ file_id: "file_011" })))).toMatchObject({
      code: "unsupported_value",
      param: "messages[1].content[1].file.file_id",
    });
    expect(JSON.stringify(bodyOf(MODEL, read({ file_data: "data:application/pdf;base64,AAAA" })))).toContain(
      '"media_type":"application/pdf"',
    );
    expect([...vertex.inlines(MODEL)].toSorted()).toEqual(["document", "file", "image_url"]);
    for (const other of ["gemini-2.5-flash", "meta/llama-4", "mistral-medium-3"])
      expect([...vertex.inlines(other)]).toEqual([]);
  });
  test("version, model and conversation cannot be passed through", async () => {
    const gateway = answeringGateway();
    const asked = { model: `vertex:${MODEL}`, vertex_project: "p1" };
    for (const name of ["anthropic_version", "system", "stop_sequences"])
      expect((await ask(gateway, { ...asked, [name]: "x" })).outcome).toBe(`400 reserved_parameter ${name}`);
    expect((await ask(gateway, { ...asked, extra_body: { model: "x" } })).outcome).toBe(
      "400 reserved_parameter extra_body.model",
    );
  });
  test("unsupported parameters of the models are refused by name", async () => {
    const gateway = answeringGateway();
    for (const [name, value] of [
      ["seed", 7],
      ["service_tier", "auto"],
      ["n", 2],
      ["logprobs", true],
    ] as const)
      expect((await ask(gateway, { model: `vertex:${MODEL}`, vertex_project: "p1", [name]: value })).outcome).toBe(
        `400 unsupported_parameter ${name}`,
      );
    expect((await ask(gateway, { model: "vertex:gemini-2.5-flash", seed: 7, n: 2 })).outcome).toBe("200");
  });
});

describe("the answer", () => {
  const context = { model: MODEL, memo: null };
  test("non-streaming, with text, a call and cache figures", () => {
    const answer = vertex.decodeResponse(
      JSON.stringify({
        id: "msg_vrtx_1",
        type: "message",
        role: "assistant",
        model: MODEL,
        content: [
          { type: "text", text: "Let me see." },
          { type: "tool_use", id: "toolu_vrtx_1", name: "weather", input: { city: "Wien" } },
        ],
        stop_reason: "tool_use",
        usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 2 },
      }),
      context,
    );
    expect(answer).toMatchObject({
      id: "msg_vrtx_1",
      choices: [
        {
          message: {
            content: "Let me see.",
            tool_calls: [{ id: "toolu_vrtx_1", function: { name: "weather", arguments: '{"city":"Wien"}' } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 8, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } },
    });
  });
  test("streamed, with the events of the Messages API, Vertex's own among them", () => {
    const decoder = vertex.openStream(context);
    const event = (type: string, rest: JsonObject) =>
      decoder.push({ event: type, data: JSON.stringify({ type, ...rest }) });
    const chunks = [
      ...event("vertex_event", { usage: { input_tokens: 5 } }),
      ...event("message_start", {
        message: {
          id: "msg_vrtx_1",
          type: "message",
          role: "assistant",
          content: [],
          usage: { input_tokens: 5, output_tokens: 1 },
        },
      }),
      ...event("ping", {}),
      ...event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      ...event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hello" } }),
      ...event("content_block_stop", { index: 0 }),
      ...event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }),
      ...event("message_stop", {}),
      ...decoder.end(),
    ];
    expect(
      chunks
        .flatMap(({ choices }) => choices)
        .map(({ delta }) => delta?.content ?? "")
        .join(""),
    ).toBe("Hello");
    expect(
      chunks
        .flatMap(({ choices }) => choices)
        .find(({ finish_reason: reason }) => reason !== undefined && reason !== null)?.finish_reason,
    ).toBe("stop");
    expect(chunks.findLast(({ usage }) => usage !== undefined)?.usage).toMatchObject({
      prompt_tokens: 5,
      completion_tokens: 2,
    });
  });
  test("JSON by a forced tool becomes content again", () => {
    const { request, memo } = encode(MODEL, JSON_SCHEMA);
    const { tool_choice: forced } = JSON.parse(request.body) as { readonly tool_choice: { readonly name: string } };
    const { choices } = vertex.decodeResponse(
      JSON.stringify({
        content: [{ type: "tool_use", id: "t", name: forced.name, input: { city: "Wien" } }],
        stop_reason: "tool_use",
      }),
      { model: MODEL, memo },
    );
    expect(choices[0]).toMatchObject({ message: { content: '{"city":"Wien"}' }, finish_reason: "stop" });
  });
  test("an error in the stream is the provider's failure", () => {
    const push = () =>
      vertex.openStream(context).push({
        event: "error",
        data: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      });
    expect(push).toThrow(StreamError);
    expect(push).toThrow("Overloaded");
  });
});
