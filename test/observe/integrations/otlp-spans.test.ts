// The spans that are made of a record: which exist, under which parent, what they contain, and what they never contain.
import { describe, expect, test } from "bun:test";
import type { ToolCall } from "../../../src/core/chat.ts";
import type { CallContent } from "../../../src/core/configured/content.ts";
import type { ErrorCode } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { datadog } from "../../../src/observe/integrations/sinks/datadog-sink.ts";
import { langfuse } from "../../../src/observe/integrations/sinks/langfuse-sink.ts";
import { openInference } from "../../../src/observe/integrations/otlp/open-inference.ts";
import { type Dialect, spansOf } from "../../../src/observe/integrations/otlp/call-spans.ts";
import { spanContent } from "../../../src/observe/integrations/otlp/span-content.ts";
import { conventionalOperation } from "../../../src/observe/integrations/otlp/operation-names.ts";
import { encodeSpans } from "../../../src/observe/integrations/otlp/span.ts";
import type { RecordedCall } from "../../../src/observe/integrations/sink.ts";
import { OPERATIONS } from "../../../src/operations/operations.ts";
import { ProtobufWriter } from "../../../src/wire/protobuf.ts";
import { decodeTraces, type ReceivedSpan } from "../../harness/servers/otlp-messages.ts";
import { attemptOf } from "../../contract/store/call-records.ts";
import { CALL_SPAN, toolOf, TRACE, tracedCall } from "./traced-calls.ts";

function received(call: RecordedCall, dialects: readonly Dialect[] = []): readonly ReceivedSpan[] {
  return decodeTraces(encodeSpans(new ProtobufWriter(), { "service.name": "dragoman" }, spansOf(call, dialects)));
}

const CONTENT: CallContent = {
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      name: "Ann",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "https://pictures.example/1.png" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      reasoning_content: "Look it up.",
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "look", arguments: '{"at":1}' } },
        { id: "call_2", type: "function", function: { name: "look", arguments: "not json" } },
        { id: "call_4", type: "custom", custom: { name: "patch", input: "+ a" } } as unknown as ToolCall,
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "a cat" },
  ],
  tools: [{ type: "function", function: { name: "look" } }],
  answers: [
    { index: 0, content: "A cat.", reasoning: "It has whiskers.", refusal: null, toolCalls: [], finishReason: "stop" },
    {
      index: 1,
      content: null,
      reasoning: null,
      refusal: null,
      toolCalls: [{ id: "call_3", type: "function", function: { name: "look", arguments: "{}" } }],
      finishReason: "tool_calls",
    },
  ],
};

