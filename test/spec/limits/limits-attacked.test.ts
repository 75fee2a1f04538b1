// Limits and budgets under hostile callers and operators (promises 3.4, 4): waits of exactly the requested length, odd
// end users, unknown prices, rules that change while a call is in flight, sums beyond the precision of a double, audit
// beside enforcement, calls that end before their content.
import { describe, expect, test } from "bun:test";
import { openMetrics } from "../../../src/observe/metrics/metrics.ts";
import type { OpenTraffic } from "../../../src/http/traffic.ts";
import { turnedClock } from "../../admission/turned-clock.ts";
import type { Route } from "../../../src/core/configured/route.ts";
import { type Fault, OK, status } from "../../harness/faults.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { ask, expectNothingOpen, limitedGateway, limitSet } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { until } from "../../harness/time/until.ts";

const MINUTE = { metric: "requests", window: "minute" } as const;
const CALL = { max_tokens: 10 };
const ANSWER = JSON.stringify({
  id: "a",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
});

describe("a client that waits exactly as long as it was asked to", () => {
  test.each([
    ["requests of a second", { metric: "requests", window: "second", limit: 3 }],
    ["requests of a minute", { metric: "requests", window: "minute", limit: 3 }],
    ["tokens of an hour", { metric: "tokens", window: "hour", limit: 40 }],
    ["requests of a day", { metric: "requests", window: "day", limit: 2 }],
  ] as const)("[d4.3] is admitted, and not a millisecond earlier: %s", async (_, limit) => {
    const clock = turnedClock(Date.UTC(2028, 1, 28, 23, 59, 57, 123));
    const gateway = limitedGateway({ limits: { one: limit } }, [], {}, { clock });
    let waits = 0;
    for (let index = 0; index < 40; index++) {
      clock.pass(37);
      const heard = await ask(gateway, CALL);
      if (heard.status === 200) continue;
      const ms = Number(heard.headers.get("retry-after-ms"));
      expect(Number(heard.headers.get("retry-after"))).toBe(Math.ceil(ms / 1000));
      expect(heard.body.error.message).toContain(`try again in ${Math.ceil(ms / 1000)} s`);
      clock.pass(ms - 1);
      expect((await ask(gateway, CALL)).status).toBe(429);
      clock.pass(1);
      expect((await ask(gateway, CALL)).status).toBe(200);
      waits += 1;
    }
    expect(waits).toBeGreaterThan(5);
  });
  test.each([
    ["day", Date.UTC(2028, 1, 28, 23, 59, 59), Date.UTC(2028, 1, 29)],
    ["day", Date.UTC(2028, 1, 29, 23, 59, 59), Date.UTC(2028, 2, 1)],
    ["week", Date.UTC(2027, 11, 26, 12), Date.UTC(2027, 11, 27)],
    ["week", Date.UTC(2027, 11, 27), Date.UTC(2028, 0, 3)],
    ["month", Date.UTC(2028, 1, 29, 12), Date.UTC(2028, 2, 1)],
    ["month", Date.UTC(2027, 11, 31, 23), Date.UTC(2028, 0, 1)],
  ] as const)("[d4.1 d4.3] a budget of a %s from %p begins again at %p", async (window, from, to) => {
    const clock = turnedClock(from);
    const gateway = limitedGateway({ budgets: { one: { tokens: 20, window } } }, [], {}, { clock });
    expect((await ask(gateway, CALL)).status).toBe(200);
    const refused = await ask(gateway, CALL);
    expect([refused.status, refused.body.error.metadata.resets_at, Number(refused.headers.get("retry-after"))]).toEqual(
      [429, new Date(to).toISOString(), (to - from) / 1000],
    );
    clock.pass(to - from - 1);
    expect((await ask(gateway, CALL)).status).toBe(429);
    clock.pass(1);
    expect((await ask(gateway, CALL)).status).toBe(200);
  });
});

