// Exceptions of the rows of model makers and of hosts of open models: on the wire, in answers, in errors.
import { describe, expect, test } from "bun:test";
import { fitRequest } from "../../../src/engine/fit/fit.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Principal } from "../../../src/core/identity.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import { StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { chunksOf, CONTEXT, encode, HELLO, provider, targetOf, thrownBy, wireBody } from "./calls.ts";

const TOOLS = ["f", "g"].map((name) => ({ type: "function", function: { name } }));
const AUDIO = { type: "input_audio", input_audio: { data: "UklG", format: "wav" } };
const withPart = (part: JsonObject): JsonObject => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Read this" }, part] }],
});
const sentPart = (id: string, part: JsonObject): unknown =>
  ((wireBody(provider(id), withPart(part))["messages"] as JsonObject[])[0]!["content"] as JsonObject[])[1];
const messagesOf = (id: string, messages: readonly JsonObject[], model?: string): readonly JsonObject[] =>
  wireBody(provider(id), { messages }, model)["messages"] as JsonObject[];
const classOf = (id: string, status: number, body: unknown): string =>
  provider(id).classifyError({ status, body: typeof body === "string" ? body : JSON.stringify(body) }).class;
const ANYBODY: Principal = {
  tokenId: "t",
  tokenKind: "project",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer",
  permissions: new Set(),
  restrictions: null,
};
const fitted = (id: string, body: JsonObject, model = "m-1"): unknown =>
  fitRequest(
    parseChatRequest(JSON.stringify({ model: `${id}:${model}`, messages: HELLO, ...body })),
    provider(id),
    targetOf(provider(id), model),
    { dropParams: false, disableStopSequenceLimit: false },
    ANYBODY,
  );
const refusalOf = (id: string, body: JsonObject, model = "m-1"): GatewayError =>
  thrownBy(GatewayError, () => fitted(id, body, model));

