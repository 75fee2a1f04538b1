// Answers of Converse and ConverseStream beyond the provider suite: finish reasons, usage, vendor fields, reasoning of
// other models, errors by class, and a complete call in AWS's framing.
import { describe, expect, test } from "bun:test";
import type { ChatChunk } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { bedrock } from "../../../src/providers/bedrock/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { awsEvent, awsEventStream } from "../../harness/servers/aws-events.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";

const CLAUDE = { model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", memo: null };
const USAGE = { inputTokens: 4, outputTokens: 3, totalTokens: 7 };
const answer = (content: readonly JsonObject[], stopReason = "end_turn", more: JsonObject = {}): string =>
  JSON.stringify({ output: { message: { role: "assistant", content } }, stopReason, usage: USAGE, ...more });
const event = (name: string, data: JsonObject) => ({ event: name, data: JSON.stringify(data) });
const streamed = (...events: readonly (readonly [string, JsonObject])[]): readonly ChatChunk[] => {
  const decoder = bedrock.openStream(CLAUDE);
  return [...events.flatMap(([name, data]) => decoder.push(event(name, data))), ...decoder.end()];
};

describe("ends", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["malformed_model_output", "stop"],
    ["a_word_of_next_year", "stop"],
  ])("%s becomes %s, streamed and non-streaming, and the vendor's reason is kept", (stopReason, finish) => {
    const want = { finish_reason: finish, native_finish_reason: stopReason };
    expect(bedrock.decodeResponse(answer([{ text: "A" }], stopReason), CLAUDE).choices[0]).toMatchObject(want);
    expect(streamed(["messageStop", { stopReason }])[0]!.choices[0]).toMatchObject(want);
  });
  test("an answer with calls that ended in any normal way has the finish reason tool_calls", () => {
    expect(
      bedrock.decodeResponse(answer([{ toolUse: { toolUseId: "a", name: "f", input: {} } }], "end_turn"), CLAUDE)
        .choices[0]!.finish_reason,
    ).toBe("tool_calls");
  });
  test("a call that was cut off before its input has none", () => {
    const start = [
      "contentBlockStart",
      { contentBlockIndex: 0, start: { toolUse: { toolUseId: "a", name: "f" } } },
    ] as const;
    const text = (chunks: readonly ChatChunk[]): string =>
      chunks
        .flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? [])
        .map((call) => call.function?.arguments ?? "")
        .join("");
    expect(
      text(
        streamed(start, ["contentBlockStop", { contentBlockIndex: 0 }], ["messageStop", { stopReason: "max_tokens" }]),
      ),
    ).toBe("");
    expect(
      text(
        streamed(start, ["contentBlockStop", { contentBlockIndex: 0 }], ["messageStop", { stopReason: "tool_use" }]),
      ),
    ).toBe("{}");
    const whole = (stopReason: string) =>
      bedrock.decodeResponse(answer([{ toolUse: { toolUseId: "a", name: "f", input: {} } }], stopReason), CLAUDE)
        .choices[0]!.message.tool_calls![0]!.function.arguments;
    expect([whole("max_tokens"), whole("tool_use")]).toEqual(["", "{}"]);
  });
});

test("calls with interleaved pieces keep their own", () => {
  const start = (block: number, name: string) =>
    ["contentBlockStart", { contentBlockIndex: block, start: { toolUse: { toolUseId: name, name } } }] as const;
  const piece = (block: number, input: string) =>
    ["contentBlockDelta", { contentBlockIndex: block, delta: { toolUse: { input } } }] as const;
  const stop = (block: number) => ["contentBlockStop", { contentBlockIndex: block }] as const;
  const chunks = streamed(
    start(1, "f"),
    start(2, "g"),
    piece(1, '{"a"'),
    piece(2, '{"b"'),
    piece(1, ":1}"),
    stop(1),
    piece(2, ":2}"),
    stop(2),
    ["messageStop", { stopReason: "tool_use" }],
  );
  const said: string[] = [];
  for (const call of chunks.flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? []))
    said[call.index!] = (said[call.index!] ?? "") + (call.function?.name ?? "") + (call.function?.arguments ?? "");
  expect(said).toEqual(['f{"a":1}', 'g{"b":2}']);
});

