// Rounds of tools that a model, a client or a tool makes odd or hostile (promises 10.2 to 10.4 with 3.3, 4.3, 6.6, 8.5,
// 11.2): a refused call runs nothing, and large numbers are bounded.
import { describe, expect, test } from "bun:test";
import { policiesFor } from "../../policies/policy-documents.ts";
import { type FakeTool, type FakeToolServers, fakeToolServers, says, waitFor } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { MOST_GROWTH, timesAsMuch } from "../../harness/time/cpu-time.ts";
import { limitSet } from "../../harness/limited.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { TOOL_CALL } from "../../../src/operations/tool-call/tool-call.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { heardStream, heardWhole, type ScriptedRound, scriptedModel, USAGE } from "./scripted-rounds.ts";
import { until } from "../../harness/time/until.ts";

const MCP = { type: "mcp", server_label: "sky" };
const BELL = { type: "function", function: { name: "bell", parameters: { type: "object", properties: {} } } };
const ask = { model: "up:m", messages: [{ role: "user", content: "Is it warm?" }], tools: [MCP] };
const clock = { name: "sky__clock" };
const NOON: FakeTool = { run: () => says("noon") };

interface Stage extends Stub {
  readonly tools: FakeToolServers;
}

function stageOf(
  rounds: readonly ScriptedRound[],
  { tool = NOON, ...options }: StubOptions & { readonly tool?: FakeTool } = {},
): Stage {
  const tools = fakeToolServers({ sky: { clock: tool } });
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  return Object.assign(
    stubGateway({ upstream: scriptedModel(rounds, { chunk: "event" }), providers, tools, ...options }),
    { tools },
  );
}
const bodyOf = (stage: Stub, at = -1): any => JSON.parse(stage.sent.at(at)!.body);
const heard = async (response: Response, stream: boolean) =>
  stream ? heardStream(await response.text()) : heardWhole(response);

describe("calls that the client has approved", () => {
  const approving = {
    ...ask,
    messages: [
      ...ask.messages,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "sky__clock", arguments: "{}" } }],
      },
    ],
  };

  test.each([false, true])(
    "[d4.3, d10.3] run only where the call has room: a refused call has no effects, however often it is sent (stream: %p)",
    async (stream) => {
      const stage = stageOf([{ text: "Noon." }], {
        snapshot: { limitRules: limitSet({ limits: { few: { metric: "requests", limit: 1, window: "hour" } } }) },
      });
      const statuses = [];
      for (let sent = 0; sent < 3; sent++) {
        const response = await stage.chat({ ...approving, stream });
        statuses.push(response.status);
        await response.text();
      }
      expect(statuses).toEqual([200, 429, 429]);
      expect(stage.tools.calls).toHaveLength(1);
      expect(stage.context.limits.open()).toBe(0);
    },
  );

  test("[d11.2, d10.3] run only once the ledger has the call's opening: without it, no tool runs", async () => {
    const ledger = {
      refusal: () => null,
      open(): { traceId: string } {
        throw new GatewayError("ledger_unavailable", "The disk is full.");
      },
      reopen: () => {},
      written: () => Promise.resolve(),
      writeStateOf: () => {},
      close: () => Promise.resolve(),
    };
    const stage = stageOf([{ text: "Noon." }], { ledger });
    expect((await stage.chat(approving)).status).toBe(503);
    expect(stage.tools.calls).toHaveLength(0);
  });

  test("[d4.3, d16.3] at /mcp use no request of a limit where the ledger does not take them", async () => {
    let isFull = true;
    const ledger = {
      refusal: () => null,
      open(): { traceId: string } {
        if (isFull) throw new GatewayError("ledger_unavailable", "The disk is full.");
        return { traceId: "" };
      },
      reopen: () => {},
      written: () => Promise.resolve(),
      writeStateOf: () => {},
      close: () => Promise.resolve(),
    };
    const stage = stageOf([], {
      ledger,
      snapshot: { limitRules: limitSet({ limits: { few: { metric: "requests", limit: 1, window: "hour" } } }) },
    });
    const asked = { type: "function_call", name: "sky__clock", arguments: {}, approved: true, can_ask: false };
    const status = async (): Promise<number> => (await stage.call(TOOL_CALL, asked)).status;
    expect([await status(), await status(), stage.tools.calls.length]).toEqual([503, 503, 0]);
    isFull = false;
    expect([await status(), await status(), stage.tools.calls.length]).toEqual([200, 429, 1]);
  });

  test("[d10.5, d16.3] at /mcp, the record says of a tool that is left out why it cannot be called", async () => {
    const inputSchema = { properties: { city: { type: "string", "x-mcp-header": "City Name" } } };
    const stage = stageOf([], { tool: { ...NOON, inputSchema } });
    const asked = { type: "function_call", name: "sky__clock", arguments: {}, approved: true, can_ask: false };
    expect((await stage.call(TOOL_CALL, asked)).headers.get("x-gateway-error-code")).toBe("tool_not_found");
    expect(stage.records.map(({ warnings }) => warnings)).toEqual([["tool_left_out", "tool_left_out:sky__clock"]]);
    expect(stage.tools.calls).toHaveLength(0);
  });

  test("[d4.2, d10.3] count as a request where the client leaves while they run, so that tools cannot run without bound under a limit", async () => {
    const tool: FakeTool = {
      async run(_, signal) {
        await waitFor(60_000, signal);
        return says("late");
      },
    };
    const stage = stageOf([{ text: "Noon." }], {
      tool,
      snapshot: { limitRules: limitSet({ limits: { few: { metric: "requests", limit: 1, window: "hour" } } }) },
    });
    const leaving = new AbortController();
    const first = stage.chat(approving, { signal: leaving.signal });
    await until(() => stage.tools.calls.length > 0);
    leaving.abort();
    expect((await first).status).toBe(499);
    expect((await stage.chat(approving)).status).toBe(429);
    expect(stage.tools.calls).toHaveLength(1);
  });
});