describe("Mistral's requests", () => {
  test("name the seed and the output bound as Mistral does, and omit fields that its closed schema does not have", () => {
    const body = wireBody(provider("mistral"), {
      stream: true,
      stream_options: { include_usage: true },
      seed: 7,
      max_completion_tokens: 9,
      user: "u",
      safety_identifier: "s",
      tools: [],
    });
    expect(body).toEqual({
      model: "m-1",
      messages: [...HELLO],
      stream: true,
      stream_options: { include_usage: true },
      random_seed: 7,
      max_tokens: 9,
    });
    for (const [tier, sent] of [
      ["default", "standard_only"],
      ["standard_only", "standard_only"],
      ["auto", "auto"],
    ] as const)
      expect(wireBody(provider("mistral"), { service_tier: tier })["service_tier"]).toBe(sent);
    expect(refusalOf("mistral", { service_tier: "flex" }).code).toBe("unsupported_value");
    expect(wireBody(provider("mistral"), { tools: TOOLS, safe_prompt: true })).toMatchObject({
      tools: TOOLS,
      safe_prompt: true,
    });
  });
  test("have documents as addresses, kept files by id, and audio in either form", () => {
    expect(
      sentPart("mistral", {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
      }),
    ).toEqual({ type: "document_url", document_url: "data:application/pdf;base64,JVBERi0=" });
    expect(sentPart("mistral", { type: "document", source: { type: "url", url: "https://x.example/a.pdf" } })).toEqual({
      type: "document_url",
      document_url: "https://x.example/a.pdf",
    });
    expect(sentPart("mistral", { type: "document", source: { type: "file", file_id: "file-1" } })).toEqual({
      type: "file",
      file_id: "file-1",
    });
    expect(sentPart("mistral", { type: "document", source: { type: "text", data: "so" } })).toEqual({
      type: "text",
      text: "so",
    });
    expect(
      sentPart("mistral", {
        type: "file",
        file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
      }),
    ).toEqual({ type: "document_url", document_url: "data:application/pdf;base64,JVBERi0=", document_name: "a.pdf" });
    expect(sentPart("mistral", { type: "file", file: { file_data: "JVBERi0=" } })).toEqual({
      type: "document_url",
      document_url: "data:application/pdf;base64,JVBERi0=",
    });
    expect(sentPart("mistral", { type: "file", file: { file_id: "https://x.example/a.pdf" } })).toEqual({
      type: "document_url",
      document_url: "https://x.example/a.pdf",
    });
    expect(sentPart("mistral", { type: "file", file: { file_id: "file-1" } })).toEqual({
      type: "file",
      file_id: "file-1",
    });
    expect(sentPart("mistral", { type: "file", file_id: "file-1" })).toEqual({ type: "file", file_id: "file-1" });
    expect(sentPart("mistral", AUDIO)).toEqual(AUDIO);
    expect(sentPart("mistral", { type: "input_audio", input_audio: "UklG" })).toEqual({
      type: "input_audio",
      input_audio: "UklG",
    });
  });
  test("send thinking back as a block to models that think, and not at all to others", () => {
    const turn = {
      role: "assistant",
      content: "b",
      reasoning_content: "why",
      reasoning_details: [{ type: "reasoning.text", text: "why" }],
    };
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "why" }] };
    for (const model of ["magistral-medium-latest", "mistral-small-latest", "mistral-medium-2604"])
      expect(messagesOf("mistral", [...HELLO, turn, ...HELLO], model)[1]).toEqual({
        role: "assistant",
        content: [thinking, { type: "text", text: "b" }],
      });
    expect(messagesOf("mistral", [...HELLO, turn, ...HELLO], "ministral-3b-latest")[1]).toEqual({
      role: "assistant",
      content: "b",
    });
    const calling = {
      role: "assistant",
      content: null,
      reasoning: "why",
      tool_calls: [{ id: "abcdefghi", type: "function", function: { name: "f", arguments: "{}" } }],
    };
    expect(messagesOf("mistral", [...HELLO, calling], "magistral-medium-latest")[1]).toMatchObject({
      content: [thinking],
      tool_calls: calling.tool_calls,
    });
  });
  test("have short ids in place of other providers' ids, the same for call and result in every turn", () => {
    for (const id of [
      "call_abcdefghijklmnopqrstuvwx",
      "call_00_abcdefghijklmnopqrstuvwx",
      "toolu_01abc",
      "tooluse_a-b",
      "chatcmpl-tool-0a",
      "functions.f:0",
      "0a1b2c3d-0000-4000-8000-000000000000",
      "call_0123456789abcdef0123_0_1",
    ]) {
      const turns = [
        ...HELLO,
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: id, content: "1" },
      ];
      const [, called, answered] = messagesOf("mistral", turns);
      const sent = (called!["tool_calls"] as JsonObject[])[0]!["id"];
      expect(sent).toMatch(/^[a-zA-Z0-9]{9}$/);
      expect([answered!["tool_call_id"], messagesOf("mistral", turns)[2]!["tool_call_id"]]).toEqual([sent, sent]);
    }
    const own = [...HELLO, { role: "tool", tool_call_id: "Ab3dEf9hI", content: "1" }];
    expect(messagesOf("mistral", own)).toEqual(own);
  });
  test("[d5.7] may have fields that Mistral's own clients send, which are refused for others", () => {
    const bare = { tools: [{ function: { name: "f" } }], tool_choice: "any" };
    expect(wireBody(provider("mistral"), bare)).toMatchObject(bare);
    for (const [body, param] of [
      [{ tools: bare.tools }, "tools[0].type"],
      [{ tools: TOOLS, tool_choice: "any" }, "tool_choice"],
      [withPart({ type: "input_audio", input_audio: "UklG" }), "messages[0].content[1].input_audio"],
      [withPart({ type: "file", file_id: "file-1" }), "messages[0].content[1].file"],
      [withPart({ type: "document_url", document_url: "https://x.example/a.pdf" }), "messages[0].content[1].type"],
    ] as const)
      expect([param, refusalOf("groq", body).code, refusalOf("groq", body).param]).toEqual([
        param,
        "invalid_request",
        param,
      ]);
  });
});

describe("Mistral's answers", () => {
  const content = [
    {
      type: "thinking",
      thinking: [
        { type: "text", text: "Let me see" },
        { type: "reference", reference_ids: [2] },
      ],
    },
    { type: "text", text: "It is " },
    { type: "reference", reference_ids: [1] },
    { type: "text", text: "so." },
  ];
  test("become text, reasoning and references", () => {
    const wanted = {
      content: "It is so.",
      reasoning_content: "Let me see",
      references: [{ type: "reference", reference_ids: [1] }],
    };
    expect(
      provider("mistral").decodeResponse(
        JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }),
        CONTEXT,
      ).choices[0]!.message,
    ).toMatchObject(wanted);
    expect(
      chunksOf(provider("mistral"), { choices: [{ index: 0, delta: { content } }] })[0]!.choices[0]!.delta,
    ).toMatchObject(wanted);
  });
  test("count cached tokens in either place", () => {
    const usageOf = (usage: JsonObject): unknown =>
      provider("mistral").decodeResponse(JSON.stringify({ choices: [], usage }), CONTEXT).usage?.prompt_tokens_details
        ?.cached_tokens;
    expect([usageOf({ num_cached_tokens: 3 }), usageOf({ prompt_tokens_details: { cached_tokens: 4 } })]).toEqual([
      3, 4,
    ]);
  });
});

