// Promises 4.2, 8.9 and 11.1: all that a provider bills is counted, for the client, the record, limits and prices
// alike; parts that a total omits are counted too; and an unknown usage figure is kept and counted, so that it is
// noticed.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { callLine } from "../../../src/observe/log.ts";
import { openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { costSum } from "../../../src/http/admin/calls/call-cost.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RERANK } from "../../../src/operations/rerank/rerank.ts";
import { providers } from "../../../src/providers/registry.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { readStream } from "../../harness/sse.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { ask } from "../chat-calls.ts";

const CLAUDE = "anthropic:claude-opus-4-7";
const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;

/** The same answer of the Messages API, whole and as a stream, whose last event tells the usage. */
function claudeSaying(usage: object): NonNullable<StubOptions["upstream"]> {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-opus-4-7", stop_sequence: null };
  return cannedUpstream(({ body }) => {
    if ((JSON.parse(body) as { readonly stream?: boolean }).stream !== true)
      return {
        body: JSON.stringify({
          ...message,
          content: [{ type: "text", text: "Hello" }],
          stop_reason: "end_turn",
          usage,
        }),
      };
    return {
      headers: { "content-type": "text/event-stream" },
      body:
        event("message_start", {
          message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
        }) +
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hello" } }) +
        event("content_block_stop", { index: 0 }) +
        event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage }) +
        event("message_stop", {}),
    };
  });
}

const ofOpenAI = (usage: object): NonNullable<StubOptions["upstream"]> =>
  cannedUpstream(({ body }) =>
    (JSON.parse(body) as { readonly stream?: boolean }).stream === true
      ? {
          headers: { "content-type": "text/event-stream" },
          body: [
            { choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] },
            { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
            { choices: [], usage },
          ]
            .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
            .concat("data: [DONE]\n\n")
            .join(""),
        }
      : { body: JSON.stringify({ ...openaiAnswer("Hello"), usage }) },
  );

const FAILED_RESPONSE = {
  id: "resp_1",
  object: "response",
  status: "failed",
  output: [],
  error: { code: "server_error", message: "gone" },
};
const RESPONSE_USAGE = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const COHERE_USAGE = { tokens: { input_tokens: 11, output_tokens: 7 } };

/** A price of all models, in dollars for a million tokens. */
function ownPrice(rates: object): Parameters<typeof compilePrices>[0][number] {
  return {
    id: "own",
    name: "own",
    tenantId: null,
    projectId: null,
    origin: "store",
    setBy: "owner",
    version: 1,
    document: priceSchema.parse({ model: "*", ...rates }),
  };
}

async function told(
  stub: Stub,
  stream: boolean,
  model = CLAUDE,
): Promise<{ readonly usage: any; readonly record: CallRecord }> {
  const { outcome, text } = await ask(stub, {
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  });
  expect(outcome).toBe("200");
  return {
    usage: stream ? readStream(text).events.at(-1)!["usage"] : JSON.parse(text).usage,
    record: stub.records.at(-1)!,
  };
}