describe("end users with invented names", () => {
  test.each([
    ["10 KB", "x".repeat(10_240)],
    ["newlines", "a\nb\r\nx-evil: 1"],
    ["NUL", "a\u0000b"],
    ["half a character", "\ud800"],
    ["like a key of an object", "__proto__"],
  ])("[d4.1] %s: counted by itself, and named unchanged or not at all", async (_, user) => {
    const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, scope: { user: "*", model: "*" } } } });
    const heard = [
      await ask(gateway, { user }),
      await ask(gateway, { user }),
      await ask(gateway, { user: `${user}y` }),
    ];
    expect(heard.map(({ status: code }) => code)).toEqual([200, 429, 200]);
    expect(heard[1]!.body.error.metadata.scope.model).toBe("up0:m");
    expect(heard[1]!.body.error.metadata.scope.user.length).toBeLessThanOrEqual(256);
    expect(heard[1]!.headers.get("x-evil")).toBeNull();
  });
});

describe("rules that change while calls are in flight", () => {
  test("[d4.2] a budget is removed, lowered or created again in the middle of a call: the call is settled where it reserved", async () => {
    const { promise: heldUntil, resolve: goOn } = Promise.withResolvers<void>();
    const gateway = limitedGateway({ budgets: { money: { tokens: 100, window: "total" } } }, [], {
      up0: [{ kind: "ok", heldUntil }, OK],
    });
    const snapshot = gateway.context.snapshot() as { limitRules: ReturnType<typeof limitSet> };
    const running = ask(gateway, CALL);
    await until(() => gateway.sent.length === 1);
    snapshot.limitRules = limitSet({});
    expect((await ask(gateway, CALL)).status).toBe(200);
    snapshot.limitRules = limitSet({ budgets: { money: { tokens: 15, window: "total" } } });
    // the first call has 16 of 15 set aside
    const refused = await ask(gateway, { max_tokens: 1 });
    expect([refused.status, refused.body.error.metadata]).toMatchObject([
      429,
      { remaining: 0, limit_value: 15, resets_at: null, reason: "budget_exceeded" },
    ]);
    goOn();
    expect((await running).status).toBe(200);
    expect((await ask(gateway, { max_tokens: 1 })).status).toBe(200);
    expect(gateway.records.at(-1)!.limits).toMatchObject([{ before: 8, reserved: 7, settled: 8, after: 16 }]);
    expectNothingOpen(gateway);
  });
  test("[d4.3] a limit is lowered below what was used: there is room once enough of it has left the window", async () => {
    const clock = turnedClock();
    const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 10 } } }, [], {}, { clock });
    for (let index = 0; index < 8; index++) {
      clock.pass(2_000);
      expect((await ask(gateway)).status).toBe(200);
    }
    (gateway.context.snapshot() as { limitRules: ReturnType<typeof limitSet> }).limitRules = limitSet({
      limits: { one: { ...MINUTE, limit: 3 } },
    });
    const refused = await ask(gateway);
    expect(refused.body.error.metadata).toMatchObject({ remaining: 0, limit_value: 3 });
    clock.pass(Number(refused.headers.get("retry-after-ms")) - 1);
    expect((await ask(gateway)).status).toBe(429);
    clock.pass(1);
    expect((await ask(gateway)).status).toBe(200);
  });
  test.each([
    ["limit", { limits: { zero: { ...MINUTE, limit: 0 } } }],
    ["places", { limits: { zero: { metric: "concurrency", limit: 0 } } }],
    ["tokens", { budgets: { zero: { tokens: 0, window: "day" } } }],
    ["money", { budgets: { zero: { usd: "0", window: "day" } } }],
  ])("[d4.3] a %s of zero admits nothing, and does not suggest waiting", async (_, rules) => {
    const gateway = limitedGateway(rules);
    const heard = await ask(gateway, CALL);
    expect([
      heard.status,
      heard.body.error.metadata.reason,
      heard.headers.get("retry-after"),
      heard.headers.get("x-should-retry"),
      gateway.sent.length,
    ]).toEqual([429, "exceeds_limit", null, "false", 0]);
  });
});

