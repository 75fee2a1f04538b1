// Requests to the Messages API except the conversation: address, tools, parameters, JSON mode, pass-through. Each
// request is parsed from the text that a client would send.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf, type Capability } from "../../../src/core/capability.ts";
import type { GatewayError } from "../../../src/core/errors.ts";
import { isObject } from "../../../src/core/json.ts";
import type { CommonParameter } from "../../../src/core/params.ts";
import type { Target } from "../../../src/core/target.ts";
import { factsOf } from "../../../src/providers/claude/models.ts";
import { anthropic } from "../../../src/providers/anthropic/provider.ts";
import { keyCredential, SIGN_CONTEXT, targetFor } from "../../harness/targets.ts";
import { refusedBy } from "../refused.ts";

const ASK = [{ role: "user", content: "What is a dragoman?" }];

function target(model: string, changes: Partial<Target> = {}): Target {
  return targetFor(anthropic, { model, ...changes });
}
function encode(body: object, model = "claude-sonnet-4-6", changes: Partial<Target> = {}) {
  return anthropic.encodeRequest(
    parseChatRequest(JSON.stringify({ model: "anthropic:x", messages: ASK, ...body })),
    target(model, changes),
  );
}
function sent(body: object, model?: string): Record<string, unknown> {
  return JSON.parse(encode(body, model).request.body) as Record<string, unknown>;
}
const refusal = (body: object, model?: string): GatewayError => refusedBy(() => sent(body, model));
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Now",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

describe("address and headers", () => {
  test("the endpoint follows the host, or the version where the address has it", () => {
    expect(encode({}).request.url).toBe("https://api.anthropic.com/v1/messages");
    expect(encode({}, "m", { baseUrl: "https://example.com/v1" }).request.url).toBe("https://example.com/v1/messages");
  });
  test("the version is the documented one unless the target says another", () => {
    expect(encode({}).request.headers).toEqual({
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    });
    expect(encode({}, "m", { settings: { api_version: "2027-01-01" } }).request.headers["anthropic-version"]).toBe(
      "2027-01-01",
    );
  });
  test("headers of the caller are merged, and betas that the request needs join theirs", () => {
    const { headers } = encode(
      {
        messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file_1" } }] }],
        tools: [{ type: "code_execution_20250825", name: "code_execution" }],
      },
      "m",
      {
        headers: {
          "anthropic-beta": "context-1m-2025-08-07, files-api-2025-04-14",
          "x-own": "1",
          "content-type": "text/plain",
        },
      },
    ).request;
    expect(headers).toEqual({
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-1m-2025-08-07,files-api-2025-04-14,code-execution-2025-08-25",
      "x-own": "1",
      "content-type": "application/json",
    });
    const advised = encode({ tools: [{ type: "advisor_20260301", name: "advisor", model: "claude-opus-4-8" }] });
    expect(advised.request.headers["anthropic-beta"]).toBe("advisor-tool-2026-03-01");
  });
  test("a credential becomes x-api-key, and no credential leaves the request unchanged", async () => {
    const { request } = encode({});
    expect((await anthropic.sign(request, keyCredential("sk-test"), SIGN_CONTEXT)).headers["x-api-key"]).toBe(
      "sk-test",
    );
    expect(anthropic.sign(request, null, SIGN_CONTEXT)).toBe(request);
  });
});

