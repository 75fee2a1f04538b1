// OpenAI's own client library (openai) against the running gateway: sandbox models, and a provider of each wire family behind it. Whole objects are
// compared. A limit of the client: its stream helper joins only fields that it knows, so that of `reasoning_content` it keeps the last piece;
// streamed reasoning is therefore read from the chunks.
import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { ContentFilterFinishReasonError, LengthFinishReasonError } from "openai/error";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsNonStreaming,
} from "openai/resources/chat/completions";
import {
  expectedBeside,
  expectedCall,
  expectedDetails,
  expectedEnd,
  expectedFrame,
  expectedJsonEnd,
  expectedTime,
  expectedUsage,
  expectedWithheld,
  TRACE_ID,
} from "../e2e/operations/expected-answers.ts";
import { FAMILIES, type Family } from "../e2e/operations/families.ts";
import { saidTo } from "../e2e/operations/family-gateway.ts";
import { openaiClient, standingFamilyGateway } from "../e2e/operations/standing-family-gateway.ts";
import {
  AFTER_TOOLS,
  FORECAST,
  FORECAST_SCHEMA,
  TEXT,
  THOUGHT,
  WEATHER_SCHEMA,
} from "../e2e/operations/scripted-answers.ts";

const stage = standingFamilyGateway();
let client: OpenAI;
beforeAll(() => {
  client = openaiClient(stage);
});

const ask = (model: string, content: string): Pick<ChatCompletionCreateParamsNonStreaming, "model" | "messages"> => ({
  model,
  messages: [{ role: "user", content }],
});
const weatherTool = {
  type: "function",
  function: { name: "weather", description: "The weather of a city.", parameters: WEATHER_SCHEMA },
} as const;
const deprecatedTool = { functions: [{ name: "weather", parameters: WEATHER_SCHEMA }] };
const bellTool = { type: "function", function: { name: "bell" } } as const;
const forecastFormat = {
  type: "json_schema",
  json_schema: { name: "forecast", strict: true, schema: FORECAST_SCHEMA },
} as const;
const answered = (completion: ChatCompletion) => completion.choices[0]!.message;

async function chunksOf(stream: Promise<AsyncIterable<ChatCompletionChunk>>): Promise<readonly ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of await stream) chunks.push(chunk);
  return chunks;
}

/** The tool loop of the client, with a weather service that knows two cities. */
function weatherRunner(asked: string[]) {
  const report = ({ city }: { city: string }): string => {
    asked.push(city);
    return city === "Paris" ? "warm" : "cold";
  };
  return [
    {
      type: "function",
      function: {
        name: "weather",
        description: "The weather of a city.",
        parameters: WEATHER_SCHEMA,
        parse: (text: string) => JSON.parse(text) as { city: string },
        function: report,
      },
    } as const,
  ];
}

