// Promises 4.1, 4.3 and 4.5 to 4.8 for budgets, through the whole gateway; and what OpenAI's own client makes of both kinds of refusal.
import { describe, expect, test } from "bun:test";
import OpenAI, { type APIError } from "openai";
import { OK, status } from "../../harness/faults.ts";
import { ask, expectNothingOpen, limitedGateway } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { turnedClock } from "../../admission/turned-clock.ts";

// "Hello" is 6 tokens of prompt for 6 µUSD, 10 tokens of answer 20 µUSD; the answer is 5 and 3 tokens: 11 µUSD
const CALL = { max_tokens: 10 };
const RESERVED = 26_000;
const SPENT = 11_000;

describe("money", () => {
  test("[d4.2 d4.7] is reserved at its upper bound and settled at its cost, in whole nano-dollars", async () => {
    const gateway = limitedGateway({ budgets: { money: { usd: "1", window: "month" } } });
    await ask(gateway, CALL);
    expect(gateway.records[0]!).toMatchObject({
      cost: { nanoUsd: SPENT },
      limits: [{ unit: "nano_usd", before: 0, reserved: RESERVED, settled: SPENT, after: SPENT }],
    });
    expectNothingOpen(gateway);
  });
  test("[d4.2] of two hundred simultaneous calls against room for ten reservations, ten are admitted", async () => {
    const gateway = limitedGateway({ budgets: { money: { usd: "0.00026", window: "day" } } }, [], {
      up0: [{ kind: "ok", delayMs: 20 }],
    });
    const statuses = (await Promise.all(Array.from({ length: 200 }, () => ask(gateway, CALL)))).map(
      (one) => one.status,
    );
    expect([statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length]).toEqual([
      10, 190,
    ]);
    expectNothingOpen(gateway);
  });
  test("[d4.2] the price is that of the attempted target, and each choice is paid for", async () => {
    const gateway = limitedGateway({ budgets: { money: { usd: "1", window: "month" } } }, [], { up0: [status(500)] });
    await ask(gateway, { ...CALL, n: 2, fallbacks: ["up1:dear"] });
    // the fallback: (6 + 10) tokens at 0.001 USD, twice
    expect(gateway.records[0]!.limits[0]).toMatchObject({ reserved: 32_000_000, settled: 8_000_000 });
  });
  test("[d4.5] a model without a price is answered with 403 model_unpriced, and nothing is sent; the route's next target is attempted", async () => {
    const budgets = { money: { usd: "1", window: "month" } };
    const gateway = limitedGateway({ budgets }, [routeOf("r", ["up0:unpriced", "up1:m"])]);
    const { status: code, body } = await ask(gateway, { model: "up0:unpriced" });
    expect([code, body.error.code, body.error.type, body.error.metadata, gateway.sent.length]).toEqual([
      403,
      "model_unpriced",
      "permission_error",
      { limit: "money", scope: { project: "default" } },
      0,
    ]);
    expect((await ask(gateway, { model: undefined, route: "r" })).headers.get("x-gateway-model")).toBe("up1:m");
    expectNothingOpen(gateway);
  });
  test("[d4.5] unpriced: allow in the budget admits it; a token budget needs no price; a budget in audit mode records what it would have done", async () => {
    const gateway = limitedGateway({
      budgets: {
        open: { usd: "1", window: "month", unpriced: "allow" },
        tokens: { tokens: 100_000, window: "month" },
        audit: { usd: "1", window: "day", mode: "audit" },
      },
    });
    expect((await ask(gateway, { model: "up0:unpriced" })).status).toBe(200);
    expect(
      gateway.records[0]!.limits.map(({ id, reserved, settled, wouldRefuse }) => [id, reserved, settled, wouldRefuse]),
    ).toEqual([
      ["id_open", 0, 0, false],
      ["id_tokens", 4_102, 8, false],
      ["id_audit", 0, 0, true],
    ]);
  });
  test("[d4.8] the caller's own price affects no budget without the permission, and counts with it", async () => {
    const fields = { ...CALL, input_cost_per_token: 0.5, output_cost_per_token: 0.5 };
    const plain = limitedGateway({ budgets: { money: { usd: "10", window: "month" } } });
    expect((await ask(plain, fields)).headers.get("x-gateway-warnings")).toBe("custom_price_not_counted");
    expect(plain.records[0]!.limits[0]).toMatchObject({ reserved: RESERVED, settled: SPENT });
    const allowed = limitedGateway(
      { budgets: { money: { usd: "10", window: "month" } } },
      [],
      {},
      { permissions: ["custom_price"] },
    );
    await ask(allowed, fields);
    expect(allowed.records[0]!.limits[0]).toMatchObject({ reserved: 8_000_000_000, settled: 4_000_000_000 });
  });
});