describe("usage", () => {
  test("the prompt includes tokens read from and written to the cache, each once where two spellings occur side by side", () => {
    const usage = {
      inputTokens: 22,
      outputTokens: 13,
      totalTokens: 2547,
      cacheReadInputTokens: 2492,
      cacheReadInputTokenCount: 2492,
      cacheWriteInputTokens: 20,
      cacheWriteInputTokenCount: 20,
    };
    const want = {
      prompt_tokens: 2534,
      completion_tokens: 13,
      total_tokens: 2547,
      prompt_tokens_details: { cached_tokens: 2492, cache_write_tokens: 20 },
    };
    expect(bedrock.decodeResponse(answer([{ text: "A" }], "end_turn", { usage }), CLAUDE).usage).toEqual(want);
    expect(streamed(["metadata", { usage }])).toEqual([{ choices: [], usage: want }]);
  });
});

describe("further members of the answer", () => {
  const beside = {
    trace: { guardrail: { actionReason: "masked" } },
    additionalModelResponseFields: { stop_sequence: "X" },
    serviceTier: { type: "priority" },
  };
  test("are kept: trace, requested fields, the tier that served", () => {
    const want = {
      trace: beside.trace,
      additionalModelResponseFields: { stop_sequence: "X" },
      service_tier: "priority",
    };
    expect(bedrock.decodeResponse(answer([{ text: "A" }], "end_turn", beside), CLAUDE)).toMatchObject(want);
    expect(streamed(["metadata", { usage: USAGE, ...beside }])[0]).toMatchObject(want);
  });
});

test("a citation of a block that began without a list of them is carried", () => {
  const citation = { title: "T", location: { documentChar: { documentIndex: 0, start: 0, end: 1 } } };
  const chunks = streamed(
    ["contentBlockStart", { start: { citationsContent: {} }, contentBlockIndex: 0 }],
    ["contentBlockDelta", { delta: { text: "A" }, contentBlockIndex: 0 }],
    ["contentBlockDelta", { delta: { citation }, contentBlockIndex: 0 }],
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ["messageStop", { stopReason: "end_turn" }],
  );
  const carried = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta?.extra_content ?? []));
  expect(carried).toEqual([
    { bedrock: { content: [{ citationsContent: { content: [{ text: "A" }], citations: [citation] } }] } },
  ]);
});

describe("reasoning", () => {
  const content = [{ reasoningContent: { reasoningText: { text: "Hm." } } }, { text: "Yes." }];
  test("of models that do not sign is sent once, and nothing of it has to come back", () => {
    expect(
      bedrock.decodeResponse(answer(content), { model: "us.deepseek.r1-v1:0", memo: null }).choices[0]!.message,
    ).toEqual({ role: "assistant", content: "Yes.", reasoning_content: "Hm." });
    const decoder = bedrock.openStream({ model: "openai.gpt-oss-120b-1:0", memo: null });
    const chunks = [
      event("contentBlockDelta", { delta: { reasoningContent: { text: "Hm." } } }),
      event("contentBlockStop", { contentBlockIndex: 0 }),
    ].flatMap((one) => decoder.push(one));
    expect(chunks).toEqual([{ choices: [{ index: 0, delta: { reasoning_content: "Hm." } }] }]);
  });
  test("that another model signed is sent back to it, and not in Claude's format", () => {
    const signed = [{ reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } }];
    expect(
      bedrock.decodeResponse(answer(signed), { model: "us.amazon.nova-2-lite-v1:0", memo: null }).choices[0]!.message
        .reasoning_details,
    ).toEqual([{ type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "unknown", index: 0 }]);
  });
});

