// Promises 4.2 and 4.7: tiers of service and regions cost what the vendor charges for them, by the tier with which the
// answer says it was served. All figures are computed by hand from the vendors' prices of the tier.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { costSum } from "../../../src/http/admin/calls/call-cost.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { providers } from "../../../src/providers/registry.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const HELLO = [{ role: "user", content: "Hello" }];

async function asked(
  operation: Operation,
  body: JsonObject,
  answer: string,
  snapshot: NonNullable<StubOptions["snapshot"]> = {},
) {
  const contentType = body["stream"] === true ? "text/event-stream" : "application/json";
  const upstream = cannedUpstream({ headers: { "content-type": contentType }, body: answer });
  const stub = stubGateway({ upstream, snapshot });
  const response = await stub.call(operation, body);
  const text = await response.text();
  expect([response.status, text.slice(0, 300)]).toEqual([200, text.slice(0, 300)]);
  return stub.records[0]!;
}

const data = (...all: readonly object[]): string => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");

const OPENAI_USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 200 },
};

/** The cost of `OPENAI_USAGE` at dollars for a million tokens. */
const openaiCost = (prompt: number, cached: number, completion: number): number =>
  Math.round(800 * prompt * 1_000 + 200 * cached * 1_000 + 100 * completion * 1_000);

function openaiChat(stream: boolean, tier: string, isWhole = true): string {
  if (!stream) return JSON.stringify({ ...openaiAnswer(), service_tier: tier, usage: OPENAI_USAGE });
  const chunk = (delta: object, more: object = {}) => ({
    service_tier: tier,
    choices: [{ index: 0, delta, ...more }],
  });
  return isWhole
    ? data(chunk({ content: "Hello" }), chunk({}, { finish_reason: "stop" })) +
        data({ service_tier: tier, choices: [], usage: OPENAI_USAGE }) +
        "data: [DONE]\n\n"
    : data(chunk({ content: "Hell" }), chunk({ content: "oooo" }));
}

