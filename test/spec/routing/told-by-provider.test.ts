// Promises 9.8 and 6: what a provider reports beside its answer (the model that answered, its own request id) is in
// headers and in the record, details of its own form are kept in the answer; and an empty message is never left out
// silently.
import { describe, expect, test } from "bun:test";
import { callLine } from "../../../src/observe/log.ts";
import { helloFromBedrock } from "../../harness/servers/aws-events.ts";
import { cannedUpstream, type CannedAnswer, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { answeringGateway, ask, HELLO, MODELS } from "../chat-calls.ts";
import { UpstreamFault } from "../../../src/wire/upstream.ts";
import { manualUpstream } from "../manual-upstream.ts";

const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
const SSE = { "content-type": "text/event-stream" };
const CLAUDE = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5-20250929" };
const claudeStream = (stop: object): string =>
  event("message_start", {
    message: { ...CLAUDE, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
  }) +
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hi" } }) +
  event("content_block_stop", { index: 0 }) +
  event("message_delta", { delta: stop, usage: { output_tokens: 2 } }) +
  event("message_stop", {});

describe("the model and the request id that a provider reports", () => {
  const GEMINI = {
    candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
    modelVersion: "gemini-2.5-flash-002",
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
  const FAMILIES: readonly (readonly [
    model: string,
    id: string,
    toldModel: string | null,
    whole: CannedAnswer,
    streamed: CannedAnswer,
  ])[] = [
    [
      "openai:gpt-4o",
      "x-request-id",
      "gpt-4o-2024-08-06",
      { body: JSON.stringify({ ...openaiAnswer(), model: "gpt-4o-2024-08-06" }) },
      {
        headers: SSE,
        body: eventStream(
          ...[openaiChunk({ content: "Hi" }), openaiChunk({}, "stop")].map((chunk) => ({
            ...chunk,
            model: "gpt-4o-2024-08-06",
          })),
        ),
      },
    ],
    [
      "azure:gpt-4o",
      "apim-request-id",
      "gpt-4o-2024-08-06",
      { body: JSON.stringify({ ...openaiAnswer(), model: "gpt-4o-2024-08-06" }) },
      {
        headers: SSE,
        body: eventStream(
          ...[openaiChunk({ content: "Hi" }), openaiChunk({}, "stop")].map((chunk) => ({
            ...chunk,
            model: "gpt-4o-2024-08-06",
          })),
        ),
      },
    ],
    [
      "anthropic:claude-sonnet-4-5",
      "request-id",
      "claude-sonnet-4-5-20250929",
      {
        body: JSON.stringify({
          ...CLAUDE,
          content: [{ type: "text", text: "Hi" }],
          stop_reason: "end_turn",
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
      },
      { headers: SSE, body: claudeStream({ stop_reason: "end_turn" }) },
    ],
    [
      "gemini:gemini-2.5-flash",
      "x-request-id",
      "gemini-2.5-flash-002",
      { body: JSON.stringify(GEMINI) },
      { headers: SSE, body: `data: ${JSON.stringify(GEMINI)}\n\n` },
    ],
    [
      "bedrock:amazon.nova-lite-v1:0",
      "x-amzn-requestid",
      null,
      helloFromBedrock(false, false),
      helloFromBedrock(true, false),
    ],
  ];
  for (const [model, header, toldModel, whole, streamed] of FAMILIES)
    test.each([
      ["plain", false, whole],
      ["streamed", true, streamed],
    ] as const)(`[d9.8] ${model}: stand in headers and in the record, %s`, async (_, stream, answer) => {
      const stub = stubGateway({
        upstream: cannedUpstream({ ...answer, headers: { ...answer.headers, [header]: "req-77" } }),
      });
      const { outcome, headers, text } = await ask(stub, { model, stream });
      expect([outcome, headers.get("x-gateway-provider-model"), headers.get("x-gateway-provider-request-id")]).toEqual([
        "200",
        toldModel,
        "req-77",
      ]);
      const record = stub.records.at(-1)!;
      expect([record.providerModel, record.providerRequestId, record.attempts[0]!.requestId]).toEqual([
        toldModel,
        "req-77",
        "req-77",
      ]);
      expect(JSON.parse(callLine(record))).toMatchObject({
        provider_request_id: "req-77",
        ...(toldModel !== null && { provider_model: toldModel }),
      });
      // the body names the target as it is configured
      expect(stream ? readStream(text).events[0]!["model"] : JSON.parse(text).model).toBe(model);
    });

  test("[d9.8] are absent where a provider does not report them, or reports something that is not a plain word or contains a key", async () => {
    const told = async (id: string | null, model: unknown): Promise<unknown> => {
      const stub = stubGateway({
        upstream: cannedUpstream({
          body: JSON.stringify({ ...openaiAnswer(), model }),
          headers: id === null ? {} : { "x-request-id": id },
        }),
      });
      const { headers } = await ask(stub, { model: "openai:gpt-4o" });
      return [
        headers.get("x-gateway-provider-model"),
        headers.get("x-gateway-provider-request-id"),
        stub.records[0]!.providerModel,
        stub.records[0]!.providerRequestId,
      ];
    };
    for (const [id, model] of [
      [null, undefined],
      ["two words", "a\r\nb"],
      ["x".repeat(129), "m".repeat(300)],
      ["stored-key", "stored-key"],
      ["", ""],
    ] as const)
      expect([id, await told(id, model)]).toEqual([id, [null, null, null, null]]);
  });

  test("[d9.8] have in an error the id of the attempt that it describes; an error of the gateway's own has none", async () => {
    const stub = stubGateway({
      upstream: cannedUpstream({
        status: 400,
        headers: { "x-request-id": "req-bad" },
        body: '{"error":{"message":"no","type":"invalid_request_error"}}',
      }),
    });
    const { outcome, headers } = await ask(stub, { model: "openai:gpt-4o" });
    expect([
      outcome,
      headers.get("x-gateway-provider-request-id"),
      headers.has("x-gateway-provider-model"),
      stub.records[0]!.providerRequestId,
    ]).toEqual(["400 upstream_invalid_request null", "req-bad", false, "req-bad"]);
    expect((await ask(stub, { temperature: 9 })).headers.has("x-gateway-provider-request-id")).toBe(false);
  });

  test("[d9.8] after a fallback they are those of the target that answered", async () => {
    const gateway = routedGateway([routeOf("r", ["up0:m"], { fallbacks: ["up1:m"] })], {
      up0: [{ kind: "status", status: 500, headers: { "x-request-id": "first" } } as never],
    });
    const response = await gateway.chat({ route: "r", messages: HELLO });
    await response.text();
    expect([response.status, response.headers.get("x-gateway-provider-request-id")]).toEqual([200, null]);
    expect(gateway.records[0]!.attempts).toHaveLength(2);
  });

  test("[d9.8] stand in the record where the head was sent first", async () => {
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client, limits: { headHoldMs: 1 } });
    const response = await stub.chat({ model: MODELS.openai, messages: HELLO, stream: true });
    expect(response.headers.has("x-gateway-provider-model")).toBe(false);
    upstream.give(
      eventStream(
        ...[openaiChunk({ content: "Hi" }), openaiChunk({}, "stop")].map((chunk) => ({
          ...chunk,
          model: "gpt-4o-late",
        })),
      ),
    );
    upstream.give(null);
    await response.text();
    expect(stub.records[0]!.providerModel).toBe("gpt-4o-late");
  });

  test("[d9.8] are kept by an error in mid-stream when they were reported before", async () => {
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client });
    upstream.give(`data: ${JSON.stringify({ ...openaiChunk({ content: "Hi" }), model: "gpt-4o-x" })}\n\n`);
    upstream.give(new UpstreamFault("cut", "reset"));
    await (await stub.chat({ model: MODELS.openai, messages: HELLO, stream: true })).text();
    expect([stub.records[0]!.code, stub.records[0]!.providerModel]).toEqual(["upstream_incomplete", "gpt-4o-x"]);
  });
});

describe("details of a provider's own form are kept", () => {
  const choice = async (model: string, stream: boolean, answer: CannedAnswer): Promise<any> => {
    const { outcome, text } = await ask(stubGateway({ upstream: cannedUpstream(answer) }), {
      model,
      stream,
      ...(model.startsWith("deepseek") && { logprobs: true }),
    });
    expect(outcome).toBe("200");
    if (!stream) return JSON.parse(text).choices[0];
    return Object.assign(
      {},
      ...readStream(text)
        .events.flatMap((one) => one["choices"] as object[])
        .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null))),
    );
  };

  test.each([false, true])("[d8.8] the sequence at which Claude stopped: streamed %p", async (stream) => {
    const stop = { stop_reason: "stop_sequence", stop_sequence: "END" };
    const answer = stream
      ? { headers: SSE, body: claudeStream(stop) }
      : {
          body: JSON.stringify({
            ...CLAUDE,
            content: [{ type: "text", text: "Hi" }],
            ...stop,
            usage: { input_tokens: 1, output_tokens: 1 },
          }),
        };
    expect(await choice(MODELS.anthropic, stream, answer)).toMatchObject({
      finish_reason: "stop",
      native_finish_reason: "stop_sequence",
      stop_sequence: "END",
    });
  });

  const RATINGS = [{ category: "HARM_CATEGORY_HARASSMENT", probability: "LOW" }];
  const framed = (frame: object, stream: boolean): CannedAnswer =>
    stream ? { headers: SSE, body: `data: ${JSON.stringify(frame)}\n\n` } : { body: JSON.stringify(frame) };
  test.each([false, true])(
    "[d8.8] Gemini's reason for a refused prompt, and its ratings: streamed %p",
    async (stream) => {
      const blocked = {
        promptFeedback: {
          blockReason: "SAFETY",
          blockReasonMessage: "The prompt was blocked.",
          safetyRatings: RATINGS,
        },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
      };
      expect(await choice(MODELS.gemini, stream, framed(blocked, stream))).toMatchObject({
        finish_reason: "content_filter",
        native_finish_reason: "SAFETY",
        native_finish_message: "The prompt was blocked.",
        safety_ratings: RATINGS,
      });
      const rated = {
        candidates: [
          {
            content: { role: "model", parts: [{ text: "Hi" }] },
            finishReason: "STOP",
            index: 0,
            safetyRatings: RATINGS,
          },
        ],
      };
      expect(await choice(MODELS.gemini, stream, framed(rated, stream))).toMatchObject({
        finish_reason: "stop",
        safety_ratings: RATINGS,
      });
    },
  );

  test("[d8.8] the format of Gemini's audio, with its rate", async () => {
    const spoken = {
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "AAAA" } }],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
    };
    const { message } = await choice("gemini:gemini-2.5-flash-preview-tts", false, framed(spoken, false));
    expect(message.audio).toMatchObject({
      data: "AAAA",
      format: "pcm16",
      mime_type: "audio/L16;codec=pcm;rate=24000",
      sample_rate: 24_000,
    });
  });

  test.each([false, true])("[d8.8] DeepSeek's log probabilities of its reasoning: streamed %p", async (stream) => {
    const entry = { token: "Hm", logprob: -0.5, bytes: [72, 109], top_logprobs: [] };
    const logprobs = { content: null, reasoning_content: [entry] };
    const answer = stream
      ? {
          headers: SSE,
          body: eventStream(
            {
              ...(openaiChunk({ reasoning_content: "Hm" }) as { choices: object[] }),
              choices: [{ index: 0, delta: { reasoning_content: "Hm" }, finish_reason: null, logprobs }],
            },
            openaiChunk({ content: "Hi" }, "stop"),
          ),
        }
      : {
          body: JSON.stringify({
            ...openaiAnswer(),
            choices: [
              {
                index: 0,
                message: { role: "assistant", content: "Hi", reasoning_content: "Hm" },
                finish_reason: "stop",
                logprobs,
              },
            ],
          }),
        };
    expect((await choice("deepseek:deepseek-reasoner", stream, answer)).logprobs).toEqual({
      content: null,
      refusal: null,
      reasoning_content: [entry],
    });
  });
});

