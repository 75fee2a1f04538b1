// LangChain's client (@langchain/openai) against the running gateway: sandbox models, and a provider of each wire family behind it. Limits of the
// library: breaking out of its stream waits for the pending read (also against a provider without a gateway between), so that a silent
// stream is left by a signal here; and it retries by the status alone, without `x-should-retry`.
import { describe, expect, test } from "bun:test";
import { type AIMessage, type AIMessageChunk, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai";
import {
  expectedBeside,
  expectedCallId,
  expectedFrame,
  expectedThought,
  expectedUsage,
} from "../operations/expected-answers.ts";
import { FAMILIES, type Family } from "../operations/families.ts";
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

const chat = (model: string, fields: ChatOpenAIFields = {}): ChatOpenAI =>
  new ChatOpenAI({ model, apiKey: stage.token, maxRetries: 0, configuration: { baseURL: stage.baseUrl }, ...fields });
const weather = tool((input) => ((input as { city: string }).city === "Paris" ? "warm" : "cold"), {
  name: "weather",
  description: "The weather of a city.",
  schema: WEATHER_SCHEMA,
});
const thoughtful: ChatOpenAIFields = { modelKwargs: { reasoning_effort: "low" } };

async function joined(stream: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await stream) whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole!;
}

async function errorOf(call: Promise<unknown>): Promise<Record<string, any>> {
  return call.then(
    () => {
      throw new Error("the call did not fail");
    },
    (error: unknown) => error as Record<string, any>,
  );
}

