// Requests to Cohere's chat API: address, parameters, tools, messages, documents, pass-through. Each request is parsed
// from the text that a client would send.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { cohere } from "../../../src/providers/cohere/provider.ts";
import { refusalOf } from "../../contract/providers/provider-requests.ts";
import { keyCredential, SIGN_CONTEXT, targetFor } from "../../harness/targets.ts";
import { refusedBy } from "../refused.ts";

const ASK = [{ role: "user", content: "What is a dragoman?" }];
const CALL = { id: "w1", type: "function", function: { name: "weather", arguments: '{"city":"Wien"}' } };
const tool = (name: string, more: object = {}) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} }, ...more },
});

function encode(body: object, model = "command-a-plus-05-2026", baseUrl = "https://api.cohere.com") {
  return cohere.encodeRequest(
    parseChatRequest(JSON.stringify({ model: "cohere:x", messages: ASK, ...body })),
    targetFor(cohere, { model, baseUrl }),
  );
}
function sent(body: object, model?: string): Record<string, any> {
  return JSON.parse(encode(body, model).request.body) as Record<string, any>;
}
const turn = (message: object, model?: string): any => sent({ messages: [...ASK, message] }, model)["messages"][1];
function refusal(body: object): readonly [string, string | null] {
  const { code, param } = refusedBy(() => sent(body));
  return [code, param];
}

describe("address and key", () => {
  test("the path follows the host, or the version where the address has it", () => {
    expect(encode({}).request.url).toBe("https://api.cohere.com/v2/chat");
    expect(encode({}, "m", "https://proxy.example/cohere/v2").request.url).toBe("https://proxy.example/cohere/v2/chat");
  });
  test("the key is a bearer token", async () => {
    expect(
      (await cohere.sign(encode({}).request, keyCredential("co-test"), SIGN_CONTEXT)).headers["authorization"],
    ).toBe("Bearer co-test");
  });
});

describe("parameters", () => {
  test("each is sent in the vendor's place for it", () => {
    const asked = {
      temperature: 0.3,
      top_p: 0.7,
      seed: 7,
      stop: "END",
      max_completion_tokens: 99,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      logprobs: true,
      stream: true,
    };
    expect(sent(asked)).toEqual({
      model: "command-a-plus-05-2026",
      messages: ASK,
      temperature: 0.3,
      p: 0.7,
      seed: 7,
      stop_sequences: ["END"],
      max_tokens: 99,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      logprobs: true,
      stream: true,
    });
    expect(encode(asked).mapped).toEqual([
      "max_completion_tokens -> max_tokens",
      "top_p -> p",
      "stop -> stop_sequences",
    ]);
  });
  test("a parameter without effect is not sent", () => {
    expect(
      sent({ top_p: 1, stop: "", logprobs: false, response_format: { type: "text" }, stream: false, tools: [] }),
    ).toEqual({ model: "command-a-plus-05-2026", messages: ASK });
  });
  test("JSON with and without a schema", () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    expect(sent({ response_format: { type: "json_object" } })["response_format"]).toEqual({ type: "json_object" });
    expect(
      sent({ response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema } } })[
        "response_format"
      ],
    ).toEqual({ type: "json_object", schema });
    expect(
      sent({ response_format: { type: "json_schema", json_schema: { name: "place", schema: null } } })[
        "response_format"
      ],
    ).toEqual({ type: "json_object" });
  });
  test.each([
    ["none", { type: "disabled" }],
    ["low", { type: "enabled", token_budget: 1024 }],
    ["medium", { type: "enabled", token_budget: 8192 }],
    ["high", { type: "enabled" }],
  ])("effort %s becomes thinking", (effort, thinking) => {
    expect(sent({ reasoning_effort: effort })["thinking"]).toEqual(thinking);
  });
});