describe("prices that are not known", () => {
  test("[d4.5] an address of the caller's own, and an inline list, are refused under a budget of money unless it allows unpriced calls; then they count nothing", async () => {
    const own = { model: "up0:m", base_url: "http://10.0.0.1/v1", api_key: "mine", ...CALL };
    const list = {
      model: "any",
      model_list: [{ model_name: "any", params: { model: "up0:m", base_url: "http://10.0.0.1/v1", api_key: "mine" } }],
      ...CALL,
    };
    for (const [unpriced, code] of [
      ["deny", 403],
      ["allow", 200],
    ] as const) {
      const gateway = limitedGateway(
        { budgets: { money: { usd: "1", window: "day", unpriced } } },
        [],
        {},
        { upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: ANSWER }) },
      );
      for (const fields of [own, list]) {
        const heard = await ask(gateway, fields);
        expect([heard.status, heard.body.error?.code]).toEqual([code, code === 403 ? "model_unpriced" : undefined]);
      }
      expect(gateway.records.every(({ limits }) => limits.every(({ after }) => after === 0))).toBe(true);
    }
  });
});

describe("sums", () => {
  test("[d4.6 d4.7] a bound beyond the precision of a double leaves the count of an account in audit mode unchanged", async () => {
    const gateway = limitedGateway({
      limits: { watch: { metric: "tokens", window: "day", limit: 100, mode: "audit" } },
      budgets: { spent: { usd: "1000000", window: "total", mode: "audit" } },
    });
    await ask(gateway, CALL);
    expect((await ask(gateway, { max_tokens: 9_007_199_254_740_991, n: 128 })).status).toBe(200);
    expect(gateway.records.map(({ limits }) => limits.map(({ after }) => after))).toEqual([
      [8, 11_000],
      [16, 22_000],
    ]);
  });
  test("[d4.7] the largest possible budget is exact to the last nano-dollar", async () => {
    const gateway = limitedGateway({ budgets: { all: { usd: "1000000", window: "total" } } });
    const heard = await ask(gateway, { max_tokens: 500_000_000_000 });
    expect(heard.body.error.metadata).toMatchObject({
      reason: "exceeds_limit",
      limit_value: "1000000",
      remaining: "1000000",
    });
    expect((await ask(gateway, { max_tokens: 499_999_999_997 })).status).toBe(200);
    expect(gateway.records[1]!.limits[0]).toMatchObject({ reserved: 1e15, settled: 11_000, after: 11_000 });
  });
});

describe("audit beside enforcement", () => {
  test("[d4.6] a rule in audit mode takes nothing from an enforced one, and refuses nothing, whatever it would have done", async () => {
    const gateway = limitedGateway({
      limits: {
        enforced: { ...MINUTE, limit: 3 },
        watched: { ...MINUTE, limit: 0, mode: "audit" },
        places: { metric: "concurrency", limit: 0, mode: "audit" },
      },
      budgets: {
        unpriced: {
          usd: "0.000001",
          window: "day",
          mode: "audit",
          thresholds: [{ percent: 1, degrade_to: "up1:free" }],
        },
      },
    });
    const heard = [];
    for (let index = 0; index < 4; index++) heard.push(await ask(gateway, { ...CALL, model: "up0:small" }));
    expect(heard.map(({ status: code }) => code)).toEqual([200, 200, 200, 429]);
    expect(
      heard
        .slice(0, 3)
        .map(({ headers }) => [
          headers.get("x-gateway-model"),
          headers.get("x-ratelimit-limit-requests"),
          headers.get("x-ratelimit-remaining-requests"),
        ]),
    ).toEqual([
      ["up0:small", "3", "2"],
      ["up0:small", "3", "1"],
      ["up0:small", "3", "0"],
    ]);
    expect(heard[3]!.body.error.metadata.limit).toBe("enforced");
    // what was refused is not counted where it is only watched
    expect(
      await ask(gateway, CALL).then(() => gateway.records.at(-1)!.limits.map(({ id, before }) => [id, before])),
    ).toEqual([["id_enforced", 3]]);
  });
});

