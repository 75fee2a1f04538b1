// Requests to Ollama's chat API: address, options, messages, pass-through. Each request is parsed from the text that a
// client would send.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import { ollama } from "../../../src/providers/ollama/provider.ts";
import { keyCredential, SIGN_CONTEXT, targetFor } from "../../harness/targets.ts";
import { refusedBy } from "../refused.ts";

const ASK = [{ role: "user", content: "What is a dragoman?" }];
const BARE = { model: "qwen3:4b", messages: ASK, stream: false };
const TOOL = {
  type: "function",
  function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};

function encode(body: object, baseUrl = "http://localhost:11434") {
  return ollama.encodeRequest(
    parseChatRequest(JSON.stringify({ model: "ollama:x", messages: ASK, ...body })),
    targetFor(ollama, { model: "qwen3:4b", baseUrl }),
  );
}
function sent(body: object): Record<string, any> {
  return JSON.parse(encode(body).request.body) as Record<string, any>;
}
function refusal(body: object): readonly [string, string | null] {
  const { code, param } = refusedBy(() => sent(body));
  return [code, param];
}

describe("address and key", () => {
  test("the path follows the host, or the API's own path where the address has it", () => {
    expect(encode({}).request.url).toBe("http://localhost:11434/api/chat");
    expect(encode({}, "https://ollama.com/api").request.url).toBe("https://ollama.com/api/chat");
  });
  test("a key is a bearer token, and none is required", async () => {
    const { request } = encode({});
    expect((await ollama.sign(request, keyCredential("k"), SIGN_CONTEXT)).headers["authorization"]).toBe("Bearer k");
    expect(await ollama.sign(request, null, SIGN_CONTEXT)).toEqual(request);
  });
  test("images are fetched by the gateway", () => {
    expect([...ollama.inlines("any")]).toEqual(["image_url"]);
  });
});

describe("parameters", () => {
  test("stream is always sent, because the server streams by default", () => {
    expect(sent({})).toEqual(BARE);
    expect(sent({ stream: true })).toEqual({ ...BARE, stream: true });
  });
  test("sampling parameters are put into options", () => {
    const asked = {
      temperature: 0,
      top_p: 0.9,
      seed: 7,
      stop: "END",
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      max_tokens: 50,
    };
    expect(sent(asked)).toEqual({
      ...BARE,
      options: {
        num_predict: 50,
        temperature: 0,
        top_p: 0.9,
        seed: 7,
        stop: ["END"],
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
      },
    });
    expect(encode({ max_completion_tokens: 50, reasoning_effort: "low", seed: 1 }).mapped).toEqual([
      "max_completion_tokens -> options.num_predict",
      "seed -> options.seed",
      "reasoning_effort -> think",
    ]);
  });
  test("the others stand at the top level", () => {
    const schema = { type: "object", properties: {} };
    expect(sent({ response_format: { type: "json_object" } })["format"]).toBe("json");
    expect(sent({ response_format: { type: "json_schema", json_schema: { name: "n", schema } } })["format"]).toEqual(
      schema,
    );
    expect(sent({ response_format: { type: "json_schema", json_schema: { name: "n" } } })["format"]).toBe("json");
    expect(sent({ logprobs: true, top_logprobs: 3 })).toEqual({ ...BARE, logprobs: true, top_logprobs: 3 });
    expect(sent({ response_format: { type: "text" }, logprobs: false, stop: [] })).toEqual(BARE);
  });
  test.each([
    ["none", false],
    ["minimal", "low"],
    ["low", "low"],
    ["medium", "medium"],
    ["high", "high"],
    ["xhigh", "max"],
    ["max", "max"],
  ])("effort %s becomes think %p", (effort, think) => {
    expect(sent({ reasoning_effort: effort })["think"]).toEqual(think);
  });
  test("a model whose thinking cannot be switched off takes no effort of none", () => {
    for (const model of ["gpt-oss:20b", "library/gpt-oss"])
      expect(capabilityOf(ollama.capabilities, "reasoning_effort", model).values).not.toContain("none");
    expect(capabilityOf(ollama.capabilities, "reasoning_effort", "qwen3").values).toContain("none");
  });
  test("tools are sent unchanged, and not at all where none may be called", () => {
    expect(sent({ tools: [TOOL] })["tools"]).toEqual([TOOL]);
    expect(sent({ tools: [TOOL], tool_choice: "none" })).toEqual(BARE);
  });
});