describe("tools", () => {
  test("are sent unchanged, with the parameters that the vendor requires", () => {
    expect(sent({ tools: [{ type: "function", function: { name: "clock" } }] })["tools"]).toEqual([tool("clock")]);
  });
  test("strict on one of them is strict_tools", () => {
    const body = sent({ tools: [tool("weather", { strict: true }), tool("clock", { strict: false })] });
    expect([body["strict_tools"], body["tools"]]).toEqual([true, [tool("weather"), tool("clock")]]);
    expect("strict_tools" in sent({ tools: [tool("weather", { strict: false })] })).toBe(false);
  });
  test("a function that is not offered is refused, not dropped", () => {
    expect(
      refusalOf(() =>
        sent({ tools: [tool("clock")], tool_choice: { type: "function", function: { name: "weather" } } }),
      ),
    ).toMatchObject({ code: "invalid_request", param: "tool_choice" });
  });
  test("the choice is a keyword, and a named function is the only one offered", () => {
    const tools = [tool("weather"), tool("clock")];
    expect(sent({ tools, tool_choice: "required" })["tool_choice"]).toBe("REQUIRED");
    expect(sent({ tools, tool_choice: "none" })["tool_choice"]).toBe("NONE");
    expect("tool_choice" in sent({ tools, tool_choice: "auto" })).toBe(false);
    const named = sent({ tools, tool_choice: { type: "function", function: { name: "clock" } } });
    expect([named["tool_choice"], named["tools"]]).toEqual(["REQUIRED", [tool("clock")]]);
  });
  test("a model without tool_choice gets no tools where none may be called", () => {
    expect(sent({ tools: [tool("weather")], tool_choice: "none" }, "command-r-plus-08-2024")).toEqual({
      model: "command-r-plus-08-2024",
      messages: ASK,
    });
    expect(sent({ tools: [tool("weather")], tool_choice: "none" }, "command-r7b-12-2024")["tool_choice"]).toBe("NONE");
  });
});

describe("messages", () => {
  test("roles, and images with their detail", () => {
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } };
    const { messages } = sent({
      messages: [
        { role: "developer", content: "Be brief." },
        { role: "user", name: "ann", content: [{ type: "text", text: "See" }, picture] },
      ],
    });
    expect(messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "See" }, picture] },
    ]);
  });
  test("a call with the plan before it, which was given as reasoning", () => {
    const made = {
      role: "assistant",
      content: null,
      reasoning_content: "I will look.",
      tool_calls: [{ ...CALL, extra_content: { other: {} } }],
    };
    expect(turn(made, "command-a-03-2025")).toEqual({
      role: "assistant",
      tool_calls: [CALL],
      tool_plan: "I will look.",
    });
    expect(turn({ ...made, tool_plan: "The plan." }, "command-a-03-2025")["tool_plan"]).toBe("The plan.");
  });
  test("a model that thinks gets its thinking back as a block; other models get none", () => {
    const said = { role: "assistant", content: "It rains.", reasoning_content: "Think first." };
    expect(turn(said, "command-a-reasoning-08-2025")).toEqual({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Think first." },
        { type: "text", text: "It rains." },
      ],
    });
    expect(turn(said, "command-a-03-2025")).toEqual({ role: "assistant", content: "It rains." });
    expect(
      turn(
        { ...said, reasoning_details: [{ type: "reasoning.text", text: "Think first.", signature: "s" }] },
        "command-a-reasoning-08-2025",
      )["content"],
    ).toBe("It rains.");
    const block = { type: "thinking", thinking: "Of its own." };
    expect(turn({ ...said, content: [block, { type: "text", text: "It rains." }] })["content"]).toEqual([
      block,
      { type: "text", text: "It rains." },
    ]);
  });
  test("citations are sent back, those of other vendors are not", () => {
    const citations = [{ start: 0, end: 2, text: "It", sources: [{ type: "tool", id: "w1:0", tool_output: {} }] }];
    expect(turn({ role: "assistant", content: "It rains.", citations })["citations"]).toEqual(citations);
    expect("citations" in turn({ role: "assistant", content: "It rains.", citations: ["https://example.com"] })).toBe(
      false,
    );
  });
  test("a refusal is sent back as text", () => {
    expect(turn({ role: "assistant", content: "", refusal: "I will not." })["content"]).toBe("I will not.");
  });
  test("a tool's result is text, parts, or documents of either form", () => {
    const result = (content: unknown): any =>
      sent({
        messages: [
          ...ASK,
          { role: "assistant", content: null, tool_calls: [CALL] },
          { role: "tool", tool_call_id: "w1", content },
        ],
      })["messages"][2];
    expect(result('{"rain":true}')).toEqual({ role: "tool", tool_call_id: "w1", content: '{"rain":true}' });
    const own = { type: "document", document: { id: "d", data: { rain: true } } };
    expect(result([{ type: "text", text: "Rain" }, own])["content"]).toEqual([{ type: "text", text: "Rain" }, own]);
    expect(
      result([{ type: "document", title: "W", source: { type: "text", media_type: "text/plain", data: "Rain" } }])[
        "content"
      ],
    ).toEqual([{ type: "document", document: { data: { text: "Rain", title: "W" } } }]);
  });
  test("content that a role cannot hold is refused with its path", () => {
    const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    for (const [role, more] of [
      ["system", {}],
      ["assistant", {}],
      ["tool", { tool_call_id: "w1" }],
    ] as const)
      expect(
        refusal({ messages: [...ASK, { role, content: [{ type: "text", text: "a" }, picture], ...more }] }),
      ).toEqual(["unsupported_content_block", "messages[1].content[1]"]);
  });
});

