// Requests to Converse: conversation, blocks, tools, parameters, JSON mode, pass-through. Each request is parsed from
// the text that a client would send.
import { describe, expect, test } from "bun:test";
import { capabilityOf } from "../../../src/core/capability.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { bedrock } from "../../../src/providers/bedrock/provider.ts";
import { refusalOf } from "../../contract/providers/provider-requests.ts";
import { targetFor } from "../../harness/targets.ts";

const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA = "amazon.nova-lite-v1:0";
const PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcd";
const ASK = [{ role: "user", content: "What is a dragoman?" }];
const PDF = "data:application/pdf;base64,cGRm";
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Now",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const clock = { type: "function", function: { name: "clock", description: "" } };

function encode(body: object, model = CLAUDE) {
  return bedrock.encodeRequest(
    parseChatRequest(JSON.stringify({ model: "bedrock:x", messages: ASK, ...body })),
    targetFor(bedrock, { model }),
  );
}
const sent = (body: object, model?: string): Record<string, any> =>
  JSON.parse(encode(body, model).request.body) as Record<string, any>;
const refusal = (body: object, model?: string) => {
  const refused = refusalOf(() => encode(body, model));
  return refused === null ? null : [refused.code, refused.param];
};
/** The blocks of parts, which stand before a text: documents need one beside them. */
const blocks = (content: readonly object[], model?: string): unknown =>
  sent({ messages: [{ role: "user", content: [...content, { type: "text", text: "Look." }] }] }, model)[
    "messages"
  ][0].content.slice(0, -1);

