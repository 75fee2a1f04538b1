// Rounds of tools when a tool is slow, a client leaves, a limit has no room or a guard blocks (promises 10.4 with 4.2,
// 7.2, 7.7, 8.4, 8.5, 3.3), and properties of any rounds.
import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { policiesFor } from "../../policies/policy-documents.ts";
import { type FakeTool, type FakeToolServers, fakeToolServers, says, waitFor } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { turnTime, type TurnedTime } from "../../harness/time/turned-time.ts";
import type { LedgerRow } from "../../../src/store/journal/ledger.ts";
import {
  answerOf,
  heardStream,
  heardWhole,
  roundOf,
  type ScriptedRound,
  scriptedModel,
  USAGE,
} from "./scripted-rounds.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { until } from "../../harness/time/until.ts";

const MCP = { type: "mcp", server_label: "sky" };
const ask = { model: "up:m", messages: [{ role: "user", content: "Is it warm?" }], tools: [MCP] };
const streaming = { ...ask, stream: true, stream_options: { include_usage: true } };
const slow = (ms: number): FakeTool => ({
  async run(_, signal) {
    await waitFor(ms, signal);
    return says("done");
  },
});
const ROUNDS: readonly ScriptedRound[] = [{ text: "Let me look.", calls: [{ name: "sky__wait" }] }, { text: "Done." }];
const PRICED = {
  id: "m",
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: { prompt: "0.000001", completion: "0.000002" },
};

function stageOf(tools: FakeToolServers, options: StubOptions = {}, rounds = ROUNDS): Stub {
  const providers = [
    {
      ...providerSettings({
        id: "up",
        family: "custom",
        baseUrl: "http://up.test/v1",
        credentials: [storedKey("key")],
      }),
      models: [PRICED],
    },
  ];
  return stubGateway({ upstream: scriptedModel(rounds, { chunk: "event" }), providers, tools, ...options });
}

let time: TurnedTime | null = null;
afterEach(() => {
  time?.stop();
  time = null;
});

describe("a slow tool", () => {
  test("[d8.4, d10.4] gets a comment every 15 s between its start and its end, and the stream goes on", async () => {
    time = turnTime();
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(40_000) } }), { clock: time.clock });
    const text = await time.until(stage.chat(streaming).then((response) => response.text()));
    const { message, activity } = heardStream(text);
    expect(message["content"]).toBe("Let me look.\n\nDone.");
    expect(activity[1]).toMatchObject({ type: "tool_end", duration_ms: 40_000 });
    const between = text.slice(text.indexOf("tool_start"), text.indexOf("tool_end"));
    expect(between.match(/^: keep-alive$/gm)?.length).toBe(2);
    expect(stage.records[0]!.ownMs).toBeLessThan(1000);
  });

  test("[d7.4, d10.4] has its start sent with the head, in a first round without content", async () => {
    time = turnTime();
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(40_000) } }), { clock: time.clock }, [
      { calls: [{ name: "sky__wait" }] },
      { text: "Done." },
    ]);
    const response = await time.until(stage.chat(streaming));
    expect(time.nowMs()).toBeLessThan(1000);
    expect(response.headers.get("x-gateway-model")).toBe("up:m");
    expect(heardStream(await time.until(response.text())).message["content"]).toBe("Done.");
  });

  test.each([false, true])(
    "[d7.2, d10.4] is ended by the timeout of the call, which covers rounds and tools (stream: %p)",
    async (stream) => {
      time = turnTime();
      const tools = fakeToolServers({ sky: { wait: slow(40_000) } });
      const stage = stageOf(tools, { clock: time.clock });
      const response = await time.until(stage.chat({ ...ask, stream, timeout: 10 }));
      const text = await time.until(response.text());
      expect(text).toContain("upstream_timeout");
      expect(text).toContain('"attempts":[{"provider":"up","model":"m","status":200,"code":null}]');
      expect([response.status, text.match(/"error":/g)?.length]).toEqual([stream ? 200 : 504, 1]);
      expect(tools.calls).toMatchObject([{ ended: "cancelled" }]);
      expect(stage.records[0]).toMatchObject({ code: "upstream_timeout", rounds: 1, usage: USAGE });
      expect(stage.records[0]!.tools).toMatchObject([{ tool: "wait", code: "upstream_timeout", totalMs: 10_000 }]);
      expect(stage.records[0]!.attempts).toMatchObject([{ code: null }]);
    },
  );
});

