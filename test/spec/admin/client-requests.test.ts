// Requests as common clients send them (R1 to R12, promise 9.7), and how they reach the provider. R11, the responses
// operation, is a path of the server and is tested in operations.test.ts.
import { describe, expect, test } from "bun:test";
import { COMMON_PARAMETERS } from "../../../src/core/params.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { chunk, play } from "../answers/played-stream.ts";

const ECHO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello there" }] } as const;
const OPENAI = { model: "openai:gpt-4o-mini", messages: [{ role: "user", content: "hi" }] } as const;
const answering = (body: object) => ({
  upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
});

describe("requests that clients send", () => {
  /** What the provider was sent. */
  async function sent(request: object, model: string = OPENAI.model): Promise<Record<string, any>> {
    const answers: Record<string, object> = {
      gemini: { candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }] },
      openai: openaiAnswer(),
    };
    // ids of uploads need the permission
    const stub = stubGateway({
      ...answering(answers[model.split(":")[0]!]!),
      permissions: ["byo_endpoint", "vendor_objects"],
    });
    const response = await stub.chat({ ...OPENAI, ...request, model });
    if (response.status !== 200) throw new Error(await response.text());
    return JSON.parse(stub.sent[0]!.body) as Record<string, any>;
  }
  const withMessages = (...messages: readonly object[]): object => ({
    messages: [{ role: "user", content: "hi" }, ...messages],
  });
  const TOOL_CALL = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const TOOLS = [
    { type: "function", function: { name: "f", parameters: { type: "object", properties: {} }, strict: true } },
  ];

  test("[d9.7] R1: max_tokens and max_completion_tokens become what the model takes, and -1 is not set", async () => {
    for (const name of ["max_tokens", "max_completion_tokens"])
      expect((await sent({ [name]: 7 }, "gemini:gemini-2.5-flash"))["generationConfig"]).toMatchObject({
        maxOutputTokens: 7,
      });
    const unset = await sent({ max_tokens: -1, temperature: 0.7 });
    expect([unset["max_tokens"], unset["max_completion_tokens"], unset["temperature"]]).toEqual([
      undefined,
      undefined,
      0.7,
    ]);
  });

  test("[d9.7] R2: content is taken as text, as parts or null beside calls; the role developer, a tool's content in both forms and a name on any role are taken too", async () => {
    const messages = [
      { role: "developer", content: "Be brief.", name: "ops" },
      { role: "user", content: [{ type: "text", text: "hi" }], name: "ann" },
      { role: "assistant", content: null, tool_calls: [TOOL_CALL, { ...TOOL_CALL, id: "call_2" }] },
      { role: "tool", tool_call_id: "call_1", content: "text" },
      { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "parts" }] },
    ];
    expect((await sent({ messages }))["messages"]).toEqual(messages);
  });

  test("[d9.7] R3: parts as clients send them reach the provider: images with detail, sound, files by their data", async () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
      { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
      { type: "file", file: { file_id: "file-1" } },
    ];
    expect((await sent({ messages: [{ role: "user", content }] }))["messages"][0].content).toEqual(content);
  });

  test("[d9.7] R4: reasoning and thought signatures are accepted on assistant messages, and reach the provider that needs them", async () => {
    const back = withMessages(
      {
        role: "assistant",
        content: null,
        reasoning_content: "I thought",
        tool_calls: [{ ...TOOL_CALL, extra_content: { google: { thought_signature: "c2ln" } } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "{}" },
    );
    expect(JSON.stringify(await sent(back, "gemini:gemini-2.5-flash"))).toContain('"thoughtSignature":"c2ln"');
    const others = await sent(back);
    expect(others["messages"][1]).toMatchObject({ role: "assistant", tool_calls: [{ id: "call_1" }] });
  });

  test("[d9.7] R5: stream_options.include_usage is obeyed", async () => {
    const { usage } = await play([chunk({ content: "x" }, "stop")], {
      ask: { stream_options: { include_usage: true } },
    });
    expect(usage).toMatchObject({ completion_tokens: expect.any(Number) as number });
  });

  test("[d9.7] R6: fields of the current schema are known, and fields of other clients pass through", async () => {
    const known = {
      verbosity: "low",
      prompt_cache_key: "k",
      service_tier: "auto",
      store: false,
      parallel_tool_calls: false,
      tools: TOOLS,
      modalities: ["text"],
    };
    const body = await sent({
      ...known,
      reasoning: { effort: "low" },
      messages: [{ role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }] }],
    });
    // cache hints are advice that this provider has no place for
    expect(body).toMatchObject({
      ...known,
      reasoning: { effort: "low" },
      messages: [{ content: [{ type: "text", text: "hi" }] }],
    });
    for (const name of [
      "reasoning_effort",
      "verbosity",
      "parallel_tool_calls",
      "prompt_cache_key",
      "service_tier",
      "store",
      "prediction",
      "modalities",
      "audio",
      "web_search_options",
    ])
      expect(COMMON_PARAMETERS as readonly string[]).toContain(name);
  });

  test("[d9.7] R7: a JSON schema with name, schema, strict and description goes through", async () => {
    const format = {
      type: "json_schema",
      json_schema: {
        name: "answer",
        description: "an answer",
        strict: true,
        schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
      },
    };
    expect((await sent({ response_format: format }))["response_format"]).toEqual(format);
  });

  test("[d9.7] R8: tool_choice may be required or one function, tools may be strict and have further keys", async () => {
    const tools = TOOLS.map((tool) => ({ ...tool, x_extra: 1 }));
    for (const tool_choice of ["required", "auto", "none", { type: "function", function: { name: "f" } }])
      expect(await sent({ tools, tool_choice })).toMatchObject({ tools: TOOLS, tool_choice });
  });

  test("[d9.7] R9: null means not set, for every common parameter", async () => {
    const stub = stubGateway(answering(openaiAnswer()));
    const response = await stub.chat({
      ...OPENAI,
      ...Object.fromEntries(
        [
          ...COMMON_PARAMETERS,
          "tenant_id",
          "project_id",
          "route",
          "timeout",
          "num_retries",
          "metadata",
          "functions",
          "function_call",
          "base_url",
          "api_key",
        ].map((name) => [name, null]),
      ),
    });
    expect(response.status).toBe(200);
    expect(stub.records[0]?.dispositions as object).toEqual({});
  });

  test("[d9.7] R10: user is a text, and metadata may have more than 16 pairs and is not sent to the provider", async () => {
    const stub = stubGateway(answering(openaiAnswer()));
    const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, "v"]));
    expect((await stub.chat({ ...OPENAI, user: "ann", metadata })).status).toBe(200);
    const body = JSON.parse(stub.sent[0]!.body) as Record<string, unknown>;
    expect([body["user"], body["metadata"], stub.records[0]?.metadata as object]).toEqual(["ann", undefined, metadata]);
  });

  test("[d9.7] R12: the deprecated functions are answered in their own form, plain and streamed", async () => {
    const old = {
      ...ECHO,
      model: "sandbox:tools",
      functions: [
        {
          name: "weather",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      ],
    };
    const whole = (await (await stubGateway().chat(old)).json()) as any;
    expect(whole.choices[0]).toMatchObject({
      message: { content: null, function_call: { name: "weather", arguments: '{"city":"text"}' } },
      finish_reason: "function_call",
    });
    expect("tool_calls" in whole.choices[0].message).toBe(false);
    const two = (index: number) => ({
      tool_calls: [
        { index, id: `c${index}`, type: "function", function: { name: `f${index}`, arguments: `{"n":${index}}` } },
      ],
    });
    const { choices, faults } = await play([chunk(two(0)), chunk(two(1)), chunk({}, "tool_calls")], {
      ask: { functions: [{ name: "f0" }, { name: "f1" }] },
    });
    expect(faults).toEqual([]);
    expect(choices[0]).toMatchObject({
      calls: [],
      functionCall: { name: "f0", arguments: '{"n":0}' },
      finish: "function_call",
    });
  });
});