describe("an answer that cannot be used", () => {
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  const nameless = { id: "call_1", type: "function", function: { arguments: "{}" } };
  const choice = { index: 0, message: { role: "assistant", content: null, tool_calls: [nameless] } };
  const asked = { model: "openai:gpt-5-mini", messages: [{ role: "user", content: "Hello" }], num_retries: 0 };

  test.each([
    ["without a choice", { choices: [] }],
    ["with a call without a name", { choices: [{ ...choice, finish_reason: "tool_calls" }] }],
  ])("[d4.2 d8.9] %s is charged what the provider counted for it", async (_, answer) => {
    const stub = stubGateway({ upstream: cannedUpstream(() => ({ body: JSON.stringify({ ...answer, usage }) })) });
    const response = await stub.chat(asked);
    expect([response.status, JSON.parse(await response.text()).error.code]).toEqual([502, "upstream_invalid_response"]);
    expect(stub.records.at(-1)).toMatchObject({ usage, usageSource: "provider" });
  });

  test.each([1, 2])("[d4.2 d8.9] in place of a stream of %i choices is charged in the same way", async (n) => {
    const upstream = cannedUpstream(() => ({
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ choices: [], usage }),
    }));
    const stub = stubGateway({ upstream });
    await (await stub.chat({ ...asked, stream: true, n })).text();
    const [attempt] = stub.records.at(-1)!.attempts;
    expect([attempt!.code, attempt!.usage, attempt!.usageSource]).toEqual([
      "upstream_invalid_response",
      usage,
      "provider",
    ]);
  });

  /** What a provider sends of an answer that failed after it had counted: whole, and as the last event of a stream. */
  const FAILED: readonly (readonly [what: string, model: string, whole: object, last: object | null])[] = [
    [
      "an error inside a choice",
      "openrouter:openai/gpt-5-mini",
      { choices: [{ index: 0, message: { content: null }, error: { code: 502, message: "gone" } }], usage },
      { choices: [{ index: 0, delta: { content: "" }, error: { code: 502, message: "gone" } }], usage },
    ],
    [
      "an error beside the choices",
      "openrouter:openai/gpt-5-mini",
      { choices: [], error: { code: 502, message: "gone" }, usage },
      { choices: [], error: { code: 502, message: "gone" }, usage },
    ],
    [
      "a failed response",
      "openai:gpt-5-pro",
      { ...FAILED_RESPONSE, usage: RESPONSE_USAGE },
      { type: "response.failed", response: { ...FAILED_RESPONSE, usage: RESPONSE_USAGE } },
    ],
    [
      "a finish reason that stands for a failure",
      "cohere:command-a-03-2025",
      { id: "x", message: { role: "assistant", content: [] }, finish_reason: "ERROR", usage: COHERE_USAGE },
      { type: "message-end", delta: { finish_reason: "ERROR", usage: COHERE_USAGE } },
    ],
    [
      "no candidates",
      "gemini:gemini-2.5-flash",
      { usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 } },
      null,
    ],
  ];
  test.each(
    FAILED.flatMap(([what, model, whole, last]) => [
      [what, model, false, JSON.stringify(whole)] as const,
      ...(last === null ? [] : [[what, model, true, `data: ${JSON.stringify(last)}\n\n`] as const]),
    ]),
  )(
    "[d4.2 d8.9] and has %s, of %s, streamed: %p, is charged what the provider counted",
    async (_, model, stream, body) => {
      const headers = { "content-type": stream ? "text/event-stream" : "application/json" };
      const stub = stubGateway({ upstream: cannedUpstream(() => ({ headers, body })) });
      const response = await stub.chat({ ...asked, model, stream });
      expect(response.status).toBeGreaterThanOrEqual(500);
      await response.text();
      expect(stub.records.at(-1)!.attempts).toMatchObject([{ usage, usageSource: "provider" }]);
    },
  );

  test("[d4.2] and reports less than it sent before is charged what it sent", async () => {
    const chunk = (rest: object): string => `data: ${JSON.stringify(rest)}\n\n`;
    const words = "one two three four five six seven eight nine ten ".repeat(20);
    const body =
      chunk({ choices: [{ index: 0, delta: { content: words } }] }) +
      chunk({ choices: [], error: { code: 502, message: "gone" }, usage });
    const headers = { "content-type": "text/event-stream" };
    const stub = stubGateway({ upstream: cannedUpstream(() => ({ headers, body })) });
    await (await stub.chat({ ...asked, stream: true })).text();
    const { usage: charged, usageSource } = stub.records.at(-1)!;
    expect([charged!.prompt_tokens, usageSource]).toEqual([11, "estimated"]);
    expect(charged!.completion_tokens).toBeGreaterThan(100);
    expect(charged!.total_tokens).toBe(11 + charged!.completion_tokens);
  });

  test("[d4.2 d12.10] with too few vectors is charged what the provider counted for it", async () => {
    const body = JSON.stringify({
      data: [{ index: 0, embedding: [1, 2] }],
      usage: { prompt_tokens: 11, total_tokens: 11 },
    });
    const stub = stubGateway({ operation: EMBEDDINGS, upstream: cannedUpstream(() => ({ body })) });
    const response = await stub.chat({ model: "openai:text-embedding-3-small", input: ["one", "two"] });
    expect(response.status).toBe(502);
    expect(
      stub.records.at(-1)!.attempts.map(({ usage: used, usageSource }) => [used!.prompt_tokens, usageSource]),
    ).toEqual(Array.from(stub.sent, () => [11, "provider"]));
  });

  test("[d4.2 d12.10] that ranks a document twice is charged the search units that the provider counted for it", async () => {
    const result = { index: 0, relevance_score: 0.5 };
    const body = JSON.stringify({ results: [result, result], meta: { billed_units: { search_units: 3 } } });
    const stub = stubGateway({ operation: RERANK, upstream: cannedUpstream(() => ({ body })) });
    const response = await stub.chat({ model: "cohere:rerank-v3.5", query: "one", documents: ["one", "two"] });
    expect(response.status).toBe(502);
    expect(stub.records.at(-1)!.attempts.map(({ usage: used }) => used!.search_units)).toEqual(
      Array.from(stub.sent, () => 3),
    );
  });
});