describe("a client that leaves while a tool runs", () => {
  test.each([false, true])(
    "[d7.7, d10.4] ends the tool; what was used is settled, and the attempt that answered counts as a success (stream: %p)",
    async (stream) => {
      const tools = fakeToolServers({ sky: { wait: slow(60_000) } });
      const stage = stageOf(tools);
      const leaving = new AbortController();
      const answer = stage.chat({ ...ask, stream }, { signal: leaving.signal });
      if (stream) {
        const reader = (await answer).body!.getReader();
        const decoder = new TextDecoder();
        for (let text = ""; !text.includes("tool_start");) {
          const { value } = await reader.read();
          text += typeof value === "string" ? value : decoder.decode(value);
        }
        await reader.cancel();
      } else {
        await until(() => tools.calls.length > 0);
        leaving.abort();
        expect((await answer).status).toBe(499);
      }
      await until(() => tools.calls[0]!.ended !== null);
      expect(tools.calls).toMatchObject([{ ended: "cancelled" }]);
      expect(stage.records).toHaveLength(1);
      expect(stage.records[0]).toMatchObject({
        status: 499,
        code: "client_closed",
        cancelled: true,
        usage: USAGE,
        rounds: 1,
        finishReasons: [],
      });
      expect(stage.records[0]!.attempts).toMatchObject([{ code: null, usage: USAGE }]);
      expect(stage.records[0]!.tools).toMatchObject([{ code: "client_closed" }]);
      expect(stage.sent).toHaveLength(1);
    },
  );

  test("[d8.5] that does not read stops the rounds: the next one is not requested", async () => {
    const tools = fakeToolServers({ sky: { wait: slow(1) } });
    const stage = stageOf(tools);
    const reader = (await stage.chat(streaming)).body!.getReader();
    for (let text = ""; !text.includes("tool_start");) {
      const { value } = await reader.read();
      text += typeof value === "string" ? value : new TextDecoder().decode(value);
    }
    await Bun.sleep(50);
    expect(tools.calls).toMatchObject([{ ended: "result" }]);
    expect(stage.sent).toHaveLength(1);
    await reader.cancel();
    expect(stage.records).toHaveLength(1);
  });
});

describe("limits and budgets between rounds", () => {
  const priced = (budgets: object): StubOptions => ({
    snapshot: { limitRules: limitSet({ budgets: budgets as never }) },
  });

  test.each([false, true])(
    "[d4.2, d10.4] each round reserves what it needs beyond the reservation, and settles what all rounds have used (stream: %p)",
    async (stream) => {
      const stage = stageOf(fakeToolServers({ sky: { wait: slow(1) } }), {
        snapshot: { limitRules: limitSet({ limits: { tokens: { metric: "tokens", limit: 1000, window: "minute" } } }) },
      });
      const response = await stage.chat({ ...ask, stream, max_tokens: 50 });
      await response.text();
      expect(stage.records[0]!.limits).toMatchObject([{ unit: "tokens", settled: 30 }]);
      expect(stage.records[0]!.limits[0]!.reserved).toBeGreaterThan(60);
      expect(stage.context.limits.open()).toBe(0);
    },
  );

  test.each([false, true])(
    "[d4.2, d10.4] a round without room is the failure of the call; the rounds before it are charged (stream: %p)",
    async (stream) => {
      // the first round uses all that is left of the budget
      const greedy = { ...USAGE, prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 };
      const rounds: readonly ScriptedRound[] = [
        { text: "Let me look.", calls: [{ name: "sky__wait" }], told: greedy },
        { text: "Done." },
      ];
      const stage = stageOf(
        fakeToolServers({ sky: { wait: slow(1) } }),
        { snapshot: { limitRules: limitSet({ budgets: { tokens: { tokens: 1000, window: "day" } } }) } },
        rounds,
      );
      const response = await stage.chat({ ...ask, stream, max_tokens: 50 });
      const text = await response.text();
      expect(response.status).toBe(stream ? 200 : 429);
      expect(text).toContain("insufficient_quota");
      if (stream) expect(text.match(/"error":/g)?.length).toBe(1);
      expect(stage.records[0]).toMatchObject({ status: 429, code: "insufficient_quota", rounds: 2, usage: greedy });
      expect(stage.records[0]!.limits[0]).toMatchObject({ settled: 1000 });
      expect(stage.context.limits.open()).toBe(0);
      expect(stage.sent).toHaveLength(1);
    },
  );

  test("[d10.4, d4.7] the cost is the sum of the rounds at the price of each", async () => {
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(1) } }), priced({ money: { usd: 1, window: "day" } }));
    const response = await stage.chat(ask, { headers: { "x-gateway-cost": "true" } });
    // 20 tokens of prompt and 10 of answer, at one and two dollars a million
    expect(stage.records[0]!.cost).toMatchObject({ nanoUsd: 40_000 });
    expect(Number(response.headers.get("x-gateway-cost-usd"))).toBeCloseTo(0.000_04, 9);
  });

  test("[d11.2, d10.4] the ledger has one opening, one more entry for each round that reserves, and one closing with rounds and tools", async () => {
    const rows: string[] = [];
    const closed: unknown[] = [];
    const ledger = {
      refusal: () => null,
      open({ traceId }: { traceId: string }) {
        rows.push("open");
        return { traceId };
      },
      reopen: () => void rows.push("reopen"),
      written: () => Promise.resolve(),
      writeStateOf: () => {},
      close: (_: unknown, record: LedgerRow["record"]) => {
        rows.push("close");
        closed.push(structuredClone({ rounds: record.rounds, tools: record.tools.length }));
        return Promise.resolve();
      },
    };
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(1) } }), {
      ledger,
      snapshot: { limitRules: limitSet({ limits: { tokens: { metric: "tokens", limit: 1000, window: "minute" } } }) },
    });
    await (await stage.chat({ ...streaming, max_tokens: 50 })).text();
    expect(rows).toEqual(["open", "reopen", "close"]);
    expect(closed).toEqual([{ rounds: 2, tools: 1 }]);
  });
});