describe("budgets that degrade calls", () => {
  test("[d4.6] a route that degrades to an earlier one, or in a circle: each is attempted once, and the answer comes", async () => {
    const budgets = {
      a: {
        usd: "0.00006",
        window: "day",
        scope: { route: "one" },
        thresholds: [{ percent: 10, degrade_to: "route:two" }],
      },
      b: {
        usd: "0.00006",
        window: "day",
        scope: { route: "two" },
        thresholds: [{ percent: 10, degrade_to: "route:one" }],
      },
    } as const;
    const gateway = limitedGateway({ budgets }, [routeOf("one", ["up0:m"]), routeOf("two", ["up1:m"])]);
    const heard = [];
    for (let index = 0; index < 6; index++)
      heard.push(await ask(gateway, { ...CALL, model: undefined, route: index % 2 === 0 ? "one" : "two" }));
    expect(heard.map(({ status: code, headers }) => headers.get("x-gateway-model") ?? code)).toEqual([
      "up0:m",
      "up1:m",
      "up1:m",
      "up0:m",
      "up1:m",
      "up0:m",
    ]);
    expect([
      (await ask(gateway, { max_tokens: 30, model: undefined, route: "one" })).status,
      gateway.sent.length,
    ]).toEqual([429, 6]);
    expectNothingOpen(gateway);
  });
  test("[d4.6] where the second budget would refuse as well, its own cheaper model is attempted, in whichever order they were configured", async () => {
    const budgets = {
      all: {
        tokens: 20,
        window: "day",
        scope: { provider: "up1" },
        thresholds: [{ percent: 100, degrade_to: "up2:free" }],
      },
      money: { usd: "0.00001", window: "day", thresholds: [{ percent: 100, degrade_to: "up1:free" }] },
    } as const;
    const gateway = limitedGateway({ budgets });
    const heard = [];
    for (let index = 0; index < 3; index++) heard.push((await ask(gateway, CALL)).headers.get("x-gateway-model"));
    expect(heard).toEqual(["up1:free", "up2:free", "up2:free"]);
  });
  test.each([
    ["asked for", { model: "up1:free" }],
    ["the next of the route's targets", { model: undefined, route: "r" }],
    ["a fallback of the request", { fallbacks: ["up1:free"] }],
  ])("[d4.6] a cheaper model that was %s as well is called", async (_, fields) => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "0.0001", window: "day", thresholds: [{ percent: 5, degrade_to: "up1:free" }] } } },
      [routeOf("r", ["up0:m", "up1:free"])],
    );
    expect((await ask(gateway, CALL)).status).toBe(200);
    const heard = await ask(gateway, { ...CALL, ...fields });
    expect([heard.status, heard.headers.get("x-gateway-model"), gateway.upstream.targets()]).toEqual([
      200,
      "up1:free",
      ["up0", "up1"],
    ]);
  });
  test("[d4.6] a cheaper model that fails is not called a second time", async () => {
    const money = {
      usd: "0.00001",
      window: "day",
      thresholds: [
        { percent: 50, degrade_to: "up1:free" },
        { percent: 100, degrade_to: "up2:free" },
      ],
    } as const;
    const gateway = limitedGateway({ budgets: { money } }, [], { up1: [status(500)], up2: [status(500)] });
    expect([(await ask(gateway, CALL)).status, gateway.upstream.targets()]).toEqual([502, ["up1", "up2"]]);
  });
  test("[d3.4 d4.6] a caller who may not call the cheaper model sees the refusal of the budget, and not of a model that the request did not name", async () => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "0.00001", window: "day", thresholds: [{ percent: 100, degrade_to: "up1:free" }] } } },
      [],
      {},
      { token: { models: ["up0:*"] } },
    );
    expect((await ask(gateway, CALL)).body.error).toMatchObject({ code: "insufficient_quota" });
  });
});

