// Anthropic's own client library (@anthropic-ai/sdk) asks for messages, in front of a provider of each wire family behind the running gateway. Its
// stream helper joins events itself and throws where one is missing. Other libraries that speak this form are in clients-messages-others.test.ts.
import { beforeAll, describe, expect, test } from "bun:test";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import type {
  ContentBlock,
  Message,
  MessageCreateParamsNonStreaming,
  Tool,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import { COUNTED_TOKENS } from "../e2e/operations/family-gateway.ts";
import { MESSAGES_FAMILIES, NATIVE_MESSAGES } from "../e2e/operations/messages-families.ts";
import {
  AFTER_TOOLS,
  FORECAST,
  FORECAST_SCHEMA,
  TEXT,
  THOUGHT,
  WEATHER_SCHEMA,
} from "../e2e/operations/scripted-answers.ts";
import { standingFamilyGateway } from "../e2e/operations/standing-family-gateway.ts";

const stage = standingFamilyGateway();
/** The version of the API that the library sends by itself, and the one before it. */
const VERSIONS = ["2026-10-21", "2023-06-01"] as const;
let clients: readonly Anthropic[];
let client: Anthropic;
beforeAll(() => {
  clients = VERSIONS.map(
    (version) =>
      new Anthropic({
        baseURL: stage.gateway.url,
        authToken: stage.token,
        apiKey: null,
        maxRetries: 0,
        defaultHeaders: { "anthropic-version": version },
      }),
  );
  client = clients[0]!;
});

const ask = (model: string, content: string): MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 2000,
  messages: [{ role: "user", content }],
});
const weather: Tool = {
  name: "weather",
  description: "The weather of a city.",
  input_schema: WEATHER_SCHEMA as unknown as Tool.InputSchema,
};
const both = async (body: MessageCreateParamsNonStreaming, from = client): Promise<readonly Message[]> => [
  await from.messages.create(body),
  await from.messages.stream(body).finalMessage(),
];
const textIn = (content: readonly ContentBlock[]): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error = await Promise.resolve(call).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

describe.each(MESSAGES_FAMILIES)("a provider that speaks the form of $wire", ({ model, wire }) => {
  test("[d12.4, d12.5, d12.7] text and usage are the same plain and streamed, in both versions of the API", async () => {
    for (const from of clients)
      for (const message of await both(ask(model, "#text"), from)) {
        expect(message).toMatchObject({ type: "message", role: "assistant", model, stop_reason: "end_turn" });
        expect(textIn(message.content)).toBe(TEXT);
        expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 4 });
      }
  });

  test("[d12.5] an answer that was cut off says so", async () => {
    for (const message of await both(ask(model, "#length"))) expect(message.stop_reason).toBe("max_tokens");
  });

  test("[d12.4, d12.5] calls of tools, and their results in a second round", async () => {
    for (const { content, stop_reason: reason, usage } of await both({ ...ask(model, "#tools"), tools: [weather] })) {
      const calls = content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
      expect([reason, calls.map(({ name, input }) => [name, input])]).toEqual([
        "tool_use",
        [
          ["weather", { city: "Paris" }],
          ["weather", { city: "Oslo" }],
        ],
      ]);
      expect(usage).toMatchObject({ input_tokens: 20, output_tokens: 12 });
      const results = calls.map(({ id }, at): ToolResultBlockParam => ({
        type: "tool_result",
        tool_use_id: id,
        content: ["warm", "cold"][at]!,
      }));
      const next = {
        ...ask(model, "#tools"),
        messages: [
          ...ask(model, "#tools").messages,
          { role: "assistant" as const, content },
          { role: "user" as const, content: results },
        ],
        tools: [weather],
      };
      for (const answer of await both(next)) expect(textIn(answer.content)).toBe(AFTER_TOOLS);
      for (const words of ["Paris", "Oslo", "warm", "cold"]) expect(stage.upstream.last().text).toContain(words);
    }
  });

  test("[d12.6] failures have the envelope and the type of the form, before and within a stream", async () => {
    for (const [word, status, type] of [
      ["#fail-rate-limit", 429, "rate_limit_error"],
      ["#fail-context", 400, "invalid_request_error"],
      ["#fail-invalid", 400, "invalid_request_error"],
      ["#fail-not-found", 404, "not_found_error"],
      ["#fail-server", 502, "api_error"],
    ] as const)
      for (const call of [
        () => client.messages.create(ask(model, word)),
        () => client.messages.stream(ask(model, word)).finalMessage(),
      ]) {
        const failed = await errorOf(call());
        expect([wire, word, failed.status, failed.type]).toEqual([wire, word, status, type]);
      }
    const stream = client.messages.stream(ask(model, "#broken"));
    const said: string[] = [];
    stream.on("text", (text) => {
      said.push(text);
      stage.goOn();
    });
    expect((await errorOf(stream.finalMessage())).message).toContain("The engine stopped.");
    expect(said).toEqual(["Once"]);
  });

  test("[d12.11] tokens are counted where the provider counts them, and 501 elsewhere", async () => {
    const { max_tokens: _, ...body } = ask(model, "#text");
    if (wire === "anthropic")
      return expect(await client.messages.countTokens(body)).toEqual({ input_tokens: COUNTED_TOKENS });
    const failed = await errorOf(client.messages.countTokens(body));
    expect([failed.status, failed.type as string]).toEqual([501, "not_supported"]);
  });
});