describe("spans of a call", () => {
  test("[d11.1] one of the whole, and one under it for each attempt and each tool, whatever their outcome", () => {
    const attempts = [
      attemptOf({
        spanId: "1".repeat(16),
        status: 503,
        code: "upstream_overloaded",
        usage: null,
        usageSource: null,
        firstContentMs: null,
        totalMs: 10,
      }),
      attemptOf({ spanId: "2".repeat(16), startMs: 12, code: "superseded", totalMs: 40 }),
      attemptOf({ spanId: "3".repeat(16), startMs: 20 }),
    ];
    const spans = received(
      tracedCall({ attempts, tools: [toolOf(), toolOf({ spanId: "c".repeat(16), isError: true })], rounds: 2 }),
    );
    expect(
      spans.map(({ name, kind, parentSpanId, traceId, status }) => [
        name,
        kind,
        parentSpanId,
        traceId,
        status.code,
        status.message,
      ]),
    ).toEqual([
      ["chat gpt-4o", "server", "", TRACE, "unset", ""],
      ["chat gpt-4o", "client", CALL_SPAN, TRACE, "error", "upstream_overloaded"],
      ["chat gpt-4o", "client", CALL_SPAN, TRACE, "unset", ""],
      ["chat gpt-4o", "client", CALL_SPAN, TRACE, "unset", ""],
      ["execute_tool forecast", "client", CALL_SPAN, TRACE, "unset", ""],
      ["execute_tool forecast", "client", CALL_SPAN, TRACE, "error", "tool_error"],
    ]);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    const startMs = (span: ReceivedSpan): number => Number(span.startNano / 1000n - spans[0]!.startNano / 1000n) / 1000;
    expect(spans.map(startMs)).toEqual([0, 2, 12, 20, 20, 20]);
    expect(spans.map((span) => Number(span.endNano - span.startNano) / 1e6)).toEqual([100, 8, 28, 70, 25, 25]);
  });

  test("[d11.4] names and values are those of the conventions for generative AI", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const [call, attempt, tool] = received(
      tracedCall({ stream: true, attempts: [attemptOf({ usage })], tools: [toolOf()], firstContentMs: 55 }),
    ) as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "fast",
      "gen_ai.request.stream": true,
      "gen_ai.response.model": "gpt-4o",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.time_to_first_chunk": 0.055,
      "http.request.method": "POST",
      "http.route": "/api/v1/chat/completions",
      "http.response.status_code": 200n,
    });
    expect(attempt.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.request.stream": true,
      "gen_ai.response.model": "gpt-4o",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.time_to_first_chunk": 0.05,
      "gen_ai.usage.input_tokens": 10n,
      "gen_ai.usage.output_tokens": 5n,
      "gen_ai.usage.cache_read.input_tokens": 4n,
      "gen_ai.usage.cache_creation.input_tokens": 2n,
      "gen_ai.usage.reasoning.output_tokens": 3n,
      "http.response.status_code": 200n,
    });
    expect(tool.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "forecast",
      "gen_ai.tool.call.id": "call_1",
      "mcp.method.name": "tools/call",
      "dragoman.tool.server": "weather",
    });
    // who sums the tokens of all spans sums each once
    expect(Object.keys(call.attributes).filter((name) => name.startsWith("gen_ai.usage."))).toEqual([]);
    // a double stays one where it is a whole number
    expect(
      received(tracedCall({ stream: true, firstContentMs: 1000 }))[0]!.attributes[
        "gen_ai.response.time_to_first_chunk"
      ],
    ).toBe(1);
  });

  test("[d11.4] an operation has the conventions' name for it, the gateway's own beside it, and its path", () => {
    for (const [operation, name, route, langfuseType, kind] of [
      ["responses", "chat", "/api/v1/responses", "generation", "LLM"],
      ["messages", "chat", "/api/v1/messages", "generation", "LLM"],
      ["embeddings", "embeddings", "/api/v1/embeddings", "embedding", "EMBEDDING"],
      ["completions", "text_completion", "/api/v1/completions", "generation", "LLM"],
      ["rerank", "rerank", "/api/v1/rerank", "generation", "RERANKER"],
      ["unserved", "unserved", undefined, "generation", "LLM"],
    ] as const) {
      const call = tracedCall({ operation, attempts: [attemptOf({ spanId: "1".repeat(16) })] });
      const [whole, attempt] = received(call, [openInference, langfuse({} as never)]);
      expect([operation, whole!.name, attempt!.name]).toEqual([operation, `${name} gpt-4o`, `${name} gpt-4o`]);
      expect(whole!.attributes["gen_ai.operation.name"]).toBe(name);
      expect(attempt!.attributes["gen_ai.operation.name"]).toBe(name);
      expect(whole!.attributes["dragoman.operation"]).toBe(operation);
      expect(whole!.attributes["http.route"]).toEqual(route as never);
      expect(attempt!.attributes["langfuse.observation.type"]).toBe(langfuseType);
      expect(attempt!.attributes["openinference.span.kind"]).toBe(kind);
    }
  });

  test("[d11.4] Langfuse shows an attempt as an error where it failed, and not where it was ended here", () => {
    const levelOf = (code: ErrorCode | null): unknown =>
      received(tracedCall({ attempts: [attemptOf({ spanId: "1".repeat(16), code })] }), [langfuse({} as never)])[1]!
        .attributes["langfuse.observation.level"];
    expect(([null, "superseded", "client_closed", "upstream_error"] as const).map(levelOf)).toEqual([
      undefined,
      undefined,
      undefined,
      "ERROR",
    ]);
  });

  test("the path of an operation in spans is the one at which it is served", () => {
    for (const [path, { name }] of OPERATIONS)
      expect([name, conventionalOperation(name).route]).toEqual([name, `/api/v1${path}`]);
  });

  test("[d11.4] a non-streaming call has no time to the first chunk, and an attempt without an answer has no attributes of one", () => {
    const [call, attempt] = received(
      tracedCall({
        status: 502,
        code: "upstream_error",
        attempts: [
          attemptOf({
            status: null,
            code: "upstream_unreachable" as never,
            usage: null,
            usageSource: null,
            headMs: null,
            firstContentMs: null,
            totalMs: null,
          }),
        ],
      }),
    ) as [ReceivedSpan, ReceivedSpan];
    expect([call.status, call.attributes["error.type"], call.name]).toEqual([
      { code: "error", message: "upstream_error" },
      "upstream_error",
      "chat",
    ]);
    for (const name of [
      "gen_ai.response.model",
      "gen_ai.response.finish_reasons",
      "gen_ai.usage.input_tokens",
      "gen_ai.response.time_to_first_chunk",
      "http.response.status_code",
    ])
      expect([name, attempt.attributes[name]]).toEqual([name, undefined]);
    expect(Number(attempt.endNano - attempt.startNano) / 1e6).toBe(98);
  });

  test("[d11.4] an error of the caller's own is not an error of the gateway's span", () => {
    for (const [status, code, is] of [
      [400, "invalid_request", "unset"],
      [429, "rate_limit_exceeded", "unset"],
      [499, "client_closed", "unset"],
      [500, "internal_error", "error"],
      [504, "upstream_timeout", "error"],
    ] as const) {
      const [call] = received(tracedCall({ status, code }));
      expect([
        call!.status.code,
        call!.attributes["error.type"],
        call!.attributes["http.response.status_code"],
      ]).toEqual([is, code, BigInt(status)]);
    }
  });

  test("[d11.4, d13.5] an answer of the response cache has no tokens and no cost that a receiver could count once more", () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const attempts = [
      attemptOf({ spanId: "1".repeat(16), code: "upstream_overloaded", usage: null, usageSource: null }),
      attemptOf({ spanId: "2".repeat(16), usage, fromCache: true }),
    ];
    const [whole, , hit] = received(tracedCall({ attempts, usage }), [langfuse({} as never), openInference]);
    expect(whole!.attributes["dragoman.usage.total_tokens"]).toBe(15n);
    expect(hit!.attributes["dragoman.attempt.from_cache"]).toBe(true);
    expect(Object.keys(hit!.attributes).filter((name) => /usage|token_count|cost/.test(name))).toEqual([]);
    // an equal call has left, and this one pays for its request
    const cache = { outcome: "miss", bypass: null, key: null, scope: null, ageMs: null, savedNanoUsd: null } as const;
    const [, , paid] = received(tracedCall({ attempts, usage, cache }), [openInference]);
    expect([paid!.attributes["gen_ai.usage.input_tokens"], paid!.attributes["llm.token_count.total"]]).toEqual([
      10n,
      15n,
    ]);
  });

  test("[d11.4] a stream that failed after its head or its first content is an error, with the status that was sent", () => {
    const failed = {
      stream: true,
      status: 502,
      code: "upstream_error" as const,
      attempts: [attemptOf({ code: "upstream_error" })],
    };
    const said = (parts: Parameters<typeof tracedCall>[0]): readonly unknown[] =>
      received(tracedCall(parts)).map(({ status, attributes }) => [
        status.code,
        status.message,
        attributes["error.type"],
        attributes["http.response.status_code"],
      ]);
    const attempt = ["error", "upstream_error", "upstream_error", 200n];
    expect(said({ ...failed, firstContentMs: 55 })).toEqual([
      ["error", "upstream_error", "upstream_error", 200n],
      attempt,
    ]);
    expect(said({ ...failed, headMs: 20, firstContentMs: null })[0]).toEqual([
      "error",
      "upstream_error",
      "upstream_error",
      200n,
    ]);
    expect(said({ ...failed, firstContentMs: null })).toEqual([
      ["error", "upstream_error", "upstream_error", 502n],
      attempt,
    ]);
    expect(said({ ...failed, stream: false, firstContentMs: 55 })).toEqual([
      ["error", "upstream_error", "upstream_error", 502n],
      attempt,
    ]);
    expect(said({ stream: true, status: 499, code: "client_closed", cancelled: true, firstContentMs: 55 })[0]).toEqual([
      "unset",
      "",
      "client_closed",
      200n,
    ]);
  });

  test("[d11.4] a provider has its name in the conventions' list, and its id here beside it; where no provider was called, none is named", () => {
    const names = (parts: Parameters<typeof tracedCall>[0]): readonly unknown[] =>
      received(tracedCall(parts)).map(({ attributes }) => [
        attributes["gen_ai.provider.name"],
        attributes["dragoman.provider"],
      ]);
    const other = attemptOf({ provider: "eu", vendor: "azure.ai.openai", code: "upstream_error" });
    expect(names({ attempts: [other, attemptOf()] })).toEqual([
      ["openai", "mine"],
      ["azure.ai.openai", "eu"],
      ["openai", "mine"],
    ]);
    expect(names({ attempts: [], code: "rate_limit_exceeded", status: 429 })).toEqual([[undefined, "mine"]]);
    // a record of an earlier version
    expect(names({ attempts: [attemptOf({ vendor: null })] })).toEqual([
      ["mine", "mine"],
      ["mine", "mine"],
    ]);
  });

  test("[d11.1] the client's metadata is kept apart from the gateway's own attributes, unchanged, whatever its names", () => {
    const metadata = JSON.parse(
      '{"team":"blue","tenant":"theirs","n":1.5,"whole":3,"no":false,"list":["a","b"],"mixed":["a",1],"nested":{"a":{"b":null}},"nothing":null,"__proto__":{"polluted":1},"constructor":"x","ein Schlüssel":"ü","dragoman.tenant":"theirs"}',
    ) as JsonObject;
    const { attributes } = received(tracedCall({ metadata }))[0]!;
    expect(attributes).toMatchObject({
      "dragoman.tenant": "acme",
      "dragoman.metadata.team": "blue",
      "dragoman.metadata.tenant": "theirs",
      "dragoman.metadata.n": 1.5,
      "dragoman.metadata.whole": 3n,
      "dragoman.metadata.no": false,
      "dragoman.metadata.list": ["a", "b"],
      "dragoman.metadata.mixed": '["a",1]',
      "dragoman.metadata.nested": '{"a":{"b":null}}',
      "dragoman.metadata.__proto__": '{"polluted":1}',
      "dragoman.metadata.constructor": "x",
      "dragoman.metadata.ein Schlüssel": "ü",
      "dragoman.metadata.dragoman.tenant": "theirs",
    });
    expect("dragoman.metadata.nothing" in attributes).toBe(false);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("[d11.5] a caller's trace continues: its span is the parent, marked as another service's; its state is kept", () => {
    const trace = {
      traceId: TRACE,
      spanId: CALL_SPAN,
      parentSpanId: "b7ad6b7169203331",
      sampled: true,
      state: "vendor=1",
    };
    const [call, attempt] = received(tracedCall({ trace })) as [ReceivedSpan, ReceivedSpan];
    expect([call.parentSpanId, call.flags, call.traceState]).toEqual(["b7ad6b7169203331", 0x301, "vendor=1"]);
    expect([attempt.parentSpanId, attempt.flags, attempt.traceState]).toEqual([CALL_SPAN, 0x101, "vendor=1"]);
  });

  test("[d11.5] there are none where the trace is not kept, the call not traced, or only explained", () => {
    expect(spansOf(tracedCall({ trace: null }), [])).toEqual([]);
    expect(
      spansOf(
        tracedCall({ trace: { traceId: TRACE, spanId: CALL_SPAN, parentSpanId: null, sampled: false, state: null } }),
        [],
      ),
    ).toEqual([]);
    expect(spansOf(tracedCall({ explained: true }), [])).toEqual([]);
  });

  test("texts of callers and providers are cut", () => {
    const long = "x".repeat(100_000);
    const spans = received(
      tracedCall({
        modelAsked: long,
        code: "model_not_found",
        status: 404,
        model: long,
        attempts: [attemptOf({ nativeCode: long, model: long })],
        tools: [toolOf({ tool: long, callId: long })],
      }),
    );
    for (const { name, attributes } of spans) {
      expect(name.length).toBeLessThan(1100);
      for (const value of Object.values(attributes))
        if (typeof value === "string") expect(value.length).toBeLessThanOrEqual(1024);
    }
  });
});