describe("the conversation", () => {
  test("a plain call has nothing but its messages", () => {
    expect(sent({})).toEqual({ messages: [{ role: "user", content: [{ text: "What is a dragoman?" }] }] });
    expect(encode({}).request.url).toEndWith("/converse");
    expect(encode({ stream: true }).request.url).toEndWith("/converse-stream");
    expect(sent({ stream: true })).toEqual(sent({}));
  });
  test("system and developer messages are separate, neighbouring messages of one role are one turn, and empty text is left out", () => {
    const { system, messages } = sent({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "A" },
        {
          role: "user",
          content: [
            { type: "text", text: "" },
            { type: "text", text: "B" },
          ],
        },
        { role: "developer", content: "Be kind." },
        { role: "assistant", content: "C" },
      ],
    });
    expect(system).toEqual([{ text: "Be brief." }, { text: "Be kind." }]);
    expect(messages).toEqual([
      { role: "user", content: [{ text: "A" }, { text: "B" }] },
      { role: "assistant", content: [{ text: "C" }] },
    ]);
  });
  test("white space before a call is left out, unless it is marked", () => {
    const tool_calls = [{ id: "t1", type: "function", function: { name: "f", arguments: "{}" } }];
    const answer = (content: unknown) =>
      (sent({ messages: [...ASK, { role: "assistant", content, tool_calls }] }) as any).messages[1].content;
    const toolUse = { toolUseId: "t1", name: "f", input: {} };
    expect(answer("\n\n")).toEqual([{ toolUse }]);
    expect(answer([{ type: "text", text: " ", cache_control: { type: "ephemeral" } }])).toEqual([
      { text: " " },
      { cachePoint: { type: "default" } },
      { toolUse },
    ]);
  });
  test.each(["amazon.titan-text-express-v1", "mistral.mistral-7b-instruct-v0:2"])(
    "%s has no system prompt: it is put at the start of the first user turn",
    (model) => {
      const body = sent(
        {
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "A" },
          ],
        },
        model,
      );
      expect(body["system"]).toBeUndefined();
      expect(body["messages"]).toEqual([{ role: "user", content: [{ text: "Be brief." }, { text: "A" }] }]);
    },
  );
  test("results of tools are one user turn and stand first, with images, values and failures in them", () => {
    const call = (id: string, args: string) => ({
      id,
      type: "function",
      function: { name: "weather", arguments: args },
    });
    const { messages } = sent({
      tools: [weather],
      messages: [
        ...ASK,
        {
          role: "assistant",
          content: null,
          tool_calls: [call("a", '{"city":"Wien"}'), call("b", ""), call("c", '{"ci')],
        },
        { role: "user", content: "Go on." },
        { role: "tool", tool_call_id: "a", content: "Sun" },
        {
          role: "tool",
          tool_call_id: "b",
          content: [
            { type: "image_url", image_url: { url: "data:image/jpg;base64,anBn" } },
            { type: "json", json: { t: 3 } },
          ],
          is_error: true,
        },
        { role: "tool", tool_call_id: "c/1", content: "" },
      ],
    });
    expect(messages[1].content).toEqual([
      { toolUse: { toolUseId: "a", name: "weather", input: { city: "Wien" } } },
      { toolUse: { toolUseId: "b", name: "weather", input: {} } },
      { toolUse: { toolUseId: "c", name: "weather", input: { INVALID_JSON: '{"ci' } } },
    ]);
    expect(messages[2].content).toEqual([
      { toolResult: { toolUseId: "a", content: [{ text: "Sun" }] } },
      {
        toolResult: {
          toolUseId: "b",
          content: [{ image: { format: "jpeg", source: { bytes: "anBn" } } }, { json: { t: 3 } }],
          status: "error",
        },
      },
      { toolResult: { toolUseId: expect.stringMatching(/^[0-9a-f]{32}$/), content: [] } },
      { text: "Go on." },
    ]);
  });
  test("signed and redacted reasoning is sent back before the text of its turn, other reasoning is not", () => {
    const details = [
      { type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.encrypted", data: "aGlk", format: "anthropic-claude-v1", index: 1 },
      { type: "reasoning.text", text: "Unsigned." },
      { type: "reasoning.encrypted", data: "Z29v", format: "google-gemini-v1" },
    ];
    const { messages } = sent({
      messages: [
        ...ASK,
        { role: "assistant", content: "Yes.", reasoning_content: "Hm.", reasoning_details: details },
        ...ASK,
      ],
    });
    expect(messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } },
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "Yes." },
    ]);
  });
  test("a cache mark becomes a cache point after its part, message or tool", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const body = sent({
      tools: [{ ...weather, ...mark }, clock],
      messages: [
        { role: "system", content: [{ type: "text", text: "S", ...mark }] },
        {
          role: "user",
          content: [
            { type: "text", text: "A", cache_control: { type: "ephemeral", ttl: "1h" } },
            { type: "text", text: "B" },
            { type: "cachePoint", cachePoint: { type: "default" } },
          ],
        },
        { role: "assistant", content: "C", ...mark },
        { role: "assistant", content: "", ...mark },
        { role: "tool", tool_call_id: "a", content: "R", ...mark },
      ],
    });
    const point = { cachePoint: { type: "default" } };
    expect(body["system"]).toEqual([{ text: "S" }, point]);
    expect(body["messages"].map((turn: any) => turn.content)).toEqual([
      [{ text: "A" }, { cachePoint: { type: "default", ttl: "1h" } }, { text: "B" }, point],
      [{ text: "C" }, point],
      [{ toolResult: { toolUseId: "a", content: [{ text: "R" }] } }, point],
    ]);
    expect(body["toolConfig"].tools.map((tool: object) => Object.keys(tool)[0])).toEqual([
      "toolSpec",
      "cachePoint",
      "toolSpec",
    ]);
  });
  test("one message of very many parts, and very many messages, are encoded", () => {
    const parts = Array.from({ length: 300_000 }, () => ({ type: "text", text: "a" }));
    // above the bounds of a body, which the operator may raise
    const encoded = (messages: readonly unknown[]): any =>
      JSON.parse(
        bedrock.encodeRequest(
          parseChatRequest(JSON.stringify({ model: "bedrock:x", messages }), null),
          targetFor(bedrock, { model: CLAUDE }),
        ).request.body,
      );
    expect(encoded([{ role: "user", content: parts }]).messages[0].content.length).toBe(300_000);
    expect(encoded(Array.from({ length: 30_000 }, () => ASK[0])).messages[0].content.length).toBe(30_000);
  });
});