describe.each([...FAMILIES])("a provider that speaks the form of $wire", (family: Family) => {
  const { model } = family;
  /** The library's own account of the figures. */
  const usageMetadata = (prompt: number, completion: number, reasoning = 0) => ({
    input_tokens: prompt,
    output_tokens: completion,
    total_tokens: prompt + completion,
    input_token_details: "prompt_tokens_details" in expectedUsage(family, prompt, completion) ? { cache_read: 0 } : {},
    output_token_details: expectedThought(family, reasoning) === null ? {} : { reasoning },
  });
  const calls = (["Paris", "Oslo"] as const).map((city) => ({
    name: "weather",
    args: { city },
    type: "tool_call" as const,
    id: expectedCallId(family, `call_${city.toLowerCase()}`),
  }));

  test("text, invoked: the whole message", async () => {
    const got: AIMessage = await chat(model).invoke("#text");
    expect([got.id!, got.content, got.tool_calls!, got.invalid_tool_calls!]).toEqual([
      expectedFrame(family).id,
      TEXT,
      [],
      [],
    ]);
    expect(got.additional_kwargs as object).toEqual({});
    expect(got.usage_metadata! as object).toEqual(usageMetadata(11, 4));
    expect(got.response_metadata).toEqual({
      tokenUsage: { promptTokens: 11, completionTokens: 4, totalTokens: 15 },
      finish_reason: "stop",
      model_provider: "openai",
      model_name: model,
      usage: expectedUsage(family, 11, 4),
      ...(expectedBeside(family)["system_fingerprint"] !== undefined && { system_fingerprint: "fp_scripted" }),
    });
  });

  test("[d9.7] R5: text, streamed: the chunks joined are the message, with the usage once", async () => {
    const got = await joined(chat(model).stream("#text"));
    expect([got.id!, got.content]).toEqual([expectedFrame(family).id, TEXT]);
    expect(got.usage_metadata! as object).toEqual(usageMetadata(11, 4));
    expect(got.response_metadata as object).toMatchObject({
      finish_reason: "stop",
      model_name: model,
      usage: expectedUsage(family, 11, 4),
    });
  });

  test("reasoning stands beside the text, invoked and streamed", async () => {
    for (const got of [
      await chat(model, thoughtful).invoke("#reason"),
      await joined(chat(model, thoughtful).stream("#reason")),
    ]) {
      expect([got.content, got.additional_kwargs["reasoning_content"]]).toEqual(["42", THOUGHT]);
      expect(got.usage_metadata! as object).toEqual(usageMetadata(11, 10, 9));
    }
  });

  test("[d9.7] R2: bound tools are called, and their results lead to the answer", async () => {
    const bound = chat(model).bindTools([weather]);
    const got = await bound.invoke("#tools");
    expect(got.tool_calls!).toEqual(calls);
    expect(got.response_metadata["finish_reason"]).toBe("tool_calls");
    const results = await Promise.all(got.tool_calls!.map((call) => weather.invoke(call) as Promise<ToolMessage>));
    expect(results.map((result) => result.content)).toEqual(["warm", "cold"]);
    expect((await bound.invoke([new HumanMessage("#tools"), got, ...results])).content).toBe(AFTER_TOOLS);
    const streamed = await joined(bound.stream("#tools"));
    expect([streamed.tool_calls!, streamed.invalid_tool_calls!, streamed.usage_metadata! as object]).toEqual([
      calls,
      [],
      usageMetadata(20, 12),
    ]);
    expect(
      (
        await joined(
          bound.stream([
            new HumanMessage("#tools"),
            streamed,
            ...results.map((result, index) => {
              result.tool_call_id = streamed.tool_calls![index]!.id!;
              return result;
            }),
          ]),
        )
      ).content,
    ).toBe(AFTER_TOOLS);
  });

  test.each([
    ["jsonSchema", "#json"],
    ["functionCalling", "#forecast"],
    ["jsonMode", "#json"],
  ] as const)("structured output by %s", async (method, prompt) => {
    if (method === "functionCalling" && family.refuses.includes("forced-tools")) {
      expect(
        await errorOf(chat(model).withStructuredOutput(FORECAST_SCHEMA, { method, name: "forecast" }).invoke(prompt)),
      ).toMatchObject({ status: 400, code: "unsupported_value", param: "tool_choice" });
      return;
    }
    const structured = chat(model).withStructuredOutput<typeof FORECAST>(FORECAST_SCHEMA, {
      method,
      name: "forecast",
      ...(method === "jsonSchema" && { strict: true }),
    });
    expect(await structured.invoke(prompt)).toEqual(FORECAST);
    if (method !== "jsonMode") expect(saidTo(stage.upstream)).toContain("degrees:{type:integer}");
  });

  test("[d9.7] H11: a conversation that is too long is a ContextOverflowError", async () => {
    for (const call of [() => chat(model).invoke("#fail-context"), () => joined(chat(model).stream("#fail-context"))]) {
      const error = await errorOf(call());
      expect(error["name"]).toBe("ContextOverflowError");
      expect(error["cause"]).toMatchObject({ status: 400, code: "context_length_exceeded" });
    }
  });

  test("[d9.7] H10: a rate limit counts as temporary", async () => {
    const error = await errorOf(chat(model).invoke("#fail-rate-limit"));
    expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded", lc_error_code: "MODEL_RATE_LIMIT" });
  });

  test.each([
    ["not-found", { status: 404, code: "model_not_found", lc_error_code: "MODEL_NOT_FOUND" }],
    ["refused-key", { status: 502, code: "upstream_authentication" }],
    ["server", { status: 502, code: "upstream_error" }],
    ["overloaded", { status: 503, code: "upstream_overloaded" }],
    ["invalid", { status: 400, code: "upstream_invalid_request" }],
  ] as const)(
    "[s:errors.5xx, d9.7] H12: the failure %s keeps status and code, also for a stream",
    async (failure, fields) => {
      expect(await errorOf(chat(model).invoke(`#fail-${failure}`))).toMatchObject(fields);
      expect(await errorOf(joined(chat(model).stream(`#fail-${failure}`)))).toMatchObject(fields);
    },
  );

  test("[d8.3, d9.7] S19: an error in the middle of a stream is raised, after the content that was sent", async () => {
    const said: unknown[] = [];
    const error = await errorOf(
      (async () => {
        for await (const { content } of await chat(model).stream("#broken")) {
          said.push(content);
          if (content === "Once") stage.goOn();
        }
      })(),
    );
    expect(said.join("")).toBe("Once");
    expect(error).toMatchObject({ code: "upstream_error", type: "server_error", message: "The engine stopped." });
  });

  test("[d7.7] S24: aborting a stream ends the upstream call at once", async () => {
    const ended = stage.nextEnded();
    const abort = new AbortController();
    let leftMs = 0;
    const error = await errorOf(
      (async () => {
        for await (const { content } of await chat(model).stream("#hang", { signal: abort.signal })) {
          if (content !== "Once") continue;
          leftMs = performance.now();
          abort.abort();
        }
      })(),
    );
    expect(error["name"]).toBe("AbortError");
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
  });

  test("[d7.7] aborting a plain call ends the upstream call at once", async () => {
    const before = stage.upstream.seen.length;
    const ended = stage.nextEnded();
    const abort = new AbortController();
    const call = errorOf(chat(model).invoke("#hang", { signal: abort.signal }));
    await until(() => stage.upstream.seen.length > before);
    const leftMs = performance.now();
    abort.abort();
    expect((await call)["name"]).toBe("AbortError");
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
  });
});

