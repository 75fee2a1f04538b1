// Rounds of tools in the running gateway, with official client libraries: models of every wire form over a scripted provider, and the sandbox's model with
// @modelcontextprotocol/server-everything over stdio and HTTP.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { streamText } from "ai";
import OpenAI from "openai";
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { type EverythingServers, startEverything } from "../../harness/tools/everything.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { projectFolder } from "../../harness/processes/gateway-program.ts";
import { runToEnd } from "../../harness/processes/processes.ts";
import { openToolServer, said, type ToolServerEnd } from "../../harness/tools/tool-server.ts";
import { heardStream, heardWhole } from "../../spec/tools/scripted-rounds.ts";
import { FAMILIES, type Family } from "./families.ts";
import { type FamilyGateway, startFamilyGateway } from "./family-gateway.ts";
import { AFTER_TOOLS, BEFORE_TOOLS, THOUGHT, WEATHER_SCHEMA } from "./scripted-answers.ts";

const SKY = { type: "mcp", server_label: "sky" };
/** The library does not know the type. */
const withTools = (body: object): ChatCompletionCreateParamsNonStreaming =>
  body as ChatCompletionCreateParamsNonStreaming;
const untimed = ({ x_gateway_mcp: mcp, ...message }: Record<string, any>) => ({
  ...message,
  x_gateway_mcp: { ...mcp, calls: mcp.calls.map(({ duration_ms: _ms, ...call }: Record<string, any>) => call) },
});