describe("errors", () => {
  const classOf = (status: number, body: JsonObject | string): string =>
    bedrock.classifyError({ status, body: typeof body === "string" ? body : JSON.stringify(body) }).class;
  test.each([
    [400, "Input is too long for requested model.", "context_length"],
    [
      400,
      "The model returned the following errors: prompt is too long: 213210 tokens > 200000 maximum",
      "context_length",
    ],
    [400, "Too many input tokens. Max input tokens: 8192, request input token count: 9000", "context_length"],
    [
      400,
      "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
      "context_length",
    ],
    [
      400,
      "Malformed input request: expected maxLength: 300000, actual: 300001, please reformat your input and try again.",
      "context_length",
    ],
    // the recorded word of the service: a name that is no identifier, not a model that is missing
    [400, "The provided model identifier is invalid.", "invalid_request"],
    [
      400,
      "Invocation of model ID deepseek.r1-v1:0 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
      "invalid_request",
    ],
    [404, "This model version has reached the end of its life.", "not_found"],
    [
      404,
      "Access denied. This Model is marked by provider as Legacy and you have not been actively using the model in the last 15 days.",
      "not_found",
    ],
    [
      400,
      "Malformed input request: #: extraneous key [foo] is not permitted, please reformat your input and try again.",
      "invalid_request",
    ],
    [
      400,
      "This request has been blocked by our content filters. Our filters automatically flagged this prompt because it may conflict our AUP or AWS Responsible AI Policy.",
      "content_policy",
    ],
    [400, "Operation not allowed", "permission"],
    [429, "Too many tokens per day, please wait before trying again.", "quota"],
    [403, "You don't have access to the model with the specified model ID.", "permission"],
    [403, "User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel", "permission"],
    [403, "The security token included in the request is expired", "authentication"],
    [403, "The security token included in the request is invalid.", "authentication"],
    [403, "The request signature we calculated does not match the signature you provided.", "authentication"],
    [403, "Bearer Token has expired", "authentication"],
    [403, "Authentication failed: Please make sure your API Key is valid.", "authentication"],
    [408, "Model is timed out in processing the request. Try your request again.", "timeout"],
    [424, "The model has timed out.", "server"],
    [429, "Too many tokens, please wait before trying again.", "rate_limit"],
    [500, "The system encountered an unexpected error during processing. Try your request again.", "server"],
    [503, "Bedrock is unable to process your request.", "overloaded"],
  ])("%i %s is %s", (status, message, failureClass) => {
    expect([
      classOf(status, { message }),
      bedrock.classifyError({ status, body: JSON.stringify({ message }) }).message,
    ]).toEqual([failureClass, message]);
  });
  test.each([
    ["ThrottlingException", "rate_limit"],
    ["com.amazon.coral.service#ExpiredTokenException", "authentication"],
    ["ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/", "invalid_request"],
    ["ServiceQuotaExceededException", "quota"],
    ["ModelNotReadyException", "overloaded"],
    ["toString", "invalid_request"],
  ])("a body that names %s is %s whatever the status", (type, failureClass) => {
    expect(classOf(400, { __type: type, Message: "No." })).toBe(failureClass);
  });
  test.each([
    ["throttlingException", "rate_limit"],
    ["modelStreamErrorException", "server"],
    ["validationException", "invalid_request"],
    ["internalServerException", "server"],
    ["serviceUnavailableException", "overloaded"],
    ["modelTimeoutException", "timeout"],
    ["aNewException", "server"],
  ])("[d8.3] the exception %s in a stream is %s", (name, failureClass) => {
    let thrown: unknown;
    try {
      streamed([name, { message: "No." }]);
    } catch (caught) {
      thrown = caught;
    }
    expect(thrown).toBeInstanceOf(StreamError);
    expect((thrown as StreamError).failure).toEqual({
      class: failureClass as never,
      message: "No.",
      param: null,
      nativeCode: name,
    });
  });
  test("an input that is too long is reported as such inside a stream too", () => {
    expect(() => streamed(["validationException", { message: "Input is too long for requested model." }])).toThrow(
      StreamError,
    );
  });
  test("an event that is not JSON is a malformed answer", () => {
    const decoder = bedrock.openStream(CLAUDE);
    expect(() => decoder.push({ event: "contentBlockDelta", data: "{" })).toThrow(MalformedAnswer);
    expect(decoder.push({ event: "aNewEvent", data: "{" })).toEqual([]);
  });
});