describe("several receivers", () => {
  test("[d11.4] each gets the whole span, with names of its own and none of another's, whichever was served first", () => {
    const dialects: readonly (readonly Dialect[])[] = [
      [spanContent],
      [spanContent, openInference],
      [langfuse({ session: "session_id", tags: "tags", traceName: "trace_name" })],
      [spanContent, datadog],
    ];
    const parts = { traceId: TRACE, metadata: { session_id: "s" }, tools: [toolOf()] };
    const alone = dialects.map((each) => received(tracedCall(parts, CONTENT), each));
    const call = tracedCall(parts, CONTENT);
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0, 3],
    ])
      expect(order.map((index) => received(call, dialects[index]))).toEqual(order.map((index) => alone[index]!));
    expect(alone.map(([whole]) => whole!.attributes["gen_ai.operation.name"])).toEqual([
      "chat",
      "chat",
      "chat",
      "invoke_workflow",
    ]);
    expect(alone.map(([whole]) => Object.keys(whole!.attributes).some((name) => name.startsWith("langfuse.")))).toEqual(
      [false, false, true, false],
    );
  });

  test("[d11.3] content for one of them is sent to no other", () => {
    const { record, content } = tracedCall({}, CONTENT);
    expect(received({ record, content }, [spanContent])[0]!.attributes["gen_ai.input.messages"]).toBeString();
    for (const dialect of [spanContent, openInference, langfuse({ session: "s", tags: "t", traceName: "n" })])
      expect(
        JSON.stringify(
          received({ record, content: null }, [dialect]).map(({ attributes }) => Object.values(attributes).map(String)),
        ),
      ).not.toContain("cat");
  });
});