describe("a model that is called in the deprecated form", () => {
  const legacy = { ...ask, functions: [BELL.function] };

  test.each([false, true])(
    "[d10.3, d6.6] and calls the client's function before the gateway's: the gateway's tool runs all the same (stream: %p)",
    async (stream) => {
      const stage = stageOf([{ calls: [{ name: "bell" }, clock] }]);
      const { message } = await heard(await stage.chat({ ...legacy, stream }), stream);
      expect(message["function_call"]).toEqual({ name: "bell", arguments: "{}" });
      expect(message["x_gateway_mcp"].calls).toMatchObject([{ tool: "clock", status: "ok" }]);
      expect(stage.tools.calls).toHaveLength(1);
    },
  );

  test.each([false, true])(
    "[d10.3, d6.6] and calls two of the client's functions: the second, which the form cannot express, is in no turn that comes back (stream: %p)",
    async (stream) => {
      const stage = stageOf([{ calls: [clock, { name: "bell" }, { name: "bell" }] }, { text: "Rung." }]);
      const { message } = await heard(await stage.chat({ ...legacy, stream }), stream);
      const answer = await heardWhole(
        await stage.chat({
          ...legacy,
          messages: [...ask.messages, message, { role: "function", name: "bell", content: "rung" }],
        }),
      );
      expect(answer.message["content"]).toBe("Rung.");
      const [, turn, ...results] = bodyOf(stage).messages;
      expect(turn.tool_calls.map((call: any) => call.function.name)).toEqual(["sky__clock", "bell"]);
      expect(new Set(turn.tool_calls.map(({ id }: any) => id))).toEqual(
        new Set(results.map((result: any) => result.tool_call_id)),
      );
    },
  );
});

describe("a call in a vendor's own form", () => {
  const custom = { id: "call_c", type: "custom", custom: { name: "shell", input: "ls" } };
  const answers = (calls: readonly object[]): StubOptions => ({
    providers: [providerSettings({ id: "openai", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] })],
    upstream: cannedUpstream((request) => ({
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        id: "x",
        created: 1,
        model: "m",
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: null,
              ...(request.body.includes('"role":"tool"') ? { content: "Done." } : { tool_calls: calls }),
            },
            finish_reason: request.body.includes('"role":"tool"') ? "stop" : "tool_calls",
          },
        ],
        usage: USAGE,
      }),
    })),
  });
  const asking = { ...ask, model: "openai:gpt-5", tools: [MCP, { type: "custom", custom: { name: "shell" } }] };

  test("[d10.3, d5.7] belongs to the client, and is passed on unchanged", async () => {
    const { message, finish } = await heardWhole(await stageOf([], answers([custom])).chat(asking));
    expect([message["tool_calls"], finish]).toEqual([[custom], "tool_calls"]);
  });

  test("[d10.3, d5.7] beside a call of the gateway's comes back with the replay", async () => {
    const stage = stageOf(
      [],
      answers([{ id: "call_a", type: "function", function: { name: "sky__clock", arguments: "{}" } }, custom]),
    );
    const { message } = await heardWhole(await stage.chat(asking));
    expect([message["tool_calls"], stage.tools.calls.length]).toEqual([[custom], 1]);
    const { message: next } = await heardWhole(
      await stage.chat({
        ...asking,
        messages: [...ask.messages, message, { role: "tool", tool_call_id: "call_c", content: "files" }],
      }),
    );
    expect(next["content"]).toBe("Done.");
    expect(bodyOf(stage).messages.map(({ role }: any) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(bodyOf(stage).messages[1].tool_calls[1]).toEqual(custom);
  });
});