describe.each([
  ["plain", false],
  ["streamed", true],
] as const)("impossible figures, %s", (_, stream) => {
  const IMPOSSIBLE = [-5, 1e300, 0.5, "12", {}, [7]] as const;

  test("[d4.2 d8.9] of a sum that all other figures depend on: the usage is discarded, and an estimate takes its place", async () => {
    for (const impossible of IMPOSSIBLE) {
      // a stream of Claude's has said figures at its beginning, which stay
      for (const stub of stream
        ? []
        : [
            stubGateway({ upstream: claudeSaying({ input_tokens: impossible, output_tokens: 7 }) }),
            stubGateway({ upstream: claudeSaying({ input_tokens: 7, output_tokens: impossible }) }),
          ]) {
        const { usage, record } = await told(stub, stream);
        expect([impossible, record.usageSource]).toEqual([impossible, "estimated"]);
        expect(usage.prompt_tokens).toBeGreaterThan(0);
        expect(usage.completion_tokens).toBeGreaterThan(0);
        expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
      }
      const stub = stubGateway({ upstream: ofOpenAI({ prompt_tokens: impossible, completion_tokens: 7 }) });
      const { usage, record } = await told(stub, stream, "openai:gpt-4o");
      expect([impossible, record.usageSource, usage.prompt_tokens > 0]).toEqual([impossible, "estimated", true]);
    }
    // a total below the other sum cannot say what the impossible one is
    for (const figures of [
      { prompt_tokens: -5, completion_tokens: 50, total_tokens: 45 },
      { prompt_tokens: 50, completion_tokens: -5, total_tokens: 45 },
    ]) {
      const { usage, record } = await told(stubGateway({ upstream: ofOpenAI(figures) }), stream, "openai:gpt-4o");
      expect([record.usageSource, usage.prompt_tokens > 0, usage.completion_tokens > 0]).toEqual([
        "estimated",
        true,
        true,
      ]);
    }
  });
  test("[d4.2 d8.9] of a part, or of one of several sums: the other figures count", async () => {
    for (const impossible of IMPOSSIBLE) {
      const figures = { input_tokens: 11, output_tokens: 7 };
      for (const native of [
        { ...figures, cache_read_input_tokens: impossible },
        {
          ...figures,
          iterations: [
            { type: "message", ...figures },
            { type: "compaction", input_tokens: impossible, output_tokens: 0 },
          ],
        },
        { input_tokens: impossible, output_tokens: 7, iterations: [{ type: "message", ...figures }] },
        { ...figures, iterations: [impossible, null, "x"] },
      ]) {
        const { usage, record } = await told(stubGateway({ upstream: claudeSaying(native) }), stream);
        expect([native, record.usageSource]).toEqual([native, "provider"]);
        expect([usage.prompt_tokens, usage.completion_tokens]).toEqual([11, 7]);
      }
      const whole = ofOpenAI({ prompt_tokens: impossible, completion_tokens: 7, total_tokens: 18 });
      const { usage } = await told(stubGateway({ upstream: whole }), stream, "openai:gpt-4o");
      expect([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]).toEqual([11, 7, 18]);
    }
  });
  test("[d4.2 d8.9] under a name that the gateway itself gives to a figure: it is reported, not counted, and the call settles", async () => {
    const FIGURES = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    const others = [{ model: "gpt-4o", ...FIGURES, prompt_tokens: 1_000_000 }];
    const prices = compilePrices([ownPrice({ prompt: "1", completion: "1", search_unit: "1" })]);
    const limitRules = limitSet({ limits: { atOnce: { metric: "concurrency", limit: 1 } } });
    const billed = { input_tokens: 1, output_tokens: 1 };
    for (const name of ["other_models", "hosted_tools", "search_units", "billed_units"])
      for (const figure of [...IMPOSSIBLE, others, { web_search: -3, code_interpreter: "x" }, billed, 1_000]) {
        const upstream = ofOpenAI({ ...FIGURES, [name]: figure });
        const stub = stubGateway({ upstream, snapshot: { prices, limitRules } });
        // a second call has room only where the first one has settled
        for (const call of [1, 2]) {
          const { usage, record } = await told(stub, stream, "openai:gpt-4o");
          expect([name, figure, call, usage]).toEqual([name, figure, call, FIGURES]);
          expect([name, figure, record.cost?.nanoUsd]).toEqual([name, figure, 18_000]);
        }
      }
  });
});