describe("a refusal by a budget", () => {
  const used = { usd: "0.00003" };
  test("[d4.3 s:errors.429-too-many-requests] has insufficient_quota, budget_exceeded, x-should-retry: false, and retry-after until the reset", async () => {
    const clock = turnedClock(Date.UTC(2026, 1, 28, 23, 59, 0));
    const gateway = limitedGateway({ budgets: { money: { ...used, window: "month" } } }, [], {}, { clock });
    await ask(gateway, CALL);
    const { status: code, headers, body } = await ask(gateway, CALL);
    expect([code, body.error.code, body.error.type]).toEqual([429, "insufficient_quota", "insufficient_quota"]);
    expect(body.error.metadata).toEqual({
      reason: "budget_exceeded",
      limit: "money",
      scope: { project: "default" },
      window: "month",
      unit: "usd",
      limit_value: "0.00003",
      remaining: "0.000019",
      resets_at: "2026-03-01T00:00:00.000Z",
    });
    expect([headers.get("x-should-retry"), headers.get("retry-after")]).toEqual(["false", "60"]);
    clock.pass(60_000);
    expect((await ask(gateway, CALL)).status).toBe(200);
  });
  test("[d4.3] by a total budget has no reset: resets_at null, no retry-after", async () => {
    const gateway = limitedGateway({ budgets: { tokens: { tokens: 20, window: "total" } } });
    await ask(gateway, CALL);
    const { headers, body } = await ask(gateway, CALL);
    expect([
      body.error.metadata.resets_at,
      body.error.metadata.reason,
      headers.get("retry-after"),
      headers.get("retry-after-ms"),
      headers.get("x-should-retry"),
    ]).toEqual([null, "budget_exceeded", null, null, "false"]);
    expect([headers.get("x-ratelimit-remaining-tokens"), headers.get("x-ratelimit-reset-tokens")]).toEqual([
      "12",
      null,
    ]);
  });
  test("[d4.3] of a call above the whole budget has exceeds_limit and no retry-after", async () => {
    const { headers, body } = await ask(limitedGateway({ budgets: { money: { ...used, window: "day" } } }), {
      max_tokens: 1_000,
    });
    expect([
      body.error.code,
      body.error.metadata.reason,
      headers.get("retry-after"),
      headers.get("x-should-retry"),
    ]).toEqual(["insufficient_quota", "exceeds_limit", null, "false"]);
  });
});

