// Vercel's AI SDK (ai 7 with @ai-sdk/openai-compatible) against the running gateway: sandbox models, and a provider of each wire family behind it.
// Limits of the library: whether to retry it decides by the status alone and does not read `x-should-retry`; of an error in the middle of a stream
// it keeps words, type and code.
import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  generateText,
  isStepCount,
  jsonSchema,
  NoObjectGeneratedError,
  Output,
  RetryError,
  streamText,
  tool,
} from "ai";
import { expectedCallId, expectedFrame, expectedThought, expectedWithheld } from "../operations/expected-answers.ts";
import { FAMILIES, type Family, type Form } from "../operations/families.ts";
import { saidTo } from "../operations/family-gateway.ts";
import { standingFamilyGateway } from "../operations/standing-family-gateway.ts";
import {
  AFTER_TOOLS,
  FORECAST,
  FORECAST_SCHEMA,
  TEXT,
  THOUGHT,
  WEATHER_SCHEMA,
} from "../operations/scripted-answers.ts";
import { until } from "../../harness/time/until.ts";

/** The promise is 50 ms, which the drill measures; on a busy machine it is only seen that the call ends. */
const CANCEL_MS = 10_000;

const stage = standingFamilyGateway();
let provider: ReturnType<typeof createOpenAICompatible>;
let plainProvider: ReturnType<typeof createOpenAICompatible>;
beforeAll(() => {
  // a word on the console where JSON mode has no schema
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  const settings = { name: "dragoman", baseURL: stage.baseUrl, apiKey: stage.token, includeUsage: true };
  provider = createOpenAICompatible({ ...settings, supportsStructuredOutputs: true });
  plainProvider = createOpenAICompatible(settings);
});

const isForecast = (value: unknown): value is typeof FORECAST =>
  typeof value === "object" && value !== null && "city" in value && "degrees" in value;
const forecast = jsonSchema<typeof FORECAST>(FORECAST_SCHEMA, {
  validate: (value) =>
    isForecast(value) ? { success: true, value } : { success: false, error: new Error("no forecast") },
});
const weather = tool({
  description: "The weather of a city.",
  inputSchema: jsonSchema<{ city: string }>(WEATHER_SCHEMA),
  execute: ({ city }) => Promise.resolve(city === "Paris" ? "warm" : "cold"),
});
const bell = tool({
  description: "Rings.",
  inputSchema: jsonSchema<Record<string, never>>({ type: "object", properties: {} }),
  outputSchema: jsonSchema<string>({ type: "string" }),
});
const low = { providerOptions: { dragoman: { reasoningEffort: "low" } } };
const once = { maxRetries: 0 };

/** The library's own account of the figures. */
const usageOf = (prompt: number, completion: number, reasoning = 0) => ({
  inputTokens: prompt,
  inputTokenDetails: { noCacheTokens: prompt, cacheReadTokens: 0 },
  outputTokens: completion,
  outputTokenDetails: { textTokens: completion - reasoning, reasoningTokens: reasoning },
  totalTokens: prompt + completion,
});

async function errorOf(call: PromiseLike<unknown>): Promise<APICallError> {
  const error = await Promise.resolve(call).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!APICallError.isInstance(error)) throw new Error("the call did not fail as a call of the API", { cause: error });
  return error;
}

/** Forms of one vendor's schema, which has no place for another vendor's fields. */
const CLOSED: ReadonlySet<string> = new Set(["azure", "sagemaker"]);