describe("messages", () => {
  test("have one text, with images and audio beside it as bare base64", () => {
    const content = [
      { type: "text", text: "One" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
      { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
      { type: "image_url", image_url: { url: "data:image/svg+xml,%3Csvg%2F%3E" } },
      { type: "text", text: "Two" },
    ];
    expect(
      sent({
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "user", content },
        ],
      })["messages"],
    ).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "One\n\nTwo", images: ["AAAA", "BBBB", Buffer.from("<svg/>").toString("base64")] },
    ]);
  });
  test("an image that is still an address, or not even that, is refused", () => {
    const asked = (url: string) =>
      refusal({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] });
    expect(asked("https://example.com/a.png")).toEqual([
      "unsupported_content_block",
      "messages[0].content[0].image_url.url",
    ]);
    expect(asked("AAAA")).toEqual(["invalid_request", "messages[0].content[0].image_url.url"]);
  });
  test("text documents become text of the message, and other documents are refused", () => {
    const content = (source: object) => ({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Sum up." },
            { type: "document", title: "W", source },
          ],
        },
      ],
    });
    expect(sent(content({ type: "text", media_type: "text/plain", data: "Rain." }))["messages"][0].content).toBe(
      "Sum up.\n\nW\nRain.",
    );
    expect(
      sent(content({ type: "base64", media_type: "text/plain", data: Buffer.from("Rain.").toString("base64") }))[
        "messages"
      ][0].content,
    ).toBe("Sum up.\n\nW\nRain.");
    expect(refusal(content({ type: "base64", media_type: "application/pdf", data: "AAAA" }))).toEqual([
      "unsupported_content_block",
      "messages[0].content[1]",
    ]);
  });
  const call = (id: string, name: string, text: string) => ({
    id,
    type: "function",
    function: { name, arguments: text },
  });
  test("calls have their arguments as objects, and results name their function", () => {
    const messages = [
      ...ASK,
      {
        role: "assistant",
        content: null,
        reasoning_content: "Think.",
        tool_calls: [call("a", "weather", '{"city":"Wien","big":12345678901234567890}'), call("b", "clock", "")],
      },
      { role: "tool", tool_call_id: "b", content: "noon" },
      { role: "tool", tool_call_id: "unknown", content: [{ type: "text", text: "rain" }] },
    ];
    const { body } = encode({ messages }).request;
    expect(body).toContain("12345678901234567890");
    expect(
      (JSON.parse(body.replace(',"big":12345678901234567890', "")) as Record<string, any>)["messages"].slice(1),
    ).toEqual([
      {
        role: "assistant",
        content: "",
        thinking: "Think.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "weather", arguments: { city: "Wien" } } },
          { id: "b", type: "function", function: { index: 1, name: "clock", arguments: {} } },
        ],
      },
      { role: "tool", content: "noon", tool_name: "clock", tool_call_id: "b" },
      { role: "tool", content: "rain", tool_call_id: "unknown" },
    ]);
  });
  test("arguments that are not an object are refused with their path", () => {
    for (const text of ['{"cut', "[1]", '"x"'])
      expect(
        refusal({ messages: [...ASK, { role: "assistant", content: null, tool_calls: [call("a", "weather", text)] }] }),
      ).toEqual(["invalid_request", "messages[1].tool_calls[0].function.arguments"]);
  });
  test("thinking of another vendor is left out, and a refusal is sent back as text", () => {
    const turn = (message: object): any =>
      sent({ messages: [...ASK, { role: "assistant", ...message }] })["messages"][1];
    expect(
      turn({ content: "Hi", reasoning_content: "T", reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] }),
    ).toEqual({ role: "assistant", content: "Hi" });
    expect(turn({ content: "", refusal: "I will not." })).toEqual({ role: "assistant", content: "I will not." });
  });
});

describe("pass-through", () => {
  test("options go into options, the rest to the top", () => {
    expect(
      sent({
        temperature: 0.5,
        num_ctx: 8192,
        top_k: 40,
        min_p: 0.1,
        mirostat: 2,
        keep_alive: "5m",
        think: true,
        truncate: false,
        options: { repeat_penalty: 1.1 },
      }),
    ).toEqual({
      ...BARE,
      options: { temperature: 0.5, num_ctx: 8192, top_k: 40, min_p: 0.1, mirostat: 2, repeat_penalty: 1.1 },
      keep_alive: "5m",
      think: true,
      truncate: false,
    });
  });
  test("options never replace a parameter's value, or one another", () => {
    expect(refusal({ temperature: 0.5, options: { temperature: 0.6 } })).toEqual([
      "reserved_parameter",
      "options.temperature",
    ]);
    expect(sent({ temperature: 0.5, options: { temperature: 0.5 } })["options"]).toEqual({ temperature: 0.5 });
    expect(refusal({ options: { num_predict: 5 } })).toEqual(["reserved_parameter", "options.num_predict"]);
    expect(refusal({ top_k: 1, options: { top_k: 2 } })).toEqual(["reserved_parameter", "options.top_k"]);
    expect(refusal({ reasoning_effort: "low", think: true })).toEqual(["reserved_parameter", "think"]);
    expect(refusal({ options: "all" })).toEqual(["invalid_request", "options"]);
    expect(sent({ options: null })).toEqual(BARE);
  });
});
