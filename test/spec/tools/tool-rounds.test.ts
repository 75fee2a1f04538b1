// Rounds of tools that the gateway runs (promises 10.2, 10.3, 10.4), over a model of OpenAI's form that answers each
// round by a script.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { type FakeTool, type FakeToolServers, fakeToolServers, says, waitFor } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import {
  answerOf,
  heardStream,
  heardWhole,
  type HeardAnswer,
  roundOf,
  type ScriptedRound,
  scriptedModel,
  USAGE,
} from "./scripted-rounds.ts";

const WEATHER = {
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: ({ city }: Record<string, any>) => says(`${city} is warm`),
};
const tools = () =>
  fakeToolServers({
    sky: { weather: WEATHER, clock: { run: () => says("noon") }, broken: { run: () => says("no such day", true) } },
  });
const MCP = { type: "mcp", server_label: "sky" };
const CLIENT_TOOL = { type: "function", function: { name: "bell", parameters: { type: "object", properties: {} } } };
const ask = { model: "up:m", messages: [{ role: "user", content: "Is it warm in Paris?" }], tools: [MCP] };
const callWeather = { name: "sky__weather", args: '{"city":"Paris"}' };

interface Stage extends Stub {
  readonly tools: FakeToolServers;
}

function stageOf(rounds: readonly ScriptedRound[], { tools: own = tools(), ...options }: StubOptions = {}): Stage {
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  return Object.assign(stubGateway({ upstream: scriptedModel(rounds), providers, tools: own, ...options }), {
    tools: own,
  });
}

async function both(
  rounds: readonly ScriptedRound[],
  fields: object = {},
): Promise<{
  readonly plain: HeardAnswer;
  readonly streamed: ReturnType<typeof heardStream>;
  readonly stage: Stage;
  readonly records: readonly CallRecord[];
}> {
  const stage = stageOf(rounds);
  const plain = await heardWhole(await stage.chat({ ...ask, ...fields }));
  const response = await stage.chat({ ...ask, ...fields, stream: true, stream_options: { include_usage: true } });
  return { plain, streamed: heardStream(await response.text()), stage, records: stage.records };
}

/** What the provider saw of the conversation in its last request. */
const conversation = (stage: Stub, at = -1): any => JSON.parse(stage.sent.at(at)!.body).messages;
const sentTo = (stage: Stub, at: number): any => JSON.parse(stage.sent.at(at)!.body);
/** Durations are what they are. */
const untimed = ({ x_gateway_mcp: mcp, ...message }: Record<string, any>) => ({
  ...message,
  x_gateway_mcp: { ...mcp, calls: mcp.calls.map(({ duration_ms: _ms, ...call }: Record<string, any>) => call) },
});