describe.each([
  ["plain", false],
  ["streamed", true],
] as const)("a tier of service, %s", (_, stream) => {
  test.each([
    ["gpt-5", "default", 1.25, 0.125, 10],
    ["gpt-5", "priority", 2.5, 0.25, 20],
    ["gpt-5", "flex", 0.625, 0.0625, 5],
    ["gpt-5-mini", "priority", 0.45, 0.045, 3.6],
    ["gpt-4.1", "priority", 3.5, 0.875, 14],
    ["gpt-4o", "priority", 4.25, 2.125, 17],
    ["gpt-4o-mini", "priority", 0.25, 0.125, 1],
    ["o4-mini", "priority", 2, 0.5, 8],
    ["gpt-5.5", "priority", 12.5, 1.25, 75],
  ] as const)("[d4.2 d4.7] of OpenAI: %s, %s", async (model, tier, prompt, cached, completion) => {
    const body = { model: `openai:${model}`, messages: HELLO, stream, service_tier: "auto" };
    const record = await asked(CHAT_COMPLETIONS, body, openaiChat(stream, tier));
    expect(record.cost!.nanoUsd).toBe(openaiCost(prompt, cached, completion));
    expect(record.usage!.service_tier).toBe(tier === "default" ? undefined : tier);
  });

  test("[d4.2 d4.7] of an answer that does not tell its tokens, which are estimated", async () => {
    const body = { model: "openai:gpt-5", messages: HELLO, stream };
    const [usual, fast] = await Promise.all(
      ["default", "priority"].map((tier) =>
        asked(
          CHAT_COMPLETIONS,
          body,
          openaiChat(stream, tier).replaceAll(`,"usage":${JSON.stringify(OPENAI_USAGE)}`, ""),
        ),
      ),
    );
    expect([usual!.usageSource, fast!.usageSource]).toEqual(["estimated", "estimated"]);
    expect(fast!.cost!.nanoUsd).toBe(2 * usual!.cost!.nanoUsd);
  });

  test("[d4.2 d12.7] of OpenAI's Responses, asked natively", async () => {
    const response = {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "gpt-5",
      service_tier: "priority",
      output: [
        {
          type: "message",
          id: "m_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hi", annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 1_000,
        output_tokens: 100,
        total_tokens: 1_100,
        input_tokens_details: { cached_tokens: 200 },
      },
    };
    const answer = stream ? data({ type: "response.completed", response }) : JSON.stringify(response);
    const record = await asked(RESPONSES, { model: "openai:gpt-5", input: "Hello", stream }, answer);
    expect(record.cost!.nanoUsd).toBe(openaiCost(2.5, 0.25, 20));
  });

  test.each([
    ["gemini-2.5-flash", "flex", 0.15, 0.03, 1.25],
    ["gemini-2.5-flash", "priority", 0.54, 0.054, 4.5],
    ["gemini-3.1-flash-lite", "flex", 0.125, 0.0125, 0.75],
    ["gemini-2.5-flash", "standard", 0.3, 0.03, 2.5],
  ] as const)("[d4.2 d4.7] of Gemini: %s, %s", async (model, serviceTier, prompt, cached, completion) => {
    const frame = {
      candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: {
        promptTokenCount: 1_000,
        candidatesTokenCount: 100,
        totalTokenCount: 1_100,
        cachedContentTokenCount: 200,
        serviceTier,
      },
    };
    const body = { model: `gemini:${model}`, messages: HELLO, stream };
    const record = await asked(CHAT_COMPLETIONS, body, stream ? data(frame) : JSON.stringify(frame));
    expect(record.cost!.nanoUsd).toBe(openaiCost(prompt, cached, completion));
  });

  test("[d4.2] of Gemini, also where a stream breaks off", async () => {
    const cost = async (serviceTier: string) => {
      const frame = {
        candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, index: 0 }],
        usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100, serviceTier },
      };
      const body = { model: "gemini:gemini-2.5-flash", messages: HELLO, stream };
      return (await asked(CHAT_COMPLETIONS, body, stream ? data(frame) : JSON.stringify(frame))).cost!.nanoUsd;
    };
    expect(await cost("priority")).toBe(1.8 * (await cost("standard")));
  });

  test.each([
    [{}, 5, 25],
    [{ inference_geo: "global", speed: "standard" }, 5, 25],
    [{ inference_geo: "us" }, 5.5, 27.5],
    [{ speed: "fast" }, 10, 50],
    [{ inference_geo: "us", speed: "fast" }, 11, 55],
  ] as const)("[d4.2 d4.7] of Claude, whose usage says %j", async (how, prompt, completion) => {
    const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-opus-5", stop_sequence: null };
    const usage = { input_tokens: 1_000, output_tokens: 100, ...how };
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 100 } },
      { type: "message_stop" },
    ];
    const whole = { ...message, content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn", usage };
    const body = { model: "anthropic:claude-opus-5", max_tokens: 200, messages: HELLO, stream };
    for (const operation of [CHAT_COMPLETIONS, MESSAGES]) {
      const answer = events.map((one) => `event: ${one.type}\n${data(one)}`).join("");
      const record = await asked(operation, body, stream ? answer : JSON.stringify(whole));
      expect(record.cost!.nanoUsd).toBe(Math.round((1_000 * prompt + 100 * completion) * 1_000));
      expect(record.unnamedUsage).toBeNull();
    }
  });

  test.each([
    ["sonar", "low", 0.005, 1, 1],
    ["sonar", "medium", 0.008, 1, 1],
    ["sonar", "high", 0.012, 1, 1],
    ["sonar-pro", "low", 0.006, 3, 15],
    ["sonar-reasoning-pro", "medium", 0.01, 2, 8],
  ] as const)("[d4.7] of Perplexity's searches: %s, %s", async (model, size, request, prompt, completion) => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100, search_context_size: size };
    const answer = stream
      ? data({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }], usage })
      : JSON.stringify({ ...openaiAnswer(), usage });
    const record = await asked(CHAT_COMPLETIONS, { model: `perplexity:${model}`, messages: HELLO, stream }, answer);
    expect(record.cost!.nanoUsd).toBe(Math.round(request * 1e9) + (1_000 * prompt + 100 * completion) * 1_000);
  });

  test("[d4.2] that a request asks for is reserved, and what the answer says is charged", async () => {
    const limitRules = limitSet({ budgets: { money: { usd: "1", window: "day" } } });
    const body = { model: "openai:gpt-5", messages: HELLO, stream, max_completion_tokens: 1_000 };
    const limitOf = async (asks: object, told: string) =>
      (await asked(CHAT_COMPLETIONS, { ...body, ...asks }, openaiChat(stream, told), { limitRules })).limits[0]!;
    const usual = await limitOf({}, "default");
    const urgent = await limitOf({ service_tier: "priority" }, "priority");
    const lowered = await limitOf({ service_tier: "priority" }, "default");
    const slow = await limitOf({ service_tier: "flex" }, "flex");
    expect([urgent.reserved, lowered.reserved, slow.reserved]).toEqual([
      2 * usual.reserved,
      2 * usual.reserved,
      usual.reserved,
    ]);
    expect([usual.settled, urgent.settled, lowered.settled, slow.settled]).toEqual([
      openaiCost(1.25, 0.125, 10),
      openaiCost(2.5, 0.25, 20),
      openaiCost(1.25, 0.125, 10),
      openaiCost(0.625, 0.0625, 5),
    ]);
  });

  test("[d4.2] that a request asks Claude for by a member that passes through is reserved", async () => {
    const limitRules = limitSet({ budgets: { money: { usd: "1", window: "day" } } });
    const whole = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-opus-5",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 10, output_tokens: 1 },
    };
    const reservedFor = async (operation: Operation, asks: JsonObject): Promise<number> => {
      const body = { model: "anthropic:claude-opus-5", max_tokens: 1_000, messages: HELLO, ...asks };
      return (await asked(operation, body, JSON.stringify(whole), { limitRules })).limits[0]!.reserved;
    };
    for (const operation of [CHAT_COMPLETIONS, MESSAGES]) {
      const reserved = async (asks: JsonObject): Promise<number> =>
        Math.round((await reservedFor(operation, asks)) / 1e6);
      // the thousand tokens of the answer, and a little for the prompt
      expect(await Promise.all([reserved({}), reserved({ speed: "fast" }), reserved({ speed: 2 })])).toEqual([
        25, 50, 25,
      ]);
      expect(await reserved({ inference_geo: "us" })).toBe(28);
      expect(await reserved({ inference_geo: "us", speed: "fast" })).toBe(55);
    }
  });

  test("[d4.7] does not change a configured price", async () => {
    const prices = compilePrices([
      {
        id: "own",
        name: "own",
        tenantId: null,
        projectId: null,
        origin: "store",
        setBy: "owner",
        version: 1,
        document: priceSchema.parse({ model: "*", prompt: "3", completion: "7" }),
      },
    ]);
    const body = { model: "openai:gpt-5", messages: HELLO, stream, service_tier: "priority" };
    const record = await asked(CHAT_COMPLETIONS, body, openaiChat(stream, "priority"), { prices });
    expect(record.cost).toEqual({ nanoUsd: 1_000 * 3_000 + 100 * 7_000, priceId: "own@1", promptCacheSavedNanoUsd: 0 });
  });
});