describe("content", () => {
  test("[d11.3] appears in no span, whatever the dialects, where there is none", () => {
    const text = JSON.stringify(
      received(tracedCall(), [spanContent, openInference]).map(({ attributes }) => Object.keys(attributes)),
    );
    for (const name of ["messages", "input.value", "output.value", "gen_ai.tool.definitions"])
      expect(text).not.toContain(name);
  });

  test("[d11.3] appears as messages of parts on the span of the call", () => {
    const [call, attempt] = received(tracedCall({}, CONTENT), [spanContent]) as [ReceivedSpan, ReceivedSpan];
    expect(JSON.parse(call.attributes["gen_ai.input.messages"] as string)).toEqual([
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      {
        role: "user",
        name: "Ann",
        parts: [
          { type: "text", content: "What is this?" },
          { type: "uri", modality: "image", uri: "https://pictures.example/1.png" },
          { type: "blob", modality: "image", mime_type: "image/png", content: "AAAA" },
          { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Look it up." },
          { type: "tool_call", id: "call_1", name: "look", arguments: { at: 1 } },
          { type: "tool_call", id: "call_2", name: "look", arguments: "not json" },
          { type: "tool_call", id: "call_4", name: "patch", arguments: "+ a" },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: "a cat" }] },
    ]);
    expect(JSON.parse(call.attributes["gen_ai.output.messages"] as string)).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "It has whiskers." },
          { type: "text", content: "A cat." },
        ],
        finish_reason: "stop",
      },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "call_3", name: "look", arguments: {} }],
        finish_reason: "tool_call",
      },
    ]);
    expect(JSON.parse(call.attributes["gen_ai.tool.definitions"] as string)).toEqual([
      { type: "function", function: { name: "look" } },
    ]);
    expect(Object.keys(attempt.attributes).filter((name) => name.includes("messages"))).toEqual([]);
  });
});