describe("content blocks", () => {
  test("images, videos and documents are bytes with a format name, in whatever part they came", () => {
    expect(blocks([{ type: "image_url", image_url: { url: "data:image/webp;base64,d2VicA==" } }])).toEqual([
      { image: { format: "webp", source: { bytes: "d2VicA==" } } },
    ]);
    expect(blocks([{ type: "video_url", video_url: { url: "data:video/3gpp;base64,M2dw" } }])).toEqual([
      { video: { format: "three_gp", source: { bytes: "M2dw" } } },
    ]);
    expect(blocks([{ type: "image_url", image_url: { url: PDF } }])).toEqual([
      { document: { format: "pdf", name: "document", source: { bytes: "cGRm" } } },
    ]);
    expect(blocks([{ type: "file", file: { file_data: "data:video/mp4;base64,bXA0" } }])).toEqual([
      { video: { format: "mp4", source: { bytes: "bXA0" } } },
    ]);
    expect(blocks([{ type: "file", file: { file_data: "cGRm", filename: "report.csv" } }])).toEqual([
      { document: { format: "csv", name: "report", source: { bytes: "cGRm" } } },
    ]);
    expect(blocks([{ type: "file", file: { file_data: "data:application/json,%7B%7D" } }])).toEqual([
      { document: { format: "txt", name: "document", source: { bytes: "e30=" } } },
    ]);
  });
  test("a document goes with a text, which the vendor requires", () => {
    const file = { type: "file", file: { file_data: PDF } };
    const content = (parts: readonly object[]): unknown =>
      sent({ messages: [{ role: "user", content: parts }] })["messages"][0].content;
    const document = { document: { format: "pdf", name: "document", source: { bytes: "cGRm" } } };
    expect(content([file])).toEqual([{ text: "See the attached document." }, document]);
    expect(content([file, { type: "text", text: "Read." }])).toEqual([document, { text: "Read." }]);
  });
  test("objects in S3 are sent by their address", () => {
    expect(blocks([{ type: "image_url", image_url: { url: "s3://bucket/kiwi.jpg" } }], NOVA)).toEqual([
      { image: { format: "jpeg", source: { s3Location: { uri: "s3://bucket/kiwi.jpg" } } } },
    ]);
    expect(blocks([{ type: "video_url", video_url: { url: "s3://bucket/clip" } }], NOVA)).toEqual([
      { video: { format: "mp4", source: { s3Location: { uri: "s3://bucket/clip" } } } },
    ]);
    expect(blocks([{ type: "file", file: { file_id: "s3://bucket/a.docx" } }], NOVA)).toEqual([
      { document: { format: "docx", name: "document", source: { s3Location: { uri: "s3://bucket/a.docx" } } } },
    ]);
  });
  test("documents have unique names that the vendor accepts", () => {
    const file = (filename: string) => ({ type: "file", file: { file_data: PDF, filename } });
    const names = (
      blocks([
        file("Q1  report_(final).v2.pdf"),
        file("Q1 report_(final).v2.pdf"),
        file(""),
        file("Übersicht.pdf"),
        file("x".repeat(500)),
      ]) as any[]
    ).map((block) => block.document.name as string);
    expect(names).toEqual(["Q1 report-(final)-v2", "Q1 report-(final)-v2 2", "document", "-bersicht", "x".repeat(180)]);
    for (const name of names) expect(name).toMatch(/^(?!.*\s\s)[A-Za-z0-9\s()[\]-]{1,200}$/);
  });
  test("documents keep title, context and the option for citations; plain text stays text", () => {
    expect(
      blocks([
        {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "Leave: 20 days." },
          title: "company policy",
          context: "HR",
          citations: { enabled: true },
        },
      ]),
    ).toEqual([
      {
        document: {
          format: "txt",
          name: "company policy",
          source: { text: "Leave: 20 days." },
          context: "HR",
          citations: { enabled: true },
        },
      },
    ]);
    expect(
      blocks([{ type: "document", source: { type: "base64", media_type: "text/markdown", data: "IyBI" } }]),
    ).toEqual([{ document: { format: "md", name: "document", source: { bytes: "IyBI" } } }]);
    expect(
      blocks([
        { type: "document", source: { type: "text", media_type: "application/json", data: '{"a":1}' } },
        { type: "document", source: { type: "base64", media_type: "application/toml; charset=utf-8", data: "YT0x" } },
      ]),
    ).toEqual([
      { document: { format: "txt", name: "document", source: { text: '{"a":1}' } } },
      { document: { format: "txt", name: "document 2", source: { bytes: "YT0x" } } },
    ]);
    expect(blocks([{ type: "document", source: { type: "url", url: PDF } }])).toEqual([
      { document: { format: "pdf", name: "document", source: { bytes: "cGRm" } } },
    ]);
  });
  test("the vendor's own blocks, and guarded text, are sent in its form", () => {
    const guarded = { text: { text: "Tokyo", qualifiers: ["grounding_source"] } };
    expect(
      blocks([
        { type: "guardContent", guardContent: guarded },
        { type: "guarded_text", text: "Hi" },
      ]),
    ).toEqual([{ guardContent: guarded }, { guardContent: { text: { text: "Hi" } } }]);
  });
  test("audio goes to the models that accept it", () => {
    expect(
      blocks([{ type: "input_audio", input_audio: { data: "bXAz", format: "mp3" } }], "mistral.voxtral-small-24b-2507"),
    ).toEqual([{ audio: { format: "mp3", source: { bytes: "bXAz" } } }]);
  });
  test("content without bytes, a format or a known form is refused with its path", () => {
    const at = ["unsupported_content_block", "messages[0].content[0]"];
    for (const part of [
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
      { type: "file", file: { file_id: "file-123" } },
      { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
      { type: "document", source: { type: "content", content: [] } },
      { type: "image_url", image_url: { url: "data:image/svg+xml;base64,PHN2Zz4=" } },
      { type: "file", file: { file_data: "data:application/zip;base64,UEs=" } },
      { type: "guardContent" },
    ])
      expect([part, refusal({ messages: [{ role: "user", content: [part] }] })]).toEqual([part, at]);
    expect(
      refusal({
        messages: [
          { role: "system", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,cG5n" } }] },
          ...ASK,
        ],
      }),
    ).toEqual(["unsupported_content_block", "messages[0].content"]);
  });
});

test("a media type named like a member of every object is unknown all the same", () => {
  for (const url of ["data:constructor;base64,AAAA", "data:__proto__;base64,AAAA"])
    expect(refusal({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] })).toEqual([
      "unsupported_content_block",
      "messages[0].content[0]",
    ]);
});