describe("a call with tools of the gateway", () => {
  const ROUNDS: readonly ScriptedRound[] = [
    { text: "Let me look.", calls: [callWeather, { name: "sky__clock" }] },
    { text: "Once more.", calls: [{ name: "sky__clock" }] },
    { text: "It is warm at noon." },
  ];

  test("[d10.2] goes on round by round until the model answers: results stand behind the turn that asked for them", async () => {
    const { stage } = await both(ROUNDS);
    expect(stage.sent.length).toBe(6);
    expect(conversation(stage, 2)).toEqual([
      { role: "user", content: "Is it warm in Paris?" },
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [
          { id: "call_1_0", type: "function", function: { name: "sky__weather", arguments: '{"city":"Paris"}' } },
          { id: "call_1_1", type: "function", function: { name: "sky__clock", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1_0", content: "Paris is warm" },
      { role: "tool", tool_call_id: "call_1_1", content: "noon" },
      {
        role: "assistant",
        content: "Once more.",
        tool_calls: [{ id: "call_2_0", type: "function", function: { name: "sky__clock", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_2_0", content: "noon" },
    ]);
    expect(conversation(stage, 5)).toEqual(conversation(stage, 2));
  });

  test("[d10.4] the stream and the plain answer agree: texts of all rounds, one id, one finish reason, usage summed", async () => {
    const { plain, streamed } = await both(ROUNDS);
    expect(plain.message["content"]).toBe("Let me look.\n\nOnce more.\n\nIt is warm at noon.");
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
    expect(plain.finish).toBe("stop");
    expect(streamed.finish).toBe("stop");
    expect(plain.usage).toEqual({ prompt_tokens: 30, completion_tokens: 15, total_tokens: 45 });
    expect(streamed.usage).toEqual(plain.usage);
    expect([plain.id, plain.created, plain.model]).toEqual(["chatcmpl-round-1", 1_767_000_000, "up:m"]);
    expect([streamed.id, streamed.created, streamed.model]).toEqual([plain.id, plain.created, plain.model]);
    expect(plain.message["tool_calls"]).toBeUndefined();
  });

  test("[d10.4] tool activity is reported on chunks as it happens, and on the message", async () => {
    const { plain, streamed } = await both(ROUNDS);
    const place = (call_id: string, tool: string, round: number) => ({ call_id, server_label: "sky", tool, round });
    const reported = streamed.activity.map(({ duration_ms: _ms, ...rest }) => rest);
    // the tools of a round run at the same time, and any of them may end first
    const ends = reported.splice(2, 2).toSorted((a, b) => a["call_id"].localeCompare(b["call_id"]));
    expect(ends).toEqual([
      { type: "tool_end", ...place("call_1_0", "weather", 1) },
      { type: "tool_end", ...place("call_1_1", "clock", 1) },
    ]);
    expect(reported).toEqual([
      { type: "tool_start", ...place("call_1_0", "weather", 1) },
      { type: "tool_start", ...place("call_1_1", "clock", 1) },
      { type: "tool_start", ...place("call_2_0", "clock", 2) },
      { type: "tool_end", ...place("call_2_0", "clock", 2) },
    ]);
    const mcp = plain.message["x_gateway_mcp"];
    expect(mcp.rounds).toBe(3);
    expect(mcp.calls).toEqual(
      [place("call_1_0", "weather", 1), place("call_1_1", "clock", 1), place("call_2_0", "clock", 2)].map((one) => ({
        ...one,
        status: "ok",
        duration_ms: expect.any(Number),
      })),
    );
    for (const event of streamed.events.filter(({ x_gateway_mcp: told }) => told?.type !== undefined))
      expect(event["choices"]).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: null }]);
  });

  test("[d10.4] a round whose text stands between its calls has its log probabilities once, and no empty members", async () => {
    const logprobsOf = (...tokens: string[]) => ({
      chosenCandidates: tokens.map((token) => ({ token, logProbability: -1 })),
    });
    const clock = { functionCall: { name: "sky__clock", args: {} } };
    const answers = [
      { parts: [clock, { text: "Again." }, clock], logprobsResult: logprobsOf("Again", ".") },
      { parts: [{ text: "Noon." }], logprobsResult: logprobsOf("Noon.") },
    ];
    let asked = 0;
    const upstream = cannedUpstream(() => {
      const { parts, logprobsResult } = answers[asked++]!;
      const candidates = [{ content: { role: "model", parts }, finishReason: "STOP", logprobsResult }];
      return { headers: { "content-type": "application/json" }, body: JSON.stringify({ candidates }) };
    });
    const providers = [
      providerSettings({ id: "g", family: "gemini", baseUrl: "http://g.test/v1beta", credentials: [storedKey("key")] }),
    ];
    const stage = stageOf([], { providers, upstream });
    const response = await stage.chat({ ...ask, model: "g:gemini-2.5-flash", logprobs: true });
    const { choices } = (await response.json()) as Record<string, any>;
    expect(asked).toBe(2);
    const { content, ...others } = choices[0].message;
    expect(content).toBe("Again.\n\nNoon.");
    expect(Object.keys(others).toSorted()).toEqual(["refusal", "role", "x_gateway_mcp"]);
    expect(choices[0].logprobs.content.map(({ token }: Record<string, any>) => token)).toEqual(["Again", ".", "Noon."]);
  });

  test("[d10.4] the provider's own finish reason is that of the last round, where it has one", async () => {
    const upstream = cannedUpstream((request) => {
      if (roundOf(request) > 0) return answerOf({ text: "Noon." }, 1, false);
      const calling = answerOf({ calls: [{ name: "sky__clock" }] }, 0, false);
      const answer = JSON.parse(calling.body as string);
      answer.choices[0].native_finish_reason = "tool_use";
      return { ...calling, body: JSON.stringify(answer) };
    });
    const response = await stageOf([], { upstream }).chat(ask);
    const { choices } = (await response.json()) as Record<string, any>;
    expect([choices[0].message.content, choices[0].finish_reason]).toEqual(["Noon.", "stop"]);
    expect(choices[0].native_finish_reason).toBeUndefined();
  });

  test("[d10.2] calls of one round run side by side", async () => {
    const slow: FakeTool = {
      async run(_, signal) {
        await waitFor(20, signal);
        return says("done");
      },
    };
    const own = fakeToolServers({ sky: { a: slow, b: slow, c: slow } });
    const stage = stageOf(
      [{ calls: [{ name: "sky__a" }, { name: "sky__b" }, { name: "sky__c" }] }, { text: "Done." }],
      { tools: own },
    );
    expect((await heardWhole(await stage.chat(ask))).message["content"]).toBe("Done.");
    expect(own.mostAtOnce()).toBe(3);
  });

  test("[d10.2] there are at most max_tool_rounds, the last without a choice of tools; calls of the model in it are not run, and the finish reason reports them", async () => {
    const { stage, plain, streamed } = await both([{ calls: [{ name: "sky__clock" }] }], { max_tool_rounds: 3 });
    expect(stage.sent.length).toBe(6);
    expect([0, 1, 2].map((at) => sentTo(stage, at).tool_choice)).toEqual([undefined, undefined, "none"]);
    expect(stage.tools.calls.length).toBe(4);
    expect([plain.finish, streamed.finish]).toEqual(["length", "length"]);
    expect(plain.message["tool_calls"]).toBeUndefined();
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
  });

  test("[d10.2] a choice that is forced is forced in the first round alone", async () => {
    const { stage } = await both([{ calls: [{ name: "sky__clock" }] }, { text: "Noon." }], { tool_choice: "required" });
    expect([0, 1, 2, 3].map((at) => sentTo(stage, at).tool_choice)).toEqual([
      "required",
      undefined,
      "required",
      undefined,
    ]);
  });

  test("[d10.4] a tool's error is text for the model, and is reported as an error", async () => {
    const { plain, streamed, stage } = await both([{ calls: [{ name: "sky__broken" }] }, { text: "It failed." }]);
    expect(conversation(stage, 1).at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("no such day"),
    });
    expect(plain.message["x_gateway_mcp"].calls).toMatchObject([
      { tool: "broken", status: "error", error: expect.any(String) },
    ]);
    expect(streamed.activity.map(({ type }) => type)).toEqual(["tool_start", "tool_error"]);
  });

  test("[d10.4] an answer without calls is one round, and is reported as one", async () => {
    const { plain, streamed, records } = await both([{ text: "It is warm." }]);
    expect(plain.message["x_gateway_mcp"]).toEqual({ rounds: 1, calls: [] });
    expect(streamed.message).toEqual(plain.message);
    expect(records.map(({ rounds, tools: ran }) => [rounds, ran.length])).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });

  test("[d10.4] several choices cannot have rounds: 400 with n", async () => {
    const stage = stageOf(ROUNDS);
    const response = await stage.chat({ ...ask, n: 2 });
    expect(response.status).toBe(400);
    expect(((await response.json()) as any).error).toMatchObject({ code: "invalid_request", param: "n" });
    expect(stage.sent.length).toBe(0);
  });

  test("[d10.4] the record has the rounds, each attempt's round, and each tool that ran, without any content", async () => {
    const { records } = await both(ROUNDS);
    for (const record of records) {
      expect(record.rounds).toBe(3);
      expect(record.attempts.map(({ round, code }) => [round, code])).toEqual([
        [1, null],
        [2, null],
        [3, null],
      ]);
      expect(
        record.tools.map(({ server, tool, round, code, isError, resultBytes }) => ({
          server,
          tool,
          round,
          code,
          isError,
          resultBytes,
        })),
      ).toEqual([
        { server: "sky", tool: "weather", round: 1, code: null, isError: false, resultBytes: 13 },
        { server: "sky", tool: "clock", round: 1, code: null, isError: false, resultBytes: 4 },
        { server: "sky", tool: "clock", round: 2, code: null, isError: false, resultBytes: 4 },
      ]);
      for (const { startMs, totalMs } of record.tools) expect(totalMs!).toBeGreaterThanOrEqual(startMs);
      expect(record.usage).toEqual({ ...USAGE, prompt_tokens: 30, completion_tokens: 15, total_tokens: 45 });
      expect(JSON.stringify(record)).not.toContain("Paris");
    }
  });

  test("[d10.4, d8.9] a round without the provider's figures makes the sum an estimate", async () => {
    const { plain, records } = await both([{ calls: [{ name: "sky__clock" }], usage: false }, { text: "Noon." }]);
    expect(plain.usage!["prompt_tokens"]).toBeGreaterThan(USAGE.prompt_tokens);
    expect(records.map(({ usageSource }) => usageSource)).toEqual(["estimated", "estimated"]);
  });

  test("[d10.2] ids that a model uses twice are made distinct", async () => {
    const { plain, streamed, stage } = await both([
      { calls: [{ name: "sky__clock", id: "call_a" }] },
      { calls: [{ name: "sky__clock", id: "call_a" }] },
      { text: "Noon." },
    ]);
    const ids = conversation(stage, 2)
      .filter(({ role }: any) => role === "tool")
      .map((message: any) => message.tool_call_id);
    expect(new Set(ids).size).toBe(2);
    expect(
      conversation(stage, 5)
        .filter(({ role }: any) => role === "tool")
        .map((message: any) => message.tool_call_id),
    ).toEqual(ids);
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
  });

  test("[d10.4] reasoning of the rounds is one text, its blocks are numbered on, and each turn goes back with its own", async () => {
    const signed = (text: string) => [
      { type: "reasoning.text", text, signature: `signed ${text}`, format: "anthropic-claude-v1", index: 0 },
    ];
    const { plain, streamed, stage } = await both([
      { reasoning: "Hm.", details: signed("Hm."), calls: [{ name: "sky__clock" }] },
      { reasoning: "Aha.", details: signed("Aha."), text: "Noon." },
    ]);
    expect(plain.message["reasoning_content"]).toBe("Hm.\n\nAha.");
    expect(plain.message["reasoning_details"].map(({ index }: any) => index)).toEqual([0, 1]);
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
    expect(plain.message["x_gateway_mcp"].replay[0].reasoning_details).toEqual(signed("Hm."));
    expect(stage.sent.length).toBe(4);
  });

  test("[d10.4] images of all rounds are in the answer, streamed or not", async () => {
    const image = (data: string) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } });
    const { plain, streamed } = await both([
      { images: [image("AAAA"), image("BBBB")], calls: [{ name: "sky__clock" }] },
      { images: [image("CCCC")], calls: [{ name: "sky__clock" }] },
      { text: "Noon." },
    ]);
    expect(plain.message["images"]).toEqual([image("AAAA"), image("BBBB"), image("CCCC")]);
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
  });

  test("[d10.2] an answer that was cut off runs none of its calls", async () => {
    const { plain, streamed, stage } = await both([
      { text: "I", calls: [{ name: "sky__weather", args: '{"city":' }], finish: "length" },
    ]);
    expect([plain.finish, streamed.finish]).toEqual(["length", "length"]);
    expect(stage.tools.calls.length).toBe(0);
    expect(stage.sent.length).toBe(2);
  });
});