describe("thresholds", () => {
  test("[d4.6] each is reported once in a window", async () => {
    const clock = turnedClock();
    const gateway = limitedGateway(
      { budgets: { tokens: { tokens: 100, window: "day", thresholds: [50, 80] } } },
      [],
      {},
      { clock },
    );
    const told = (): readonly number[] => gateway.crossed.map(({ threshold }) => threshold.percent);
    const after: (readonly number[])[] = [];
    for (let index = 0; index < 11; index++) {
      await ask(gateway, { max_tokens: 2 });
      after.push(told());
    }
    expect([after[5], after[6], after[8], after[9], after[10]]).toEqual([[], [50], [50], [50, 80], [50, 80]]);
    expect(gateway.crossed[0]).toMatchObject({
      account: { rule: { name: "tokens" } },
      status: { used: 56, limit: 100 },
    });
    clock.pass(86_400_000);
    for (let index = 0; index < 7; index++) await ask(gateway, { max_tokens: 2 });
    expect(told()).toEqual([50, 80, 50]);
  });
  test("[d4.6] the last part before the limit counts as used when the budget refuses there", async () => {
    const gateway = limitedGateway({ budgets: { tokens: { tokens: 81, window: "day", thresholds: [100] } } });
    for (let index = 0; index < 10; index++) expect((await ask(gateway, { max_tokens: 2 })).status).toBe(200);
    expect(gateway.crossed.length).toBe(0);
    expect([
      (await ask(gateway, { max_tokens: 2 })).status,
      gateway.crossed.map(({ threshold }) => threshold.percent),
    ]).toEqual([429, [100]]);
  });
  test("[d4.6] from degrade_to's percentage on calls go to the cheaper model, and the answer names it", async () => {
    const gateway = limitedGateway({
      budgets: { money: { usd: "0.0001", window: "day", thresholds: [{ percent: 20, degrade_to: "up1:free" }] } },
    });
    const models: (string | null)[] = [];
    for (let index = 0; index < 4; index++) {
      const { headers, body } = await ask(gateway, CALL);
      expect(body.model).toBe(headers.get("x-gateway-model"));
      models.push(headers.get("x-gateway-model"));
    }
    // 11 µUSD each: after two more than a fifth is used
    expect(models).toEqual(["up0:m", "up0:m", "up1:free", "up1:free"]);
    expect(gateway.records.at(-1)!.limits.at(-1)).toMatchObject({ before: 22_000, reserved: 0, after: 22_000 });
    expectNothingOpen(gateway);
  });
  test("[d4.6] calls also degrade wherever the budget would refuse; the alternative may be a route; where nothing fits, the answer is 429", async () => {
    const tight = { usd: "0.00003", window: "day", thresholds: [{ percent: 100, degrade_to: "route:cheap" }] };
    const gateway = limitedGateway({ budgets: { money: tight } }, [routeOf("cheap", ["up2:free"])]);
    expect([
      (await ask(gateway, CALL)).body.route,
      (await ask(gateway, CALL)).body.route,
      (await ask(gateway, { ...CALL, stream: true })).headers.get("x-gateway-model"),
    ]).toEqual(["direct", "cheap", "up2:free"]);
    const nowhere = limitedGateway({
      budgets: { money: { ...tight, thresholds: [{ percent: 50, degrade_to: "up1:dear" }] } },
    });
    await ask(nowhere, { max_tokens: 10 });
    expect((await ask(nowhere, CALL)).body.error).toMatchObject({
      code: "insufficient_quota",
      metadata: { reason: "exceeds_limit" },
    });
    expectNothingOpen(nowhere);
  });
  test("[d9.4] an explanation says that only the budget sends calls to the cheaper model, and fails as the call does", async () => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "1", window: "day", thresholds: [{ percent: 90, degrade_to: "up1:free" }] } } },
      [routeOf("gold", [{ name: "up0:m", when: "false" }])],
      {},
      { permissions: ["debug"] },
    );
    const explained = async (fields: object) => {
      const asked = { model: "up0:m", messages: [{ role: "user", content: "Hello" }], ...fields };
      return (await (await gateway.chat(asked, { headers: { "x-gateway-explain": "true" } })).json()) as any;
    };
    const { targets } = await explained({});
    expect(targets.map(({ target, why }: any) => [target, why.includes("only where a budget redirects")])).toEqual([
      ["up0:m", false],
      ["up1:free", true],
    ]);
    expect((await explained({ model: "gold" })).error.code).toBe("target_not_eligible");
    expect((await ask(gateway, { model: "gold" })).body.error.code).toBe("target_not_eligible");
  });
  test("[d4.6] a provider's failure alone sends no call to the cheaper model", async () => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "1", window: "day", thresholds: [{ percent: 90, degrade_to: "up1:free" }] } } },
      [],
      { up0: [status(500)] },
    );
    expect([(await ask(gateway, CALL)).status, gateway.upstream.targets()]).toEqual([502, ["up0"]]);
  });
  test("a threshold that names a missing model or route is not the caller's error", async () => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "1", window: "day", thresholds: [{ percent: 90, degrade_to: "route:gone" }] } } },
      [],
      { up0: [OK] },
    );
    expect((await ask(gateway, CALL)).status).toBe(200);
  });
});

describe("OpenAI's own client", () => {
  const clientOf = (rules: Parameters<typeof limitedGateway>[0]) => {
    const gateway = limitedGateway(rules);
    const statuses: number[] = [];
    const waits: number[] = [];
    const fetched = async (_: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const answer = await gateway.chat(init!.body as string);
      statuses.push(answer.status);
      if (answer.headers.has("retry-after-ms")) waits.push(Number(answer.headers.get("retry-after-ms")));
      return answer;
    };
    return {
      statuses,
      waits,
      client: new OpenAI({ baseURL: "http://gateway.test/v1", apiKey: "k", maxRetries: 2, fetch: fetched }),
    };
  };
  const call = async ({ client }: ReturnType<typeof clientOf>): Promise<APIError | null> => {
    try {
      await client.chat.completions.create({
        model: "up0:m",
        max_completion_tokens: 10,
        messages: [{ role: "user", content: "Hello" }],
      });
      return null;
    } catch (error) {
      return error as APIError;
    }
  };
  test("[d4.3] waits as long as a limit asks, and is admitted then", async () => {
    const stage = clientOf({ limits: { one: { metric: "requests", window: "second", limit: 1 } } });
    expect(await call(stage)).toBeNull();
    expect(await call(stage)).toBeNull();
    expect([stage.statuses, stage.waits.length, stage.waits[0]! > 500]).toEqual([[200, 429, 200], 1, true]);
  });
  test("[d4.3] stops at a budget at once, and can read its message", async () => {
    const stage = clientOf({ budgets: { money: { usd: "0.00003", window: "month" } } });
    await call(stage);
    const error = await call(stage);
    expect([error instanceof OpenAI.RateLimitError, error?.code, error?.type, stage.statuses]).toEqual([
      true,
      "insufficient_quota",
      "insufficient_quota",
      [200, 429],
    ]);
  });
  test("[d4.3] stops at once where the call is more than the whole limit", async () => {
    const stage = clientOf({ limits: { small: { metric: "tokens", window: "minute", limit: 10 } } });
    expect([(await call(stage))?.code, stage.statuses]).toEqual(["rate_limit_exceeded", [429]]);
  });
});