describe("guards", () => {
  const MAIL = "ada@mail.example.org";
  const guarded = (on: string, action: string): StubOptions => ({
    snapshot: {
      policies: policiesFor({ name: "no-pii", message: "Keep it out.", guard: { classes: ["email"], on, action } }),
    },
  });
  const own = () => fakeToolServers({ sky: { wait: { run: () => says(`It belongs to ${MAIL}`) } } });

  test("[d10.4, d3.3] search results like input: what they mask, neither the model nor the replay receives", async () => {
    const stage = stageOf(own(), guarded("input", "mask"));
    const { message } = await heardWhole(await stage.chat(ask));
    expect(JSON.stringify(message) + stage.sent.map(({ body }) => body).join("")).not.toContain(MAIL);
  });

  test.each([false, true])(
    "[d10.4, d3.3] that block a result fail the call: 403, charged with what was used (stream: %p)",
    async (stream) => {
      const stage = stageOf(own(), guarded("input", "block"));
      const response = await stage.chat({ ...ask, stream });
      const text = await response.text();
      expect(response.status).toBe(stream ? 200 : 403);
      expect(text).toContain("policy_violation");
      expect(text).not.toContain(MAIL);
      expect(stage.records[0]).toMatchObject({ code: "policy_violation", usage: USAGE });
      expect(stage.records[0]!.tools).toMatchObject([{ code: "policy_violation", totalMs: expect.any(Number) }]);
    },
  );

  test("[d10.4, d3.3] on answers finish their search with each round: the text of every round is whole before its tools run", async () => {
    const rounds: readonly ScriptedRound[] = [
      { text: `Ask ${MAIL}`, calls: [{ name: "sky__wait" }] },
      { text: `or ${MAIL}.` },
    ];
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(1) } }), guarded("output", "mask"), rounds);
    const plain = await heardWhole(await stage.chat(ask));
    const text = await (await stage.chat(streaming)).text();
    expect(plain.message["content"]).toBe("Ask [email]\n\nor [email].");
    expect(heardStream(text).message["content"]).toBe(plain.message["content"]);
    expect(text.indexOf("[email]")).toBeLessThan(text.indexOf("tool_start"));
    expect(JSON.stringify(plain.message["x_gateway_mcp"]) + text).not.toContain(MAIL);
  });
});

describe("what rounds add to a conversation", () => {
  const limits = { maxHeldBytes: 2_000_000 };
  const outcome = async (stage: Stub): Promise<unknown> => {
    const response = await stage.chat(ask);
    const { error } = (await response.json()) as Record<string, any>;
    return error === undefined ? response.status : [response.status, error["code"]];
  };
  /** Half of the memory is for one tenant, and none of it may be held when its calls are over. */
  const requireReleased = ({ context }: Stub): void => {
    const { held } = context.traffic;
    held.hold("default", limits.maxHeldBytes / 2, limits);
    held.release("default", limits.maxHeldBytes / 2);
  };

  test("[d5.8, d10.4] counts against the memory of bodies until the call is over: results of tools", async () => {
    const tools = fakeToolServers({ sky: { wait: { run: () => says("x".repeat(600_000)) } } });
    const calls = [{ name: "sky__wait" }];
    const once = stageOf(tools, { limits }, [{ calls }, { text: "Done." }]);
    const twice = stageOf(tools, { limits }, [{ calls }, { calls }, { text: "Done." }]);
    expect([await outcome(once), await outcome(twice)]).toEqual([200, [503, "gateway_overloaded"]]);
    for (const stage of [once, twice]) requireReleased(stage);
    expect(await outcome(once)).toBe(200);
  });

  test("[d5.8, d10.4] counts against the memory of bodies until the call is over: what the model has said", async () => {
    const tools = fakeToolServers({ sky: { wait: { run: () => says("done") } } });
    const calls = [{ name: "sky__wait", args: JSON.stringify({ text: "x".repeat(300_000) }) }];
    const once = stageOf(tools, { limits }, [{ calls }, { text: "Done." }]);
    const twice = stageOf(tools, { limits }, [{ calls }, { calls }, { text: "Done." }]);
    expect([await outcome(once), await outcome(twice)]).toEqual([200, [503, "gateway_overloaded"]]);
    for (const stage of [once, twice]) requireReleased(stage);
  });
});