describe("parameters", () => {
  test("inferenceConfig has the parameters that Converse knows", () => {
    expect(sent({ max_tokens: 5, temperature: 0.5, top_p: 0.9, stop: ["A", ""] })["inferenceConfig"]).toEqual({
      maxTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ["A"],
    });
    expect(sent({ max_completion_tokens: 7, stop: "B" })["inferenceConfig"]).toEqual({
      maxTokens: 7,
      stopSequences: ["B"],
    });
    expect(sent({ service_tier: "priority" })["serviceTier"]).toEqual({ type: "priority" });
    expect(sent({ service_tier: "auto" })).toEqual(sent({}));
  });
  test.each([
    [CLAUDE, "low", { thinking: { type: "enabled", budget_tokens: 4096 } }],
    ["us.anthropic.claude-sonnet-4-6", "low", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["us.anthropic.claude-opus-4-5-20251101-v1:0", "high", { thinking: { type: "enabled", budget_tokens: 24_000 } }],
    ["us.amazon.nova-2-lite-v1:0", "medium", { reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } }],
    ["us.amazon.nova-2-lite-v1:0", "none", { reasoningConfig: { type: "disabled" } }],
    ["openai.gpt-oss-120b-1:0", "low", { reasoning_effort: "low" }],
    ["us.openai.gpt-5.6-sol", "none", { reasoning: { effort: "none" } }],
    ["global.openai.gpt-6-astra", "max", { reasoning: { effort: "max" } }],
    ["qwen.qwen3-32b-v1:0", "high", { reasoning_config: "high" }],
  ])("reasoning_effort of %s, %s", (model, effort, fields) => {
    expect(sent({ reasoning_effort: effort }, model)["additionalModelRequestFields"]).toEqual(fields);
  });
  test("[d6.3] OpenAI's closed models have no temperature and no top_p, not even their defaults, and take forced tools", () => {
    const cell = (name: "temperature" | "top_p" | "tool_choice", model: string) =>
      capabilityOf(bedrock.capabilities, name, model);
    for (const model of ["us.openai.gpt-5.6-sol", "global.openai.gpt-6-luna"]) {
      for (const name of ["temperature", "top_p"] as const)
        expect([cell(name, model).support, cell(name, model).neutral]).toEqual(["unsupported", undefined]);
      expect(cell("tool_choice", model)).toMatchObject({ support: "mapped" });
    }
    expect(cell("temperature", "openai.gpt-oss-120b-1:0").support).toBe("mapped");
  });
  test("a thinking budget stays below the bound on the answer", () => {
    expect(
      sent({ reasoning_effort: "high", max_tokens: 2000 })["additionalModelRequestFields"].thinking.budget_tokens,
    ).toBe(1600);
    expect(refusal({ reasoning_effort: "high", max_tokens: 1000 })).toEqual(["unsupported_value", "reasoning_effort"]);
  });
});

