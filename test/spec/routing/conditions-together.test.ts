// `when`, `share` and `mirror` of routes together with what else decides about a call: rounds of tools, budgets that lead
// calls elsewhere, long bodies, hedges, the response cache, retries and fallbacks, and breakers.
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { OpenCopies } from "../../../src/engine/mirror/copies.ts";
import { openRouting } from "../../../src/engine/plan/open-routing.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { cachedGateway } from "../../harness/cached.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { type Fault, status } from "../../harness/faults.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { limitedGateway } from "../../harness/limited.ts";
import { type Routed, routedGateway, routeOf, type RouteParts } from "../../harness/routed.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { turnTime } from "../../harness/time/turned-time.ts";
import { until } from "../../harness/time/until.ts";
import { HELLO } from "../chat-calls.ts";
import { answerOf, roundOf, type ScriptedRound } from "../tools/scripted-rounds.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

type Target = Parameters<typeof routeOf>[1][number];
const GOLD = 'headers["x-tier"] == "gold"';
const TIER = { "x-tier": "gold" };
const LISTED = { conditionHeaders: ["x-tier"] };

function gatewayOf(
  targets: readonly Target[],
  scripts: Readonly<Record<string, readonly Fault[]>> = {},
  parts: RouteParts = {},
  options: StubOptions = {},
): Routed {
  return routedGateway([routeOf("r", targets, parts)], scripts, {
    permissions: ["byo_endpoint", "debug"],
    ...options,
    snapshot: { ...LISTED, ...options.snapshot },
  });
}

async function asked(gateway: Routed, body: object = {}, headers: Record<string, string> = {}) {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...body }, { headers });
  const text = await response.text();
  const record = gateway.records.at(-1)!;
  return {
    status: response.status,
    text,
    body: text.startsWith("{") ? JSON.parse(text) : null,
    model: response.headers.get("x-gateway-model"),
    record,
    plan: record.plan.map(({ target, why, refused, round }) => ({ target, why, refused, round })),
  };
}

const hostOf = ({ url }: Pick<UpstreamRequest, "url">): string => new URL(url).hostname.split(".")[0]!;

