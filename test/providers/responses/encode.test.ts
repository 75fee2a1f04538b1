// Chat requests for models that speak the Responses API alone, as they go to the vendors. Each request is parsed from the
// text that a client would send and fitted to its target.
import { describe, expect, test } from "bun:test";
import { fitRequest } from "../../../src/engine/fit/fit.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import type { Principal } from "../../../src/core/identity.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import type { GatewayError } from "../../../src/core/errors.ts";
import { readAnswer, reasoning, responseOf, message, call, customCall } from "./events.ts";
import { provider } from "../openai-compatible/calls.ts";
import { targetFor } from "../../harness/targets.ts";
import { refusedBy } from "../refused.ts";

const ANYONE: Principal = {
  tokenId: "t",
  tokenKind: "project",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer",
  permissions: new Set(),
  restrictions: null,
};
const HELLO = [{ role: "user", content: "Hello" }];

interface Where {
  readonly id?: string;
  readonly model?: string;
  readonly target?: Partial<Target>;
}

function encoded(body: JsonObject, { id = "openai", model = "gpt-5-codex", target: changes = {} }: Where = {}) {
  const of = provider(id);
  const target = targetFor(of, { model, ...changes });
  const request = parseChatRequest(JSON.stringify({ model: `${id}:${model}`, messages: HELLO, ...body }));
  const fitted = fitRequest(request, of, target, { dropParams: false, disableStopSequenceLimit: false }, ANYONE);
  return { ...of.encodeRequest(fitted.request, target), dropped: fitted.dropped };
}
function sent(body: JsonObject, where?: Where): Record<string, Json> {
  return JSON.parse(encoded(body, where).request.body) as Record<string, Json>;
}
const refusal = (body: JsonObject, where?: Where): GatewayError => refusedBy(() => encoded(body, where));

describe("which models, and where", () => {
  const urlOf = (id: string, model: string, changes: Partial<Target> = {}): string =>
    encoded({}, { id, model, target: changes }).request.url;
  test("the vendor's models that speak nothing else, and no others", () => {
    for (const model of [
      "gpt-5-pro",
      "gpt-5.2-pro-2025-12-11",
      "gpt-5-codex",
      "gpt-5.1-codex-max",
      "codex-mini-latest",
      "o1-pro",
      "o3-pro-2025-06-10",
      "o3-deep-research",
      "o4-mini-deep-research-2025-06-26",
      "computer-use-preview",
    ])
      expect(urlOf("openai", model)).toBe("https://api.openai.com/v1/responses");
    const others = ["gpt-5", "gpt-5.1", "gpt-5-mini", "o3", "o1", "o4-mini", "gpt-4o", "gpt-5-chat-latest"];
    for (const model of [...others, "gpt-5.2-proo", "o1-provisional", "gpt-5-codexes"])
      expect(urlOf("openai", model)).toBe("https://api.openai.com/v1/chat/completions");
    expect(urlOf("xai", "grok-4.20-multi-agent-0309")).toBe("https://api.x.ai/v1/responses");
    expect(urlOf("xai", "grok-4.20-0309-reasoning")).toBe("https://api.x.ai/v1/chat/completions");
    for (const model of ["gpt-5.3-codex", "gpt-5.4", "gpt-5.4-mini", "gpt-5.6-terra", "gpt-6-sol"])
      expect([model, urlOf("copilot", model)]).toEqual([model, "https://api.githubcopilot.com/responses"]);
    for (const model of ["gpt-4.1", "gpt-5", "gpt-5-mini", "gpt-5.2", "claude-sonnet-4.6"])
      expect([model, urlOf("copilot", model)]).toEqual([model, "https://api.githubcopilot.com/chat/completions"]);
  });
  test("Amazon has another path for OpenAI's closed models, and chat completions for the open ones", () => {
    const host = "https://bedrock-mantle.us-east-2.api.aws";
    for (const baseUrl of [`${host}/v1`, `${host}/openai/v1`])
      expect(urlOf("bedrock-mantle", "openai.gpt-5.5", { baseUrl })).toBe(`${host}/openai/v1/responses`);
    expect(urlOf("bedrock-mantle", "openai.gpt-oss-120b", { baseUrl: `${host}/v1` })).toBe(
      `${host}/v1/chat/completions`,
    );
  });
  test("Azure has one address for them, whatever the version and the form of the base address", () => {
    const at = (baseUrl: string, version?: string): string =>
      urlOf("azure", "gpt-5-codex", { baseUrl, settings: version === undefined ? {} : { api_version: version } });
    const expected = "https://r.openai.azure.com/openai/v1/responses";
    expect(at("https://r.openai.azure.com")).toBe(expected);
    expect(at("https://r.openai.azure.com/openai/v1")).toBe(expected);
    expect(at("https://r.openai.azure.com/openai/deployments/d", "2024-10-21")).toBe(expected);
    expect(at("https://r.openai.azure.com", "preview")).toBe(`${expected}?api-version=preview`);
    expect(urlOf("azure_ai", "gpt-5-codex", { baseUrl: "https://r.services.ai.azure.com/models" })).toBe(
      "https://r.services.ai.azure.com/openai/v1/responses",
    );
    expect(sent({ deployment_id: "mine" }, { id: "azure" })["model"]).toBe("mine");
  });
});