test.each([
  ["vertex", "claude-opus-4-8", { location: "global" }, 5, 25],
  ["vertex", "claude-opus-4-8", { location: "europe-west1" }, 5.5, 27.5],
  ["vertex", "claude-opus-4-8", { location: "eu" }, 5.5, 27.5],
  ["vertex", "claude-opus-4-1@20250805", { location: "europe-west1" }, 15, 75],
  ["vertex", "gemini-2.5-flash", { location: "europe-west1" }, 0.3, 2.5],
  ["openai", "gpt-5.4", "https://api.openai.com/v1", 2.5, 15],
  ["openai", "gpt-5.4", "https://eu.api.openai.com/v1", 2.75, 16.5],
  ["openai", "gpt-5", "https://eu.api.openai.com/v1", 1.25, 10],
] as const)("[d4.2 d4.7] a region has its own price: %s, %s, %j", async (id, model, where, prompt, completion) => {
  const settings = typeof where === "string" ? { baseUrl: where } : { settings: { project: "p", ...where } };
  const body = model.startsWith("claude")
    ? {
        id: "m",
        type: "message",
        content: [{ type: "text", text: "Hi" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1_000, output_tokens: 100 },
      }
    : id === "vertex"
      ? {
          candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
          usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100 },
        }
      : { ...openaiAnswer(), usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 } };
  const stub = stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(body) }),
    providers: [
      providerSettings({
        id,
        baseUrl: providers.get(id)!.baseUrl,
        credentials: [storedKey("stored-key")],
        ...settings,
      }),
    ],
    snapshot: { limitRules: limitSet({ budgets: { money: { usd: "1", window: "day" } } }) },
  });
  const response = await stub.chat({ model: `${id}:${model}`, messages: HELLO, max_completion_tokens: 1_000 });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  const record = stub.records[0]!;
  expect(record.cost!.nanoUsd).toBe(Math.round((1_000 * prompt + 100 * completion) * 1_000));
  // what the console shows of the cost comes to the same
  expect(costSum(record, stub.context.snapshot(), providers)!.map(({ costNanoUsd }) => costNanoUsd)).toEqual([
    record.cost!.nanoUsd,
  ]);
  // the prompt is estimated at 6 tokens: 4 for the message, and its text
  expect(record.limits[0]!.reserved).toBe(Math.round((6 * prompt + 1_000 * completion) * 1_000));
});

test("[d4.2] a stream that breaks off is charged at the tier that it had told", async () => {
  const costOf = async (tier: string) => {
    const upstream = cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: openaiChat(true, tier, false),
    });
    const stub = stubGateway({ upstream });
    await (await stub.chat({ model: "openai:gpt-5", messages: HELLO, stream: true, num_retries: 0 })).text();
    expect(stub.records[0]!.usageSource).toBe("estimated");
    return stub.records[0]!.cost!.nanoUsd;
  };
  expect(await costOf("priority")).toBe(2 * (await costOf("default")));
});