describe("[d16.1] conditions and rounds of tools", () => {
  const ROUNDS: readonly ScriptedRound[] = [
    { calls: [{ name: "sky__weather", args: '{"city":"Paris"}' }] },
    { calls: [{ name: "sky__weather", args: '{"city":"Oslo"}' }] },
    { text: "It is warm." },
  ];
  /** `failing`: the upstreams that fail from the second round on. */
  const withTools = (targets: readonly Target[], failing: readonly string[] = []): Routed =>
    gatewayOf(
      targets,
      {},
      {},
      {
        tools: fakeToolServers({ sky: { weather: { run: () => says("Warm.") } } }),
        upstream: cannedUpstream((request) => {
          const round = roundOf(request);
          return round > 0 && failing.includes(hostOf(request))
            ? answerOf({ status: 500 }, round, false)
            : answerOf(ROUNDS[round]!, round, request.body.includes('"stream":true'));
        }),
      },
    );
  const MCP = { tools: [{ type: "mcp", server_label: "sky", require_approval: "never" }] };

  test.each([false, true])(
    "are asked of the client's request alone: what the rounds add to it changes no target (stream: %p)",
    async (stream) => {
      const gateway = withTools([{ name: "up0:m", when: "request.messages.count == 1" }, "up1:m"]);
      const { status: code, record } = await asked(gateway, { ...MCP, stream });
      expect([code, record.rounds]).toEqual([200, 3]);
      expect(gateway.sent.map(hostOf)).toEqual(["up0", "up0", "up0"]);
      const other = withTools([{ name: "up0:m", when: "request.messages.count > 1" }, "up1:m"]);
      await asked(other, { ...MCP, stream });
      expect(other.sent.map(hostOf)).toEqual(["up1", "up1", "up1"]);
    },
  );

  test("stand in the plan once: a later round begins at the target that answered, and passes none over", async () => {
    const gateway = withTools([
      { name: "up0:m", when: GOLD },
      { name: "up2:m", when: "request.metadata.no > 1" },
      "up1:m",
    ]);
    const { plan } = await asked(gateway, MCP);
    const ofRound = (wanted: number) =>
      plan.filter(({ round, refused }) => round === wanted && refused !== null).map(({ target, why }) => [target, why]);
    expect(ofRound(1)).toEqual([
      ["up0:m", "passed over: `when` is false"],
      ["up2:m", "passed over: `when` could not be evaluated: No such key: no"],
    ]);
    expect([...ofRound(2), ...ofRound(3)]).toEqual([]);
    expect(gateway.sent.map(hostOf)).toEqual(["up1", "up1", "up1"]);
  });

  test.each(['"mcp" in request.tools', 'request.tools == ["mcp"]', 'request.tool_names == ["sky"]'])(
    "see the tools that the client sent, and none that the gateway offers: %s",
    async (when) => {
      const gateway = withTools([{ name: "up0:m", when }, "up1:m"]);
      await asked(gateway, MCP);
      expect(gateway.sent.map(hostOf)).toEqual(["up0", "up0", "up0"]);
    },
  );

  test("keep a later round from a target that was passed over, also when the one of the first round fails", async () => {
    const gateway = withTools([{ name: "up1:m", when: GOLD }, "up0:m", "up2:m"], ["up0"]);
    const { status: code } = await asked(gateway, MCP);
    expect([code, gateway.sent.map(hostOf)]).toEqual([200, ["up0", "up0", "up2", "up2"]]);
  });

  test("and a share: all rounds are in it, or none", async () => {
    const seen = new Set<string>();
    for (let call = 0; call < 24; call++) {
      const gateway = withTools([
        { name: "up0:m", order: 0 },
        { name: "up1:m", order: 0, share: 50 },
      ]);
      await asked(gateway, MCP);
      const hosts = new Set(gateway.sent.map(hostOf));
      expect(hosts.size).toBe(1);
      seen.add([...hosts][0]!);
    }
    expect(seen.size).toBe(2);
  });
});

describe("[d16.1] conditions and a budget that leads calls elsewhere", () => {
  const CALL = { max_tokens: 3 };
  const budget = (degradeTo: string) => ({
    budgets: { money: { usd: "0.0001", window: "day", thresholds: [{ percent: 20, degrade_to: degradeTo }] } },
  });
  const targetsOf = async (gateway: Routed, headers: Record<string, string>): Promise<readonly (string | null)[]> => {
    const reached: (string | null)[] = [];
    for (let call = 0; call < 4; call++) reached.push((await asked(gateway, CALL, headers)).model);
    return reached;
  };

  test.each([
    [TIER, "up0:m", "up2:free"],
    [{}, "up1:m", "up3:free"],
  ] as const)("to a route: the conditions of both decide (%j)", async (headers, first, later) => {
    const gateway = limitedGateway(
      budget("route:cheap"),
      [
        routeOf("r", [{ name: "up0:m", when: GOLD }, "up1:m"]),
        routeOf("cheap", [{ name: "up2:free", when: GOLD }, "up3:free"]),
      ],
      {},
      { snapshot: LISTED },
    );
    const reached = await targetsOf(gateway, headers);
    expect([reached[0], reached.at(-1)]).toEqual([first, later]);
    expect(new Set(reached)).toEqual(new Set([first, later]));
  });

  test("to a model that the route passes over: the budget has chosen it, and not the route", async () => {
    const gateway = limitedGateway(
      budget("up0:free"),
      [routeOf("r", [{ name: "up0:free", when: GOLD }, "up1:m"])],
      {},
      { snapshot: LISTED },
    );
    expect((await targetsOf(gateway, {})).at(-1)).toBe("up0:free");
  });

  test("to a route none of whose targets is for the call: the budget refuses it", async () => {
    const gateway = limitedGateway(
      {
        budgets: {
          money: { usd: "0.00003", window: "day", thresholds: [{ percent: 100, degrade_to: "route:cheap" }] },
        },
      },
      [routeOf("r", ["up1:m"]), routeOf("cheap", [{ name: "up2:free", when: GOLD }])],
      {},
      { snapshot: LISTED },
    );
    let last = await asked(gateway, { max_tokens: 10 });
    for (let call = 0; call < 5 && last.status === 200; call++) last = await asked(gateway, { max_tokens: 10 });
    expect([last.status, last.body.error.code]).toEqual([429, "insufficient_quota"]);
    expect(gateway.upstream.targets()).not.toContain("up2");
  });

  test("does not make a call succeed that no target of the route is for", async () => {
    const gateway = limitedGateway(
      budget("up3:free"),
      [routeOf("r", [{ name: "up0:m", when: GOLD }])],
      {},
      { snapshot: LISTED },
    );
    const { status: code, body } = await asked(gateway, CALL);
    expect([code, body.error.code, gateway.upstream.served]).toEqual([400, "target_not_eligible", []]);
  });
});

