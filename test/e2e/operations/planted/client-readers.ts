// Eight client libraries, each of which reads one answer and says what its program would see of it.
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { generateText, jsonSchema, type LanguageModel, streamText, tool } from "ai";
import OpenAI from "openai";
import { WEATHER_SCHEMA } from "../scripted-answers.ts";

/** What a program sees of an answer. */
export interface Reading {
  readonly text: string;
  readonly reasoning: string;
  /** Names with inputs. */
  readonly calls: readonly (readonly [string, unknown])[];
  readonly finish: string;
  readonly outputTokens: number;
  /** The failure that the library reported; `null` where it reported none. */
  readonly error: string | null;
}

/** Where a library asks: at the gateway, or at a provider. */
export interface Server {
  /** The address for libraries of OpenAI. */
  readonly openaiUrl: string;
  /** The address for libraries of Anthropic, without the version. */
  readonly anthropicUrl: string;
  readonly key: string;
  readonly model: string;
}

export interface ClientReader {
  readonly name: string;
  readonly form: "responses" | "messages";
  /** Reads a stream. */
  readonly read: Read;
  /** Reads an answer that comes as one body. */
  readonly readBody: Read;
}
type Read = (server: Server, prompt: string) => Promise<Reading>;
type Seen = Omit<Reading, "error">;

const description = "The weather of a city.";
const NOTHING: Reading = { text: "", reasoning: "", calls: [], finish: "", outputTokens: 0, error: null };

/** What a library throws is the failure that it reports. */
async function reading(read: () => Promise<Seen>): Promise<Reading> {
  try {
    return { ...(await read()), error: null };
  } catch (thrown) {
    return {
      ...NOTHING,
      error: thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : JSON.stringify(thrown),
    };
  }
}
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const parsed = (text: string): unknown => JSON.parse(text === "" ? "{}" : text) as unknown;

const readOpenAI =
  (isStream: boolean): Read =>
  ({ openaiUrl, key, model }, input) =>
    reading(async () => {
      const client = new OpenAI({ baseURL: openaiUrl, apiKey: key, maxRetries: 0 });
      const tools = [{ type: "function" as const, name: "weather", parameters: WEATHER_SCHEMA, strict: false }];
      const asked = { model, input, tools };
      const {
        output,
        output_text: text,
        status,
        usage,
      } = isStream ? await client.responses.stream(asked).finalResponse() : await client.responses.create(asked);
      return {
        text,
        reasoning: output
          .flatMap((item) => (item.type === "reasoning" ? item.summary.map((part) => part.text) : []))
          .join(""),
        calls: output.flatMap((item) =>
          item.type === "function_call" ? [[item.name, parsed(item.arguments)] as const] : [],
        ),
        finish: status ?? "",
        outputTokens: usage?.output_tokens ?? 0,
      };
    });

const readAnthropic =
  (isStream: boolean): Read =>
  ({ anthropicUrl, key, model }, prompt) =>
    reading(async () => {
      const client = new Anthropic({ baseURL: anthropicUrl, authToken: key, apiKey: null, maxRetries: 0 });
      const asked = {
        model,
        max_tokens: 1000,
        messages: [{ role: "user" as const, content: prompt }],
        tools: [{ name: "weather", input_schema: WEATHER_SCHEMA as { type: "object" } }],
      };
      const message = isStream
        ? await client.messages.stream(asked).finalMessage()
        : await client.messages.create(asked);
      const { content } = message;
      return {
        text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
        reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
        calls: content.flatMap((block) => (block.type === "tool_use" ? [[block.name, block.input] as const] : [])),
        finish: message.stop_reason ?? "",
        outputTokens: message.usage.output_tokens,
      };
    });

const weather = tool({
  description,
  inputSchema: jsonSchema<{ city: string }>(WEATHER_SCHEMA),
  outputSchema: jsonSchema<string>({ type: "string" }),
});

const readAiSdk =
  (modelOf: (server: Server) => LanguageModel): Read =>
  (server, prompt) =>
    reading(async () => {
      const got = { ...NOTHING, calls: [] as (readonly [string, unknown])[] };
      let { text, reasoning } = got;
      let finish = "";
      let outputTokens = 0;
      const { stream } = streamText({
        model: modelOf(server),
        prompt,
        tools: { weather },
        maxRetries: 0,
        onError: () => {},
      });
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.text;
        if (part.type === "reasoning-delta") reasoning += part.text;
        if (part.type === "tool-call") got.calls.push([part.toolName, part.input]);
        if (part.type === "error")
          throw part.error instanceof Error ? part.error : new Error(JSON.stringify(part.error));
        if (part.type !== "finish") continue;
        finish = part.finishReason;
        outputTokens = part.totalUsage.outputTokens ?? 0;
      }
      if (finish === "error") throw new Error("finish reason error");
      return { text, reasoning, calls: got.calls, finish, outputTokens };
    });

const readAiSdkBody =
  (modelOf: (server: Server) => LanguageModel): Read =>
  (server, prompt) =>
    reading(async () => {
      const got = await generateText({ model: modelOf(server), prompt, tools: { weather }, maxRetries: 0 });
      return {
        text: got.text,
        reasoning: got.finalStep.reasoningText ?? "",
        calls: got.toolCalls.map(({ toolName, input }) => [toolName, input] as const),
        finish: got.finishReason,
        outputTokens: got.usage.outputTokens ?? 0,
      };
    });