describe("empty messages", () => {
  const gateway = answeringGateway();
  const CONVERSATION = [
    { role: "system", content: "" },
    { role: "user", content: "Hello" },
    { role: "assistant", content: "" },
    { role: "user", content: [{ type: "text", text: "Go on" }] },
  ];
  test.each([
    "anthropic:claude-sonnet-4-5",
    "vertex:claude-sonnet-4-5",
    "bedrock:amazon.nova-lite-v1:0",
    "gemini:gemini-2.5-flash",
    "vertex:gemini-2.5-flash",
  ])("[d6.4] %s: messages that the vendor refuses are left out and reported", async (model) => {
    const { outcome, headers, request } = await ask(gateway, { model, messages: CONVERSATION });
    expect([outcome, headers.get("x-gateway-warnings")]).toEqual(["200", "empty_messages_left_out"]);
    expect(request!.body).not.toMatch(/"role":"(?:model|assistant)"/);
    expect(
      (await ask(gateway, { model, messages: [{ role: "user", content: "Hello" }] })).headers.has("x-gateway-warnings"),
    ).toBe(false);
    // an answer that was a call alone says something
    const called = [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "" },
    ];
    expect(
      (
        await ask(gateway, { model, messages: called, tools: [{ type: "function", function: { name: "f" } }] })
      ).headers.has("x-gateway-warnings"),
    ).toBe(false);
  });
  test("[d6.4] are sent unchanged to other providers", async () => {
    for (const model of ["openai:gpt-4o", "cohere:command-a-03-2025", "ollama:qwen3:4b"]) {
      const { outcome, wire, headers } = await ask(gateway, { model, messages: CONVERSATION });
      expect([model, outcome, headers.has("x-gateway-warnings"), wire!["messages"].length]).toEqual([
        model,
        "200",
        false,
        4,
      ]);
    }
  });
});