describe("tools", () => {
  test("a function becomes a tool; members that only the vendor knows stay", () => {
    const strict = {
      type: "function",
      function: { name: "f", parameters: {}, strict: true },
      cache_control: { type: "ephemeral" },
      defer_loading: true,
    };
    expect(sent({ tools: [weather, strict, { type: "function", function: { name: "g" } }] })["tools"]).toEqual([
      { name: "weather", description: "Now", input_schema: weather.function.parameters },
      {
        name: "f",
        input_schema: { type: "object", properties: {} },
        strict: true,
        cache_control: { type: "ephemeral" },
        defer_loading: true,
      },
      { name: "g", input_schema: { type: "object", properties: {} } },
    ]);
  });
  test("a schema is never repaired: the vendor's own error message is more useful", () => {
    expect(sent({ tools: [{ type: "function", function: { name: "f", parameters: { anyOf: [] } } }] })).toMatchObject({
      tools: [{ input_schema: { anyOf: [] } }],
    });
  });
  test("the vendor's own tools pass unchanged, and the dialect names them", () => {
    const tools = [
      { type: "web_search_20260318", name: "web_search", max_uses: 3 },
      { type: "bash_20250124", name: "bash" },
      { type: "custom", name: "c", input_schema: { type: "object" } },
    ];
    expect(sent({ tools })["tools"]).toEqual(tools);
    const named = (type: string) =>
      anthropic.dialect.tools.some((word) => (word.endsWith("*") ? type.startsWith(word.slice(0, -1)) : type === word));
    expect(tools.map(({ type }) => named(type))).toEqual([true, true, true]);
    expect(named("file_search")).toBe(false);
  });
  test.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    ["any", { type: "any" }],
    [
      { type: "function", function: { name: "weather" } },
      { type: "tool", name: "weather" },
    ],
    [
      { type: "tool", name: "weather" },
      { type: "tool", name: "weather" },
    ],
  ])("tool_choice %j", (choice, wire) => {
    expect(sent({ tools: [weather], tool_choice: choice })["tool_choice"]).toEqual(wire);
  });
  test("parallel_tool_calls false needs a choice to stand in, and true is sent too; a choice without tools is not sent", () => {
    expect(sent({ tools: [weather], parallel_tool_calls: false })["tool_choice"]).toEqual({
      type: "auto",
      disable_parallel_tool_use: true,
    });
    expect(sent({ tools: [weather], parallel_tool_calls: false, tool_choice: "required" })["tool_choice"]).toEqual({
      type: "any",
      disable_parallel_tool_use: true,
    });
    expect(sent({ tools: [weather], parallel_tool_calls: false, tool_choice: "none" })["tool_choice"]).toEqual({
      type: "none",
    });
    expect(sent({ tools: [weather], parallel_tool_calls: true })["tool_choice"]).toEqual({
      type: "auto",
      disable_parallel_tool_use: false,
    });
    expect(sent({ tools: [], tool_choice: "auto", parallel_tool_calls: false })).not.toHaveProperty("tool_choice");
  });
  test("web_search_options is the vendor's search tool", () => {
    const place = { city: "Izmir", country: "TR" };
    expect(
      sent({
        web_search_options: {
          search_context_size: "medium",
          user_location: { type: "approximate", approximate: place },
        },
      })["tools"],
    ).toEqual([{ type: "web_search_20250305", name: "web_search", user_location: { type: "approximate", ...place } }]);
    expect(refusal({ web_search_options: { search_context_size: "high" } })).toMatchObject({
      code: "unsupported_value",
      param: "web_search_options.search_context_size",
    });
  });
});