describe("large numbers and sizes", () => {
  test.each([false, true])(
    "[d8.5, d10.2] calls in one round beyond any reasonable number are a failure of the provider, and none of them runs (stream: %p)",
    async (stream) => {
      const stage = stageOf([{ calls: Array.from({ length: 1100 }, () => clock) }]);
      expect(await (await stage.chat({ ...ask, stream })).text()).toContain("upstream_invalid_response");
      expect(stage.tools.calls).toHaveLength(0);
      expect(stage.records[0]).toMatchObject({ code: "upstream_invalid_response", rounds: 1 });
      expect(stage.records[0]!.usage!.total_tokens).toBeGreaterThan(10);
    },
  );

  test.each([false, true])(
    "[d8.5, d10.2] calls over all rounds: a call runs a thousand tools, and its record holds no more (stream: %p)",
    async (stream) => {
      const stage = stageOf([{ calls: Array.from({ length: 400 }, () => clock) }], {});
      expect(await (await stage.chat({ ...ask, stream })).text()).toContain("upstream_invalid_response");
      expect(stage.tools.calls).toHaveLength(800);
      expect(stage.records[0]).toMatchObject({
        code: "upstream_invalid_response",
        rounds: 3,
        usage: { total_tokens: 45 },
      });
    },
  );

  test("[d8.5, d10.4] results that are together larger than a request may be are reported to the model, and not kept", async () => {
    const stage = stageOf([{ calls: [clock, clock, clock] }, { text: "Enough." }], {
      tool: { run: () => says("x".repeat(40_000)) },
      limits: { maxBodyBytes: 100_000 },
    });
    const { message } = await heardWhole(await stage.chat(ask));
    expect(message["content"]).toBe("Enough.");
    expect(message["x_gateway_mcp"].calls.map(({ status }: any) => status)).toEqual(["ok", "ok", "error"]);
    expect(bodyOf(stage).messages.at(-1).content).toContain("too large");
    expect(stage.sent.at(-1)!.body.length).toBeLessThan(100_000);
  });

  test("[d10.3] replays whose turns have calls without results cost no more than others of their length", async () => {
    const callsOf = (letter: string, name: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        id: `${letter}${index}`,
        type: "function",
        function: { name, arguments: "" },
      }));
    const turn = { role: "assistant", content: null, tool_calls: callsOf("a", "one", 1000) };
    const body = (own: number): string =>
      JSON.stringify({
        ...ask,
        messages: [
          {
            role: "assistant",
            content: null,
            tool_calls: callsOf("b", "two", own),
            x_gateway_mcp: { replay: Array.from({ length: 60 }, () => turn) },
          },
        ],
      });
    const [long, short] = [body(1000), body(1)];
    const refuse = (text: string): void =>
      expect(() => parseChatRequest(text, null)).toThrow("has no result for the tool call");
    // each call of each turn was compared with each of the message's own
    const times = await timesAsMuch(
      () => refuse(long),
      () => refuse(short),
      MOST_GROWTH,
    );
    expect(times).toBeLessThan(MOST_GROWTH);
  });

  test("[d10.2] arguments that are costly to check, in many calls, are checked in turns with other requests", async () => {
    // each is near the bound of a validation
    const inputSchema = {
      type: "object",
      properties: { list: { type: "array", items: { type: "object", properties: { a: { type: "integer" } } } } },
    };
    const args = JSON.stringify({ list: Array.from({ length: 3000 }, () => ({ a: 1 })) });
    const stage = stageOf([{ calls: Array.from({ length: 40 }, () => ({ ...clock, args })) }, { text: "Done." }], {
      tool: { ...NOON, inputSchema },
    });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await heardWhole(await stage.chat(ask));
    clearInterval(timer);
    expect(stage.tools.calls).toHaveLength(40);
    // 200 ms and more of checks
    expect(turns).toBeGreaterThan(5);
  });
});