describe("tools", () => {
  const spec = {
    toolSpec: { name: "weather", description: "Now", inputSchema: { json: weather.function.parameters } },
  };
  test("become toolConfig, without empty descriptions, and with a schema each", () => {
    expect(sent({ tools: [weather, clock] })["toolConfig"]).toEqual({
      tools: [spec, { toolSpec: { name: "clock", inputSchema: { json: { type: "object", properties: {} } } } }],
    });
    expect(sent({ tool_choice: "auto" })["toolConfig"]).toBeUndefined();
  });
  test.each([
    ["auto", { auto: {} }],
    ["required", { any: {} }],
    [{ type: "function", function: { name: "weather" } }, { tool: { name: "weather" } }],
  ])("tool_choice %j", (tool_choice, toolChoice) => {
    expect(sent({ tools: [weather], tool_choice })["toolConfig"]).toEqual({ tools: [spec], toolChoice });
  });
  test("DeepSeek V3 takes required, but no name of a function", () => {
    for (const model of ["deepseek.v3-v1:0", "deepseek.v3.2"]) {
      expect(sent({ tools: [weather], tool_choice: "required" }, model)["toolConfig"].toolChoice).toEqual({ any: {} });
      expect(capabilityOf(bedrock.capabilities, "tool_choice", model).values).toEqual([
        "none",
        "auto",
        "required",
        "any",
      ]);
    }
  });
  test("tool_choice none leaves them out, which is refused for a conversation with calls", () => {
    expect(sent({ tools: [weather], tool_choice: "none" })).toEqual(sent({}));
    const called = [
      ...ASK,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "Sun" },
    ];
    expect(refusal({ tools: [weather], tool_choice: "none", messages: called })).toEqual([
      "unsupported_value",
      "tool_choice",
    ]);
  });
  test("strict is sent to the models that know it, where the vendor can hold the tool to its schema", () => {
    const strict = { type: "function", function: { ...weather.function, strict: true } };
    const closed = { ...weather.function.parameters, additionalProperties: false };
    const whole = { type: "function", function: { ...strict.function, parameters: closed } };
    expect(sent({ tools: [whole] })["toolConfig"].tools[0].toolSpec.strict).toBe(true);
    expect(encode({ tools: [whole] }).left).toEqual([]);
    expect(sent({ tools: [strict] })["toolConfig"].tools[0]).toEqual(spec);
    expect(encode({ tools: [strict] }).left).toEqual(["tools[].function.strict"]);
    expect(sent({ tools: [strict] }, NOVA)["toolConfig"].tools[0]).toEqual(spec);
  });
  test("[d6.10] a conversation with calls goes with a tool that stands for those of an earlier request", () => {
    const messages = [
      ...ASK,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: " \n" },
      ...ASK,
    ];
    const body = sent({ messages });
    expect(body["toolConfig"].tools).toMatchObject([{ toolSpec: { name: "no_tool" } }]);
    expect(body["toolConfig"]).not.toHaveProperty("toolChoice");
    // "text content blocks must contain non-whitespace text"
    expect(body["messages"][2].content[0].toolResult.content).toEqual([]);
    expect(sent({ messages, tools: [weather] })["toolConfig"].tools).toEqual([spec]);
    expect(sent({})).not.toHaveProperty("toolConfig");
    // such a model does not go on with a call that it has not thought about
    const effort = encode({ messages: messages.slice(0, 3), reasoning_effort: "low" });
    expect(effort.request.body).not.toContain("budget_tokens");
    expect(effort.left).toEqual(["reasoning_effort"]);
    expect(refusal({ tools: [weather], reasoning_effort: "low", tool_choice: "required" })).toEqual([
      "unsupported_value",
      "tool_choice",
    ]);
  });
  test("one call at a time is requested in Claude's own form", () => {
    expect(sent({ tools: [weather], parallel_tool_calls: false })["additionalModelRequestFields"]).toEqual({
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    expect(
      sent({ tools: [weather], tool_choice: "required", parallel_tool_calls: false })["additionalModelRequestFields"],
    ).toEqual({ tool_choice: { type: "any", disable_parallel_tool_use: true } });
    const json = sent({ tools: [weather], parallel_tool_calls: false, response_format: { type: "json_object" } });
    expect(json).toMatchObject({
      toolConfig: { toolChoice: { any: {} } },
      additionalModelRequestFields: { tool_choice: { type: "any", disable_parallel_tool_use: true } },
    });
  });
  test("the service's own tools stand beside them, and Claude's dated ones among its own fields, with their beta", () => {
    expect(
      sent({ tools: [weather, { type: "systemTool", systemTool: { name: "nova_grounding" } }] }, NOVA)["toolConfig"]
        .tools[1],
    ).toEqual({ systemTool: { name: "nova_grounding" } });
    const bash = { type: "bash_20250124", name: "bash" };
    expect(sent({ tools: [bash] })["additionalModelRequestFields"]).toEqual({
      tools: [bash],
      anthropic_beta: ["computer-use-2025-01-24"],
    });
  });
  test("[d6.2] a choice that forces one of Claude's dated tools stands beside them, in Claude's own form", () => {
    const bash = { type: "bash_20250124", name: "bash" };
    const named = { type: "function", function: { name: "bash" } };
    for (const [params, choice] of [
      [{ tools: [bash], tool_choice: "required" }, { type: "any" }],
      [
        { tools: [bash], tool_choice: named },
        { type: "tool", name: "bash" },
      ],
      [
        { tools: [bash], tool_choice: named, parallel_tool_calls: false },
        { type: "tool", name: "bash", disable_parallel_tool_use: true },
      ],
      [
        { tools: [bash, weather], tool_choice: named },
        { type: "tool", name: "bash" },
      ],
    ] as const) {
      const { toolConfig, additionalModelRequestFields } = sent(params);
      expect(additionalModelRequestFields).toMatchObject({ tools: [bash], tool_choice: choice });
      expect(toolConfig?.toolChoice).toBeUndefined();
    }
    const forced = sent({ tools: [bash, weather], tool_choice: "required" });
    expect(forced["toolConfig"].toolChoice).toEqual({ any: {} });
    expect(forced["additionalModelRequestFields"]).not.toHaveProperty("tool_choice");
  });
});