describe("OpenInference", () => {
  test("[d11.4] its names stand beside the others where it is switched on, and nowhere else", () => {
    const call = tracedCall({ endUser: "ann", metadata: { team: "blue" }, tools: [toolOf()] }, CONTENT);
    const [whole, attempt, tool] = received(call, [openInference]) as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    expect(whole.attributes).toMatchObject({
      "openinference.span.kind": "CHAIN",
      "user.id": "ann",
      metadata: '{"team":"blue"}',
      "input.mime_type": "application/json",
      "gen_ai.operation.name": "chat",
      "llm.input_messages.0.message.role": "system",
      "llm.input_messages.0.message.content": "Be brief.",
      "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "look",
      "llm.input_messages.2.message.tool_calls.1.tool_call.function.arguments": "not json",
      "llm.input_messages.2.message.tool_calls.2.tool_call.function.name": "patch",
      "llm.input_messages.2.message.tool_calls.2.tool_call.function.arguments": "+ a",
      "llm.input_messages.3.message.tool_call_id": "call_1",
      "llm.output_messages.0.message.content": "A cat.",
    });
    expect(attempt.attributes).toMatchObject({
      "openinference.span.kind": "LLM",
      "llm.model_name": "gpt-4o",
      "llm.provider": "openai",
      "llm.token_count.prompt": 10n,
      "llm.token_count.completion": 5n,
      "llm.token_count.total": 15n,
    });
    expect(tool.attributes).toMatchObject({
      "openinference.span.kind": "TOOL",
      "tool.name": "forecast",
      "tool_call.id": "call_1",
    });
    for (const { attributes } of received(call))
      expect(Object.keys(attributes).filter((name) => /^(openinference|llm|input|output|user)\./.test(name))).toEqual(
        [],
      );
  });
});