describe("the conversation", () => {
  test("messages become items in order, each role as it was written", () => {
    const { input } = sent({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
        { role: "developer", content: [{ type: "text", text: "In verse." }] },
        { role: "user", content: "Go on" },
      ],
    });
    expect(input).toEqual([
      { type: "message", role: "system", content: "Be brief." },
      { type: "message", role: "user", content: "Hello" },
      { type: "message", role: "assistant", content: "Hi" },
      { type: "message", role: "developer", content: [{ type: "input_text", text: "In verse." }] },
      { type: "message", role: "user", content: "Go on" },
    ]);
  });
  test("pictures, files and documents", () => {
    const pdf = "data:application/pdf;base64,JVBERi0x";
    const { input } = sent({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "high" } },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBO" } },
            { type: "file", file: { filename: "a.pdf", file_data: pdf } },
            { type: "file", file: { file_id: "file-1" } },
            { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0x" } },
          ],
        },
      ],
    });
    expect((input as JsonObject[])[0]!["content"]).toEqual([
      { type: "input_text", text: "See" },
      { type: "input_image", image_url: "https://example.com/a.png", detail: "high" },
      { type: "input_image", image_url: "data:image/png;base64,iVBO", detail: "auto" },
      { type: "input_file", filename: "a.pdf", file_data: pdf },
      { type: "input_file", file_id: "file-1" },
      expect.objectContaining({ type: "input_file", file_data: pdf }),
    ]);
    const audio = { type: "input_audio", input_audio: { data: "UklG", format: "wav" } };
    expect(refusal({ messages: [{ role: "user", content: [audio] }] })).toMatchObject({
      code: "unsupported_content_block",
      param: "messages[0].content[0]",
    });
  });
  test("calls and results keep their ids, and results their parts", () => {
    const { input } = sent({
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Wien"}' } },
            { id: "call_b", type: "custom", custom: { name: "patch", input: "*** Begin" } },
          ],
        },
        { role: "tool", tool_call_id: "call_b", content: "Done" },
        { role: "tool", tool_call_id: "call_a", content: [{ type: "text", text: "Rain" }] },
      ],
    });
    expect((input as JsonObject[]).slice(1)).toEqual([
      { type: "function_call", call_id: "call_a", name: "weather", arguments: '{"city":"Wien"}' },
      { type: "custom_tool_call", call_id: "call_b", name: "patch", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: "call_b", output: "Done" },
      { type: "function_call_output", call_id: "call_a", output: [{ type: "input_text", text: "Rain" }] },
    ]);
  });
  test("refusals stay refusals, and an empty text makes no message beside calls", () => {
    const { input } = sent({
      messages: [
        ...HELLO,
        { role: "assistant", content: "", refusal: "No." },
        { role: "user", content: "Then that" },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "" },
      ],
    });
    expect((input as JsonObject[]).map(({ type }) => type)).toEqual([
      "message",
      "message",
      "message",
      "function_call",
      "function_call_output",
    ]);
    expect((input as JsonObject[])[1]!["content"]).toEqual([{ type: "refusal", refusal: "No." }]);
  });
});