describe("a round with calls of the client's own", () => {
  const MIXED: readonly ScriptedRound[] = [
    { text: "First.", calls: [{ name: "sky__clock" }] },
    { text: "Then.", calls: [callWeather, { name: "bell" }] },
    { text: "All done." },
  ];
  const fields = { tools: [MCP, CLIENT_TOOL] };

  test("[d10.3] ends the rounds: the gateway's calls in it run first, the client's go to the client, and everything is sent along in replay", async () => {
    const { plain, streamed, stage } = await both(MIXED, fields);
    expect(stage.tools.calls.map(({ tool }) => tool)).toEqual(["clock", "weather", "clock", "weather"]);
    expect(plain.finish).toBe("tool_calls");
    expect(plain.message["tool_calls"]).toEqual([
      { id: "call_2_1", type: "function", function: { name: "bell", arguments: "{}" } },
    ]);
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
    expect(plain.message["x_gateway_mcp"].replay).toEqual([
      {
        role: "assistant",
        content: "First.",
        tool_calls: [{ id: "call_1_0", type: "function", function: { name: "sky__clock", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1_0", content: "noon" },
      {
        role: "assistant",
        content: "Then.",
        tool_calls: [
          { id: "call_2_0", type: "function", function: { name: "sky__weather", arguments: '{"city":"Paris"}' } },
          { id: "call_2_1", type: "function", function: { name: "bell", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_2_0", content: "Paris is warm" },
    ]);
  });

  test.each([false, true])(
    "[d10.3] the client's next request brings the replay back, and the model sees the conversation as it was (stream: %p)",
    async (stream) => {
      const stage = stageOf(MIXED);
      const { streamed, plain } = {
        streamed: heardStream(await (await stage.chat({ ...ask, ...fields, stream: true })).text()),
        plain: await heardWhole(await stage.chat({ ...ask, ...fields })),
      };
      const { message } = stream ? streamed : plain;
      const answer = await heardWhole(
        await stage.chat({
          ...ask,
          ...fields,
          messages: [...ask.messages, message, { role: "tool", tool_call_id: "call_2_1", content: "rung" }],
        }),
      );
      expect(answer.message["content"]).toBe("All done.");
      expect(conversation(stage)).toEqual([
        ...ask.messages,
        ...message["x_gateway_mcp"].replay,
        { role: "tool", tool_call_id: "call_2_1", content: "rung" },
      ]);
    },
  );

  test("[d10.3] without the replay the conversation continues without those turns", async () => {
    const stage = stageOf(MIXED);
    const {
      message: { x_gateway_mcp: _mcp, ...message },
    } = await heardWhole(await stage.chat({ ...ask, ...fields }));
    await stage.chat({
      ...ask,
      ...fields,
      messages: [...ask.messages, message, { role: "tool", tool_call_id: "call_2_1", content: "rung" }],
    });
    expect(conversation(stage).map(({ role }: any) => role)).toEqual(["user", "assistant", "tool"]);
  });

  test("[d10.3] a call that needs approval goes to the client as an ordinary call, and runs once the client sends it again with its name under never", async () => {
    const rounds: readonly ScriptedRound[] = [{ text: "May I?", calls: [callWeather] }, { text: "It is warm." }];
    const stage = stageOf(rounds);
    const asking = { ...ask, tools: [{ ...MCP, require_approval: "always" }] };
    const { message, finish } = await heardWhole(await stage.chat(asking));
    expect(finish).toBe("tool_calls");
    expect(message["tool_calls"]).toMatchObject([{ function: { name: "sky__weather" } }]);
    expect(stage.tools.calls.length).toBe(0);
    const approving = {
      ...ask,
      messages: [...ask.messages, message],
      tools: [{ ...MCP, require_approval: { never: { tool_names: ["weather"] } } }],
    };
    const approved = await heardWhole(await stage.chat(approving));
    expect(approved.message["content"]).toBe("It is warm.");
    expect(approved.message["x_gateway_mcp"]).toMatchObject({
      rounds: 1,
      calls: [{ tool: "weather", round: 0, status: "ok" }],
    });
    expect(conversation(stage).at(-1)).toEqual({ role: "tool", tool_call_id: "call_1_0", content: "Paris is warm" });
    const streamed = heardStream(await (await stage.chat({ ...approving, stream: true })).text());
    expect(untimed(streamed.message)).toEqual(untimed(approved.message));
    expect(streamed.activity.map(({ type, round }) => [type, round])).toEqual([
      ["tool_start", 0],
      ["tool_end", 0],
    ]);
  });

  test("[d10.3, d6.6] a client of the deprecated functions gets its call as function_call, beside rounds of the gateway's tools", async () => {
    const legacy = { tools: [MCP], functions: [CLIENT_TOOL.function] };
    const { plain, streamed } = await both(
      [
        { text: "I look.", calls: [{ name: "sky__clock" }] },
        { text: "Now I ring.", reasoning: "It is time.", calls: [{ name: "bell" }] },
      ],
      legacy,
    );
    expect(plain.message["content"]).toBe("I look.\n\nNow I ring.");
    expect(plain.message["function_call"]).toEqual({ name: "bell", arguments: "{}" });
    expect([plain.finish, streamed.finish]).toEqual(["function_call", "function_call"]);
    expect(untimed(streamed.message)).toEqual(untimed(plain.message));
  });
});

describe("a call with tools that fails", () => {
  test("[d10.4, d8.3] a failure in a later round is one error event on a stream that has begun, and what was used is counted", async () => {
    const stage = stageOf([{ text: "Let me look.", calls: [{ name: "sky__clock" }] }, { status: 500 }]);
    const text = await (await stage.chat({ ...ask, stream: true })).text();
    expect(text.match(/"error":/g)?.length).toBe(1);
    expect(text).toContain("Let me look.".slice(0, 4));
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    const [record] = stage.records;
    expect(record).toMatchObject({ status: 502, code: "upstream_error", rounds: 2, usage: USAGE });
    expect(record!.attempts.map(({ round, code }) => [round, code])).toEqual([
      [1, null],
      [2, "upstream_error"],
    ]);
    expect(record!.tools).toMatchObject([{ tool: "clock", code: null }]);
  });

  test("[d10.4] a failure in a later round is the answer to a plain call, charged with the earlier rounds", async () => {
    const stage = stageOf([{ calls: [{ name: "sky__clock" }] }, { status: 500 }]);
    const response = await stage.chat(ask);
    expect(response.status).toBe(502);
    expect(((await response.json()) as any).error.metadata.attempts.length).toBe(2);
    expect(stage.records[0]).toMatchObject({ rounds: 2, usage: USAGE, usageSource: "provider" });
  });

  test("[d8.3] a stream that breaks off in its second round ends in an error event, and nothing ends as if complete", async () => {
    const stage = stageOf([{ calls: [{ name: "sky__clock" }] }, { text: "It is no", isCut: true }]);
    const text = await (await stage.chat({ ...ask, stream: true })).text();
    expect(text.match(/"error":/g)?.length).toBe(1);
    expect(text).not.toContain('"finish_reason":"');
    expect(stage.records[0]).toMatchObject({ code: "upstream_incomplete", rounds: 2 });
    expect(stage.records[0]!.usage!.prompt_tokens).toBeGreaterThan(USAGE.prompt_tokens);
  });

  test("[d7.4] a first round that only calls the gateway's tools has sent nothing: its failure is retried at another target", async () => {
    const rounds: readonly ScriptedRound[] = [{ calls: [{ name: "sky__clock" }] }, { text: "Noon." }];
    let cut = true;
    const good = scriptedModel(rounds);
    const bad = scriptedModel([{ calls: [{ name: "sky__clock" }], isCut: true }]);
    const stage = stageOf(rounds, {
      upstream: {
        send: (request, call) =>
          (cut && request.body.includes('"stream":true') ? ((cut = false), bad) : good).send(request, call),
      },
    });
    const { message } = heardStream(await (await stage.chat({ ...ask, stream: true, num_retries: 1 })).text());
    expect(message["content"]).toBe("Noon.");
    expect(stage.records[0]!.attempts.map(({ round, code }) => [round, code])).toEqual([
      [1, "upstream_incomplete"],
      [1, null],
      [2, null],
    ]);
  });

  test("[d7.3, d10.2] a fallback in a later round keeps the conversation, and the rounds after it go on there", async () => {
    const rounds: readonly ScriptedRound[] = [
      { text: "A.", calls: [{ name: "sky__clock" }] },
      { text: "B.", calls: [{ name: "sky__clock" }] },
      { text: "C." },
    ];
    const model = scriptedModel(rounds);
    const providers = ["up", "other"].map((id) =>
      providerSettings({ id, family: "custom", baseUrl: `http://${id}.test/v1`, credentials: [storedKey("key")] }),
    );
    const failing = scriptedModel([{ status: 503 }]);
    const stage = stageOf(rounds, {
      providers,
      upstream: {
        send: (request, call) =>
          (request.url.startsWith("http://up.test") && roundOf(request) > 0 ? failing : model).send(request, call),
      },
    });
    const fields = { ...ask, fallbacks: ["other:m"] };
    const plain = await heardWhole(await stage.chat(fields));
    expect(plain.message["content"]).toBe("A.\n\nB.\n\nC.");
    expect([plain.model, plain.id]).toEqual(["up:m", "chatcmpl-round-1"]);
    expect(stage.records[0]!.attempts.map(({ provider, round }) => `${provider} ${round}`)).toEqual([
      "up 1",
      "up 2",
      "other 2",
      "other 3",
    ]);
    expect(stage.records[0]!.provider).toBe("other");
    expect(untimed(heardStream(await (await stage.chat({ ...fields, stream: true })).text()).message)).toEqual(
      untimed(plain.message),
    );
  });

  test("[d7.3, d10.2] a fallback with parameters of its own has the conversation, the tools and the choice of its round, and the entry's parameters", async () => {
    const rounds: readonly ScriptedRound[] = [
      { calls: [{ name: "sky__clock" }] },
      { calls: [{ name: "sky__clock" }] },
      { text: "Noon." },
    ];
    const model = scriptedModel(rounds);
    const failing = scriptedModel([{ status: 503 }]);
    const providers = ["up", "other"].map((id) =>
      providerSettings({ id, family: "custom", baseUrl: `http://${id}.test/v1`, credentials: [storedKey("key")] }),
    );
    const stage = stageOf(rounds, {
      providers,
      upstream: {
        send: (request, call) =>
          (request.url.startsWith("http://up.test") && roundOf(request) > 0 ? failing : model).send(request, call),
      },
    });
    const { message } = await heardWhole(
      await stage.chat({
        ...ask,
        tool_choice: "required",
        max_tool_rounds: 3,
        fallbacks: [{ model: "other:m", temperature: 0.25 }],
      }),
    );
    expect(message["content"]).toBe("Noon.");
    const [first, , second, third] = stage.sent.map(({ body }) => JSON.parse(body));
    expect([first.tool_choice, second.tool_choice, third.tool_choice]).toEqual(["required", undefined, "none"]);
    expect([first.temperature, second.temperature, third.temperature]).toEqual([undefined, 0.25, 0.25]);
    expect(second.tools).toEqual(first.tools);
    expect(third.messages.map(({ role }: any) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
    expect(stage.records[0]!.attempts.map(({ provider, round }) => `${provider} ${round}`)).toEqual([
      "up 1",
      "up 2",
      "other 2",
      "other 3",
    ]);
  });

  describe("[d7.3, d10.2] a conversation that a model refuses continues where its fallbacks lead, and stays there", () => {
    const [UP, OTHER, THIRD] = ["up:m", "other:long", "third:longest"] as const;
    const refusing = (code: string, message: string) =>
      cannedUpstream({
        status: 400,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ error: { message, type: "invalid_request_error", param: "messages", code } }),
      });
    const full = refusing("context_length_exceeded", "This model's maximum context length is 10 tokens.");
    const filtering = refusing("content_filter", "The prompt was filtered.");
    test.each([
      ["one model of the map", full, { context_window_fallback_dict: { [UP]: OTHER } }, ["up", "other"]],
      [
        "the second model of the map",
        full,
        { context_window_fallback_dict: { [UP]: OTHER, [OTHER]: THIRD } },
        ["up", "other", "third"],
      ],
      ["the second route after a refusal", filtering, { model: undefined, route: "r" }, ["up", "other", "third"]],
    ])("%s", async (_, refusal, fields, way) => {
      const rounds: readonly ScriptedRound[] = [
        { calls: [{ name: "sky__clock" }] },
        { calls: [{ name: "sky__clock" }] },
        { text: "Noon." },
      ];
      const model = scriptedModel(rounds);
      const last = way.at(-1)!;
      const stage = stageOf(rounds, {
        providers: way.map((id) =>
          providerSettings({ id, family: "custom", baseUrl: `http://${id}.test/v1`, credentials: [storedKey("key")] }),
        ),
        upstream: {
          send: (request, call) =>
            (request.url.startsWith(`http://${last}.test`) || roundOf(request) === 0 ? model : refusal).send(
              request,
              call,
            ),
        },
        snapshot: {
          routes: new Map([
            ["r", routeOf("r", [UP], { contentPolicyFallbacks: ["route:s"] })],
            ["s", routeOf("s", [OTHER], { contentPolicyFallbacks: ["route:t"] })],
            ["t", routeOf("t", [THIRD])],
          ]),
        },
      });
      const { message } = await heardWhole(await stage.chat({ ...ask, ...fields }));
      expect(message["content"]).toBe("Noon.");
      expect(stage.records[0]!.attempts.map(({ provider, round }) => `${provider} ${round}`)).toEqual([
        "up 1",
        ...way.map((provider) => `${provider} 2`),
        `${last} 3`,
      ]);
    });
  });
});