describe("parameters", () => {
  test("the output bound has one name here, and is always sent", () => {
    expect(sent({ max_completion_tokens: 7 })["max_tokens"]).toBe(7);
    expect(sent({ max_tokens: 500_000 })["max_tokens"]).toBe(500_000);
    const defaults = {
      "claude-3-opus-20240229": 4_096,
      "claude-3-5-haiku-20241022": 8_192,
      "claude-opus-4-1-20250805": 32_000,
      "claude-opus-4-20250514": 32_000,
      "claude-sonnet-4-0": 64_000,
      "claude-haiku-4-5": 64_000,
      "claude-opus-4-6": 128_000,
      "claude-opus-5-5": 128_000,
      "claude-sonnet-7": 128_000,
      "my-model": 8_192,
    };
    expect(Object.fromEntries(Object.keys(defaults).map((model) => [model, sent({}, model)["max_tokens"]]))).toEqual(
      defaults,
    );
  });
  test("sampling, stop, user and tier", () => {
    expect(sent({ temperature: 0.3, top_p: 0.9, stop: "END", user: "u1", service_tier: "default" })).toMatchObject({
      temperature: 0.3,
      top_p: 0.9,
      stop_sequences: ["END"],
      metadata: { user_id: "u1" },
      service_tier: "standard_only",
    });
    expect(
      sent({ stop: ["a", "", "b"], user: "u1", safety_identifier: "s1", service_tier: "auto", stream: true }),
    ).toMatchObject({ stop_sequences: ["a", "b"], metadata: { user_id: "s1" }, service_tier: "auto", stream: true });
    expect(sent({ stop: "", stream: false })).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 128_000,
      messages: ASK,
    });
  });
  test.each([
    ["claude-sonnet-4-6", "medium", { thinking: { type: "adaptive" }, output_config: { effort: "medium" } }],
    ["claude-sonnet-4-6", "minimal", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["claude-sonnet-4-6", "xhigh", { thinking: { type: "adaptive" }, output_config: { effort: "max" } }],
    ["claude-opus-4-8", "xhigh", { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } }],
    ["claude-sonnet-5", "none", { thinking: { type: "disabled" } }],
    ["claude-sonnet-5-5", "none", { thinking: { type: "between_tools" } }],
    [
      "claude-opus-4-5-20251101",
      "xhigh",
      { thinking: { type: "enabled", budget_tokens: 32_000 }, output_config: { effort: "high" } },
    ],
    ["claude-sonnet-4-5", "high", { thinking: { type: "enabled", budget_tokens: 24_000 } }],
    ["claude-3-7-sonnet-20250219", "none", { thinking: { type: "disabled" } }],
  ])("reasoning_effort on %s: %s", (model, effort, wire) => {
    const { thinking, output_config: config } = sent({ reasoning_effort: effort }, model);
    expect({ thinking, ...(config !== undefined && { output_config: config }) } as object).toEqual(wire);
  });
  test("a budget leaves room for the answer inside max_tokens, or is refused", () => {
    expect(sent({ reasoning_effort: "high", max_tokens: 5_000 }, "claude-sonnet-4-5")).toMatchObject({
      max_tokens: 5_000,
      thinking: { budget_tokens: 4_000 },
    });
    expect(sent({ reasoning_effort: "high", max_tokens: 1_025 }, "claude-sonnet-4-5")).toMatchObject({
      thinking: { budget_tokens: 1_024 },
    });
    // each form has another name for the bound
    expect(refusal({ reasoning_effort: "low", max_tokens: 1_024 }, "claude-sonnet-4-5")).toMatchObject({
      code: "unsupported_value",
      param: "reasoning_effort",
      message: expect.not.stringContaining("max_") as string,
    });
  });
  test("changed names are reported", () => {
    expect(
      encode(
        { max_tokens: 5, stop: "x", user: "u", reasoning_effort: "low", response_format: { type: "json_object" } },
        "claude-opus-4-8",
      ).mapped,
    ).toEqual([
      "max_completion_tokens -> max_tokens",
      "stop -> stop_sequences",
      "reasoning_effort -> thinking",
      "user -> metadata.user_id",
      "response_format -> a forced tool call",
    ]);
  });
});