describe("reasoning of earlier answers", () => {
  const tool = { role: "tool", tool_call_id: "call_a", content: "Rain" };
  const answered = (output: readonly JsonObject[], id = "openai", model = "gpt-5-codex"): JsonObject => {
    const body = JSON.stringify(responseOf(output));
    return readMessage(id, body, model);
  };
  function readMessage(id: string, body: string, model: string): JsonObject {
    const { message: said } = provider(id).decodeResponse(body, { model, memo: null }).choices[0]!;
    return JSON.parse(JSON.stringify(said)) as JsonObject;
  }
  const items = (turn: JsonObject, where?: Where): readonly JsonObject[] =>
    (sent({ messages: [...HELLO, turn, tool] }, where)["input"] as JsonObject[]).slice(1, -1);

  test("[d12.13] goes back before the call that it led to, as it came", () => {
    const turn = answered([reasoning("rs_1", ["Ask.", "Then wait."], "c2VhbGVk"), call("a", "weather", "{}")]);
    expect(items(turn)).toEqual([
      {
        type: "reasoning",
        id: "rs_1",
        summary: [
          { type: "summary_text", text: "Ask." },
          { type: "summary_text", text: "Then wait." },
        ],
        encrypted_content: "c2VhbGVk",
      },
      { type: "function_call", call_id: "call_a", name: "weather", arguments: "{}" },
    ]);
  });
  test("[d12.13] several items with text between them go back in their order", () => {
    const output = [
      reasoning("rs_1", [], "b25l"),
      { ...message("msg_1", "Looking."), phase: "commentary" },
      reasoning("rs_2", ["More."], "dHdv"),
      call("a", "weather", "{}"),
    ];
    expect(items(answered(output))).toEqual(output);
    // a client that keeps only the members it knows still sends the reasoning
    const { extra_content: _lost, ...rest } = answered(output);
    expect(items(rest).map(({ type, id = null }) => [type!, id])).toEqual([
      ["reasoning", "rs_1"],
      ["reasoning", "rs_2"],
      ["message", null],
      ["function_call", null],
    ]);
  });
  test("a carried turn that was changed counts no more", () => {
    const output = [message("msg_1", "One. "), message("msg_2", "Two."), call("a", "weather", "{}")];
    const turn = answered(output);
    expect(items(turn)).toEqual(output);
    expect(items({ ...turn, content: "[masked]" })).toEqual([
      { type: "message", role: "assistant", content: "[masked]" },
      { type: "function_call", call_id: "call_a", name: "weather", arguments: "{}" },
    ]);
    const other = { id: "call_a", type: "function", function: { name: "weather", arguments: '{"a":1}' } };
    expect(items({ ...turn, tool_calls: [other] })[1]).toMatchObject({ arguments: '{"a":1}' });
  });
  test("reasoning that another vendor encrypted, or that nobody did, is left out and named", () => {
    const turn = answered([reasoning("rs_1", ["Ask."], "c2VhbGVk"), call("a", "weather", "{}")]);
    for (const where of [{ id: "azure" }, { id: "xai", model: "grok-4.20-multi-agent" }]) {
      expect(items(turn, where)).toHaveLength(1);
      const { dropped } = encoded({ messages: [...HELLO, turn, tool] }, where);
      expect(dropped).toEqual(["messages[].reasoning_content", "messages[].reasoning_details"]);
    }
    const { reasoning_details: _details, ...plain } = turn;
    expect(items(plain)).toHaveLength(1);
    expect(encoded({ messages: [...HELLO, plain, tool] }).dropped).toEqual(["messages[].reasoning_content"]);
    expect(encoded({ messages: [...HELLO, turn, tool] }).dropped).toEqual([]);
  });
  test("custom calls of a carried turn are the same calls", () => {
    const output = [reasoning("rs_1", [], "b25l"), customCall("a", "patch", "x"), reasoning("rs_2", [], "dHdv")];
    expect(items(answered(output))).toEqual(output);
    expect(
      readAnswer(
        provider("openai").decodeResponse(JSON.stringify(responseOf(output)), { model: "gpt-5-codex", memo: null }),
      ).calls,
    ).toHaveLength(1);
  });
});