describe.each([...FAMILIES])("a provider that speaks the form of $wire", (family: Family) => {
  const thoughtTokens = expectedThought(family, 9) ?? 0;
  const calls = (["Paris", "Oslo"] as const).map((city) => ({
    type: "tool-call",
    toolCallId: expectedCallId(family, `call_${city.toLowerCase()}`),
    toolName: "weather",
    input: { city },
  }));

  test("text, plain", async () => {
    const got = await generateText({ model: provider(family.model), prompt: "#text", ...once });
    expect({ text: got.text, finish: got.finishReason, warnings: got.warnings, content: got.content }).toEqual({
      text: TEXT,
      finish: "stop",
      warnings: [],
      content: [{ type: "text", text: TEXT }],
    });
    expect(got.usage).toMatchObject(usageOf(11, 4));
    const { id, created } = expectedFrame(family);
    const { response } = got.finalStep;
    expect({
      id: response.id,
      modelId: response.modelId,
      created: Math.floor(response.timestamp.getTime() / 1000),
    }).toEqual({ id, modelId: family.model, created });
  });

  test("text, streamed: the parts, then the usage", async () => {
    const parts: { type: string; text?: string }[] = [];
    const got = streamText({ model: provider(family.model), prompt: "#text", ...once });
    for await (const part of got.stream) parts.push(part);
    expect(parts.map(({ type, text }) => text ?? type)).toEqual([
      "start",
      "start-step",
      "text-start",
      "Bonjou",
      "r, mon",
      "de — ✓",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect([await got.text, await got.finishReason]).toEqual([TEXT, "stop"]);
    expect(await got.usage).toMatchObject(usageOf(11, 4));
  });

  test("reasoning stands beside the text, plain and streamed", async () => {
    const got = await generateText({ model: provider(family.model), prompt: "#reason", ...low, ...once });
    expect(got.content as readonly object[]).toEqual([
      { type: "reasoning", text: THOUGHT },
      { type: "text", text: "42" },
    ]);
    expect(got.usage).toMatchObject(usageOf(11, 10, thoughtTokens));
    const streamed = streamText({ model: provider(family.model), prompt: "#reason", ...low, ...once });
    const kinds: string[] = [];
    for await (const { type } of streamed.stream) if (kinds.at(-1) !== type) kinds.push(type);
    expect(kinds).toEqual([
      "start",
      "start-step",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect([(await streamed.finalStep).reasoningText, await streamed.text]).toEqual([THOUGHT, "42"]);
    expect(await streamed.usage).toMatchObject(usageOf(11, 10, thoughtTokens));
  });

  test("tools run in a loop of two steps, plain and streamed", async () => {
    const ask = {
      model: provider(family.model),
      prompt: "#tools",
      tools: { weather },
      stopWhen: isStepCount(3),
      ...once,
    };
    const got = await generateText(ask);
    expect([got.text, got.steps.length, got.steps[0]!.finishReason]).toEqual([AFTER_TOOLS, 2, "tool-calls"]);
    expect(got.steps[0]!.toolCalls as readonly object[]).toMatchObject(calls);
    expect(got.steps[0]!.toolResults.map((result) => result.output)).toEqual(["warm", "cold"]);
    const streamed = streamText(ask);
    expect(await streamed.text).toBe(AFTER_TOOLS);
    const steps = await streamed.steps;
    expect([steps.length, steps[0]!.finishReason]).toEqual([2, "tool-calls"]);
    expect(steps[0]!.toolCalls as readonly object[]).toMatchObject(calls);
  });

  test("[d9.7] S9, S10: text and a call without arguments in one answer, plain and streamed", async () => {
    const ask = { model: provider(family.model), prompt: "#bare", tools: { bell }, ...once };
    const call = { type: "tool-call", toolCallId: expectedCallId(family, "call_bell"), toolName: "bell", input: {} };
    const got = await generateText(ask);
    expect([got.text, got.finishReason, got.toolCalls as readonly object[]]).toMatchObject([
      "Ringing.",
      "tool-calls",
      [call],
    ]);
    const streamed = streamText(ask);
    expect([
      await streamed.text,
      await streamed.finishReason,
      (await streamed.toolCalls) as readonly object[],
    ]).toMatchObject(["Ringing.", "tool-calls", [call]]);
  });

  test("[d9.7] R4: a conversation with reasoning and calls in it continues", async () => {
    const got = await generateText({
      model: provider(family.model),
      ...once,
      tools: { weather },
      messages: [
        { role: "user", content: "#tools" },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: THOUGHT },
            {
              type: "tool-call",
              toolCallId: "call_paris",
              toolName: "weather",
              input: { city: "Paris" },
              providerOptions: { google: { thoughtSignature: "c2ln" } },
            },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "call_paris",
              toolName: "weather",
              output: { type: "text", value: "warm" },
            },
          ],
        },
      ],
    });
    expect(got.text).toBe(AFTER_TOOLS);
    // the signature goes back to its own vendor, stays where unknown fields are kept, and is ignored by the others
    const signatures: Partial<Record<Form, string>> = {
      openai: '"thought_signature":"c2ln"',
      gemini: '"thoughtSignature":"c2ln"',
    };
    expect(/"thought_?[sS]ignature":"c2ln"/.exec(stage.upstream.last().text)?.[0]).toBe(
      CLOSED.has(family.wire) ? undefined : signatures[family.form],
    );
  });

  test("an object with a schema, plain and streamed", async () => {
    const ask = {
      model: provider(family.model),
      prompt: "#json",
      output: Output.object({ schema: forecast }),
      ...once,
    };
    expect((await generateText(ask)).output).toEqual(FORECAST);
    expect(saidTo(stage.upstream)).toContain("degrees:{type:integer}");
    const streamed = streamText(ask);
    const partial: object[] = [];
    for await (const object of streamed.partialOutputStream) partial.push(object);
    expect(partial.at(-1)).toEqual(FORECAST);
    expect(await streamed.output).toEqual(FORECAST);
  });

  test("an object by JSON mode alone", async () => {
    expect(
      (
        await generateText({
          model: plainProvider(family.model),
          prompt: "#json",
          output: Output.object({ schema: forecast }),
          ...once,
        })
      ).output,
    ).toEqual(FORECAST);
    expect(stage.upstream.last().text).not.toContain("degrees");
  });

  test("an answer that was cut off or withheld is marked as such", async () => {
    expect((await generateText({ model: provider(family.model), prompt: "#length", ...once })).finishReason).toBe(
      "length",
    );
    expect(await streamText({ model: provider(family.model), prompt: "#filter", ...once }).finishReason).toBe(
      expectedWithheld(family) === "content_filter" ? "content-filter" : "stop",
    );
    const cut = await generateText({
      model: provider(family.model),
      prompt: "#length",
      output: Output.object({ schema: forecast }),
      ...once,
    })
      .then((got) => got.output)
      .catch((error: unknown) => error);
    expect(NoObjectGeneratedError.isInstance(cut)).toBe(true);
  });

  test.each([
    ["context", 400, false, "context_length_exceeded"],
    ["rate-limit", 429, true, "rate_limit_exceeded"],
    ["not-found", 404, false, "model_not_found"],
    ["refused-key", 502, true, "upstream_authentication"],
    ["server", 502, true, "upstream_error"],
    ["overloaded", 503, true, "upstream_overloaded"],
    ["invalid", 400, false, "upstream_invalid_request"],
  ] as const)(
    "[s:errors.5xx, d9.7] H4: the failure %s is an error of the API with its body, also for a stream",
    async (failure, status, isRetryable, code) => {
      const plain = await errorOf(generateText({ model: provider(family.model), prompt: `#fail-${failure}`, ...once }));
      expect({ status: plain.statusCode, isRetryable: plain.isRetryable, data: plain.data as object }).toMatchObject({
        status,
        isRetryable,
        data: { error: { code, message: plain.message } },
      });
      const raised: unknown[] = [];
      await streamText({
        model: provider(family.model),
        prompt: `#fail-${failure}`,
        ...once,
        onError: ({ error }) => void raised.push(error),
      }).consumeStream();
      expect(
        raised.map((error) => APICallError.isInstance(error) && { status: error.statusCode, data: error.data }),
      ).toMatchObject([{ status, data: { error: { code } } }]);
    },
  );

  test("[d9.7] H8: the library waits as long as the provider asks", async () => {
    const before = stage.upstream.seen.length;
    using timers = spyOn(globalThis, "setTimeout");
    const error = await generateText({
      model: provider(family.model),
      prompt: "#fail-rate-limit",
      maxRetries: 1,
    }).catch((thrown: unknown) => thrown);
    const waitsMs = timers.mock.calls.map(([, waitMs]) => Number(waitMs));
    expect(RetryError.isInstance(error) && error.errors.length).toBe(2);
    expect(stage.upstream.seen.length - before).toBeGreaterThanOrEqual(2);
    // the named 20 ms, and not the library's own backoff of 2 s
    expect([waitsMs.filter((waitMs) => waitMs === 20).length, waitsMs.includes(2000)]).toEqual([1, false]);
  });

  test("[d8.3, d9.7] S18, S19: an error in the middle of a stream is raised, and the answer never looks complete", async () => {
    const raised: unknown[] = [];
    const got = streamText({
      model: provider(family.model),
      prompt: "#broken",
      ...once,
      onError: ({ error }) => void raised.push(error),
    });
    let text = "";
    let finish = "";
    for await (const part of got.stream) {
      if (part.type === "text-delta") {
        text += part.text;
        stage.goOn();
      }
      if (part.type === "finish") finish = part.finishReason;
    }
    expect([text, finish]).toEqual(["Once", "error"]);
    expect(raised as readonly object[]).toMatchObject([
      { message: "The engine stopped.", type: "server_error", code: "upstream_error" },
    ]);
  });

  test("[d7.7] S24: aborting a stream ends the upstream call at once", async () => {
    const ended = stage.nextEnded();
    const abort = new AbortController();
    const got = streamText({ model: provider(family.model), prompt: "#hang", ...once, abortSignal: abort.signal });
    let leftMs = 0;
    const kinds: string[] = [];
    for await (const { type } of got.stream) {
      kinds.push(type);
      if (type !== "text-delta") continue;
      leftMs = performance.now();
      abort.abort();
    }
    expect(kinds.at(-1)).toBe("abort");
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
  });

  test("[d7.7] aborting a plain call ends the upstream call at once", async () => {
    const before = stage.upstream.seen.length;
    const ended = stage.nextEnded();
    const abort = new AbortController();
    const call = generateText({
      model: provider(family.model),
      prompt: "#hang",
      ...once,
      abortSignal: abort.signal,
    }).catch((error: unknown) => error);
    await until(() => stage.upstream.seen.length > before);
    const leftMs = performance.now();
    abort.abort();
    expect((await call) as object).toMatchObject({ name: "AbortError" });
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
  });
});