describe("JSON", () => {
  const closed = {
    type: "object",
    properties: { a: { type: "string" }, minimum: { type: "array", items: { type: "integer" } } },
    required: ["a"],
    additionalProperties: false,
  };
  const asked = (schema: object | undefined, strict?: boolean) => ({
    response_format: {
      type: "json_schema",
      json_schema: { name: "answer", schema, ...(strict !== undefined && { strict }) },
    },
  });

  test("a schema is the vendor's own output format where the model has it, beside tools and effort", () => {
    expect(sent({ ...asked(closed), tools: [weather], reasoning_effort: "low" }, "claude-sonnet-4-6")).toMatchObject({
      output_config: { effort: "low", format: { type: "json_schema", schema: closed } },
      tools: [{ name: "weather" }],
    });
    expect(sent(asked(closed), "claude-sonnet-4-6")).not.toHaveProperty("tools");
  });
  test("a strict schema is sent to the vendor whatever it contains; without strict, one outside its subset becomes a tool", () => {
    const open = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, additionalProperties: false };
    expect(sent(asked(open, true))).toMatchObject({ output_config: { format: { schema: open } } });
    expect(sent(asked(open))).toMatchObject({
      tools: [{ name: "respond_with_json", input_schema: open }],
      tool_choice: { type: "tool", name: "respond_with_json" },
    });
    expect(sent(asked({ type: "object", properties: {} }, false))).not.toHaveProperty("output_config");
    expect(sent(asked(open), "claude-opus-5-5")).toMatchObject({ output_config: { format: { schema: open } } });
  });
  test("[d6.8] without native support, a forced tool call gives the JSON", () => {
    expect(sent(asked(closed, true), "claude-3-7-sonnet-20250219")).toMatchObject({
      tools: [{ name: "respond_with_json", input_schema: closed }],
      tool_choice: { type: "tool", name: "respond_with_json", disable_parallel_tool_use: true },
    });
    expect(sent({ response_format: { type: "json_object" } })).toMatchObject({
      tools: [{ input_schema: { type: "object", additionalProperties: true } }],
      tool_choice: { type: "tool", name: "respond_with_json" },
    });
    expect(sent({ response_format: { type: "text" } })).not.toHaveProperty("tools");
  });
  test("the caller's own tools stay callable beside it, and a call that the caller forces takes precedence", () => {
    const json = { response_format: { type: "json_object" } };
    expect(sent({ ...json, tools: [weather] })).toMatchObject({
      tools: [{ name: "weather" }, { name: "respond_with_json" }],
      tool_choice: { type: "any" },
    });
    expect(sent({ ...json, tools: [weather], tool_choice: "none" })).toMatchObject({
      tool_choice: { type: "tool", name: "respond_with_json" },
    });
    const forced = encode({ ...json, tools: [weather], tool_choice: "required" });
    expect(JSON.parse(forced.request.body)).toMatchObject({
      tools: [{ name: "weather" }],
      tool_choice: { type: "any" },
    });
    expect(forced.memo).toEqual({ answerTool: null });
    expect(encode({ ...json, tools: [{ type: "function", function: { name: "respond_with_json" } }] }).memo).toEqual({
      answerTool: "respond_with_json_",
    });
  });
  test("where the vendor refuses to force a tool, the error says so with the cure", () => {
    expect(
      refusal({ response_format: { type: "json_object" }, reasoning_effort: "low" }, "claude-sonnet-4-5"),
    ).toMatchObject({ code: "unsupported_value", param: "response_format" });
    expect(refusal({ response_format: { type: "json_object" } }, "claude-opus-5-5").message).toContain("json_schema");
    const thinking = { response_format: { type: "json_object" }, reasoning_effort: "low" };
    for (const model of ["claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-7"])
      expect([model, refusal(thinking, model).param]).toEqual([model, "response_format"]);
    expect(
      refusal({ response_format: { type: "json_object" }, thinking: { type: "adaptive" } }, "claude-opus-4-7").param,
    ).toBe("response_format");
    for (const model of ["claude-opus-4-8", "claude-sonnet-5", "claude-of-a-friend"])
      expect([model, sent(thinking, model)]).toMatchObject([model, { tool_choice: { name: "respond_with_json" } }]);
    expect(sent({ ...thinking, reasoning_effort: "none" }, "claude-opus-4-7")).toHaveProperty("tool_choice");
    expect(
      sent({ ...asked({ type: "object" }), thinking: { type: "enabled", budget_tokens: 2_000 } }, "claude-sonnet-4-5"),
    ).toHaveProperty("output_config");
  });
});