describe("[d16.1] conditions and long bodies", () => {
  const LONG = "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(LONG_BODY_BYTES / 40));
  const long = (more: string): object[] => [{ role: "user", content: `${more}${LONG}` }];

  test.each([
    ["request.messages.prompt_tokens > 50000 && request.messages.count == 1", {}, "up0:m"],
    ["request.messages.characters > 500000", {}, "up0:m"],
    ['request.metadata.plan == "pro"', { metadata: { plan: "pro" } }, "up0:m"],
    ["request.parameters.temperature > 0.5", { temperature: 0.9 }, "up0:m"],
    ["request.messages.roles.user == 1", {}, "up0:m"],
    [GOLD, {}, "up0:m"],
    // longer than what a condition reads of a text
    ["request.extra.note.size() > 100000", { note: LONG }, "up1:m"],
    ["request.metadata.missing > 1", {}, "up1:m"],
  ] as const)("%s: in another thread as in this one", async (when, more, target) => {
    const plans = [];
    for (const held of [null, longRequests]) {
      const gateway = gatewayOf(
        [{ name: "up0:m", when }, "up1:m"],
        {},
        {},
        held === null ? {} : { longRequests: held },
      );
      const { model, plan } = await asked(gateway, { messages: long(""), ...more }, TIER);
      expect(model).toBe(target);
      plans.push(plan);
    }
    expect(plans[1]).toEqual(plans[0]);
  });

  test.each(["user", "prompt"] as const)("a share by %s is decided in another thread as in this one", async (by) => {
    const at = async (held: typeof longRequests | null) => {
      const gateway = gatewayOf(
        [
          { name: "up0:m", order: 0 },
          { name: "up1:m", order: 0, share: 50 },
        ],
        {},
        { sticky: { by } },
        held === null ? {} : { longRequests: held },
      );
      const reached: (string | null)[] = [];
      for (let call = 0; call < 12; call++)
        reached.push((await asked(gateway, { user: `u${call}`, messages: long(`${call} `) })).model);
      return reached;
    };
    const here = await at(null);
    expect(new Set(here).size).toBe(2);
    expect(await at(longRequests)).toEqual(here);
  });
});