describe("parameters", () => {
  test("[d12.13] nothing is stored at the vendor, and reasoning comes encrypted", () => {
    expect(sent({})).toEqual({
      model: "gpt-5-codex",
      input: [{ type: "message", role: "user", content: "Hello" }],
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    expect(sent({ store: false })["store"]).toBe(false);
    expect(refusal({ store: true })).toMatchObject({ code: "unsupported_parameter", param: "store" });
  });
  test("bounds, effort, format and streaming", () => {
    const schema = { type: "object", properties: {} };
    expect(
      sent({
        max_tokens: 100,
        reasoning_effort: "high",
        parallel_tool_calls: false,
        service_tier: "flex",
        prompt_cache_key: "k",
        safety_identifier: "s",
        user: "u",
        stream: true,
        stream_options: { include_usage: true, include_obfuscation: false },
        response_format: { type: "json_schema", json_schema: { name: "City", schema, strict: true } },
      }),
    ).toMatchObject({
      max_output_tokens: 100,
      reasoning: { effort: "high" },
      parallel_tool_calls: false,
      service_tier: "flex",
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      stream: true,
      stream_options: { include_obfuscation: false },
      text: { format: { type: "json_schema", name: "City", schema, strict: true } },
    });
    expect(
      sent({ verbosity: "low", response_format: { type: "json_object" } }, { model: "gpt-5.2-pro" })["text"],
    ).toEqual({ format: { type: "json_object" }, verbosity: "low" });
    const bounded = sent({ logprobs: true, top_logprobs: 2 }, { model: "gpt-5.2-pro" });
    expect([bounded["top_logprobs"], bounded["include"]]).toEqual([
      2,
      ["reasoning.encrypted_content", "message.output_text.logprobs"],
    ]);
  });
  test("tools and the choice among them are flat, and functions are not strict unless asked", () => {
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const body = sent({
      tools: [
        { type: "function", function: { name: "weather", description: "Now", parameters } },
        { type: "function", function: { name: "clock", strict: true } },
        {
          type: "custom",
          custom: { name: "patch", format: { type: "grammar", grammar: { syntax: "lark", definition: "start: x" } } },
        },
        { type: "web_search", search_context_size: "low" },
      ],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "weather" } }] },
      },
    });
    expect(body["tools"]).toEqual([
      { type: "function", name: "weather", description: "Now", parameters, strict: false },
      { type: "function", name: "clock", parameters: { type: "object", properties: {} }, strict: true },
      { type: "custom", name: "patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
      { type: "web_search", search_context_size: "low" },
    ]);
    expect(body["tool_choice"]).toEqual({
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "function", name: "weather" }],
    });
    const tools = [{ type: "function", function: { name: "weather" } }];
    expect(sent({ tools, tool_choice: { type: "function", function: { name: "weather" } } })["tool_choice"]).toEqual({
      type: "function",
      name: "weather",
    });
  });
  test("a search of the vendor is a tool", () => {
    const options = {
      search_context_size: "low",
      user_location: { type: "approximate", approximate: { city: "Wien", country: "AT" } },
    };
    expect(sent({ web_search_options: options })["tools"]).toEqual([
      {
        type: "web_search",
        search_context_size: "low",
        user_location: { type: "approximate", city: "Wien", country: "AT" },
      },
    ]);
  });
  test("what has no counterpart is refused with its name", () => {
    for (const [name, value] of Object.entries({
      stop: ["x"],
      n: 2,
      seed: 7,
      logit_bias: { "1": 2 },
      presence_penalty: 1,
      frequency_penalty: 1,
      prediction: { type: "content", content: "x" },
      modalities: ["text", "audio"],
      audio: { voice: "a", format: "mp3" },
    }))
      expect([name, refusal({ [name]: value }).code, refusal({ [name]: value }).param]).toEqual([
        name,
        "unsupported_parameter",
        name,
      ]);
    expect(refusal({ verbosity: "low" }).param).toBe("verbosity");
  });
  test("[d5.3] the output bound is at least the vendor's least", () => {
    expect(sent({ max_tokens: 1 })).toMatchObject({ max_output_tokens: 16 });
    expect(sent({ max_completion_tokens: 17 })).toMatchObject({ max_output_tokens: 17 });
  });
  test("other fields pass, objects are merged, and what lives at the vendor cannot be named", () => {
    expect(
      sent({ reasoning_effort: "low", reasoning: { summary: "auto" }, truncation: "auto", include: ["x"] }),
    ).toMatchObject({
      reasoning: { effort: "low", summary: "auto" },
      truncation: "auto",
      include: ["reasoning.encrypted_content", "x"],
    });
    for (const name of ["input", "instructions", "previous_response_id", "conversation", "prompt", "background"])
      expect([name, refusal({ extra_body: { [name]: "x" } }).code]).toEqual([name, "reserved_parameter"]);
    expect(refusal({ reasoning_effort: "low", reasoning: { effort: "high" } }).code).toBe("reserved_parameter");
  });
});