describe("a client that always leaves before the first content", () => {
  const RULES = {
    limits: { tokens: { metric: "tokens", window: "day", limit: 1_000 } },
    budgets: { money: { usd: "1", window: "day" } },
  } as const;
  const left = async (
    fault: Fault,
    fields: object,
    { routes = [], abort = true }: { readonly routes?: readonly Route[]; readonly abort?: boolean } = {},
  ) => {
    const gateway = limitedGateway(RULES, routes, { up0: [fault] });
    const leaving = new AbortController();
    if (abort) setTimeout(() => leaving.abort(), 40);
    const response = await gateway.chat(
      { model: "up0:m", max_tokens: 100, messages: [{ role: "user", content: "Hello" }], ...fields },
      { signal: leaving.signal },
    );
    await response.text().catch(() => {});
    await until(() => gateway.records.length > 0);
    expectNothingOpen(gateway);
    const { limits, cost, usage, usageSource } = gateway.records.at(-1)!;
    return [limits.map(({ settled }) => settled), cost?.nanoUsd ?? 0, usage?.prompt_tokens ?? null, usageSource];
  };
  test.each([
    [
      "a plain call whose answer has begun, by the provider's figures",
      { kind: "ok", gapMs: 100 },
      {},
      [[8, 11_000], 11_000, 5, "provider"],
    ],
    ["a plain call whose head had not come", { kind: "ok", delayMs: 300 }, {}, [[6, 6_000], 6_000, 6, "estimated"]],
    [
      "a stream whose head had come",
      { kind: "falls_silent", words: 0 },
      { stream: true },
      [[6, 6_000], 6_000, 6, "estimated"],
    ],
    ["a stream whose head had not come", { kind: "stall" }, { stream: true }, [[6, 6_000], 6_000, 6, "estimated"]],
    [
      "a call that had no connection so far, which pays nothing",
      { kind: "no_connection" },
      { stream: true },
      [[0, 0], 0, null, null],
    ],
    ["a stream with content", { kind: "ok", words: 10, gapMs: 25 }, { stream: true }, null],
  ] as const)("[d4.2 d7.7] is charged what had reached the provider: %s", async (_, fault, fields, expected) => {
    const seen = await left(fault, fields);
    if (expected !== null) expect(seen).toEqual(expected as unknown as typeof seen);
    else expect(seen).toMatchObject([[expect.any(Number), expect.any(Number)], expect.any(Number), 6, "estimated"]);
  });
  test("[d4.2 d7.2] so is a client whose time is over, or whose answer broke off; a provider that refuses charges nothing", async () => {
    expect(await left({ kind: "falls_silent", words: 0 }, { stream: true, timeout: 0.05 }, { abort: false })).toEqual([
      [6, 6_000],
      6_000,
      6,
      "estimated",
    ]);
    expect(await left({ kind: "error_event", words: 0 }, { stream: true }, { abort: false })).toEqual([
      [0, 0],
      0,
      null,
      null,
    ]);
    expect(await left({ kind: "cut", words: 0 }, { stream: true }, { abort: false })).toEqual([
      [6, 6_000],
      6_000,
      6,
      "estimated",
    ]);
    expect(await left(status(503), { stream: true }, { abort: false })).toEqual([[0, 0], 0, null, null]);
  });
  test("[d4.2] a superseded attempt is charged its prompt, once, in the budget and in the cost of the call", async () => {
    const routes = [routeOf("r", ["up0:m", "up1:m"], { hedge: { after: 20, maxExtra: 1 } })];
    // the winner is 5 and 3 tokens, for 11 µUSD
    expect(
      await left(
        { kind: "falls_silent", words: 0 },
        { model: undefined, route: "r", stream: true },
        { routes, abort: false },
      ),
    ).toEqual([[6 + 8, 17_000], 17_000, 5, "provider"]);
  });
});

test("refusals by limits, budgets and policies are counted in a metric, by rule", async () => {
  const gateway = limitedGateway({
    limits: { calls: { ...MINUTE, limit: 1, scope: { provider: "up0" } } },
    budgets: { money: { usd: "0.00001", window: "day", scope: { provider: "up1" } } },
  });
  for (const model of ["up0:m", "up0:m", "up0:m", "up1:m", "up1:small"]) await ask(gateway, { ...CALL, model });
  const metrics = openMetrics();
  for (const record of gateway.records) metrics.publish(record);
  expect([...(await metrics.text()).matchAll(/^dragoman_refusals_total(.*)$/gm)].map(([, sample]) => sample!)).toEqual([
    '{code="rate_limit_exceeded",rule="id_calls"} 2',
    '{code="insufficient_quota",rule="id_money"} 1',
    '{code="model_unpriced",rule="none"} 1',
  ]);
});