describe("the sandbox", () => {
  test("echoes, plain and streamed", async () => {
    const ask = { model: provider("sandbox:echo"), prompt: "say it again", ...once };
    const got = await generateText(ask);
    expect([got.text, got.finishReason, got.finalStep.response.id, got.finalStep.response.modelId]).toEqual([
      "say it again",
      "stop",
      "chatcmpl-sandbox",
      "sandbox:echo",
    ]);
    const streamed = streamText(ask);
    expect(await streamed.text).toBe("say it again");
    expect(await streamed.usage).toMatchObject(usageOf(3, 3));
  });

  test("calls the tool, and answers with its result", async () => {
    const got = await generateText({
      model: provider("sandbox:tools"),
      prompt: "the weather?",
      tools: { weather },
      stopWhen: isStepCount(2),
      ...once,
    });
    expect([got.text, got.steps.length]).toEqual(["The tool said: cold", 2]);
  });

  test("fills a schema", async () => {
    expect(
      (
        await generateText({
          model: provider("sandbox:json"),
          prompt: "a forecast",
          output: Output.object({ schema: forecast }),
          ...once,
        })
      ).output,
    ).toEqual({ city: "text", degrees: 1 });
  });

  test("an unknown token is refused, without a retry", async () => {
    const stranger = createOpenAICompatible({
      name: "dragoman",
      baseURL: stage.baseUrl,
      apiKey: "sk-of-another-house",
    });
    const error = await errorOf(generateText({ model: stranger("sandbox:echo"), prompt: "hello" }));
    expect({ status: error.statusCode, isRetryable: error.isRetryable, data: error.data as object }).toMatchObject({
      status: 401,
      isRetryable: false,
      data: { error: { code: "invalid_token" } },
    });
  });

  test("[d8.3] a stream that is cut is an error", async () => {
    const raised: unknown[] = [];
    const got = streamText({
      model: provider("sandbox:cut"),
      prompt: "one two three",
      ...once,
      onError: ({ error }) => void raised.push(error),
    });
    await got.consumeStream();
    expect(raised.length).toBe(1);
    expect(JSON.stringify(raised[0])).toContain("upstream_incomplete");
  });
});