describe("models of every wire form", () => {
  let stage: FamilyGateway;
  let sky: ToolServerEnd;
  let client: OpenAI;
  beforeAll(async () => {
    sky = openToolServer({
      tools: [
        {
          name: "weather",
          inputSchema: WEATHER_SCHEMA as never,
          run: ({ args }) => said(`${args["city"] as string} is ${args["city"] === "Paris" ? "warm" : "cold"}`),
        },
      ],
    });
    stage = await startFamilyGateway(
      `tool_servers:\n  sky: { url: ${JSON.stringify(sky.url)}, require_approval: never }\n`,
    );
    client = new OpenAI({ baseURL: stage.baseUrl, apiKey: stage.token, maxRetries: 0 });
  });
  afterAll(async () => {
    await stage.stop();
    await sky.stop();
  });

  test.each([...FAMILIES])(
    "[d10.2, d10.4] $wire: two tools side by side, then the answer, the same plain and streamed",
    async (family: Family) => {
      const body = { model: family.model, messages: [{ role: "user", content: "#sky" }], tools: [SKY] };
      const plain = await heardWhole(await stage.gateway.chat(body));
      expect(plain.message["content"]).toBe(`${BEFORE_TOOLS}\n\n${AFTER_TOOLS}`);
      expect(plain.message["x_gateway_mcp"]).toMatchObject({
        rounds: 2,
        calls: [
          { tool: "weather", status: "ok", round: 1 },
          { tool: "weather", status: "ok", round: 1 },
        ],
      });
      expect(plain.finish).toBe("stop");
      expect(plain.usage).toMatchObject({ prompt_tokens: 64, completion_tokens: 18, total_tokens: 82 });
      // the provider has the results, each for the call that it made
      const second = stage.upstream.last().text;
      expect(second).toContain("Paris is warm");
      expect(second).toContain("Oslo is cold");
      const streamed = heardStream(
        await (await stage.gateway.chat({ ...body, stream: true, stream_options: { include_usage: true } })).text(),
      );
      expect(streamed.message["content"]).toBe(plain.message["content"]);
      expect(streamed.usage).toEqual(plain.usage);
      expect([streamed.finish, streamed.model]).toEqual(["stop", plain.model]);
      expect(streamed.activity.map(({ type }) => type)).toEqual(["tool_start", "tool_start", "tool_end", "tool_end"]);
      expect(streamed.message["tool_calls"]).toBeUndefined();
      // the messages that go back to the provider are the same as well
      expect(conversationIn(stage.upstream.last().text)).toEqual(conversationIn(second));
    },
  );

  test.each(FAMILIES.filter(({ form }) => form === "anthropic" || form === "bedrock"))(
    "[d10.4] $wire: the model's signed thinking is sent back to it in the next round",
    async (family: Family) => {
      await (
        await stage.gateway.chat({
          model: family.model,
          messages: [{ role: "user", content: "#sky" }],
          tools: [SKY],
          stream: true,
        })
      ).text();
      expect(stage.upstream.last().text).toContain(THOUGHT);
    },
  );

  test("[d10.4] the stream helper of openai joins the rounds like the plain answer", async () => {
    const body = withTools({
      model: "scripted:scripted-model",
      messages: [{ role: "user", content: "#sky" }],
      tools: [SKY],
    });
    const plain = await client.chat.completions.create(body);
    const streamed = await client.chat.completions
      .stream({ ...body, stream: true, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed.choices[0]!.message.content).toBe(plain.choices[0]!.message.content);
    expect(plain.choices[0]!.message.content).toBe(`${BEFORE_TOOLS}\n\n${AFTER_TOOLS}`);
    expect(streamed.choices[0]!.finish_reason).toBe("stop");
    expect(streamed.usage as object).toEqual(plain.usage as object);
    expect(streamed.choices[0]!.message.tool_calls ?? []).toEqual([]);
  });
});

/** Ids that are made up here are other ones in each call. */
function conversationIn(text: string): unknown {
  const { stream: _stream, stream_options: _options, ...body } = JSON.parse(text) as Record<string, unknown>;
  return JSON.parse(JSON.stringify(body).replaceAll(/call_[0-9a-f]{20}_/g, "call_x_"));
}

describe("the sandbox's model with server-everything", () => {
  let everything: EverythingServers;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    everything = await startEverything();
    gateway = await startGateway({ config: everything.config });
  });
  afterAll(async () => {
    await gateway.stop();
    await everything.stop();
  });

  const WORDS =
    'Call echo {"message": "Hello"} and call get-sum {"a": 2, "b": 40}, then call get-tiny-image, then tell me.';
  const body = () =>
    withTools({
      model: "sandbox:tools",
      messages: [{ role: "user", content: WORDS }],
      tools: [
        { type: "mcp", server_label: "local", allowed_tools: ["echo", "get-tiny-image"] },
        { type: "mcp", server_label: "remote", allowed_tools: ["get-sum"] },
      ],
    });
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.firstToken!, maxRetries: 0 });
  const FIRST =
    "I call local__echo and remote__get-sum.\n\nI call local__get-tiny-image.\n\nThe tools said: Echo: Hello | The sum of 2 and 40 is 42. | ";

  test("[d10.2, d10.4] openai, plain and streamed: three rounds over stdio and HTTP are one answer", async () => {
    const plain = await openai().chat.completions.create(body());
    const message = plain.choices[0]!.message as unknown as Record<string, any>;
    expect(message["content"]).toStartWith(FIRST);
    expect(message["x_gateway_mcp"]).toMatchObject({
      rounds: 3,
      calls: [
        { server_label: "local", tool: "echo" },
        { server_label: "remote", tool: "get-sum" },
        { server_label: "local", tool: "get-tiny-image" },
      ],
    });
    const activity: string[] = [];
    const stream = openai().chat.completions.stream({
      ...body(),
      stream: true,
      stream_options: { include_usage: true },
    });
    stream.on("chunk", (chunk) => {
      const told = (chunk as unknown as Record<string, any>)["x_gateway_mcp"];
      if (told?.type === "tool_end") activity.push(told.tool);
    });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]!.message.content).toBe(message["content"]);
    expect(streamed.usage as object).toEqual(plain.usage as object);
    expect(activity.toSorted()).toEqual(["echo", "get-sum", "get-tiny-image"]);
  });

  test("[d10.3] openai sends the message back as it came, and the conversation continues", async () => {
    const first = await openai().chat.completions.create(body());
    const messages: ChatCompletionMessageParam[] = [
      { role: "user", content: WORDS },
      first.choices[0]!.message,
      { role: "user", content: 'Now call echo {"message": "again"}.' },
    ];
    const second = await openai().chat.completions.create({ ...body(), messages });
    expect(second.choices[0]!.message.content).toBe("I call local__echo.\n\nThe tool said: Echo: again");
    // the words of the whole conversation, results of the first answer too
    expect(second.usage!.prompt_tokens).toBeGreaterThan(first.usage!.prompt_tokens);
  });

  test("[d10.4] the AI SDK reads the stream to its end", async () => {
    const provider = createOpenAICompatible({
      name: "dragoman",
      baseURL: `${gateway.url}/api/v1`,
      apiKey: gateway.firstToken!,
      includeUsage: true,
      transformRequestBody: (request) => ({ ...request, tools: body().tools }),
    });
    const stream = streamText({ model: provider("sandbox:tools"), prompt: WORDS, maxRetries: 0 });
    expect(await stream.text).toStartWith(FIRST);
    expect(await stream.finishReason).toBe("stop");
    expect((await stream.usage).totalTokens).toBeGreaterThan(0);
  });

  test("[d10.4] LangChain reads the stream to its end", async () => {
    const chat = new ChatOpenAI({
      model: "sandbox:tools",
      apiKey: gateway.firstToken!,
      maxRetries: 0,
      configuration: { baseURL: `${gateway.url}/api/v1` },
      modelKwargs: { tools: body().tools },
    });
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await chat.stream(WORDS)) whole = whole === undefined ? chunk : whole.concat(chunk);
    expect(whole!.content as string).toStartWith(FIRST);
    expect(whole!.tool_calls ?? []).toEqual([]);
  });

  test("[d10.4] raw: the plain answer and the stream agree", async () => {
    const plain = await heardWhole(await gateway.chat(body()));
    const streamed = heardStream(
      await (await gateway.chat({ ...body(), stream: true, stream_options: { include_usage: true } })).text(),
    );
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
  });
});

test("[d10.2] npm run demo:tools runs all of it", async () => {
  const { code, stdout, stderr } = await runToEnd(
    [
      process.execPath,
      "--no-env-file",
      `--config=${projectFolder}/bunfig.toml`,
      "--no-install",
      `${projectFolder}/bench/demo-tools.ts`,
    ],
    { cwd: projectFolder },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("All of it was seen");
});