describe("a model that generates without end", () => {
  const piece = "x".repeat(64 * 1024);
  const delta = (content: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-1", created: 1, model: "m", choices: [{ index: 0, delta: content, finish_reason: finish }] })}\n\n`;
  const END = `${delta({}, "tool_calls")}data: [DONE]\n\n`;
  const opening = {
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "sky__wait", arguments: "" } }],
  };
  const answered = async (body: string) => {
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(0) } }), {
      upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" }),
    });
    return { text: await (await stage.chat({ ...ask, stream: true })).text(), stage };
  };

  test("[d8.5, d10.4] in the arguments of a call that the gateway runs is an error, and does not fill the memory", async () => {
    const { text } = await answered(
      delta(opening) + delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] }).repeat(300) + END,
    );
    expect(text).toContain("upstream_invalid_response");
  });

  test("[d8.5, d10.4] in the text beside a call has all its text sent to the client, and then an error in place of a round that no model could take", async () => {
    const { text, stage } = await answered(delta({ content: piece }).repeat(300) + delta(opening) + END);
    expect(text).toContain("upstream_invalid_response");
    expect(text.split(piece).length).toBe(301);
    expect(stage.sent).toHaveLength(1);
  });

  test("[d8.5, d10.4] in arguments that come whole is the same error", async () => {
    const whole = { name: "sky__wait", args: JSON.stringify({ text: "x".repeat(17 * 1024 * 1024) }) };
    const stage = stageOf(fakeToolServers({ sky: { wait: slow(0) } }), {}, [{ calls: [whole] }, { text: "Done." }]);
    expect(await (await stage.chat(ask)).text()).toContain("upstream_invalid_response");
    expect(stage.sent).toHaveLength(1);
  });

  test("[d8.5, d10.4] in text alone is an answer like any other", async () => {
    const { text } = await answered(delta({ content: piece }).repeat(300) + delta({}, "stop") + "data: [DONE]\n\n");
    expect(heardStream(text).message["content"].length).toBe(300 * piece.length);
  });
});

test("[d10.4, d8.7] whatever the rounds contain and however the bytes arrive, the joined stream equals the plain answer, and both keep the grammar", async () => {
  const call = fc.record({
    name: fc.constantFrom("sky__wait", "sky__other", "bell", "sky__broken"),
    args: fc.constantFrom("{}", '{"a":"ü"}', ""),
    id: fc.option(fc.constantFrom("call_a", "call_b", "x y"), { nil: undefined }),
  });
  const round: fc.Arbitrary<ScriptedRound> = fc.record({
    text: fc.option(fc.string({ maxLength: 20 }), { nil: undefined }),
    reasoning: fc.option(fc.string({ maxLength: 10 }), { nil: undefined }),
    calls: fc.array(call, { maxLength: 3 }),
    usage: fc.constant(true),
  }) as fc.Arbitrary<ScriptedRound>;
  const fast: FakeTool = { run: () => says("done") };
  const same = async (rounds: readonly ScriptedRound[], chunk: number | "event", maxRounds: number): Promise<void> => {
    const tools = fakeToolServers({ sky: { wait: fast, other: fast, broken: { run: () => says("no", true) } } });
    const upstream = cannedUpstream((request) => ({
      ...answerOf(
        rounds[roundOf(request)] ?? { text: "The end." },
        roundOf(request),
        request.body.includes('"stream":true'),
      ),
      chunk,
    }));
    const stage = stageOf(tools, { upstream });
    const fields = {
      max_tool_rounds: maxRounds,
      tools: [MCP, { type: "function", function: { name: "bell", parameters: { type: "object", properties: {} } } }],
    };
    const plain = await heardWhole(await stage.chat({ ...ask, ...fields }));
    const streamed = heardStream(await (await stage.chat({ ...streaming, ...fields })).text());
    const said = ({ x_gateway_mcp: mcp, content, ...message }: Record<string, any>) => ({
      ...message,
      content: content ?? "",
      mcp: { ...mcp, calls: mcp.calls.map(({ duration_ms: _ms, ...one }: Record<string, any>) => one) },
    });
    // an id that the gateway makes up is of its call
    const made = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value).replaceAll(/call_[0-9a-f]{20}_/g, "call_made_"));
    expect(made(said(streamed.message))).toEqual(made(said(plain.message)));
    expect([streamed.finish, streamed.usage]).toEqual([plain.finish, plain.usage]);
    const [one, two] = stage.records;
    expect([two!.rounds, two!.usage, two!.finishReasons, two!.tools.map(({ tool, round: at }) => [tool, at])]).toEqual([
      one!.rounds,
      one!.usage,
      one!.finishReasons,
      one!.tools.map(({ tool, round: at }) => [tool, at]),
    ]);
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(round, { minLength: 1, maxLength: 4 }),
      fc.oneof(fc.constant("event" as const), fc.integer({ min: 1, max: 200 })),
      fc.integer({ min: 1, max: 5 }),
      same,
    ),
    { numRuns: drawCount(50, 150) },
  );
});