describe("choices of tools", () => {
  test("without a field for it auto is omitted and none sends no tools; others are refused", () => {
    const parameters = { type: "object", properties: {} };
    const whole = TOOLS.map((tool) => ({ ...tool, function: { ...tool.function, parameters } }));
    for (const id of ["ai21", "minimax"]) {
      expect(wireBody(provider(id), { tools: TOOLS, tool_choice: "auto" })).toEqual({
        model: "m-1",
        messages: [...HELLO],
        tools: id === "minimax" ? whole : TOOLS,
      });
      expect(wireBody(provider(id), { tools: TOOLS, tool_choice: "none" })).toEqual({
        model: "m-1",
        messages: [...HELLO],
      });
      expect(refusalOf(id, { tools: TOOLS, tool_choice: "required" }).code).toBe("unsupported_value");
    }
  });
  const called = [
    ...HELLO,
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "abcdefghi", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "abcdefghi", content: "1" },
    ...HELLO,
  ];
  test("[d6.10] Kimi and DeepSeek get a text beside calls whose reasoning nobody sends, unless they do not think", () => {
    const reasoningAt = (id: string, model: string, more: JsonObject = {}): unknown =>
      (wireBody(provider(id), { messages: called, ...more }, model)["messages"] as JsonObject[])[1]![
        "reasoning_content"
      ];
    for (const [id, model, standIn] of [
      ["moonshot", "kimi-k2.5", " "],
      ["moonshot", "kimi-k2-thinking", " "],
      ["moonshot", "kimi-k3", " "],
      ["deepseek", "deepseek-chat", ""],
    ] as const)
      expect([model, reasoningAt(id, model)]).toEqual([model, standIn]);
    expect(reasoningAt("moonshot", "kimi-k2-0905-preview")).toBeUndefined();
    expect(reasoningAt("deepseek", "deepseek-chat", { thinking: { type: "disabled" } })).toBeUndefined();
    expect(reasoningAt("deepseek", "deepseek-chat", { reasoning_effort: "none" })).toBeUndefined();
    const own = called.map((message) =>
      message.role === "assistant" ? { ...message, reasoning_content: "Hm." } : message,
    );
    expect(reasoningAt("moonshot", "kimi-k2.5", { messages: own })).toBe("Hm.");
  });
  test("Cerebras gets no strict tool beside one that is not", () => {
    const tool = (name: string, strict?: boolean) => ({
      type: "function",
      function: { name, ...(strict && { strict }) },
    });
    const strictOf = (tools: readonly JsonObject[]): unknown =>
      (wireBody(provider("cerebras"), { tools })["tools"] as any[]).map((one) => one.function.strict);
    expect(strictOf([tool("a", true), tool("b")])).toEqual([false, undefined]);
    expect(strictOf([tool("a", true), tool("b", true)])).toEqual([true, true]);
    expect(strictOf([tool("a"), tool("b")])).toEqual([undefined, undefined]);
  });
  test("Kimi K3 is given only the named tool, and required; K2 gets the choice as it is", () => {
    const named = { type: "function", function: { name: "g" } };
    const body = (model: string) => wireBody(provider("moonshot"), { tools: TOOLS, tool_choice: named }, model);
    expect(body("kimi-k3")).toMatchObject({ tools: [TOOLS[1]], tool_choice: "required" });
    expect(body("kimi-k2.6")).toMatchObject({ tools: TOOLS, tool_choice: named });
  });
  test("Inception is given only the named tool, and required", () => {
    expect(
      wireBody(provider("inception"), {
        tools: TOOLS,
        tool_choice: { type: "function", function: { name: "g" } },
        stop: "END",
      }),
    ).toMatchObject({ tools: [TOOLS[1]], tool_choice: "required", stop: ["END"] });
    expect(wireBody(provider("inception"), { tools: TOOLS, tool_choice: "none" })).toMatchObject({
      tools: TOOLS,
      tool_choice: "none",
    });
    expect(provider("inception").reserved.has("diffusing")).toBe(true);
  });
  test("Hunyuan has its own value for a forced call", () => {
    expect(provider("hunyuan").dialect.toolChoices).toEqual(["custom"]);
    expect(refusalOf("hunyuan", { tools: TOOLS, tool_choice: "required" }).code).toBe("unsupported_value");
  });
});