test("[d9.7] H8, H9: a rate limit is waited for and retried, whether it comes from the gateway or the provider", async () => {
  const from = stage.upstream.seen.length;
  // all at once: the library waits for a second or two before it tries again
  await Promise.all(FAMILIES.map(({ model }) => errorOf(chat(model, { maxRetries: 1 }).invoke("#fail-rate-limit"))));
  const asked = stage.upstream.seen.slice(from);
  for (const {
    paths: [path],
  } of FAMILIES)
    expect(asked.filter((request) => request.path === path).length).toBeGreaterThanOrEqual(2);
});

describe("the sandbox", () => {
  test("echoes, invoked and streamed", async () => {
    for (const got of [
      await chat("sandbox:echo").invoke("say it again"),
      await joined(chat("sandbox:echo").stream("say it again")),
    ]) {
      expect([got.content, got.id!, got.response_metadata["finish_reason"]]).toEqual([
        "say it again",
        "chatcmpl-sandbox",
        "stop",
      ]);
      expect(got.usage_metadata! as object).toMatchObject({ input_tokens: 3, output_tokens: 3, total_tokens: 6 });
    }
  });

  test("calls the tool, invoked and streamed", async () => {
    const bound = chat("sandbox:tools").bindTools([weather]);
    for (const got of [await bound.invoke("the weather?"), await joined(bound.stream("the weather?"))])
      expect(got.tool_calls!).toEqual([
        { name: "weather", args: { city: "text" }, type: "tool_call", id: "call_sandbox_0" },
      ]);
  });

  test.each([
    ["jsonSchema", "sandbox:json"],
    ["functionCalling", "sandbox:tools"],
  ] as const)("structured output by %s", async (method, model) => {
    expect(
      await chat(model).withStructuredOutput(FORECAST_SCHEMA, { method, name: "forecast" }).invoke("a forecast"),
    ).toEqual({ city: "text", degrees: 1 });
  });

  test("[s:errors.401-unauthorized] an unknown token is an authentication error", async () => {
    expect(await errorOf(chat("sandbox:echo", { apiKey: "sk-of-another-house" }).invoke("hello"))).toMatchObject({
      status: 401,
      code: "invalid_token",
      lc_error_code: "MODEL_AUTHENTICATION",
    });
  });

  test("[d8.3] a stream that is cut is an error", async () => {
    expect(await errorOf(joined(chat("sandbox:cut").stream("one two three")))).toMatchObject({
      code: "upstream_incomplete",
    });
  });
});