describe("what the vendor refuses beside the rest of a request", () => {
  const CALL = { id: "toolu_1", type: "function", function: { name: "weather", arguments: "{}" } };
  const details = [{ type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 }];
  const calling = (more: object): object => ({
    tools: [weather],
    reasoning_effort: "medium",
    messages: [
      ...ASK,
      { role: "assistant", content: null, tool_calls: [CALL], ...more },
      { role: "tool", tool_call_id: "toolu_1", content: "Sun" },
    ],
  });
  test("[d6.10] a model with a budget does not think where it goes on with calls that it has not thought about", () => {
    const { request, left } = encode(calling({}), "claude-sonnet-4-5");
    expect(JSON.parse(request.body)).not.toHaveProperty("thinking");
    expect(left).toEqual(["reasoning_effort"]);
    const signed = encode(calling({ reasoning_details: details }), "claude-sonnet-4-5");
    expect(JSON.parse(signed.request.body)).toMatchObject({ thinking: { type: "enabled" } });
    expect(signed.left).toEqual([]);
    // the turn is over
    const { messages } = calling({}) as { readonly messages: readonly object[] };
    const over = { messages: [...messages, { role: "assistant", content: "Sun." }, ...ASK] };
    expect(sent({ ...calling({}), ...over }, "claude-sonnet-4-5")).toHaveProperty("thinking");
    expect(sent(calling({}), "claude-sonnet-4-6")).toHaveProperty("thinking");
  });
  test("[d6.3] thinking with a budget refuses a choice that forces a call", () => {
    const asked = { tools: [weather], reasoning_effort: "low" };
    const named = { type: "function", function: { name: "weather" } };
    for (const tool_choice of ["required", named])
      expect(refusal({ ...asked, tool_choice }, "claude-sonnet-4-5")).toMatchObject({
        code: "unsupported_value",
        param: "tool_choice",
      });
    for (const tool_choice of ["auto", "none"])
      expect(sent({ ...asked, tool_choice }, "claude-sonnet-4-5")).toHaveProperty("thinking");
    expect(sent({ ...asked, tool_choice: "required", reasoning_effort: "none" }, "claude-sonnet-4-5")).toHaveProperty(
      "tool_choice",
    );
    for (const model of ["claude-sonnet-4-6", "claude-sonnet-5"])
      expect(sent({ ...asked, tool_choice: "required" }, model)).toMatchObject({ tool_choice: { type: "any" } });
  });
  test("a tool is strict where the vendor can hold it to its schema, and otherwise not", () => {
    const tool = (parameters: object) => ({ type: "function", function: { name: "f", parameters, strict: true } });
    const schema = (n: object) => ({ type: "object", properties: { n }, required: ["n"], additionalProperties: false });
    const whole = tool(schema({ type: "integer" }));
    const bounded = tool(schema({ type: "integer", minimum: 1 }));
    const { request, left } = encode({ tools: [whole, bounded] });
    expect(JSON.parse(request.body).tools.map(({ strict }: { strict?: boolean }) => strict)).toEqual([true, undefined]);
    expect(left).toEqual(["tools[].function.strict"]);
    expect(encode({ tools: [whole] }).left).toEqual([]);
  });
  test("[d6.8] what the vendor's schemas do not take becomes a forced tool call", () => {
    const schema = (more: object, inside: object = { type: "string" }): object => ({
      type: "object",
      properties: { a: inside },
      additionalProperties: false,
      ...more,
    });
    const formatted = (given: object): boolean =>
      sent({ response_format: { type: "json_schema", json_schema: { name: "answer", schema: given } } })[
        "output_config"
      ] !== undefined;
    const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });
    const node = (inside: object): object => ({ type: "object", properties: { inside }, additionalProperties: false });
    expect(formatted(schema({ $defs: { a: node(ref("b")), b: node({ type: "null" }) } }, ref("a")))).toBe(true);
    expect(formatted(schema({}, { type: "string", format: "date" }))).toBe(true);
    expect(formatted(schema({}, { type: "array", items: { type: "string" }, minItems: 1 }))).toBe(true);
    for (const refused of [
      schema({ $defs: { a: node(ref("b")), b: node(ref("a")) } }, ref("a")),
      schema({ $defs: { a: node(ref("a")) } }, ref("a")),
      schema({}, { $ref: "#" }),
      schema({}, { $ref: "https://one.test/schema" }),
      schema({}, { type: "string", format: "binary" }),
      schema({}, { type: "array", items: { type: "string" }, minItems: 2 }),
    ])
      expect([refused, formatted(refused)]).toEqual([refused, false]);
  });
});