describe("what vendors refuse of a conversation", () => {
  test("MiniMax gets a function without parameters as one that takes none, and others as they are", () => {
    const schema = { type: "object", properties: { city: { type: "string" } } };
    const tools: readonly JsonObject[] = [
      { type: "function", function: { name: "f", description: "F" } },
      { type: "function", function: { name: "g", parameters: schema } },
    ];
    expect(wireBody(provider("minimax"), { tools })["tools"]).toEqual([
      { type: "function", function: { name: "f", description: "F", parameters: { type: "object", properties: {} } } },
      tools[1]!,
    ]);
    const whole = tools[1]!;
    expect(wireBody(provider("minimax"), { tools: [whole] })["tools"]).toEqual([whole]);
  });
  test("Perplexity gets adjacent turns of one role as one, and others as they are", () => {
    const user = (content: unknown) => ({ role: "user", content }) as JsonObject;
    const picture = { type: "image_url", image_url: { url: "https://x.example/a.png" } };
    expect(
      messagesOf("perplexity", [
        { role: "system", content: "Be brief." },
        { role: "system", content: "Be kind." },
        user("a"),
        user("b"),
        { role: "assistant", content: "c" },
        { role: "assistant", content: "d" },
        user("e"),
        user([picture]),
      ]),
    ).toEqual([
      { role: "system", content: "Be brief." },
      { role: "system", content: "Be kind." },
      user("a\n\nb"),
      { role: "assistant", content: "c\n\nd" },
      user([{ type: "text", text: "e" }, picture]),
    ]);
    const alternate = [user("a"), { role: "assistant", content: "b" }, user("c")];
    expect(messagesOf("perplexity", alternate)).toEqual(alternate);
  });
  test("Moonshot gets pictures as data, because it refuses addresses", () => {
    for (const model of ["kimi-k3", "kimi-k2.6", "moonshot-v1-8k-vision-preview"])
      expect([...provider("moonshot").inlines(model)]).toEqual(["image_url"]);
  });
  test("Moonshot gets no answer that says nothing, and no empty part", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const calling = { role: "assistant", content: [text("")], tool_calls: [call] };
    const hello = { role: "user", content: [text(""), text("Hello")] };
    const begun = { role: "assistant", content: "", partial: true };
    const thought = { role: "assistant", content: "", reasoning_content: "Hm." };
    expect(
      messagesOf("moonshot", [
        hello,
        { role: "assistant", content: "" },
        { role: "assistant", content: null },
        { role: "assistant", content: [text("")] },
        thought,
        calling,
        { role: "tool", tool_call_id: "c1", content: "" },
        begun,
      ]),
    ).toEqual([
      { role: "user", content: [text("Hello")] },
      thought,
      { ...calling, content: "" },
      { role: "tool", tool_call_id: "c1", content: "" },
      begun,
    ]);
    const alone = [{ role: "assistant", content: "" }];
    expect(messagesOf("moonshot", alone)).toEqual(alone);
    expect([...provider("moonshot").leavesOutEmpty!("kimi-k3")]).toEqual(["assistant"]);
  });
  test("Z.ai gets no empty text beside other parts", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const turns = [
      { role: "user", content: [text(""), text("a")] },
      { role: "user", content: [text("")] },
    ];
    expect(messagesOf("zai", turns)).toEqual([{ role: "user", content: [text("a")] }, turns[1]!]);
  });
});