describe.each([...FAMILIES])("a provider that speaks the form of $wire", (family: Family) => {
  const { model } = family;
  const frame = expectedFrame(family);
  const whole = (message: object, end: object, usage: object) => ({
    ...frame,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", refusal: null, ...message }, logprobs: null, ...end }],
    usage,
  });

  test("[s:response.id, s:response.route, s:response.model, s:response.object, s:response.created, s:response.usage, s:response.x-gateway-trace-id] a plain answer is whole", async () => {
    const {
      data,
      request_id: requestId,
      response,
    } = await client.chat.completions.create(ask(model, "#text")).withResponse();
    expect(data as object).toEqual(whole({ content: TEXT }, expectedEnd(family, "stop"), expectedUsage(family, 11, 4)));
    expect(requestId).toBe((data as unknown as { x_gateway_trace_id: string }).x_gateway_trace_id);
    expect(Math.abs(data.created - expectedTime(family))).toBeLessThan(60);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-gateway-model")).toBe(model);
  });

  test("the provider gets its own key, and nothing of the client's head", async () => {
    await client.chat.completions.create(ask(model, "#text"), { headers: { "x-title": "from the client" } });
    const { headers } = stage.upstream.last();
    expect(JSON.stringify(headers)).not.toContain(stage.token);
    expect(Object.keys(headers).filter((name) => /stainless|openai|x-title/.test(name))).toEqual([]);
    expect(headers["user-agent"] ?? "").not.toContain("OpenAI");
    expect(headers[family.key.header]).toMatch(family.key.value);
    expect(stage.upstream.last().path).toBe(family.paths[0]);
  });

  test("[s:behaviors.1, d8.1, d8.2] with include_usage the usage is on one last chunk, and null on all others", async () => {
    const chunks = await chunksOf(
      client.chat.completions.create({ ...ask(model, "#text"), stream: true, stream_options: { include_usage: true } }),
    );
    const said = [
      { role: "assistant", content: "" },
      { content: "Bonjou" },
      { content: "r, mon" },
      { content: "de — ✓" },
    ];
    // a vendor's own fields may stand on any chunk
    const bare = (one: object): object =>
      Object.fromEntries(Object.entries(one).filter(([name]) => !(name in expectedBeside(family))));
    const { route, x_gateway_trace_id, ...always } = frame;
    const chunk = (choices: readonly object[], usage: object | null) => ({
      ...bare(always),
      object: "chat.completion.chunk",
      choices,
      usage,
    });
    const outer = { route, x_gateway_trace_id };
    const [opening, ...texts] = said.map((delta) =>
      chunk([{ index: 0, delta, logprobs: null, finish_reason: null }], null),
    );
    expect(chunks.map(bare)).toEqual([
      { ...opening, ...outer },
      ...texts,
      chunk([{ index: 0, delta: {}, logprobs: null, ...expectedEnd(family, "stop") }], null),
      { ...chunk([], expectedUsage(family, 11, 4)), ...outer },
    ]);
    expect(Object.assign({}, ...chunks) as object).toMatchObject(expectedBeside(family));
    for (const name of ["id", "created", "model"] as const)
      expect(new Set(chunks.map((one) => one[name])).size).toBe(1);
  });

  test("[s:behaviors.1, d8.2] without include_usage no chunk has usage, and every chunk has a choice", async () => {
    for (const more of [{}, { stream_options: null }, { stream_options: { include_usage: false } }]) {
      const chunks = await chunksOf(client.chat.completions.create({ ...ask(model, "#text"), stream: true, ...more }));
      for (const chunk of chunks) {
        expect("usage" in chunk).toBe(false);
        expect(chunk.choices.length).toBe(1);
      }
      expect(chunks.map((chunk) => chunk.choices[0]!.delta.content ?? "").join("")).toBe(TEXT);
    }
  });

  test("[d9.7] H2, H3: a stream has the headers that the client expects, with the request id", async () => {
    const {
      data,
      response,
      request_id: requestId,
    } = await client.chat.completions.create({ ...ask(model, "#text"), stream: true }).withResponse();
    const traceIds: unknown[] = [];
    for await (const chunk of data) traceIds.push((chunk as { x_gateway_trace_id?: string }).x_gateway_trace_id);
    expect([traceIds[0], traceIds.at(-1)]).toEqual([requestId, requestId]);
    expect(
      Object.fromEntries(
        ["content-type", "cache-control", "x-accel-buffering", "x-gateway-trace-id"].map((name) => [
          name,
          response.headers.get(name),
        ]),
      ),
    ).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-gateway-trace-id": requestId,
    });
  });

  test("[d9.7] the stream helper puts the plain answer together", async () => {
    const stream = client.chat.completions.stream({ ...ask(model, "#text"), stream_options: { include_usage: true } });
    const pieces: string[] = [];
    stream.on("content", (piece) => pieces.push(piece));
    expect((await stream.finalChatCompletion()) as object).toEqual({
      ...whole({ content: TEXT, parsed: null }, expectedEnd(family, "stop"), expectedUsage(family, 11, 4)),
    });
    expect(pieces.join("")).toBe(TEXT);
  });

  test("function calls, plain and streamed, are the same", async () => {
    const calls = [
      expectedCall(family, "call_paris", "weather", { city: "Paris" }),
      expectedCall(family, "call_oslo", "weather", { city: "Oslo" }),
    ];
    const plain = await client.chat.completions.create({ ...ask(model, "#tools"), tools: [weatherTool] });
    expect(plain as object).toEqual(
      whole({ content: null, tool_calls: calls }, expectedEnd(family, "tool_calls"), expectedUsage(family, 20, 12)),
    );
    const streamed = await client.chat.completions
      .stream({ ...ask(model, "#tools"), tools: [weatherTool], stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual(
      whole(
        { content: "", tool_calls: calls, parsed: null },
        expectedEnd(family, "tool_calls"),
        expectedUsage(family, 20, 12),
      ),
    );
    expect(new Set(answered(streamed).tool_calls!.map((call) => call.id)).size).toBe(2);
  });

  test("text and a call without arguments stand in one answer", async () => {
    const calls = [expectedCall(family, "call_bell", "bell", {})];
    const plain = await client.chat.completions.create({ ...ask(model, "#bare"), tools: [bellTool] });
    expect(plain as object).toEqual(
      whole(
        { content: "Ringing.", tool_calls: calls },
        expectedEnd(family, "tool_calls"),
        expectedUsage(family, 20, 5),
      ),
    );
    const streamed = await client.chat.completions
      .stream({ ...ask(model, "#bare"), tools: [bellTool], stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual(
      whole(
        { content: "Ringing.", tool_calls: calls, parsed: null },
        expectedEnd(family, "tool_calls"),
        expectedUsage(family, 20, 5),
      ),
    );
  });

  test("the tool loop of the client runs to the answer", async () => {
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({ ...ask(model, "#tools"), tools: [...weatherRunner(asked)] });
    expect(await runner.finalContent()).toBe(AFTER_TOOLS);
    expect(asked).toEqual(["Paris", "Oslo"]);
    expect(runner.messages.map((message) => [message.role, message.content])).toEqual([
      ["user", "#tools"],
      ["assistant", null],
      ["tool", "warm"],
      ["tool", "cold"],
      ["assistant", AFTER_TOOLS],
    ]);
    expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 64, completion_tokens: 18, total_tokens: 82 });
  });

  test("the tool loop of the client runs to the answer over streams", async () => {
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({
      ...ask(model, "#tools"),
      stream: true,
      tools: [...weatherRunner(asked)],
    });
    expect(await runner.finalContent()).toBe(AFTER_TOOLS);
    expect(asked).toEqual(["Paris", "Oslo"]);
    expect(runner.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
  });

  test("structured output is parsed, plain and streamed", async () => {
    const plain = await client.chat.completions.parse({ ...ask(model, "#json"), response_format: forecastFormat });
    const message = { content: JSON.stringify(FORECAST), parsed: FORECAST };
    expect(plain as object).toEqual(
      whole(message, expectedJsonEnd(family, "json_schema"), expectedUsage(family, 30, 9)),
    );
    const streamed = await client.chat.completions
      .stream({ ...ask(model, "#json"), response_format: forecastFormat, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(answered(streamed).content).toBe(JSON.stringify(FORECAST));
    expect(saidTo(stage.upstream)).toContain("degrees:{type:integer}");
  });

  test("[s:behaviors.3] JSON mode gives JSON, plain and streamed", async () => {
    const format = { response_format: { type: "json_object" } } as const;
    const end = expectedJsonEnd(family, "json_object");
    const plain = await client.chat.completions.create({ ...ask(model, "#json"), ...format });
    expect(plain as object).toEqual(whole({ content: JSON.stringify(FORECAST) }, end, expectedUsage(family, 30, 9)));
    const streamed = await client.chat.completions
      .stream({ ...ask(model, "#json"), ...format, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual(
      whole({ content: JSON.stringify(FORECAST), parsed: null }, end, expectedUsage(family, 30, 9)),
    );
  });

  test("[d6.6] the deprecated functions come back in their own form, plain and streamed", async () => {
    const message = { function_call: { name: "weather", arguments: '{"city":"Paris"}' } };
    const end = expectedEnd(family, "function_call");
    const plain = await client.chat.completions.create({ ...ask(model, "#tools"), ...deprecatedTool });
    expect(plain as object).toEqual(whole({ content: null, ...message }, end, expectedUsage(family, 20, 12)));
    const streamed = await client.chat.completions
      .stream({ ...ask(model, "#tools"), ...deprecatedTool, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual(
      whole({ content: "", ...message, parsed: null }, end, expectedUsage(family, 20, 12)),
    );
    expect(stage.upstream.last().body["functions"]).toBeUndefined();
  });

  test("[d6.6] a conversation in the deprecated form continues", async () => {
    const { messages } = ask(model, "#tools");
    const call = JSON.parse(
      '{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}}',
    ) as (typeof messages)[number];
    const turns = [...messages, call, { role: "function", name: "weather", content: "warm" } as const];
    expect(answered(await client.chat.completions.create({ model, messages: turns, ...deprecatedTool })).content).toBe(
      AFTER_TOOLS,
    );
  });

  test("two choices, plain and streamed", async () => {
    const two = { ...ask(model, "#two"), n: 2 };
    if (family.refuses.includes("n")) {
      const refused = await client.chat.completions.create(two).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
      expect(refused as object).toMatchObject({ status: 400, code: "unsupported_parameter", param: "n" });
      return;
    }
    // as many calls: each says the first, and is paid for
    const [second, times] =
      family.choicesByCalls === true ? (["Heads it is", 2] as const) : (["Tails it is", 1] as const);
    const choices = [
      {
        index: 0,
        message: { role: "assistant", content: "Heads it is", refusal: null },
        logprobs: null,
        ...expectedEnd(family, "stop"),
      },
      {
        index: 1,
        message: { role: "assistant", content: second, refusal: null },
        logprobs: null,
        ...expectedEnd(family, times === 2 ? "stop" : "length"),
      },
    ];
    const usage = expectedUsage(family, 11 * times, 6 * times);
    const { data, response } = await client.chat.completions.create(two).withResponse();
    expect(data as object).toEqual({ ...frame, object: "chat.completion", choices, usage });
    expect(response.headers.get("x-gateway-warnings")).toBe(times === 2 ? "n_emulated" : null);
    const streamed = await client.chat.completions
      .stream({ ...two, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual({
      ...frame,
      object: "chat.completion",
      choices: choices.map((choice) => ({ ...choice, message: { ...choice.message, parsed: null } })),
      usage,
    });
  });

  test("reasoning stands beside the answer, plain and streamed", async () => {
    const thoughtful = { ...ask(model, "#reason"), reasoning_effort: "low" } as const;
    const plain = await client.chat.completions.create(thoughtful);
    expect(plain as object).toEqual(
      whole(
        { content: "42", reasoning_content: THOUGHT, ...expectedDetails(family, THOUGHT) },
        expectedEnd(family, "stop"),
        expectedUsage(family, 11, 10, 9),
      ),
    );
    const chunks = await chunksOf(client.chat.completions.create({ ...thoughtful, stream: true }));
    const deltas = chunks.map(
      (chunk) =>
        chunk.choices[0]!.delta as { content?: string; reasoning_content?: string; reasoning_details?: object[] },
    );
    expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe(THOUGHT);
    expect(deltas.map((delta) => delta.content ?? "").join("")).toBe("42");
    expect(deltas.filter((delta) => delta.reasoning_content !== undefined && delta.content !== undefined)).toEqual([]);
    expect(deltas.flatMap((delta) => delta.reasoning_details ?? [])).toEqual(
      expectedDetails(family, THOUGHT).reasoning_details ?? [],
    );
  });

  test("[s:behaviors.3] an answer that was cut off or withheld is marked as such, and does not parse", async () => {
    const cut = await client.chat.completions.create(ask(model, "#length"));
    expect(cut as object).toEqual(
      whole({ content: "Cut off by the" }, expectedEnd(family, "length"), expectedUsage(family, 11, 3)),
    );
    const withheld = await client.chat.completions.create(ask(model, "#filter"));
    expect(withheld as object).toEqual(
      whole({ content: "Once upon" }, expectedEnd(family, expectedWithheld(family)), expectedUsage(family, 11, 2)),
    );
    const parse = (name: string) =>
      client.chat.completions
        .parse({ ...ask(model, name), response_format: forecastFormat })
        .catch((error: unknown) => error);
    expect(await parse("#length")).toBeInstanceOf(LengthFinishReasonError);
    expect(await parse("#filter")).toBeInstanceOf(
      expectedWithheld(family) === "content_filter" ? ContentFilterFinishReasonError : SyntaxError,
    );
  });
});

describe("the sandbox", () => {
  const sandboxFrame = {
    id: "chatcmpl-sandbox",
    object: "chat.completion",
    created: 1_767_225_600,
    route: "direct",
    x_gateway_trace_id: expect.stringMatching(TRACE_ID) as string,
  };
  const sandboxUsage = (prompt: number, completion: number) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  });

  test("echoes, plain and streamed", async () => {
    const choices = [
      {
        index: 0,
        message: { role: "assistant", content: "say it again", refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ];
    expect((await client.chat.completions.create(ask("sandbox:echo", "say it again"))) as object).toEqual({
      ...sandboxFrame,
      model: "sandbox:echo",
      choices,
      usage: sandboxUsage(3, 3),
    });
    const streamed = await client.chat.completions
      .stream({ ...ask("sandbox:echo", "say it again"), stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed as object).toEqual({
      ...sandboxFrame,
      model: "sandbox:echo",
      choices: [{ ...choices[0], message: { ...choices[0]!.message, parsed: null } }],
      usage: sandboxUsage(3, 3),
    });
  });

  test("calls the function, and answers with its result", async () => {
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({
      ...ask("sandbox:tools", "the weather?"),
      tools: [...weatherRunner(asked)],
    });
    expect(await runner.finalContent()).toBe("The tool said: cold");
    expect(asked).toEqual(["text"]);
  });

  test("fills a schema", async () => {
    const parsed = await client.chat.completions.parse({
      ...ask("sandbox:json", "a forecast"),
      response_format: forecastFormat,
    });
    expect(answered(parsed)).toEqual({
      role: "assistant",
      content: '{"city":"text","degrees":1}',
      refusal: null,
      parsed: { city: "text", degrees: 1 },
    } as unknown as ReturnType<typeof answered>);
  });

  test("gives three choices", async () => {
    const { choices } = await client.chat.completions.create({ ...ask("sandbox:echo", "thrice"), n: 3 });
    expect(choices.map((choice) => [choice.index, choice.message.content])).toEqual([
      [0, "thrice"],
      [1, "thrice"],
      [2, "thrice"],
    ]);
  });

  test("a long stream arrives whole, and is cut by the output bound", async () => {
    const { choices, usage } = await client.chat.completions
      .stream({ ...ask("sandbox:words-5000", "go"), stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(choices[0]!.message.content!.split(" ").length).toBe(5000);
    expect(usage).toEqual(sandboxUsage(1, 5000));
    const bounded = await client.chat.completions.create({
      ...ask("sandbox:words-500", "go"),
      max_completion_tokens: 3,
    });
    expect([answered(bounded).content, bounded.choices[0]!.finish_reason]).toEqual(["the quick brown ", "length"]);
  });
});

describe("models", () => {
  test("[d9.7] M1, M3, M5: the client lists models, each with the required members and callable as it stands", async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) {
      ids.push(model.id);
      expect(model as object).toMatchObject({
        object: "model",
        created: expect.any(Number),
        owned_by: model.id.split(":")[0],
        name: expect.any(String),
        supported_parameters: expect.arrayContaining(["temperature", "stream"]),
      });
    }
    expect(ids).toContain("scripted:scripted-model");
    expect(ids).toContain("sandbox:echo");
    expect(answered(await client.chat.completions.create(ask("scripted:scripted-model", "#text"))).content).toBe(TEXT);
  });

  test("[d9.7] M5: the client retrieves one model, also by the name with a slash", async () => {
    for (const id of ["scripted:scripted-model", "scripted/scripted-model", "anthropic:claude-sonnet-4-5"])
      expect(await client.models.retrieve(id)).toMatchObject({ id: id.replace("/", ":"), object: "model" });
    const missing = await client.models.retrieve("nowhere:nothing").catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(OpenAI.NotFoundError);
    expect(missing as object).toMatchObject({ code: "model_not_found", param: "model" });
  });
});