describe("JSON output", () => {
  const schema = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const asked = {
    response_format: {
      type: "json_schema",
      json_schema: { name: "place", description: "Where", strict: true, schema },
    },
  };
  test("json_schema is the vendor's own where the model has it, with the schema as a text", () => {
    const { outputConfig, toolConfig } = sent(asked);
    expect(outputConfig).toEqual({
      textFormat: {
        type: "json_schema",
        structure: { jsonSchema: { name: "place", description: "Where", schema: JSON.stringify(schema) } },
      },
    });
    expect(toolConfig).toBeUndefined();
  });
  test.each(["nvidia.nemotron-nano-12b-v2", "zai.glm-4.7-flash"])(
    "[d6.8] %s is one of the models that have it",
    (model) => {
      expect(sent(asked, model)).toMatchObject({ outputConfig: { textFormat: { type: "json_schema" } } });
      expect(sent(asked, model).toolConfig).toBeUndefined();
    },
  );
  test.each([NOVA, "us.anthropic.claude-opus-4-1-20250805-v1:0", PROFILE])(
    "%s is forced to call a tool whose input is the answer",
    (model) => {
      const { outputConfig, toolConfig } = sent(asked, model);
      expect(outputConfig).toBeUndefined();
      expect(toolConfig.tools[0].toolSpec).toMatchObject({ name: "respond_with_json", inputSchema: { json: schema } });
      expect(toolConfig.toolChoice).toEqual({ tool: { name: "respond_with_json" } });
      expect(encode(asked, model).memo).toEqual({ answerTool: "respond_with_json" });
    },
  );
  test("beside other tools any may be called, and a call that the caller forces excludes JSON output", () => {
    expect(sent({ ...asked, tools: [weather] }, NOVA)["toolConfig"]).toMatchObject({ toolChoice: { any: {} } });
    expect(sent({ ...asked, tools: [weather], tool_choice: "required" }, NOVA)["toolConfig"].tools.length).toBe(1);
    expect(sent({ ...asked, tools: [weather], tool_choice: "none" }, NOVA)["toolConfig"]).toMatchObject({
      tools: [{ toolSpec: { name: "respond_with_json" } }],
      toolChoice: { tool: { name: "respond_with_json" } },
    });
    expect(sent(asked, "us.mistral.pixtral-large-2502-v1:0")["toolConfig"].toolChoice).toEqual({ any: {} });
  });
  test("cannot be forced beside the thinking of a model that refuses it", () => {
    expect(refusal({ response_format: { type: "json_object" }, reasoning_effort: "low" })).toEqual([
      "unsupported_value",
      "response_format",
    ]);
    expect(
      refusal({ response_format: { type: "json_object" }, thinking: { type: "enabled", budget_tokens: 2000 } }),
    ).toEqual(["unsupported_value", "response_format"]);
    const thinking = { response_format: { type: "json_object" }, reasoning_effort: "low" };
    expect(refusal(thinking, "anthropic.claude-opus-4-7")).toEqual(["unsupported_value", "response_format"]);
    expect(sent(thinking, "anthropic.claude-opus-4-8")).toHaveProperty("toolConfig");
  });
});