describe("switches for thinking", () => {
  const sent = (id: string, model: string, effort: string): JsonObject => {
    const { model: _model, messages: _messages, ...rest } = wireBody(provider(id), { reasoning_effort: effort }, model);
    return rest;
  };
  test("represent the effort on models without levels", () => {
    expect([sent("zai", "glm-4.7", "none"), sent("zai", "glm-4.6v", "high"), sent("zai", "glm-5", "low")]).toEqual([
      { thinking: { type: "disabled" }, reasoning_effort: "none" },
      { thinking: { type: "enabled" }, reasoning_effort: "high" },
      { thinking: { type: "enabled" }, reasoning_effort: "low" },
    ]);
    expect([
      sent("moonshot", "kimi-k2.6", "none"),
      sent("minimax", "MiniMax-M3", "high"),
      sent("minimax", "MiniMax-M3", "none"),
    ]).toEqual([
      { thinking: { type: "disabled" } },
      { thinking: { type: "adaptive" } },
      { thinking: { type: "disabled" } },
    ]);
    expect([
      sent("dashscope", "qwen-plus", "none"),
      sent("dashscope", "qwen3-235b-a22b", "low"),
      sent("novita", "m", "low"),
    ]).toEqual([{ enable_thinking: false }, { enable_thinking: true }, { enable_thinking: true }]);
  });
  test("are not used where the effort itself is supported", () => {
    for (const [id, model] of [
      ["zai", "glm-5.2"],
      ["zai", "glm-5.3"],
      ["moonshot", "kimi-k3"],
      ["dashscope", "qwen3.7-plus"],
      ["dashscope", "deepseek-v4-pro"],
    ] as const)
      expect(sent(id, model, "high")).toEqual({ reasoning_effort: "high" });
    expect(refusalOf("zai", { reasoning_effort: "none" }, "glm-5.3").code).toBe("unsupported_value");
    for (const model of ["kimi-k3", "kimi-k2.7-code-highspeed"])
      expect(refusalOf("moonshot", { reasoning_effort: "none" }, model).code).toBe("unsupported_value");
    for (const [id, model] of [
      ["moonshot", "moonshot-v1-8k"],
      ["minimax", "MiniMax-M2.7"],
      ["mistral", "magistral-medium-latest"],
    ] as const)
      expect(refusalOf(id, { reasoning_effort: "high" }, model).code).toBe("unsupported_parameter");
  });
  test("give way to the caller's own value", () => {
    expect(sent("zai", "glm-4.7", "high")).toMatchObject({ thinking: { type: "enabled" } });
    expect(
      wireBody(provider("zai"), { reasoning_effort: "high", thinking: { type: "disabled" } }, "glm-4.7"),
    ).toMatchObject({ thinking: { type: "disabled" } });
  });
});

describe("what belongs to a vendor and not to its wire form", () => {
  const turn = { role: "assistant", content: "b", reasoning: "why", reasoning_content: "why" };
  test("a schema may go without a name to Perplexity and llama.cpp, and is refused for others", () => {
    const nameless = { response_format: { type: "json_schema", json_schema: { schema: { type: "object" } } } };
    for (const id of ["perplexity", "llamacpp"]) {
      expect(() => fitted(id, nameless)).not.toThrow();
      expect(wireBody(provider(id), nameless)).toMatchObject(nameless);
    }
    expect(refusalOf("openai", nameless).param).toBe("response_format.json_schema.name");
  });
  test("OpenAI gets no reasoning back, and another server that a caller calls by its id gets it unchanged", () => {
    const sentTo = (changes: Partial<Target>): unknown => {
      const target = { ...targetOf(provider("openai"), "m"), ...changes };
      const request = parseChatRequest(JSON.stringify({ model: "openai:m", messages: [...HELLO, turn, ...HELLO] }));
      return (
        JSON.parse(
          provider("openai").encodeRequest(
            fitRequest(
              request,
              provider("openai"),
              target,
              { dropParams: false, disableStopSequenceLimit: false },
              ANYBODY,
            ).request,
            target,
          ).request.body,
        ) as { messages: unknown[] }
      ).messages[1];
    };
    const baseUrl = "http://127.0.0.1:8000/v1";
    // an address of the operator's is one of the vendor's servers, or a proxy in front of them: any other server is `custom`
    expect([sentTo({}), sentTo({ baseUrl }), sentTo({ baseUrl, isCallersAddress: true })]).toEqual([
      { role: "assistant", content: "b" },
      { role: "assistant", content: "b" },
      turn,
    ]);
  });
});