describe("[d16.1] conditions and hedges", () => {
  const HEDGED: RouteParts = { hedge: { after: 20, maxExtra: 1 } };
  const SLOW: Fault = { kind: "ok", delayMs: 200 };

  async function answeredBy(targets: readonly Target[], headers: Record<string, string> = {}) {
    const time = turnTime();
    try {
      const gateway = gatewayOf(targets, { up0: [SLOW] }, HEDGED, { clock: time.clock });
      const response = await time.until(gateway.chat({ route: "r", messages: HELLO }, { headers }));
      await time.until(response.text());
      await time.drain(5);
      return { model: response.headers.get("x-gateway-model"), targets: gateway.upstream.targets() };
    } finally {
      time.stop();
    }
  }

  test("the second attempt goes to a target that is for the call", async () => {
    const targets: readonly Target[] = ["up0:m", { name: "up1:m", when: GOLD }, "up2:m"];
    expect(await answeredBy(targets)).toEqual({ model: "up2:m", targets: ["up0", "up2"] });
    expect(await answeredBy(targets, TIER)).toEqual({ model: "up1:m", targets: ["up0", "up1"] });
  });

  test("the second attempt goes to the same target where no other target is for the call", async () => {
    expect(await answeredBy(["up0:m", { name: "up1:m", when: GOLD }])).toEqual({
      model: "up0:m",
      targets: ["up0", "up0"],
    });
    expect(await answeredBy(["up0:m", { name: "up1:m", share: 0.000_001 }])).toEqual({
      model: "up0:m",
      targets: ["up0", "up0"],
    });
    expect(await answeredBy(["up0:m", { name: "up1:m", when: "request.metadata.no > 1" }])).toEqual({
      model: "up0:m",
      targets: ["up0", "up0"],
    });
  });
});

describe("[d16.1] the response cache", () => {
  /** Says which provider it is from. */
  const answer = ({ url }: { readonly url: string }) => ({
    headers: { "content-type": "application/json" },
    body: JSON.stringify(openaiAnswer(`from ${hostOf({ url })}`)),
  });
  const cached = (targets: readonly Target[], parts: RouteParts = {}, options: StubOptions = {}) =>
    cachedGateway({
      upstream: cannedUpstream(answer),
      ...options,
      snapshot: { ...LISTED, routes: new Map([["r", routeOf("r", targets, parts)]]) },
    });
  async function heard(gateway: ReturnType<typeof cached>, headers: Record<string, string> = {}, body: object = {}) {
    const response = await gateway.chat({ route: "r", messages: HELLO, ...body }, { headers });
    const { choices } = (await response.json()) as any;
    return {
      cache: response.headers.get("x-gateway-cache"),
      model: response.headers.get("x-gateway-model"),
      content: choices[0].message.content as string,
      chosen: gateway.records.at(-1)!.plan.find(({ refused }) => refused === null)!.target,
    };
  }

  test("with a share: each call gets the answer of the target that it goes to", async () => {
    const gateway = cached([
      { name: "one:m", order: 0 },
      { name: "two:m", order: 0, share: 50 },
    ]);
    const outcomes = new Map<string, number>();
    for (let call = 0; call < 40; call++) {
      const { cache, model, content, chosen } = await heard(gateway);
      expect([model, content]).toEqual([chosen, `from ${chosen.split(":")[0]!}`]);
      outcomes.set(`${chosen} ${cache!}`, (outcomes.get(`${chosen} ${cache!}`) ?? 0) + 1);
    }
    // each target is asked once, and every later call of it is a hit
    expect([outcomes.get("one:m miss"), outcomes.get("two:m miss")]).toEqual([1, 1]);
    expect(gateway.sent).toHaveLength(2);
  });

  test("with a condition: an answer for some calls is no hit for the others", async () => {
    const gateway = cached([{ name: "one:m", when: GOLD }, "two:m"]);
    expect((await heard(gateway, TIER)).content).toBe("from one");
    expect(await heard(gateway)).toMatchObject({ cache: "miss", content: "from two" });
    expect(await heard(gateway, TIER)).toMatchObject({ cache: "hit", content: "from one" });
    expect(await heard(gateway)).toMatchObject({ cache: "hit", content: "from two" });
  });

  test("with a mirror: hits are not copied, and nobody gets the answer to a copy", async () => {
    const copies = new OpenCopies(openRouting(Math.random));
    const mirror = {
      target: { name: "two:m", providerId: "two", model: "m", weight: 1, order: 0, params: {}, maxConcurrency: null },
      toOtherVendors: true,
      maxInFlight: 16,
      timeoutMs: 60_000,
    };
    const gateway = cached(["one:m"], { mirror }, { copies });
    expect(await heard(gateway)).toMatchObject({ cache: "miss", content: "from one" });
    await until(() => gateway.records.some(({ mirrorOf }) => mirrorOf !== null));
    for (let call = 0; call < 3; call++) {
      const response = await gateway.chat({ route: "r", messages: HELLO });
      expect(response.headers.get("x-gateway-cache")).toBe("hit");
      expect(((await response.json()) as any).choices[0].message.content).toBe("from one");
    }
    expect(gateway.sent.map(hostOf).toSorted()).toEqual(["one", "two"]);
    expect(gateway.records.filter(({ mirror: copied }) => copied !== null)).toHaveLength(1);
    // a call of the mirror's own target finds nothing that a copy has left
    const direct = await gateway.chat({ model: "two:m", messages: HELLO });
    expect(direct.headers.get("x-gateway-cache")).toBe("miss");
  });
});