describe("documents", () => {
  const document = (source: object, more: object = {}) => ({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Sum up." },
          { type: "document", source, ...more },
        ],
      },
    ],
  });
  test("of a user's message are sent at the top level, and join those that are passed through", () => {
    const body = sent({
      ...document({ type: "text", media_type: "text/plain", data: "Rain." }, { title: "W" }),
      documents: ["More."],
    });
    expect([body["documents"], body["messages"]]).toEqual([
      [{ data: { text: "Rain.", title: "W" } }, "More."],
      [{ role: "user", content: [{ type: "text", text: "Sum up." }] }],
    ]);
  });
  test("text in base64 is decoded, and binary data is refused", () => {
    expect(
      sent(document({ type: "base64", media_type: "text/markdown", data: Buffer.from("Regen. ü").toString("base64") }))[
        "documents"
      ],
    ).toEqual([{ data: { text: "Regen. ü" } }]);
    for (const source of [
      { type: "base64", media_type: "application/pdf", data: "AAAA" },
      { type: "url", url: "https://example.com/a" },
      { type: "base64", data: "AAAA" },
    ])
      expect(refusal(document(source))).toEqual(["unsupported_content_block", "messages[0].content[1]"]);
  });
});

describe("pass-through", () => {
  test("the vendor's own fields reach the body", () => {
    const own = {
      k: 40,
      citation_options: { mode: "FAST" },
      safety_mode: "STRICT",
      priority: 2,
      strict_tools: true,
      documents: [],
      thinking: { type: "enabled", token_budget: 77 },
    };
    expect(sent(own)).toEqual({ model: "command-a-plus-05-2026", messages: ASK, ...own });
  });
  test("the vendor's own fields never replace a parameter's value", () => {
    expect(refusal({ reasoning_effort: "low", thinking: { token_budget: 5000 } })).toEqual([
      "reserved_parameter",
      "thinking.token_budget",
    ]);
    expect(refusal({ stop: ["a"], stop_sequences: ["b"] })).toEqual(["reserved_parameter", "stop_sequences"]);
    expect(sent({ stop: ["a"], stop_sequences: null })["stop_sequences"]).toEqual(["a"]);
  });
});