describe.each(NATIVE_MESSAGES)("a provider that speaks messages itself, as $wire", ({ model, wire }) => {
  test("[d12.3] the version and the beta features of the client go out as they came", async () => {
    for (const [at, version] of VERSIONS.entries()) {
      await clients[at]!.messages.create(ask(model, "#text"), { headers: { "anthropic-beta": "one-1,two-2" } });
      const { headers } = stage.upstream.last();
      expect(headers["anthropic-beta"]).toBe("one-1,two-2");
      if (wire === "anthropic") expect(headers["anthropic-version"]).toBe(version);
      expect(JSON.stringify(headers)).not.toContain(stage.token);
    }
  });
});

test("[d12.3, d12.5] signed thinking comes back byte for byte in the next turn", async () => {
  const { model } = MESSAGES_FAMILIES.find(({ wire }) => wire === "anthropic")!;
  const body = {
    ...ask(model, "#reason"),
    max_tokens: 4000,
    thinking: { type: "enabled" as const, budget_tokens: 1024 },
  };
  for (const { content } of await both(body)) {
    expect(content).toMatchObject([
      { type: "thinking", thinking: THOUGHT, signature: "c2lnbmVk" },
      { type: "text", text: "42" },
    ]);
    await client.messages.create({
      ...body,
      messages: [...body.messages, { role: "assistant", content }, { role: "user", content: "#text" }],
    });
    const sent = stage.upstream.last().body["messages"] as readonly { readonly content: unknown }[];
    expect(sent[1]!.content).toEqual(content);
  }
});

test("[d12.9] thinking of a provider in another form goes back to it, and never as text that is seen", async () => {
  const { model } = MESSAGES_FAMILIES.find(({ wire }) => wire === "openai")!;
  for (const { content } of await both(ask(model, "#reason"))) {
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const messages = [
      ...ask(model, "#reason").messages,
      { role: "assistant" as const, content },
      { role: "user" as const, content: "#text" },
    ];
    await client.messages.create({ ...ask(model, "#text"), messages });
    const sent = stage.upstream.last().body["messages"] as readonly Record<string, unknown>[];
    expect(sent[1]).toMatchObject({ role: "assistant", content: "42" });
  }
});

test("[d12.4] structured output is parsed by the library", async () => {
  const { model } = MESSAGES_FAMILIES.find(({ wire }) => wire === "gemini")!;
  const parsed = await client.messages.parse({
    ...ask(model, "#json"),
    output_config: { format: { type: "json_schema", schema: FORECAST_SCHEMA } },
  });
  expect(JSON.parse(textIn(parsed.content))).toEqual(FORECAST);
});

test("[d12.6] from its newest version on, the form has no temperature", async () => {
  const { model } = MESSAGES_FAMILIES.find(({ wire }) => wire === "openai")!;
  const body = { ...ask(model, "#text"), temperature: 1 } as MessageCreateParamsNonStreaming;
  const failed = await errorOf(clients[0]!.messages.create(body));
  expect([failed.status, failed.type]).toEqual([400, "invalid_request_error"]);
  expect(failed.message).toContain("temperature");
  expect(textIn((await clients[1]!.messages.create(body)).content)).toBe(TEXT);
});

test("[d12.1, d12.12] a key in the older header is a token of the gateway too, and models are listed in this form", async () => {
  const older = new Anthropic({
    baseURL: stage.gateway.url,
    apiKey: stage.token,
    authToken: null,
    maxRetries: 0,
    defaultHeaders: { "x-api-key": stage.token, "anthropic-version": "2023-06-01" },
  });
  expect(textIn((await older.messages.create(ask("sandbox:echo", "Hello"))).content)).toBe("Hello");
  const [model] = (await older.models.list({ limit: 1 })).data;
  expect(model).toMatchObject({ type: "model", id: expect.stringContaining(":") });
  const stranger = new Anthropic({
    baseURL: stage.gateway.url,
    authToken: "sk-of-another-house",
    apiKey: null,
    maxRetries: 0,
  });
  expect(await errorOf(stranger.messages.create(ask("sandbox:echo", "Hello")))).toMatchObject({
    status: 401,
    type: "authentication_error",
  });
});