describe("[d16.1] a token that is restricted to models", () => {
  const restricted = (models: readonly string[], targets: readonly Target[]): Routed =>
    gatewayOf(targets, {}, {}, { token: { models } });

  test("is told no more than others when nothing is for its call, and the plan has the reasons", async () => {
    const gateway = restricted(
      ["up0:*", "up1:*"],
      [
        { name: "up0:m", when: GOLD },
        { name: "up1:m", when: "request.stream" },
      ],
    );
    const { status: code, body, plan } = await asked(gateway);
    expect([code, body.error.code]).toEqual([400, "target_not_eligible"]);
    expect(body.error.message).toBe("No target of the route is for this call.");
    expect(plan.map(({ target, why }) => [target, why])).toEqual([
      ["up0:m", "passed over: `when` is false"],
      ["up1:m", "passed over: `when` is false"],
    ]);
  });

  test.each([0, 1])(
    "is refused by its restriction where the targets for its call are not permitted (order %d)",
    async (order) => {
      const targets: readonly Target[] = [{ name: "up0:m", when: GOLD }, "up1:m"];
      const gateway = restricted(["up0:*"], order === 0 ? targets : targets.toReversed());
      const refused = await asked(gateway);
      expect([refused.status, refused.body.error.code]).toEqual([404, "model_not_found"]);
      expect((await asked(gateway, {}, TIER)).model).toBe("up0:m");
      expect(gateway.upstream.targets()).toEqual(["up0"]);
    },
  );
});

describe("[d16.1] retries and fallbacks", () => {
  const failing = (fallbacks: RouteParts["fallbacks"] & object, parts: RouteParts = {}): Routed =>
    gatewayOf(["up0:m"], { up0: [status(500)] }, { retries: 2, fallbacks, ...parts });
  const when = (model: string, condition: string) => ({ model, route: null, params: {}, when: condition });

  test("of which the condition is false: the retries are made first, and then the next that is for the call", async () => {
    const gateway = failing([when("up1:m", GOLD), when("up2:m", "request.metadata.no > 1"), "up3:m"]);
    const { model } = await asked(gateway);
    expect([model, gateway.upstream.targets()]).toEqual(["up3:m", ["up0", "up0", "up0", "up3"]]);
  });

  test("none of which is for the call: the client gets the failure, and not that nothing was for it", async () => {
    const gateway = failing([when("up1:m", GOLD)]);
    const { status: code, body } = await asked(gateway);
    expect([code, body.error.code]).toEqual([502, "upstream_error"]);
    expect(gateway.upstream.targets()).toEqual(["up0", "up0", "up0"]);
  });

  test("of the request are for every call, also where the route's targets are for none", async () => {
    const gateway = gatewayOf([{ name: "up0:m", when: GOLD }]);
    const { model } = await asked(gateway, { fallbacks: ["up1:m"] });
    expect([model, gateway.upstream.targets()]).toEqual(["up1:m", ["up1"]]);
  });

  test("for refused content, of which the condition is false", async () => {
    const refused = status(400, {}, { code: "content_filter", message: "The content was flagged." });
    const parts = { contentPolicyFallbacks: [when("up1:m", GOLD), "up2:m"], fallbacks: ["up3:m"] };
    const gateway = gatewayOf(["up0:m"], { up0: [refused] }, parts);
    expect((await asked(gateway)).model).toBe("up2:m");
    expect((await asked(gateway, {}, TIER)).model).toBe("up1:m");
  });

  test("are reached where the only target cannot take the request, and is not for it either", async () => {
    const parts: RouteParts = { fallbacks: ["up1:m"] };
    const gateway = gatewayOf([{ name: "up0:m", when: GOLD, params: { temperature: 9 } }], {}, parts);
    expect((await asked(gateway)).model).toBe("up1:m");
    const named = gatewayOf([{ name: "up0:m", when: GOLD, params: { temperature: 9 } }, "up1:m"]);
    expect((await asked(named, { model: "up0:m" })).model).toBe("up1:m");
  });
});