describe("pass-through", () => {
  test("[d6.5] Converse's own fields go to the top, all others to the model's fields", () => {
    const guardrailConfig = { guardrailIdentifier: "g", guardrailVersion: "1", trace: "enabled" };
    const body = sent({
      guardrailConfig,
      requestMetadata: { team: "a" },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      performanceConfig: { latency: "optimized" },
      top_k: 5,
      extra_body: { additionalModelRequestFields: { anthropic_beta: ["b"] } },
    });
    expect(body).toEqual({
      ...sent({}),
      guardrailConfig,
      requestMetadata: { team: "a" },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      performanceConfig: { latency: "optimized" },
      additionalModelRequestFields: { top_k: 5, anthropic_beta: ["b"] },
    });
  });
  test("[d6.5] objects are merged, and what the gateway encoded is not overwritten", () => {
    expect(sent({ temperature: 0.5, inferenceConfig: { topP: 0.1, temperature: 0.5 } })["inferenceConfig"]).toEqual({
      temperature: 0.5,
      topP: 0.1,
    });
    expect(refusal({ temperature: 0.5, inferenceConfig: { temperature: 0.6 } })).toEqual([
      "reserved_parameter",
      "inferenceConfig.temperature",
    ]);
    expect(
      refusal({ reasoning_effort: "low", additionalModelRequestFields: { thinking: { type: "disabled" } } }),
    ).toEqual(["reserved_parameter", "additionalModelRequestFields.thinking.type"]);
    expect(refusal({ top_k: 5, additionalModelRequestFields: { top_k: 6 } })).toEqual([
      "reserved_parameter",
      "additionalModelRequestFields.top_k",
    ]);
  });
  test.each([
    [{ inferenceConfig: { maxTokens: 9 } }, "inferenceConfig.maxTokens"],
    [{ max_gen_len: 9 }, "additionalModelRequestFields.max_gen_len"],
    [{ extra_body: { additionalModelRequestFields: { messages: [] } } }, "additionalModelRequestFields.messages"],
    [{ additionalModelRequestFields: { max_tokens: 9 } }, "additionalModelRequestFields.max_tokens"],
    [
      { additionalModelRequestFields: { inferenceConfig: { max_new_tokens: 9 } } },
      "additionalModelRequestFields.inferenceConfig.max_new_tokens",
    ],
    [{ textGenerationConfig: { maxTokenCount: 9 } }, "additionalModelRequestFields.textGenerationConfig.maxTokenCount"],
    [{ mcp_servers: [] }, "additionalModelRequestFields.mcp_servers"],
  ])("[d6.5] %j is reserved", (fields, path) => {
    expect(refusal(fields)).toEqual(["reserved_parameter", path]);
  });
});