describe("Langfuse", () => {
  test("[d11.4] the trace's attributes stand on each span, if they are short: long metadata is not multiplied by the spans of a call", () => {
    const metadata = JSON.parse(
      JSON.stringify({
        team: "blue",
        long: "x".repeat(60_000),
        __proto__x: 1,
        ...Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, index])),
        session_id: "s-1",
        tags: ["a"],
      }),
    ) as JsonObject;
    const attempts = Array.from({ length: 100 }, (_, index) =>
      attemptOf({ spanId: index.toString(16).padStart(16, "0") }),
    );
    const dialects = [langfuse({ session: "session_id", tags: "tags", traceName: "trace_name" })];
    const call = tracedCall({ metadata, attempts });
    const [whole, ...others] = received(call, dialects);
    expect(whole!.attributes["langfuse.trace.metadata.long"]).toBe("x".repeat(60_000));
    expect(Object.keys(whole!.attributes).filter((name) => name.startsWith("langfuse.trace.metadata."))).toHaveLength(
      Object.keys(metadata).length,
    );
    expect(others).toHaveLength(100);
    for (const { attributes } of others) {
      expect(attributes).toMatchObject({
        "langfuse.session.id": "s-1",
        "langfuse.trace.tags": ["a"],
        "langfuse.trace.metadata.team": "blue",
      });
      expect(Object.keys(attributes).filter((name) => name.startsWith("langfuse.trace.metadata."))).toHaveLength(50);
      expect("langfuse.trace.metadata.long" in attributes).toBe(false);
    }
    const tagged = received(tracedCall({ metadata: { tags: ["y".repeat(60_000)] } }), dialects);
    expect(
      tagged.map(({ attributes }) => (attributes["langfuse.trace.tags"] as readonly string[] | undefined)?.length),
    ).toEqual([1, undefined]);
    expect(encodeSpans(new ProtobufWriter(), {}, spansOf(call, dialects)).length).toBeLessThan(1024 * 1024);
  });
});