interface LangchainModel {
  stream(prompt: string): Promise<AsyncIterable<AIMessageChunk>>;
  invoke(prompt: string): Promise<AIMessageChunk>;
}

const readLangchain =
  (modelOf: (server: Server) => LangchainModel): Read =>
  (server, prompt) =>
    reading(async () => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await modelOf(server).stream(prompt))
        whole = whole === undefined ? chunk : whole.concat(chunk);
      return whole === undefined ? NOTHING : seenBy(whole);
    });
const readLangchainBody =
  (modelOf: (server: Server) => LangchainModel): Read =>
  (server, prompt) =>
    reading(async () => seenBy(await modelOf(server).invoke(prompt)));

function seenBy(message: AIMessageChunk): Seen {
  const { additional_kwargs: more, response_metadata: metadata } = message;
  const summary = (more["reasoning"] as { summary?: readonly { text: string }[] } | undefined)?.summary ?? [];
  const blocks = Array.isArray(message.content) ? (message.content as readonly { thinking?: string }[]) : [];
  return {
    text: message.text,
    reasoning: [...summary.map(({ text }) => text), ...blocks.map(({ thinking }) => thinking ?? "")].join(""),
    calls: (message.tool_calls ?? []).map(({ name, args }) => [name, args] as const),
    finish: textOf(metadata["status"] ?? metadata["stop_reason"] ?? more["stop_reason"]),
    outputTokens: (message.usage_metadata as { output_tokens: number } | undefined)?.output_tokens ?? 0,
  };
}

const readAgents =
  (isStream: boolean): Read =>
  ({ openaiUrl, key, model }, prompt) =>
    reading(async () => {
      const openAIClient = new OpenAI({ baseURL: openaiUrl, apiKey: key, maxRetries: 0 });
      const runner = new Runner({
        modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }),
        tracingDisabled: true,
      });
      const called: unknown[] = [];
      const agent = new Agent({
        name: "forecaster",
        model,
        toolUseBehavior: "stop_on_first_tool",
        tools: [
          agentTool({
            name: "weather",
            description,
            parameters: WEATHER_SCHEMA as never,
            strict: true,
            execute: (input) => {
              called.push(input);
              return Promise.resolve("warm");
            },
          }),
        ],
      });
      const streamed = isStream ? await runner.run(agent, prompt, { stream: true }) : null;
      await streamed?.completed;
      const run = streamed ?? (await runner.run(agent, prompt));
      const items = run.newItems;
      return {
        text: items.map((item) => (item.type === "message_output_item" ? item.content : "")).join(""),
        reasoning: items
          .flatMap((item) =>
            item.type === "reasoning_item"
              ? (item.rawItem as { content: readonly { text: string }[] }).content.map(({ text }) => text)
              : [],
          )
          .join(""),
        calls: called.map((input) => ["weather", input] as const),
        finish: String(run.finalOutput),
        outputTokens: run.rawResponses.at(-1)?.usage.outputTokens ?? 0,
      };
    });

const openaiModel = ({ openaiUrl, key, model }: Server): LanguageModel =>
  createOpenAI({ baseURL: openaiUrl, apiKey: key })(model);
const openModel = ({ openaiUrl, key, model }: Server): LanguageModel =>
  createOpenResponses({ name: "server", url: `${openaiUrl}/responses`, apiKey: key })(model);
const anthropicModel = ({ anthropicUrl, key, model }: Server): LanguageModel =>
  createAnthropic({ baseURL: `${anthropicUrl}/v1`, authToken: key })(model);
const langchainOpenAI = ({ openaiUrl, key, model }: Server): LangchainModel =>
  new ChatOpenAI({
    model,
    apiKey: key,
    maxRetries: 0,
    useResponsesApi: true,
    configuration: { baseURL: openaiUrl },
  }).bindTools([{ type: "function", function: { name: "weather", description, parameters: WEATHER_SCHEMA } }]);
const langchainAnthropic = ({ anthropicUrl, key, model }: Server): LangchainModel =>
  new ChatAnthropic({
    model,
    apiKey: key,
    maxTokens: 1000,
    maxRetries: 0,
    anthropicApiUrl: anthropicUrl,
  }).bindTools([{ name: "weather", input_schema: WEATHER_SCHEMA as { type: "object" } }]);

export const CLIENT_READERS: readonly ClientReader[] = [
  { name: "openai", form: "responses", read: readOpenAI(true), readBody: readOpenAI(false) },
  { name: "@ai-sdk/openai", form: "responses", read: readAiSdk(openaiModel), readBody: readAiSdkBody(openaiModel) },
  { name: "@ai-sdk/open-responses", form: "responses", read: readAiSdk(openModel), readBody: readAiSdkBody(openModel) },
  {
    name: "@langchain/openai",
    form: "responses",
    read: readLangchain(langchainOpenAI),
    readBody: readLangchainBody(langchainOpenAI),
  },
  { name: "@openai/agents", form: "responses", read: readAgents(true), readBody: readAgents(false) },
  { name: "@anthropic-ai/sdk", form: "messages", read: readAnthropic(true), readBody: readAnthropic(false) },
  {
    name: "@ai-sdk/anthropic",
    form: "messages",
    read: readAiSdk(anthropicModel),
    readBody: readAiSdkBody(anthropicModel),
  },
  {
    name: "@langchain/anthropic",
    form: "messages",
    read: readLangchain(langchainAnthropic),
    readBody: readLangchainBody(langchainAnthropic),
  },
];
