// Four other libraries that ask for responses, in front of a provider of each wire family behind the running gateway: Vercel's AI SDK with
// @ai-sdk/openai, which refers to earlier items by their ids, and with @ai-sdk/open-responses; OpenAI's Agents SDK; and LangChain.
import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from "ai";
import { errorOf, expectAiSdkFailures, expectLangchainStreamFails, joined } from "./chat-libraries.ts";
import { FAMILIES } from "../operations/families.ts";
import { AFTER_TOOLS, TEXT, THOUGHT, WEATHER_SCHEMA } from "../operations/scripted-answers.ts";
import { openaiClient, standingFamilyGateway } from "../operations/standing-family-gateway.ts";

const stage = standingFamilyGateway();
let runner: Runner;
beforeAll(() => {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  runner = new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: openaiClient(stage), useResponses: true }),
    tracingDisabled: true,
  });
});

const report = (input: unknown): string => ((input as { city: string }).city === "Paris" ? "warm" : "cold");
const description = "The weather of a city.";
const weather = tool({
  description,
  inputSchema: jsonSchema<{ city: string }>(WEATHER_SCHEMA),
  execute: (input) => Promise.resolve(report(input)),
});
const langchainWeather = langchainTool(report, { name: "weather", description, schema: WEATHER_SCHEMA });
const agent = (model: string): Agent =>
  new Agent({
    name: "forecaster",
    model,
    tools: [
      agentTool({
        name: "weather",
        description,
        parameters: WEATHER_SCHEMA as never,
        strict: true,
        execute: (input) => Promise.resolve(report(input)),
      }),
    ],
  });
const langchain = (model: string): ChatOpenAI =>
  new ChatOpenAI({
    model,
    apiKey: stage.token,
    maxRetries: 0,
    useResponsesApi: true,
    configuration: { baseURL: stage.baseUrl },
  });
const once = { maxRetries: 0 };

/** `refers`: the library refers to earlier items by their ids. */
const AI_SDK: readonly {
  readonly name: string;
  readonly refers: boolean;
  readonly model: (name: string) => LanguageModel;
}[] = [
  {
    name: "@ai-sdk/openai",
    refers: true,
    model: (name) => createOpenAI({ baseURL: stage.baseUrl, apiKey: stage.token })(name),
  },
  {
    name: "@ai-sdk/open-responses",
    refers: false,
    model: (name) =>
      createOpenResponses({ name: "dragoman", url: `${stage.baseUrl}/responses`, apiKey: stage.token })(name),
  },
];

/** Providers that are asked in another form; Ollama speaks this one. */
const TRANSLATED = FAMILIES.filter(({ wire }) => wire !== "ollama");