describe("usage that tells one sum alone, or none", () => {
  const RESPONSES_MODEL = "openai:o1-pro";
  const saying = (usage: object): NonNullable<StubOptions["upstream"]> => {
    const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }];
    return cannedUpstream({
      body: JSON.stringify({ ...FAILED_RESPONSE, error: null, status: "completed", output, usage }),
    });
  };
  test.each([
    ["none in OpenAI's form", ofOpenAI({}), "openai:gpt-4o"],
    ["of the prompt alone", ofOpenAI({ prompt_tokens: 11 }), "openai:gpt-4o"],
    ["of the answer alone", ofOpenAI({ completion_tokens: 7, total_tokens: null }), "openai:gpt-4o"],
    ["none of Claude", claudeSaying({}), CLAUDE],
    ["of the prompt of Claude alone", claudeSaying({ input_tokens: 11 }), CLAUDE],
    ["of the answer of Claude alone", claudeSaying({ output_tokens: 7, input_tokens: null }), CLAUDE],
    ["none of the Responses API", saying({}), RESPONSES_MODEL],
    ["of the answer of the Responses API alone", saying({ output_tokens: 7 }), RESPONSES_MODEL],
  ] as const)("[d4.2 d8.9] %s: the other is no zero, and an estimate takes its place", async (_, upstream, model) => {
    const { usage, record } = await told(stubGateway({ upstream }), false, model);
    expect([record.usageSource, usage.prompt_tokens > 0, usage.completion_tokens > 0]).toEqual([
      "estimated",
      true,
      true,
    ]);
    expect(record.usage).toEqual(usage);
  });
  test("[d4.2 d8.9] with the total: the other is what is left of it", async () => {
    for (const figures of [{ prompt_tokens: 11 }, { completion_tokens: 7 }]) {
      const upstream = ofOpenAI({ ...figures, total_tokens: 18 });
      const { usage, record } = await told(stubGateway({ upstream }), false, "openai:gpt-4o");
      expect([record.usageSource, usage]).toEqual([
        "provider",
        { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      ]);
    }
  });
});

describe("usage of Claude that the last event of a stream tells again", () => {
  const begun = { input_tokens: 11, cache_read_input_tokens: 100, output_tokens: 1 };
  const ending = (usage: object): NonNullable<StubOptions["upstream"]> =>
    cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body:
        event("message_start", { message: { id: "msg_1", role: "assistant", model: "m", content: [], usage: begun } }) +
        event("content_block_start", { index: 0, content_block: { type: "text", text: "Hello" } }) +
        event("content_block_stop", { index: 0 }) +
        event("message_delta", { delta: { stop_reason: "end_turn" }, usage }) +
        event("message_stop", {}),
    });

  test.each([
    ["zeros, which say nothing of the prompt", { input_tokens: 0, cache_read_input_tokens: 0 }, 111, 100],
    ["a zero alone", { input_tokens: 0 }, 111, 100],
    ["figures that cannot be", { input_tokens: -1, cache_read_input_tokens: "x" }, 111, 100],
    ["nothing", {}, 111, 100],
    ["more", { input_tokens: 20, cache_read_input_tokens: 200 }, 220, 200],
    ["less of the one, and more from the cache", { input_tokens: 0, cache_read_input_tokens: 111 }, 111, 111],
  ] as const)("[d4.2 d8.9] %s", async (_, again, prompt, cached) => {
    const stub = stubGateway({ upstream: ending({ ...again, output_tokens: 7 }) });
    const { usage, record } = await told(stub, true);
    const figures = { prompt_tokens: prompt, completion_tokens: 7, prompt_tokens_details: { cached_tokens: cached } };
    expect(usage).toMatchObject(figures);
    expect(record).toMatchObject({ usage: figures, usageSource: "provider" });
  });
});

describe("usage of Claude whose stream tells nothing of its answer after it", () => {
  const TEXT = "word ".repeat(400);
  /** `last` is the usage of the last event, and `begun` of the first. */
  const unmetered = (
    last: object | undefined,
    begun: object = { input_tokens: 11, output_tokens: 1 },
  ): NonNullable<StubOptions["upstream"]> =>
    cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body:
        event("message_start", { message: { id: "msg_1", role: "assistant", model: "m", content: [], usage: begun } }) +
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: TEXT } }) +
        event("content_block_stop", { index: 0 }) +
        event("message_delta", { delta: { stop_reason: "end_turn" }, ...(last !== undefined && { usage: last }) }) +
        event("message_stop", {}),
    });
  const figures = { prompt_tokens: 11, completion_tokens: TEXT.length / 4 };

  test.each([
    ["no usage", undefined],
    ["an empty one", {}],
    ["figures that cannot be", { output_tokens: -1 }],
    ["figures of the prompt alone", { input_tokens: 11, output_tokens: null }],
  ] as const)(
    "[d4.2 d8.9] with %s: what was generated is estimated, for the client as for the record",
    async (_, last) => {
      const stub = stubGateway({ upstream: unmetered(last) });
      const { usage, record } = await told(stub, true);
      expect(usage).toMatchObject(figures);
      expect(record).toMatchObject({ usage: figures, usageSource: "estimated" });
    },
  );
  test("[d4.2 d8.9] also where the first event tells nothing of the answer: the figures of the prompt stay", async () => {
    for (const begun of [{ input_tokens: 11 }, { input_tokens: 11, output_tokens: null }]) {
      const { usage } = await told(stubGateway({ upstream: unmetered(undefined, begun) }), true);
      expect(usage).toMatchObject(figures);
    }
  });
  test("[d4.2 d12.7] also where the target speaks the operation of the call", async () => {
    const stub = stubGateway({ upstream: unmetered(undefined), operation: MESSAGES });
    const messages = [{ role: "user", content: "Hello" }];
    const response = await stub.chat({ model: CLAUDE, stream: true, max_tokens: 1_000, messages });
    expect(await response.text()).toContain("message_stop");
    expect(stub.records.at(-1)).toMatchObject({ usage: figures, usageSource: "estimated" });
  });
});

