// Two other libraries that ask for messages, in front of a provider of each wire family behind the running gateway: Vercel's AI SDK
// (@ai-sdk/anthropic) and LangChain (@langchain/anthropic). A limit of the latter: of a stream it takes the tokens of the prompt from the first event
// alone, which has an estimate where the answer is translated.
import { beforeAll, describe, expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { errorOf, expectAiSdkFailures, expectLangchainStreamFails, joined } from "./chat-libraries.ts";
import { MESSAGES_FAMILIES } from "../operations/messages-families.ts";
import { AFTER_TOOLS, TEXT, THOUGHT, WEATHER_SCHEMA } from "../operations/scripted-answers.ts";
import { standingFamilyGateway } from "../operations/standing-family-gateway.ts";

const stage = standingFamilyGateway();
let provider: ReturnType<typeof createAnthropic>;
beforeAll(() => {
  // it says on the console that it does not know the models
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  provider = createAnthropic({ baseURL: `${stage.gateway.url}/v1`, apiKey: stage.token });
});

const report = ({ city }: { readonly city: string }): string => (city === "Paris" ? "warm" : "cold");
const weather = tool({
  description: "The weather of a city.",
  inputSchema: jsonSchema<{ city: string }>(WEATHER_SCHEMA),
  execute: (input) => Promise.resolve(report(input)),
});
const langchainWeather = langchainTool((input) => report(input as { city: string }), {
  name: "weather",
  description: "The weather of a city.",
  schema: WEATHER_SCHEMA,
});
const langchain = (model: string): ChatAnthropic =>
  new ChatAnthropic({
    model,
    maxTokens: 2000,
    apiKey: stage.token,
    maxRetries: 0,
    anthropicApiUrl: stage.gateway.url,
  });
const once = { maxRetries: 0 };

describe.each(MESSAGES_FAMILIES)("a provider that speaks the form of $wire", ({ model }) => {
  test("[d12.4, d12.5, d12.7] the AI SDK: text and usage, plain and streamed", async () => {
    const plain = await generateText({ model: provider(model), prompt: "#text", ...once });
    const streamed = streamText({ model: provider(model), prompt: "#text", ...once });
    for (const [text, finish, usage] of [
      [plain.text, plain.finishReason, plain.usage],
      [await streamed.text, await streamed.finishReason, await streamed.usage],
    ] as const) {
      expect([text, finish]).toEqual([TEXT, "stop"]);
      expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 4, totalTokens: 15 });
    }
  });

  test("[d12.4, d12.5] the AI SDK: tools run over two rounds, and a further turn follows", async () => {
    const rounds = { model: provider(model), prompt: "#tools", tools: { weather }, stopWhen: isStepCount(2), ...once };
    const plain = await generateText(rounds);
    const streamed = streamText(rounds);
    expect([plain.text, plain.steps.length]).toEqual([AFTER_TOOLS, 2]);
    expect([await streamed.text, (await streamed.steps).length]).toEqual([AFTER_TOOLS, 2]);
    const next = await generateText({
      model: provider(model),
      messages: [{ role: "user", content: "#tools" }, ...plain.responseMessages, { role: "user", content: "And?" }],
      tools: { weather },
      ...once,
    });
    expect(next.text).toBe(AFTER_TOOLS);
  });

  test("[d12.6] the AI SDK: failures have status and words, before and within a stream", async () => {
    await expectAiSdkFailures(provider(model), stage);
  });

  test("[d12.4, d12.5, d12.7] LangChain: text and usage, invoked and streamed", async () => {
    const plain = await langchain(model).invoke("#text");
    const streamed = await joined(langchain(model).stream("#text"));
    expect([plain.text, streamed.text]).toEqual([TEXT, TEXT]);
    expect(plain.usage_metadata! as object).toMatchObject({ input_tokens: 11, output_tokens: 4 });
  });

  test("[d12.4, d12.5] LangChain: tools are called, and their results lead to the answer", async () => {
    const bound = langchain(model).bindTools([langchainWeather]);
    for (const got of [await bound.invoke("#tools"), await joined(bound.stream("#tools"))]) {
      expect(got.tool_calls!.map(({ name, args }) => [name, args])).toEqual([
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
    for (const [word, status] of [
      ["#fail-rate-limit", 429],
      ["#fail-server", 502],
    ] as const)
      for (const call of [() => langchain(model).invoke(word), () => joined(langchain(model).stream(word))])
        expect(await errorOf(call())).toMatchObject({ status });
    await expectLangchainStreamFails(langchain(model).stream("#broken"), stage);
  });
});

test("[d12.3, d12.9] the AI SDK carries signed thinking into its next turn", async () => {
  const { model } = MESSAGES_FAMILIES.find(({ wire }) => wire === "anthropic")!;
  const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } as const;
  const settings = { model: provider(model), providerOptions: thinking, maxOutputTokens: 4000, ...once };
  const first = await generateText({ ...settings, prompt: "#reason" });
  expect([first.finalStep.reasoningText, first.text]).toEqual([THOUGHT, "42"]);
  await generateText({
    ...settings,
    messages: [{ role: "user", content: "#reason" }, ...first.responseMessages, { role: "user", content: "#text" }],
  });
  const sent = stage.upstream.last().body["messages"] as readonly { readonly content: unknown }[];
  expect(sent[1]!.content).toMatchObject([
    { type: "thinking", thinking: THOUGHT, signature: "c2lnbmVk" },
    { type: "text", text: "42" },
  ]);
});