test.each([
  ["a round fails", { status: 500 }, 502],
  ["a limit of the provider has no room", { status: 429 }, 429],
] as const)(
  "[d7.8, d10.4] once tools have run, clients are asked not to repeat a call by themselves: %s",
  async (_, failing, status) => {
    const after = await stageOf([{ calls: [clock] }, failing]).chat(ask);
    expect([after.status, after.headers.get("x-should-retry")]).toEqual([status, "false"]);
    const before = await stageOf([failing]).chat(ask);
    expect([before.status, before.headers.get("x-should-retry")]).toEqual([status, null]);
  },
);

test("[d7.5, d10.2] a round that takes long to call the gateway's tools counts as an answer that has begun: no hedge is started, and it is not late", async () => {
  const model = scriptedModel(
    [{ calls: [{ ...clock, args: JSON.stringify({ words: "x".repeat(120) }) }] }, { text: "Noon." }],
    { chunk: "event" },
  );
  const upstream: UpstreamClient = {
    async send(request, options) {
      const response = await model.send(request, options);
      const { body } = response;
      const read = async (): Promise<Uint8Array | null> => {
        await waitFor(15, options.signal);
        return body.read();
      };
      return { ...response, body: { ...body, read } };
    },
  };
  const gateway = routedGateway(
    [routeOf("r", ["up0:m", "up1:m"], { hedge: { after: 300, maxExtra: 1 }, timeouts: { firstTokenMs: 400 } })],
    {},
    { upstream, tools: fakeToolServers({ sky: { clock: NOON } }) },
  );
  const { message } = heardStream(
    await (await gateway.chat({ ...ask, model: undefined, route: "r", stream: true })).text(),
  );
  expect(message["content"]).toBe("Noon.");
  expect(gateway.records[0]!.attempts.map(({ provider, code }) => [provider, code])).toEqual([
    ["up0", null],
    ["up0", null],
  ]);
});

test.each([false, true])("[d10.2, d10.4] calls that are not run are reported as such (stream: %p)", async (stream) => {
  const over = stageOf([{ calls: [clock] }]);
  const { message } = await heard(await over.chat({ ...ask, stream, max_tool_rounds: 2 }), stream);
  expect(message["x_gateway_mcp"].calls).toMatchObject([
    { round: 1, status: "ok" },
    {
      call_id: "call_2_0",
      server_label: "sky",
      tool: "clock",
      round: 2,
      status: "error",
      error: "It was not run: the maximum number of rounds was reached.",
    },
  ]);
  const cut = stageOf([{ calls: [clock], finish: "length" }]);
  expect((await heard(await cut.chat({ ...ask, stream }), stream)).message["x_gateway_mcp"].calls).toMatchObject([
    { round: 1, status: "error", error: "It was not run: the model's answer was cut off." },
  ]);
  expect(cut.records[0]!.tools).toEqual([]);
});

test("[d10.2] a request whose servers offer nothing is sent without tool_choice, also where its only round is the last", async () => {
  const stage = stageOf([{ text: "Hi." }]);
  expect((await stage.chat({ ...ask, tools: [{ ...MCP, allowed_tools: [] }], max_tool_rounds: 1 })).status).toBe(200);
  expect(Object.keys(bodyOf(stage))).toEqual(["model", "messages"]);
});

test.each([false, true])(
  "[d3.3, d10.4] a guard does not hold back the end of reasoning behind its signature: the block goes back to the model whole (stream: %p)",
  async (stream) => {
    const signed = {
      type: "reasoning.text",
      text: "Whoever asks here may well be ada",
      signature: "signed",
      format: "anthropic-claude-v1",
      index: 0,
    };
    const policies = policiesFor({ name: "no-mail", guard: { classes: ["email"], on: "output", action: "mask" } });
    const stage = stageOf([{ details: [signed], calls: [clock] }, { text: "Noon." }], { snapshot: { policies } });
    const { message } = await heard(await stage.chat({ ...ask, stream }), stream);
    expect(message["reasoning_details"]).toEqual([signed]);
    expect(message["x_gateway_mcp"].replay[0].reasoning_details).toEqual([signed]);
  },
);