describe("a complete call in AWS's framing", () => {
  const told = [
    event("messageStart", { role: "assistant", p: "ab" }),
    event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hello" } }),
  ];
  const end = [
    event("messageStop", { stopReason: "end_turn" }),
    event("metadata", { usage: USAGE, trace: { guardrail: { action: "NONE" } } }),
  ];
  const call = async (body: Uint8Array, chunk: number | "whole" = "whole") => {
    const gateway = stubGateway({
      upstream: cannedUpstream({ headers: { "content-type": "application/vnd.amazon.eventstream" }, body, chunk }),
    });
    const response = await gateway.chat({
      model: "bedrock:amazon.nova-lite-v1:0",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
      aws_region_name: "eu-west-1",
      aws_access_key_id: "AKIDEXAMPLE",
      aws_secret_access_key: "secret-of-the-caller",
      aws_session_token: "token",
    });
    return { gateway, response, text: await response.text() };
  };
  test("[d8.1] [s:param.stream] becomes a client's stream, with the vendor's trace, however it is cut", async () => {
    for (const chunk of ["whole", 1, 13] as const) {
      const { gateway, response, text } = await call(awsEventStream([...told, ...end]), chunk);
      const { events, done, error } = readStream(text);
      expect([response.status, done, error]).toEqual([200, true, null]);
      expect(events.map((one) => one["choices"][0]?.delta.content ?? "").join("")).toBe("Hello");
      expect(events.at(-1)!["usage"]).toMatchObject({ prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 });
      expect(text).toContain('"trace":{"guardrail":{"action":"NONE"}}');
      expect(gateway.sent[0]!.url).toBe(
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse-stream",
      );
      expect(gateway.sent[0]!.headers["authorization"]).toMatch(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
      );
    }
  });
  test("[d8.3] that ends inside a message, before its stop, in an exception or in garbage never looks complete", async () => {
    const whole = awsEventStream([...told, ...end]);
    const begun = awsEventStream(told);
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [begun, /^upstream_incomplete$/],
      [whole.subarray(0, begun.length + 9), /^upstream_incomplete$/],
      [
        Buffer.concat([
          begun,
          awsEvent({ event: "modelStreamErrorException", data: '{"message":"The model stopped."}' }),
        ]),
        /^upstream_error$/,
      ],
      [
        Buffer.concat([begun, awsEvent({ event: "throttlingException", data: '{"message":"Slow down."}' })]),
        /^rate_limit_exceeded$/,
      ],
      [Buffer.concat([begun, Buffer.from("<html>no gateway</html>")]), /^upstream_invalid_response$/],
    ];
    for (const [body, code] of cases) {
      const { response, text } = await call(body);
      const error =
        response.status === 200
          ? readStream(text).error
          : (JSON.parse(text) as { error: Record<string, unknown> }).error;
      expect(String(error?.["code"])).toMatch(code);
      expect(text).not.toContain('"finish_reason":"stop"');
    }
  });
  test("[d7.8] with a key that signs wrongly is reported to the caller", async () => {
    const gateway = stubGateway({
      upstream: cannedUpstream({
        status: 403,
        body: '{"message":"The security token included in the request is invalid."}',
      }),
    });
    const response = await gateway.chat({
      model: "bedrock:amazon.nova-lite-v1:0",
      messages: [{ role: "user", content: "Hi" }],
      aws_region_name: "eu-west-1",
      aws_access_key_id: "AKIDEXAMPLE",
      aws_secret_access_key: "secret-of-the-caller",
    });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      "credential_rejected",
    ]);
  });
});