describe.each(TRANSLATED)("a provider that speaks the form of $wire", ({ model: name }) => {
  describe.each([...AI_SDK])("$name", ({ refers, model: modelOf }) => {
    test("[d12.4, d12.5, d12.7] text and usage, plain and streamed", async () => {
      const plain = await generateText({ model: modelOf(name), prompt: "#text", ...once });
      const streamed = streamText({ model: modelOf(name), prompt: "#text", ...once });
      for (const [text, finish, usage] of [
        [plain.text, plain.finishReason, plain.usage],
        [await streamed.text, await streamed.finishReason, await streamed.usage],
      ] as const) {
        expect([text, finish]).toEqual([TEXT, "stop"]);
        expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 4, totalTokens: 15 });
      }
    });

    test("[d12.4, d12.8] tools run over two rounds, and a further turn follows", async () => {
      const rounds = {
        model: modelOf(name),
        prompt: "#tools",
        tools: { weather },
        stopWhen: isStepCount(2),
        ...once,
      };
      const plain = await generateText(rounds);
      const streamed = streamText(rounds);
      expect([plain.text, plain.steps.length]).toEqual([AFTER_TOOLS, 2]);
      expect([await streamed.text, (await streamed.steps).length]).toEqual([AFTER_TOOLS, 2]);
      const asked: string[] = [];
      const next = await generateText({
        model: modelOf(name),
        messages: [{ role: "user", content: "#tools" }, ...plain.responseMessages, { role: "user", content: "And?" }],
        tools: { weather },
        ...once,
        include: { requestBody: true },
        onStepEnd: ({ request }) => void asked.push(JSON.stringify(request.body)),
      });
      expect(next.text).toBe(AFTER_TOOLS);
      expect(asked.join("").includes("item_reference")).toBe(refers);
    });

    test("[d12.6] failures have status and words, before and within a stream", async () => {
      await expectAiSdkFailures(modelOf(name), stage);
    });
  });

  test("[d12.4, d12.5] the Agents SDK runs tools over two rounds, plain and streamed", async () => {
    expect((await runner.run(agent(name), "#text")).finalOutput).toBe(TEXT);
    expect((await runner.run(agent(name), "#tools")).finalOutput).toBe(AFTER_TOOLS);
    const streamed = await runner.run(agent(name), "#tools", { stream: true });
    await streamed.completed;
    expect(streamed.finalOutput).toBe(AFTER_TOOLS);
  });

  test("[d12.6] the Agents SDK reports failures, before and within a stream", async () => {
    expect(await errorOf(runner.run(agent(name), "#fail-rate-limit"))).toMatchObject({ status: 429 });
    expect(await errorOf(runner.run(agent(name), "#fail-server"))).toMatchObject({ status: 502 });
    const broken = (async () => {
      const streamed = await runner.run(agent(name), "#broken", { stream: true });
      for await (const event of streamed)
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") stage.goOn();
      await streamed.completed;
    })();
    expect(String(await errorOf(broken))).toContain("The engine stopped.");
  });

  test("[d12.4, d12.5, d12.7] LangChain: text, usage and tools, invoked and streamed", async () => {
    for (const got of [await langchain(name).invoke("#text"), await joined(langchain(name).stream("#text"))]) {
      expect(got.text).toBe(TEXT);
      expect(got.usage_metadata! as object).toMatchObject({ input_tokens: 11, output_tokens: 4 });
    }
    const bound = langchain(name).bindTools([langchainWeather]);
    for (const got of [await bound.invoke("#tools"), await joined(bound.stream("#tools"))]) {
      expect(got.tool_calls!.map(({ name: called, args }) => [called, args])).toEqual([
        ["weather", { city: "Paris" }],
        ["weather", { city: "Oslo" }],
      ]);
      const results = await Promise.all(
        got.tool_calls!.map((call) => langchainWeather.invoke(call) as Promise<ToolMessage>),
      );
      expect((await bound.invoke([new HumanMessage("#tools"), got, ...results])).text).toBe(AFTER_TOOLS);
    }
  });

  test("[d12.6] LangChain: failures have their status, and a stream that fails is an error", async () => {
    for (const call of [
      () => langchain(name).invoke("#fail-rate-limit"),
      () => joined(langchain(name).stream("#fail-rate-limit")),
    ])
      expect(await errorOf(call())).toMatchObject({ status: 429 });
    await expectLangchainStreamFails(langchain(name).stream("#broken"), stage);
  });
});

test("[d12.8, d12.9] the AI SDK refers to earlier reasoning by its id, as it does by default", async () => {
  const { model: name } = FAMILIES.find(({ wire }) => wire === "anthropic")!;
  const model = AI_SDK[0]!.model(name);
  const settings = {
    model,
    providerOptions: { openai: { forceReasoning: true, reasoningSummary: "auto" } },
    ...once,
  };
  const first = await generateText({ ...settings, prompt: "#reason" });
  expect([first.finalStep.reasoningText, first.text]).toEqual([THOUGHT, "42"]);
  const next = streamText({
    ...settings,
    messages: [{ role: "user", content: "#reason" }, ...first.responseMessages, { role: "user", content: "#text" }],
  });
  expect(await next.text).toBe("42");
  expect(stage.upstream.last().text).toContain(`"signature":"c2lnbmVk"`);
});