test("[d7.7, d8.3, d4.2, d10.4] whenever the client leaves and wherever the provider breaks off, there is one final record, no tool runs and nothing is reserved", async () => {
  const scenario = fc.record({
    leavesAfterReads: fc.option(fc.nat({ max: 25 }), { nil: null }),
    leavesAfterTurns: fc.nat({ max: 30 }),
    stream: fc.boolean(),
    brokenRound: fc.option(fc.nat({ max: 2 }), { nil: null }),
    status: fc.boolean(),
    toolMs: fc.constantFrom(0, 1),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ leavesAfterReads, leavesAfterTurns, stream, brokenRound, status, toolMs }) => {
      const rounds: ScriptedRound[] = [
        { text: "One.", calls: [{ name: "sky__wait" }, { name: "sky__wait" }] },
        { calls: [{ name: "sky__wait" }] },
        { text: "Done." },
      ];
      if (brokenRound !== null)
        rounds[brokenRound] = status ? { status: 500 } : { ...rounds[brokenRound], isCut: true };
      const tools = fakeToolServers({ sky: { wait: slow(toolMs) } });
      const live: LedgerRow["record"][] = [];
      const ledger = {
        refusal: () => null,
        open: ({ traceId }: { traceId: string }) => ({ traceId }),
        reopen: () => {},
        written: () => Promise.resolve(),
        writeStateOf: () => {},
        close(_: unknown, record: LedgerRow["record"]) {
          live.push(record);
          return Promise.resolve();
        },
      };
      const stage = stageOf(
        tools,
        {
          ledger,
          snapshot: {
            limitRules: limitSet({
              limits: {
                tokens: { metric: "tokens", limit: 100_000, window: "minute" },
                calls: { metric: "concurrency", limit: 5 },
              },
            }),
          },
        },
        rounds,
      );
      const leaving = new AbortController();
      const answer = stage.chat({ ...ask, stream, max_tokens: 50 }, { signal: leaving.signal });
      if (!stream && leavesAfterReads !== null) {
        for (let turn = 0; turn < leavesAfterTurns; turn++) await new Promise<void>((resume) => setImmediate(resume));
        leaving.abort();
      }
      const response = await answer;
      const reader = response.body!.getReader();
      let isOver = false;
      for (let read = 0; !isOver && (!stream || leavesAfterReads === null || read < leavesAfterReads); read++)
        isOver = (await reader.read()).done;
      if (!isOver) await reader.cancel();
      await Bun.sleep(5);
      expect(live).toHaveLength(1);
      expect(structuredClone(live[0]!)).toEqual(stage.records[0]!);
      expect(tools.calls.filter(({ ended }) => ended === null)).toEqual([]);
      expect(stage.context.limits.open()).toBe(0);
      const [record] = stage.records;
      expect(record!.tools.every(({ totalMs }) => totalMs !== null)).toBe(true);
      expect(record!.attempts.every(({ totalMs }) => totalMs !== null)).toBe(true);
      // what is charged is what the limit has settled
      const settled = record!.limits.find(({ unit }) => unit === "tokens")?.settled ?? 0;
      expect(settled).toBe(record!.usage?.total_tokens ?? 0);
    }),
    { numRuns: drawCount(70, 200) },
  );
});