describe("single exceptions on the wire", () => {
  test("Kimi's sampling is fixed from K2.5 on", () => {
    const support = (model: string) => capabilityOf(provider("moonshot").capabilities, "top_p", model).support;
    expect(["kimi-k3", "kimi-k2.5", "kimi-k2-0905-preview", "moonshot-v1-8k"].map(support)).toEqual([
      "unsupported",
      "unsupported",
      "native",
      "native",
    ]);
    expect(capabilityOf(provider("moonshot").capabilities, "temperature", "kimi-k2.6").support).toBe("unsupported");
  });
  test("[d6.3] Kimi's fixed values are accepted, also in single precision", () => {
    for (const top_p of [0.95, 0.949999988079071, 1])
      expect(() => fitted("moonshot", { top_p }, "kimi-k2.5")).not.toThrow();
    expect(refusalOf("moonshot", { top_p: 0.9 }, "kimi-k2.5").code).toBe("unsupported_parameter");
  });
  test("xAI and Groq are sent the name of a tool's result", () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const result = { role: "tool", tool_call_id: "c1", name: "f", content: "5" };
    const turns = [...HELLO, { role: "assistant", content: null, tool_calls: [call] }, result];
    for (const id of ["xai", "groq"]) expect(messagesOf(id, turns).at(-1)).toEqual(result);
  });
  test("Z.ai's user_id takes 6 to 128 characters", () => {
    expect(wireBody(provider("zai"), { user: "user-1" })).toMatchObject({ user_id: "user-1" });
    expect(wireBody(provider("zai"), { user: "u" })).toEqual({ model: "m-1", messages: [...HELLO] });
  });
  test("MiniMax gets system messages as one message", () => {
    const [brief, kind] = [
      { role: "system", content: "Be brief." },
      { role: "developer", content: "Be kind." },
    ];
    const inParts = { role: "system", content: [{ type: "text", text: "Be just." }] };
    expect(messagesOf("minimax", [brief, kind, ...HELLO])).toEqual([
      { role: "system", content: "Be brief.\n\nBe kind." },
      ...HELLO,
    ]);
    expect(messagesOf("minimax", [brief, inParts, ...HELLO])).toEqual([
      { role: "system", content: [{ type: "text", text: "Be brief." }, ...inParts.content] },
      ...HELLO,
    ]);
    expect(messagesOf("minimax", [brief, ...HELLO])).toEqual([brief, ...HELLO]);
    expect(messagesOf("minimax", [brief, ...HELLO, kind, ...HELLO])).toEqual([
      { role: "system", content: "Be brief.\n\nBe kind." },
      ...HELLO,
      ...HELLO,
    ]);
  });
  test("Qwen 3.5 and later get system messages as one in front from servers with the model's own template", () => {
    const messages = [{ role: "developer", content: "Be brief." }, ...HELLO, { role: "system", content: "Be kind." }];
    const sent = (id: string, model: string) => wireBody(provider(id), { messages: [...messages] }, model)["messages"];
    for (const id of ["vllm", "sglang", "llamacpp", "lmstudio"]) {
      for (const model of ["Qwen/Qwen3.6-27B", "qwen3.8:27b"])
        expect(sent(id, model)).toEqual([{ role: "system", content: "Be brief.\n\nBe kind." }, ...HELLO]);
      for (const other of ["Qwen/Qwen3-8B", "gpt-oss-20b"]) expect(sent(id, other)).toEqual(messages);
    }
  });
  test("audio has the vendors' own forms", () => {
    for (const id of ["siliconflow", "friendli"])
      expect(sentPart(id, AUDIO)).toEqual({ type: "audio_url", audio_url: { url: "data:audio/wav;base64,UklG" } });
    expect(sentPart("dashscope", AUDIO)).toEqual({
      type: "input_audio",
      input_audio: { data: "data:;base64,UklG", format: "wav" },
    });
  });
  test("Writer's path ends in /chat", () =>
    expect(encode(provider("writer"), {}).request.url).toBe("https://api.writer.com/v1/chat"));
  test("AI21 and Morph take text as a string", () => {
    const parts = [
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ];
    for (const id of ["ai21", "morph"]) expect(messagesOf(id, parts)).toEqual([{ role: "user", content: "a\nb" }]);
  });
  test("Venice's web search is a switch, unless the caller sets the vendor's object", () => {
    expect(wireBody(provider("venice"), { web_search_options: {} })).toMatchObject({
      venice_parameters: { enable_web_search: "on" },
    });
    expect(
      wireBody(provider("venice"), { web_search_options: {}, venice_parameters: { disable_thinking: true } })[
        "venice_parameters"
      ],
    ).toEqual({ disable_thinking: true });
  });
  test("reasoning is sent back under the vendor's name", () => {
    const turn = { role: "assistant", content: "b", reasoning: "why" };
    for (const id of ["moonshot", "zai", "dashscope", "minimax", "volcengine", "qianfan", "siliconflow"])
      expect(messagesOf(id, [...HELLO, turn])[1]).toEqual({
        role: "assistant",
        content: "b",
        reasoning_content: "why",
      });
    expect(messagesOf("stepfun", [...HELLO, { role: "assistant", content: "b", reasoning_content: "why" }])[1]).toEqual(
      { role: "assistant", content: "b", reasoning: "why" },
    );
    for (const id of ["ai21", "inception", "writer", "morph"])
      expect(messagesOf(id, [...HELLO, turn])[1]).toEqual({ role: "assistant", content: "b" });
  });
});