test("[d4.2 d8.9] zeros at the end of a stream do not replace the figures that came before them", async () => {
  const figures = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  const upstream = cannedUpstream({
    headers: { "content-type": "text/event-stream" },
    body: [
      { choices: [{ index: 0, delta: { content: "Hello" } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: figures },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    ]
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .concat("data: [DONE]\n\n")
      .join(""),
  });
  const { usage, record } = await told(stubGateway({ upstream }), true, "openai:gpt-4o");
  expect([usage, record.usageSource]).toEqual([figures, "provider"]);
});

test("[d4.2 d8.9] usage that a stream tells only before its answer: what was generated after it is estimated", async () => {
  const TEXT = "word ".repeat(400);
  const early = { prompt_tokens: 11, completion_tokens: 0, total_tokens: 11 };
  const upstream = cannedUpstream({
    headers: { "content-type": "text/event-stream" },
    body: [
      { choices: [{ index: 0, delta: { role: "assistant" } }], usage: early },
      { choices: [{ index: 0, delta: { content: TEXT } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ]
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .concat("data: [DONE]\n\n")
      .join(""),
  });
  const { usage, record } = await told(stubGateway({ upstream }), true, "openai:gpt-4o");
  const figures = { prompt_tokens: 11, completion_tokens: 500, total_tokens: 511 };
  expect(usage).toEqual(figures);
  expect(record).toMatchObject({ usage: figures, usageSource: "estimated" });
});

describe.each([
  ["plain", false],
  ["streamed", true],
] as const)("Claude's iterations, %s", (_, stream) => {
  const COMPACTED = {
    input_tokens: 162,
    output_tokens: 40,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    iterations: [
      {
        type: "compaction",
        input_tokens: 99_033,
        output_tokens: 3_500,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_1h_input_tokens: 5, ephemeral_5m_input_tokens: 0 },
      },
      {
        type: "message",
        input_tokens: 162,
        output_tokens: 40,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      },
    ],
  };
  const TOTAL = {
    prompt_tokens: 99_207,
    completion_tokens: 3_540,
    total_tokens: 102_747,
    prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 5, cache_write_1h_tokens: 5 },
  };

  test("[d8.9] the tokens that a compaction reads and writes are counted, for the client and the record alike", async () => {
    const { usage, record } = await told(stubGateway({ upstream: claudeSaying(COMPACTED) }), stream);
    expect(usage).toEqual(TOTAL);
    expect(record).toMatchObject({ usage: TOTAL, usageSource: "provider", unnamedUsage: null });
  });

  test("[d4.2 d8.9] token limits and the price include them", async () => {
    const prices = compilePrices([ownPrice({ prompt: "0.001", completion: "1" })]);
    const limitRules = limitSet({ limits: { tokens: { metric: "tokens", window: "day", limit: 150_000 } } });
    const stub = stubGateway({ upstream: claudeSaying(COMPACTED), snapshot: { prices, limitRules } });
    const { record } = await told(stub, stream);
    expect(record.cost).toMatchObject({ nanoUsd: 99_207 + 3_540_000 });
    expect(record.limits).toMatchObject([{ settled: 102_747, after: 102_747 }]);
  });

  test("[d4.7] the tokens that an advisor used are counted with the rest, at the price of the advisor's model", async () => {
    const advised = {
      input_tokens: 100,
      output_tokens: 10,
      iterations: [
        { type: "message", input_tokens: 100, output_tokens: 10 },
        { type: "advisor_message", model: "claude-sonnet-4-5", input_tokens: 1_000, output_tokens: 200 },
      ],
    };
    const stub = stubGateway({ upstream: claudeSaying(advised) });
    const { usage, record } = await told(stub, stream);
    expect(usage).toMatchObject({
      prompt_tokens: 1_100,
      completion_tokens: 210,
      total_tokens: 1_310,
      other_models: [{ model: "claude-sonnet-4-5", prompt_tokens: 1_000, completion_tokens: 200 }],
    });
    // 5 and 25 dollars for a million tokens of the one, 3 and 15 of the other
    expect(record.cost!.nanoUsd).toBe(100 * 5_000 + 10 * 25_000 + 1_000 * 3_000 + 200 * 15_000);
    // what the console shows of the cost comes to the same
    const [shown] = costSum(record, stub.context.snapshot(), providers)!;
    expect(shown!.parts.map(({ what, units }) => [what, units])).toEqual([
      ["uncached prompt tokens", 100],
      ["completion tokens", 10],
      ["uncached prompt tokens of claude-sonnet-4-5", 1_000],
      ["completion tokens of claude-sonnet-4-5", 200],
    ]);
  });

  test("[d4.7 d11.1] an advisor adds no price of a request, is rounded with the rest, and leaves the price's name", async () => {
    const one = { input_tokens: 1, output_tokens: 1 };
    const advised = {
      ...one,
      iterations: [
        { type: "message", ...one },
        { type: "advisor_message", model: "claude-sonnet-4-5", ...one },
      ],
    };
    const own = ownPrice({ model: CLAUDE, prompt: "0.0001", completion: "0.0001", request: "0.001" });
    const advisor = { ...own, id: "advisor", document: { ...own.document, model: "anthropic:claude-sonnet-4-5" } };
    const snapshot = { prices: compilePrices([own, advisor]) };
    const { record } = await told(stubGateway({ upstream: claudeSaying(advised), snapshot }), stream);
    // a tenth of a nano-dollar for each of four tokens, and a thousandth of a dollar for the request
    expect(record.cost).toEqual({ nanoUsd: 1_000_001, priceId: "own@1" });
  });

  test("[d8.9] iterations that report less than the total subtract nothing", async () => {
    const { usage } = await told(
      stubGateway({
        upstream: claudeSaying({
          input_tokens: 50,
          output_tokens: 9,
          iterations: [{ type: "message", input_tokens: 20, output_tokens: 9 }],
        }),
      }),
      stream,
    );
    expect(usage).toMatchObject({ prompt_tokens: 50, completion_tokens: 9 });
  });
});

describe("parts and total", () => {
  const SMALL_TOTAL = { prompt_tokens: 900_000, completion_tokens: 1, total_tokens: 2 };
  test.each([false, true])(
    "[d8.9 d4.2] a total below the sum of its parts is reported unchanged, and limits and prices count the parts: streamed %p",
    async (stream) => {
      const body = stream
        ? `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],"usage":${JSON.stringify(SMALL_TOTAL)}}\n\ndata: [DONE]\n\n`
        : JSON.stringify({ ...openaiAnswer(), usage: SMALL_TOTAL });
      const upstream = cannedUpstream({
        body,
        headers: { "content-type": stream ? "text/event-stream" : "application/json" },
      });
      const { usage, record } = await told(
        stubGateway({
          upstream,
          snapshot: {
            limitRules: limitSet({ limits: { tokens: { metric: "tokens", window: "day", limit: 1_000_000 } } }),
          },
        }),
        stream,
        "openai:gpt-4o",
      );
      expect(usage).toEqual(SMALL_TOTAL);
      expect([record.usage, record.limits[0]!.settled]).toEqual([SMALL_TOTAL, 900_001] as never);
      expect(JSON.parse(callLine(record))).toMatchObject(SMALL_TOTAL);
    },
  );

  test("[d8.9] tokens that Perplexity bills beside prompt and completion are counted", async () => {
    const usage = {
      prompt_tokens: 33,
      completion_tokens: 7_163,
      total_tokens: 7_196,
      citation_tokens: 20_016,
      num_search_queries: 18,
      reasoning_tokens: 73_997,
    };
    const { usage: said, record } = await told(
      stubGateway({ upstream: cannedUpstream({ body: JSON.stringify({ ...openaiAnswer(), usage }) }) }),
      false,
      "perplexity:sonar-deep-research",
    );
    expect(said).toMatchObject({
      prompt_tokens: 20_049,
      completion_tokens: 81_160,
      total_tokens: 101_209,
      completion_tokens_details: { reasoning_tokens: 73_997 },
    });
    // searches are billed apart, and not by tokens
    expect(record.unnamedUsage).toEqual({ num_search_queries: 18 });
  });

  const BY_TIME = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 30 };
  test.each([
    ["DigitalOcean", { cache_created_input_tokens: 40, cache_creation: BY_TIME }],
    ["Doubleword", { cache_creation_input_tokens: 40, cache_creation: BY_TIME }],
    ["DashScope", { prompt_tokens_details: { cache_creation_input_tokens: 40, cache_creation: BY_TIME } }],
    ["LiteLLM", { prompt_tokens_details: { cache_creation_tokens: 40, cache_creation_token_details: BY_TIME } }],
  ])(
    "[d8.9 d4.2] what %s writes to a cache for an hour, in OpenAI's form, has the price of that",
    async (_, written) => {
      const usage = { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107, ...written };
      for (const stream of [false, true]) {
        const body = stream
          ? `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }], usage })}\n\ndata: [DONE]\n\n`
          : JSON.stringify({ ...openaiAnswer(), usage });
        const headers = { "content-type": stream ? "text/event-stream" : "application/json" };
        const rates = { prompt: "1", completion: "1", cache_write: "10", cache_write_1h: "100" };
        const prices = compilePrices([ownPrice(rates)]);
        const stub = stubGateway({ upstream: cannedUpstream({ body, headers }), snapshot: { prices } });
        const { usage: said, record } = await told(stub, stream, "openai:gpt-4o");
        expect(said.prompt_tokens_details).toMatchObject({ cache_write_tokens: 40, cache_write_1h_tokens: 30 });
        expect([stream, record.cost!.nanoUsd, record.unnamedUsage]).toEqual([
          stream,
          (60 + 10 * 10 + 30 * 100 + 7) * 1_000,
          null,
        ]);
      }
    },
  );

  test.each([false, true])(
    "[d12.7 d4.2] audio and images of an answer of the Responses form have their own prices: streamed %p",
    async (stream) => {
      const response = {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi", annotations: [] }] },
        ],
        usage: {
          input_tokens: 100,
          output_tokens: 50,
          total_tokens: 150,
          input_tokens_details: { cached_tokens: 10, text_tokens: 40, image_tokens: 30, audio_tokens: 20 },
          output_tokens_details: { reasoning_tokens: 5, image_tokens: 20, audio_tokens: 10 },
        },
      };
      const upstream = cannedUpstream({
        headers: { "content-type": stream ? "text/event-stream" : "application/json" },
        body: stream ? event("response.completed", { response }) : JSON.stringify(response),
      });
      const audio = { audio_prompt: "100", audio_completion: "1000" };
      const image = { image_prompt: "20", image_completion: "200" };
      const prices = compilePrices([ownPrice({ prompt: "1", completion: "2", ...audio, ...image })]);
      const { record } = await told(stubGateway({ upstream, snapshot: { prices } }), stream, "openai:gpt-5-pro");
      expect(record.cost!.nanoUsd).toBe((50 + 30 * 20 + 20 * 100 + 20 * 2 + 20 * 200 + 10 * 1_000) * 1_000);
      expect(record.unnamedUsage).toBeNull();
    },
  );

  test.each([false, true])(
    "[d4.2 d8.9] of Cohere's tokens only those cost that it bills, and limits count all of them: streamed %p",
    async (stream) => {
      const answerOf = async (billed: object) => {
        const used = { tokens: { input_tokens: 500, output_tokens: 9 }, billed_units: billed, cached_tokens: 4 };
        const text = { type: "text", text: "Hello" };
        const events = [
          { type: "message-start", delta: { message: { role: "assistant" } } },
          { type: "content-start", index: 0, delta: { message: { content: text } } },
          { type: "content-end", index: 0 },
          { type: "message-end", delta: { finish_reason: "COMPLETE", usage: used } },
        ];
        const upstream = cannedUpstream({
          headers: { "content-type": stream ? "text/event-stream" : "application/json" },
          body: stream
            ? events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")
            : JSON.stringify({
                id: "c",
                message: { role: "assistant", content: [text] },
                finish_reason: "COMPLETE",
                usage: used,
              }),
        });
        const prices = compilePrices([ownPrice({ prompt: "1", completion: "10" })]);
        const limitRules = limitSet({
          limits: { tokens: { metric: "tokens", window: "day", limit: 150_000 } },
          budgets: { money: { usd: "1", window: "day" } },
        });
        const stub = stubGateway({ upstream, snapshot: { prices, limitRules } });
        const { usage, record } = await told(stub, stream, "cohere:command-a-03-2025");
        expect(usage).toMatchObject({ prompt_tokens: 500, completion_tokens: 9, total_tokens: 509 });
        return { cost: record.cost!.nanoUsd, settled: record.limits.map((limit) => limit.settled) };
      };
      expect(await answerOf({ input_tokens: 6, output_tokens: 5 })).toEqual({ cost: 56_000, settled: [509, 56_000] });
      // what it does not say, and what cannot be, is not believed
      expect((await answerOf({ search_units: 1 })).cost).toBe(590_000);
      expect((await answerOf({ input_tokens: -6, output_tokens: "5" })).cost).toBe(590_000);
    },
  );

  test("[d8.9] images that Gemini generated, and audio that it read from its cache, are reported by modality", async () => {
    const usageMetadata = {
      promptTokenCount: 500,
      cachedContentTokenCount: 300,
      candidatesTokenCount: 1_300,
      toolUsePromptTokenCount: 20,
      totalTokenCount: 1_820,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 100 },
        { modality: "AUDIO", tokenCount: 400 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 300 }],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
      toolUsePromptTokensDetails: [{ modality: "IMAGE", tokenCount: 20 }],
    };
    const body = JSON.stringify({
      candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP", index: 0 }],
      usageMetadata,
    });
    const { usage, record } = await told(
      stubGateway({ upstream: cannedUpstream({ body }) }),
      false,
      "gemini:gemini-2.5-flash",
    );
    expect(usage).toMatchObject({
      prompt_tokens: 520,
      completion_tokens: 1_300,
      prompt_tokens_details: {
        cached_tokens: 300,
        cached_tokens_details: { audio_tokens: 300 },
        audio_tokens: 400,
        image_tokens: 20,
      },
      completion_tokens_details: { image_tokens: 1_290 },
    });
    expect(record.unnamedUsage).toBeNull();
  });
});