describe("pass-through", () => {
  test("[d6.5] other fields go to the top of the body unchanged, and objects are merged key by key", () => {
    expect(
      sent({
        top_k: 5,
        container: { id: "c" },
        cache_control: { type: "ephemeral" },
        thinking: { display: "summarized" },
        output_config: { task_budget: { total: 9 } },
        reasoning_effort: "high",
        metadata: { run: 1 },
      }),
    ).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 128_000,
      messages: ASK,
      top_k: 5,
      container: { id: "c" },
      cache_control: { type: "ephemeral" },
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high", task_budget: { total: 9 } },
    });
    expect(encode({ extra_body: { top_k: 1 } }).request.body).toContain('"top_k":1');
  });
  test("[d6.5] what the gateway encoded is never overwritten", () => {
    expect(refusal({ reasoning_effort: "low", output_config: { effort: "max" } })).toMatchObject({
      code: "reserved_parameter",
      param: "output_config.effort",
    });
    expect(sent({ reasoning_effort: "low", output_config: { effort: "low", format: null } })).toMatchObject({
      output_config: { effort: "low" },
    });
    for (const name of ["system", "stop_sequences", "mcp_servers"]) {
      expect(anthropic.reserved.has(name)).toBe(true);
      expect(refusal({ [name]: "x" })).toMatchObject({ code: "reserved_parameter", param: name });
    }
  });
});

describe("capabilities", () => {
  const MODELS = [
    "claude-3-opus-20240229",
    "claude-3-7-sonnet-20250219",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-7",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-opus-5-5",
    "claude-haiku-5-5",
    "claude-next",
    "other",
  ];

  test("every value that a cell allows can be encoded, on every generation", () => {
    for (const model of MODELS) {
      for (const effort of capabilityOf(anthropic.capabilities, "reasoning_effort", model).values ?? []) {
        const { thinking, output_config: config } = sent({ reasoning_effort: effort }, model);
        expect(isObject(thinking)).toBe(true);
        if (isObject(config)) expect(factsOf(model).efforts).toContain(config["effort"] as string);
      }
      for (const type of (
        capabilityOf(anthropic.capabilities, "response_format", model).values ?? ["json_object"]
      ).filter((word) => word === "json_object"))
        expect(sent({ response_format: { type } }, model)).toHaveProperty("tool_choice");
    }
  });
  test("cells differ where the models do", () => {
    const cell = (name: CommonParameter, model: string): Capability =>
      capabilityOf(anthropic.capabilities, name, model);
    expect(cell("temperature", "claude-sonnet-4-6").range).toEqual([0, 1]);
    expect(cell("temperature", "claude-opus-4-7").support).toBe("unsupported");
    expect(cell("top_p", "claude-sonnet-5").support).toBe("unsupported");
    expect(cell("reasoning_effort", "claude-3-5-sonnet-20240620").support).toBe("unsupported");
    expect(cell("reasoning_effort", "claude-opus-5-5").values).not.toContain("none");
    expect(cell("reasoning_effort", "claude-opus-5").values).toContain("none");
    expect(cell("tool_choice", "claude-sonnet-5-5").values).toEqual(["none", "auto"]);
    expect(cell("tool_choice", "claude-sonnet-5").values).toBeUndefined();
    expect(cell("response_format", "claude-fable-5-1").values).toEqual(["text", "json_schema"]);
    expect(cell("response_format", "claude-3-7-sonnet-latest").support).toBe("emulated");
    expect(Object.values(anthropic.capabilities.cells).filter(({ note }) => note === undefined)).toEqual([]);
  });
});