describe("answers", () => {
  test("the vendors' further finish reasons are mapped to OpenAI's, or to failures", () => {
    const finish = (word: string): unknown =>
      chunksOf(provider("zai"), { choices: [{ index: 0, delta: {}, finish_reason: word }] })[0]!.choices[0];
    expect(finish("sensitive")).toMatchObject({ finish_reason: "content_filter", native_finish_reason: "sensitive" });
    expect(finish("model_context_window_exceeded")).toMatchObject({ finish_reason: "length" });
    expect(thrownBy(StreamError, () => finish("network_error")).failure.class).toBe("server");
  });
  test("figures with names of their own are found", () => {
    const cachedOf = (id: string, usage: JsonObject): unknown =>
      provider(id).decodeResponse(JSON.stringify({ choices: [], usage }), CONTEXT).usage;
    expect(
      cachedOf("writer", {
        prompt_token_details: { cached_tokens: 3 },
        completion_token_details: { reasoning_tokens: 2 },
      }),
    ).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 2 },
    });
    expect(cachedOf("inception", { cached_input_tokens: 3, reasoning_tokens: 1 })).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 1 },
    });
    expect(cachedOf("venice", { cache_read_input_tokens: 3 })).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3 },
    });
  });
  test("MiniMax's own status makes an error of a 200, and none where it is 0", () => {
    const failed = { base_resp: { status_code: 1008, status_msg: "insufficient balance" }, choices: null };
    const failure = { class: "quota", message: "insufficient balance", nativeCode: "1008" };
    expect(
      thrownBy(StreamError, () => provider("minimax").decodeResponse(JSON.stringify(failed), CONTEXT)).failure,
    ).toMatchObject(failure);
    expect(thrownBy(StreamError, () => chunksOf(provider("minimax"), failed)).failure).toMatchObject(failure);
    const fine = {
      choices: [{ index: 0, message: { content: "a" }, finish_reason: "stop" }],
      base_resp: { status_code: 0, status_msg: "" },
    };
    expect(provider("minimax").decodeResponse(JSON.stringify(fine), CONTEXT).choices[0]!.message.content).toBe("a");
  });
});

const said = (message: string, code: string | number | null = null, type: string | null = null): JsonObject => ({
  error: { message, code, type, param: null },
});