describe("an unknown usage figure", () => {
  const ODD = { brand_new_tokens: 7, nothing_new: 0, deep: { inner_units: 3, list: [{ unit: 2 }] } };
  const UNNAMED = { brand_new_tokens: 7, "deep.inner_units": 3, "deep.list.unit": 2 };
  const openaiUsage = {
    prompt_tokens: 5,
    completion_tokens: 2,
    total_tokens: 7,
    prompt_tokens_details: { cached_tokens: 1, pages: 4 },
  };
  const FAMILIES: readonly (readonly [model: string, body: object, unnamed: object])[] = [
    [
      "openai:gpt-4o",
      { ...openaiAnswer(), usage: { ...openaiUsage, ...ODD } },
      { ...UNNAMED, "prompt_tokens_details.pages": 4 },
    ],
    [
      "anthropic:claude-sonnet-4-5",
      {
        id: "m",
        type: "message",
        content: [{ type: "text", text: "Hi" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 5, output_tokens: 2, server_tool_use: { web_search_requests: 3 }, ...ODD },
      },
      UNNAMED,
    ],
    [
      "gemini:gemini-2.5-flash",
      {
        candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7, ...ODD },
      },
      UNNAMED,
    ],
    [
      "cohere:command-a-03-2025",
      {
        id: "c",
        message: { role: "assistant", content: [{ type: "text", text: "Hi" }] },
        finish_reason: "COMPLETE",
        usage: { tokens: { input_tokens: 5, output_tokens: 2 }, ...ODD },
      },
      UNNAMED,
    ],
    [
      "bedrock:amazon.nova-lite-v1:0",
      {
        output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
        stopReason: "end_turn",
        usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7, ...ODD },
      },
      UNNAMED,
    ],
  ];

  test.each(FAMILIES)(
    "[d11.1] of %s is kept in the record and shown in its log line, and leaves the known figures unchanged",
    async (model, body, unnamed) => {
      const { record } = await told(
        stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(body) }) }),
        false,
        model,
      );
      expect([record.usage, record.unnamedUsage]).toMatchObject([{ prompt_tokens: 5, completion_tokens: 2 }, unnamed]);
      expect(Object.keys(record.unnamedUsage!).toSorted()).toEqual(Object.keys(unnamed).toSorted());
      expect(JSON.parse(callLine(record))["usage_unnamed"]).toEqual(record.unnamedUsage);
      expect(JSON.parse(JSON.stringify(record)).unnamedUsage).toEqual(record.unnamedUsage);
    },
  );

  test("[d11.1] is counted by provider alone, so that its name never becomes a metric label", async () => {
    const metrics = openMetrics();
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`odd_${index}_${"x".repeat(index)}`, 1]),
    );
    const stub = stubGateway({
      upstream: cannedUpstream({ body: JSON.stringify({ ...openaiAnswer(), usage: { ...openaiUsage, ...many } }) }),
    });
    const { record } = await told(stub, false, "openai:gpt-4o");
    // so many, and no longer names
    expect(Object.keys(record.unnamedUsage!)).toHaveLength(32);
    metrics.publish(record);
    const text = await metrics.text();
    expect(text).toContain('dragoman_unnamed_usage_figures_total{provider="openai"} 32');
    expect(text).not.toContain("odd_");
  });
});