test("[d16.1] a condition that cannot be evaluated at one call in a thousand passes its target over there, and nowhere else", async () => {
  const gateway = gatewayOf([{ name: "up0:m", when: 'request.metadata.plan == "pro"' }, "up1:m"]);
  const reached: (string | null)[] = [];
  for (let call = 0; call < 1000; call++)
    reached.push((await asked(gateway, { metadata: call === 613 ? { other: "x" } : { plan: "pro" } })).model);
  expect(reached.flatMap((model, call) => (model === "up0:m" ? [] : [[call, model]]))).toEqual([[613, "up1:m"]]);
  expect(gateway.records.filter(({ status: code }) => code !== 200)).toEqual([]);
  const [failed, ...others] = gateway.records.filter(({ plan }) => plan.length > 1);
  expect(others).toEqual([]);
  expect(failed!.plan[0]!.why).toStartWith("passed over: `when` could not be evaluated: ");
  expect(gateway.context.routing.health.snapshot(performance.now()).every(({ state }) => state === "closed")).toBe(
    true,
  );
});

describe("[d16.1] an open breaker of the only target that is for the call", () => {
  const BREAKER = { failures: 1, ratio: 0.1, windowMs: 60_000, openMs: 60_000 };
  const opened = async (parts: RouteParts): Promise<Routed> => {
    const gateway = gatewayOf(
      [
        { name: "up0:m", when: GOLD },
        { name: "up1:m", when: `!(${GOLD})` },
      ],
      { up0: [status(500)] },
      { breaker: BREAKER, ...parts },
    );
    await asked(gateway, {}, TIER);
    expect(gateway.upstream.targets()[0]).toBe("up0");
    return gateway;
  };

  test("leaves none, and never the one that is for other calls", async () => {
    const gateway = await opened({ onExhausted: "error" });
    const { status: code, body } = await asked(gateway, {}, TIER);
    expect([code, body.error.code]).toEqual([503, "no_target_available"]);
    expect(gateway.upstream.targets()).toEqual(["up0"]);
    expect((await asked(gateway)).model).toBe("up1:m");
  });

  test("is tried all the same where on_exhausted is least_bad", async () => {
    const gateway = await opened({ onExhausted: "least_bad" });
    const { status: code } = await asked(gateway, {}, TIER);
    expect([code, gateway.upstream.targets()]).toEqual([502, ["up0", "up0"]]);
  });

  test("leads to the fallbacks that are for the call", async () => {
    const fallbacks = [{ model: "up3:m", route: null, params: {}, when: `!(${GOLD})` }, "up2:m"];
    const gateway = await opened({ fallbacks });
    expect((await asked(gateway, {}, TIER)).model).toBe("up2:m");
    expect(gateway.upstream.targets()).not.toContain("up3");
    expect(gateway.upstream.targets()).not.toContain("up1");
  });
});