describe("a deployment in place of the model", () => {
  test("[d1.7 d3.4] counts under the limits of the model that it names and of the model that was requested, and a call counts once", async () => {
    const gateway = limitedGateway({
      limits: {
        dear: { ...MINUTE, limit: 2, scope: { model: "up0:dear" } },
        each: { ...MINUTE, limit: 5, scope: { model: "*" } },
        all: { ...MINUTE, limit: 50 },
      },
    });
    const heard = [];
    for (let index = 0; index < 3; index++)
      heard.push(await ask(gateway, { deployment_id: "dear", drop_params: true }));
    expect([heard.map(({ status: code }) => code), heard[2]!.body.error?.metadata?.limit]).toEqual([
      [200, 200, 429],
      "dear",
    ]);
    expect(gateway.records[0]!.limits.map(({ id, value }) => [id, value])).toEqual([
      ["id_each", "up0:m"],
      ["id_all", ""],
      ["id_dear", ""],
      ["id_each", "up0:dear"],
    ]);
    expectNothingOpen(gateway);
  });
});

describe("a client that does not read", () => {
  test("[d4.2 d7.2] holds its concurrency until the time of the call is over, and no longer", async () => {
    const gateway = limitedGateway(
      {
        limits: {
          places: { metric: "concurrency", limit: 1 },
          tokens: { metric: "tokens", window: "day", limit: 1_000 },
        },
      },
      [],
      { up0: [{ kind: "ok", words: 20, gapMs: 5 }, OK] },
    );
    const stalled = await gateway.chat({
      model: "up0:m",
      stream: true,
      timeout: 0.3,
      max_tokens: 100,
      messages: [{ role: "user", content: "Hello" }],
    });
    await stalled.body!.getReader().read();
    expect((await ask(gateway, CALL)).status).toBe(429);
    await until(() => gateway.records.some(({ status: code }) => code === 504));
    expectNothingOpen(gateway);
    expect((await ask(gateway, CALL)).status).toBe(200);
    expect(
      gateway.records.find(({ status: code }) => code === 504)!.limits.find(({ unit }) => unit === "tokens")!.settled,
    ).toBeGreaterThan(6);
  });
});

describe("choices that need several requests", () => {
  test("[d4.2] count as a request each where attempts are counted, and are admitted all or none", async () => {
    const gateway = limitedGateway({ limits: { there: { ...MINUTE, limit: 4, scope: { provider: "up0" } } } }, [], {
      up0: [status(500), OK],
    });
    expect([
      (await ask(gateway, { n: 2, num_retries: 1 })).status,
      gateway.records[0]!.limits.map(({ settled }) => settled),
    ]).toEqual([200, [1, 1]]);
  });
});

describe("a fault of the gateway while a call settles", () => {
  // a list of prices that fails is found when the usage becomes money, after the answer
  const unreadable = (): never => {
    throw new Error("a price that cannot be read");
  };
  const prices = new Proxy({}, { get: unreadable });
  const rules = {
    limits: { atOnce: { metric: "concurrency", limit: 1 }, tokens: { metric: "tokens", window: "day", limit: 1_000 } },
  } as const;

  test.each([
    ["plain", false],
    ["streamed", true],
  ] as const)("[d4.2] keeps no place and no reservation, and the call has its row, %s", async (_, stream) => {
    const gateway = limitedGateway(rules, [], {}, { snapshot: { prices: prices as never } });
    for (const call of [1, 2, 3]) {
      const heard = await ask(gateway, { ...CALL, stream }).catch(() => null);
      // a second call has a place only where the first one has left its own
      expect([call, heard?.body?.error?.code]).not.toEqual([call, "rate_limit_exceeded"]);
      if (!stream) expect([call, heard?.status, heard?.body?.error?.code]).toEqual([call, 500, "internal_error"]);
      await until(() => gateway.records.length === call);
      expect(gateway.records.at(-1)).toMatchObject({ status: 500, code: "internal_error" });
    }
    expectNothingOpen(gateway);
    expect((gateway.context.traffic as OpenTraffic).count()).toBe(0);
  });
});