describe("errors in the vendors' own wording", () => {
  const TOO_LONG: readonly (readonly [id: string, status: number, body: unknown])[] = [
    [
      "mistral",
      400,
      {
        object: "error",
        message: "Prompt contains 200 tokens and 0 draft tokens, too large for model with 100 maximum context length",
        type: "invalid_request_error",
        code: "3051",
      },
    ],
    [
      "moonshot",
      400,
      said(
        "Invalid request: Your request exceeded model token limit: 100 (requested: 200)",
        null,
        "invalid_request_error",
      ),
    ],
    ["moonshot", 400, said("Input token length too long", null, "invalid_request_error")],
    ["zai", 400, said("Prompt exceeds max length", "1261")],
    ["zai", 400, said("The request exceeds the model's maximum context length", "1210")],
    [
      "dashscope",
      400,
      said(
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 100]",
        "invalid_parameter_error",
        "invalid_request_error",
      ),
    ],
    [
      "minimax",
      400,
      {
        type: "error",
        error: {
          type: "bad_request_error",
          message: "invalid params, context window exceeds limit (2013)",
          http_code: "400",
        },
      },
    ],
    ["minimax", 200, { base_resp: { status_code: 2013, status_msg: "invalid params, context window exceeds limit" } }],
    [
      "volcengine",
      400,
      said(
        "Total tokens of image and text exceed max message tokens. Request id: 02",
        "InvalidParameter",
        "BadRequest",
      ),
    ],
    ["qianfan", 400, said("the input is longer than allowed", "tokens_too_long", "invalid_request_error")],
    [
      "siliconflow",
      400,
      { code: 20015, message: "length of prompt_tokens (200) must be less than max_seq_len (100).", data: null },
    ],
    [
      "siliconflow",
      400,
      { code: 20015, message: "max_total_tokens (200) must be less than or equal to max_seq_len (100)", data: null },
    ],
    ["ai21", 422, { detail: "Prompt has too many tokens: 200" }],
    ["upstage", 400, said("too long", "context_length_exceeded")],
    ["venice", 400, said("too long", "context_length_exceeded")],
    [
      "parasail",
      400,
      {
        object: "error",
        message: "The decoder prompt (length 200) is longer than the maximum model length of 100.",
        type: "BadRequestError",
        code: 400,
      },
    ],
    [
      "chutes",
      400,
      {
        object: "error",
        message: "The input (200 tokens) is longer than the model's context length (100 tokens).",
        type: "BadRequestError",
        code: 400,
      },
    ],
  ];
  for (const [id, status, body] of TOO_LONG)
    test(`${id}: ${JSON.stringify(body).slice(0, 90)}`, () => expect(classOf(id, status, body)).toBe("context_length"));

  const OTHERS: readonly (readonly [id: string, status: number, body: unknown, wanted: string])[] = [
    ["mistral", 401, { detail: "Unauthorized" }, "authentication"],
    ["mistral", 401, { message: "Unauthorized", request_id: "r" }, "authentication"],
    [
      "mistral",
      400,
      { object: "error", message: "Invalid model: m", type: "invalid_model", code: "1500" },
      "not_found",
    ],
    [
      "mistral",
      429,
      { object: "error", message: "Rate limit exceeded", type: "rate_limited", code: "1300" },
      "rate_limit",
    ],
    [
      "mistral",
      422,
      {
        object: "error",
        message: {
          detail: [{ type: "extra_forbidden", loc: ["body", "user"], msg: "Extra inputs are not permitted" }],
        },
        type: "invalid_request_error",
      },
      "invalid_request",
    ],
    ["moonshot", 429, said("Your account is suspended", null, "exceeded_current_quota_error"), "quota"],
    ["moonshot", 429, said("busy", null, "engine_overloaded_error"), "overloaded"],
    ["moonshot", 429, said("slower", null, "rate_limit_reached_error"), "rate_limit"],
    ["zai", 429, said("no balance", "1113"), "quota"],
    ["zai", 429, said("too many at once", "1302"), "rate_limit"],
    ["zai", 400, said("unsafe", "1301"), "content_policy"],
    ["zai", 400, said("Unknown Model", "1211"), "not_found"],
    [
      "dashscope",
      429,
      said("You exceeded your current quota, please check your plan", "insufficient_quota", "insufficient_quota"),
      "rate_limit",
    ],
    [
      "dashscope",
      400,
      said("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"),
      "quota",
    ],
    [
      "dashscope",
      400,
      said(
        "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
        "data_inspection_failed",
      ),
      "content_policy",
    ],
    ["minimax", 200, { base_resp: { status_code: 1004, status_msg: "not authorized" } }, "authentication"],
    ["minimax", 200, { base_resp: { status_code: 2013, status_msg: "invalid params" } }, "invalid_request"],
    ["minimax", 500, said("input new_sensitive (1026)"), "content_policy"],
    ["minimax", 429, said("usage limit exceeded (2056)"), "quota"],
    ["qianfan", 401, said("no such model", "invalid_model", "invalid_request_error"), "not_found"],
    ["qianfan", 403, said("unsafe", "system_unsafe", "invalid_request_error"), "content_policy"],
    [
      "qianfan",
      429,
      said("Rate limit reached for RPM", "rpm_rate_limit_exceeded", "rate_limit_exceeded"),
      "rate_limit",
    ],
    ["volcengine", 403, said("overdue", "AccountOverdueError", "Forbidden"), "quota"],
    [
      "volcengine",
      400,
      said(
        "The request failed because the input text may contain sensitive information.",
        "InputTextSensitiveContentDetected",
        "BadRequest",
      ),
      "content_policy",
    ],
    ["volcengine", 404, said("no access", "InvalidEndpointOrModel.NotFound", "NotFound"), "not_found"],
    ["volcengine", 429, said("slower", "RateLimitExceeded.EndpointTPMExceeded", "TooManyRequests"), "rate_limit"],
    ["stepfun", 451, said("blocked"), "content_policy"],
    ["siliconflow", 400, { code: 20012, message: "Model does not exist", data: null }, "not_found"],
    ["venice", 422, { error: "Your prompt violates the content policy" }, "content_policy"],
    ["venice", 429, { error: "The model is overloaded" }, "overloaded"],
    ["venice", 402, { error: "Insufficient balance" }, "quota"],
    ["reka", 402, said("spent", "P001"), "quota"],
    ["baseten", 401, { error: "malformed authorization header" }, "authentication"],
    ["crusoe", 401, { errors: ["bad key"] }, "authentication"],
    ["doubleword", 400, { code: 400, message: "Validation: temperature", type: "Bad Request" }, "invalid_request"],
  ];
  for (const [id, status, body, wanted] of OTHERS)
    test(`${id} ${status} is ${wanted}: ${JSON.stringify(body).slice(0, 70)}`, () =>
      expect(classOf(id, status, body)).toBe(wanted));
});
