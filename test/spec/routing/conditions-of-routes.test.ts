// `when` and `share` of targets and fallbacks through the whole gateway: which target a call reaches, what stands in its
// plan, and what happens where a condition cannot be evaluated.
import { describe, expect, test } from "bun:test";
import { OK, status } from "../../harness/faults.ts";
import { type Routed, routedGateway, routeOf, type RouteParts } from "../../harness/routed.ts";
import { HELLO } from "../chat-calls.ts";

type Target = Parameters<typeof routeOf>[1][number];

function gatewayOf(targets: readonly Target[], parts: RouteParts = {}, further: ReturnType<typeof routeOf>[] = []) {
  return routedGateway(
    [routeOf("r", targets, parts), ...further],
    { up0: [OK], up1: [OK], up2: [OK], up3: [OK] },
    { permissions: ["byo_endpoint", "debug"], snapshot: { conditionHeaders: ["x-tier", "x-region"] } },
  );
}

/** Targets of one order. */
const level = (...targets: readonly Target[]): readonly Target[] =>
  targets.map((target) => ({ order: 0, ...(typeof target === "string" ? { name: target } : target) }));

async function asked(gateway: Routed, body: object = {}, headers: Record<string, string> = {}) {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...body }, { headers });
  const answer = (await response.json()) as any;
  const record = gateway.records.at(-1);
  return {
    status: response.status,
    model: answer.model as string | undefined,
    error: answer.error,
    answer,
    plan: record?.plan.map(({ target, why, refused }) => [target, why, refused]) ?? [],
    traceId: record?.traceId ?? "",
  };
}

/** The percentage of the calls that ended at the target, over as many calls as their keys are different. */
async function percentAt(gateway: Routed, target: string, calls: number, body: (call: number) => object) {
  let there = 0;
  for (let call = 0; call < calls; call++) if ((await asked(gateway, body(call))).model === target) there += 1;
  return (there / calls) * 100;
}

describe("[d16.1] `when` of a target", () => {
  const GOLD = { name: "up0:m", when: 'headers["x-tier"] == "gold"' };

  test("is asked of each call: the header, where it is listed, decides", async () => {
    const gateway = gatewayOf([GOLD, "up1:m"]);
    expect((await asked(gateway, {}, { "x-tier": "gold" })).model).toBe("up0:m");
    const other = await asked(gateway, {}, { "x-tier": "silver" });
    expect(other.model).toBe("up1:m");
    expect(other.plan).toEqual([
      ["up0:m", "passed over: `when` is false", "target_not_eligible"],
      ["up1:m", "first by order", null],
    ]);
    expect((await asked(gateway)).model).toBe("up1:m");
  });

  test.each([
    ["request.parameters.temperature > 0.5", { temperature: 0.9 }, { temperature: 0.1 }],
    ["request.messages.prompt_tokens > 100", { messages: [{ role: "user", content: "word ".repeat(400) }] }, {}],
    ["request.stream", null, {}],
    ['has(request.metadata.plan) && request.metadata.plan == "pro"', { metadata: { plan: "pro" } }, { metadata: {} }],
    ['"function" in request.tools', { tools: [{ type: "function", function: { name: "f" } }] }, {}],
    ['token.kind == "project" && tenant.id == "default" && project.id == "default"', {}, null],
    ['client.ip == "" && now > timestamp("2020-01-01T00:00:00Z")', {}, null],
    ["now < timestamp('2020-01-01T00:00:00Z')", null, {}],
    ['"x-region" in headers && headers["x-region"] == ""', {}, null],
  ] as const)("sees what policies see: %s", async (when, matching, other) => {
    const gateway = gatewayOf([{ name: "up0:m", when }, "up1:m"]);
    if (matching !== null) expect((await asked(gateway, matching)).model).toBe("up0:m");
    if (other !== null) expect((await asked(gateway, other)).model).toBe("up1:m");
  });

  test("that cannot be evaluated passes the target over, and the plan says so", async () => {
    const gateway = gatewayOf([{ name: "up0:m", when: 'request.metadata.plan == "pro"' }, "up1:m"]);
    const { model, plan } = await asked(gateway);
    expect(model).toBe("up1:m");
    expect(plan[0]![1]).toMatch(/^passed over: `when` could not be evaluated: /);
    expect(plan[0]![2]).toBe("target_not_eligible");
    // a header that is not listed any more
    const unlisted = gatewayOf([{ name: "up0:m", when: 'headers["x-other"] == ""' }, "up1:m"]);
    expect((await asked(unlisted, {}, { "x-other": "a" })).plan[0]![1]).toContain("could not be evaluated");
  });

  test("is asked of a target that the request names as well, and not of a direct call", async () => {
    const gateway = gatewayOf([GOLD, "up1:m"]);
    expect((await asked(gateway, { model: "up0:m" })).model).toBe("up1:m");
    expect((await asked(gateway, { route: "direct", model: "up0:m" })).model).toBe("up0:m");
  });

  test.each(["weighted", "least_latency", "least_cost", "least_busy"] as const)(
    "never lets the strategy %s choose it",
    async (strategy) => {
      const gateway = gatewayOf(
        [
          { ...GOLD, order: 0, weight: 1000 },
          { name: "up1:m", order: 0 },
        ],
        { strategy },
      );
      for (let call = 0; call < 20; call++) expect((await asked(gateway)).model).toBe("up1:m");
      expect(gateway.upstream.targets()).not.toContain("up0");
    },
  );

  test("leaves a call without a target: 400 that says so, nothing is sent, and the plan has each", async () => {
    const gateway = gatewayOf([GOLD, { name: "up1:m", when: "request.stream" }]);
    const { status: code, error, plan } = await asked(gateway);
    expect([code, error.code]).toEqual([400, "target_not_eligible"]);
    expect(plan.map(([target]) => target)).toEqual(["up0:m", "up1:m"]);
    expect(gateway.upstream.served).toEqual([]);
    expect(gateway.records.at(-1)?.attempts).toEqual([]);
  });

  test("shows neither the condition nor the header to the caller", async () => {
    const gateway = gatewayOf([GOLD]);
    const { answer } = await asked(gateway, {}, { "x-tier": "silver" });
    expect(JSON.stringify(answer)).not.toMatch(/silver|gold|x-tier/);
  });

  test("is in the explanation of a call", async () => {
    const gateway = gatewayOf([GOLD, "up1:m"]);
    const { answer } = await asked(gateway, {}, { "x-gateway-explain": "true" });
    expect(answer.targets[0].passed_over).toMatchObject({
      code: "target_not_eligible",
      message: "This target is passed over: `when` is false.",
    });
    expect(answer.targets[0].why).toBe("One of 2 targets of route r, which this call passes over: `when` is false.");
    expect(answer.targets[1].passed_over).toBeUndefined();
    expect(answer.targets[1].why).toBe("The only one of 2 targets of route r that is for this call.");
    const { answer: among } = await asked(gatewayOf([GOLD, "up1:m", "up2:m"]), {}, { "x-gateway-explain": "true" });
    expect(among.targets[2].why).toStartWith("One of the 2 of 3 targets of route r that are for this call, chosen by");
  });

  test("does not keep a call that fails elsewhere waiting for it, nor makes it the last resort", async () => {
    const gateway = routedGateway(
      [routeOf("r", [GOLD, "up1:m"])],
      { up0: [OK], up1: [status(503)] },
      { snapshot: { conditionHeaders: ["x-tier"] } },
    );
    const { status: code } = await asked(gateway);
    expect(code).toBe(503);
    expect(gateway.upstream.targets()).not.toContain("up0");
  });
});

describe("[d16.1] `when` of a fallback", () => {
  const failing = (fallbacks: RouteParts["fallbacks"] & object, further: ReturnType<typeof routeOf>[] = []) =>
    routedGateway(
      [routeOf("r", ["up0:m"], { fallbacks }), ...further],
      { up0: [status(500)], up1: [OK], up2: [OK], up3: [OK] },
      { snapshot: { conditionHeaders: ["x-tier"] } },
    );
  const GOLD = 'headers["x-tier"] == "gold"';

  test("passes a model over, and stands in the plan when the call gets there", async () => {
    const gateway = failing([{ model: "up1:m", route: null, params: {}, when: GOLD }, "up2:m"]);
    expect((await asked(gateway, {}, { "x-tier": "gold" })).model).toBe("up1:m");
    const { model, plan } = await asked(gateway);
    expect(model).toBe("up2:m");
    expect(plan.map(([target]) => target)).toEqual(["up0:m", "up1:m", "up2:m"]);
    expect(plan[1]![1]).toBe("passed over: the fallback is not for this call (`when` is false)");
  });

  test("passes a route over with all its fallbacks, which a later fallback may still reach", async () => {
    const other = routeOf("other", ["up1:m"], { fallbacks: ["up3:m"] });
    const gateway = failing([{ model: null, route: "other", params: {}, when: GOLD }, "up2:m", "route:other"], [other]);
    expect((await asked(gateway)).model).toBe("up2:m");
    const later = failing([{ model: null, route: "other", params: {}, when: GOLD }, "route:other"], [other]);
    expect((await asked(later)).model).toBe("up1:m");
  });

  test("may name a target again that the route passes over", async () => {
    const gateway = routedGateway(
      [routeOf("r", [{ name: "up0:m", when: GOLD }, "up1:m"], { fallbacks: ["up0:m"] })],
      { up0: [OK], up1: [status(500)] },
      { snapshot: { conditionHeaders: ["x-tier"] } },
    );
    expect((await asked(gateway)).model).toBe("up0:m");
  });
});

describe("[d16.1] `share` of a target", () => {
  test("takes its percentage of calls, by trace ids, before the others of its order with every strategy", async () => {
    for (const strategy of ["priority", "weighted", "least_busy"] as const) {
      const gateway = gatewayOf(level({ name: "up0:m", weight: 1000 }, { name: "up1:m", share: 20 }), { strategy });
      expect(await percentAt(gateway, "up1:m", 400, () => ({}))).toBeWithin(13, 28);
    }
  });

  test("is decided by the sticky key, so that a user stays in or out of it", async () => {
    const gateway = gatewayOf(level("up0:m", { name: "up1:m", share: 30 }), { sticky: { by: "user" } });
    const of = async (user: string) => (await asked(gateway, { user })).model;
    const first = new Map<string, string | undefined>();
    for (let user = 0; user < 60; user++) first.set(`user-${user}`, await of(`user-${user}`));
    expect(new Set(first.values())).toEqual(new Set(["up0:m", "up1:m"]));
    for (const [user, model] of first) expect(await of(user)).toBe(model);
    expect(await percentAt(gateway, "up1:m", 400, (call) => ({ user: `u${call}` }))).toBeWithin(22, 39);
  });

  test("says in the plan that the call is in it, or that it is not", async () => {
    const gateway = gatewayOf(level("up0:m", { name: "up1:m", share: 50 }), { sticky: { by: "user" } });
    const plans = new Map<string, unknown>();
    for (let user = 0; user < 20; user++) {
      const { model, plan } = await asked(gateway, { user: `u${user}` });
      plans.set(model!, plan);
    }
    expect(plans.get("up1:m")).toEqual([["up1:m", "in its share of 50 %, sticky", null]]);
    expect(plans.get("up0:m")).toEqual([
      ["up1:m", "passed over: the call is not in its share of 50 %", "target_not_eligible"],
      ["up0:m", "sticky", null],
    ]);
  });

  test("overlaps with no other share of the list, and a greater one keeps the calls of the smaller", async () => {
    const users = Array.from({ length: 200 }, (_, user) => `u${user}`);
    const at = async (shares: readonly number[]) => {
      const gateway = gatewayOf(
        level("up0:m", { name: "up1:m", share: shares[0]! }, { name: "up2:m", share: shares[1]! }),
        { sticky: { by: "user" } },
      );
      const all = [];
      for (const user of users) all.push((await asked(gateway, { user })).model);
      return all;
    };
    const before = await at([10, 20]);
    const after = await at([40, 20]);
    expect(before.filter((model) => model === "up2:m").length).toBeWithin(20, 61);
    before.forEach((model, user) => {
      if (model === "up1:m") expect(after[user]).toBe("up1:m");
    });
    expect(new Set(await at([50, 50]))).toEqual(new Set(["up1:m", "up2:m"]));
  });

  test("is one of the calls for which `when` is true", async () => {
    const gateway = gatewayOf(
      level(
        "up0:m",
        { name: "up1:m", share: 100, when: "request.stream" },
        { name: "up2:m", share: 100, when: "!request.stream" },
      ),
    );
    expect((await asked(gateway)).model).toBe("up2:m");
  });

  test("does not hold a call back whose canary fails, nor one that names the canary", async () => {
    const gateway = routedGateway(
      [
        routeOf("r", level("up0:m", { name: "up1:m", share: 100 })),
        routeOf("s", level("up0:m", { name: "up1:m", share: 0.0001 })),
      ],
      { up0: [OK], up1: [status(500), OK] },
    );
    expect((await asked(gateway)).model).toBe("up0:m");
    expect((await asked(gateway, { route: "s", model: "up1:m" })).model).toBe("up1:m");
  });

  test("divides fallbacks as well", async () => {
    const gateway = routedGateway(
      [
        routeOf("r", ["up0:m"], {
          fallbacks: [{ model: "up1:m", route: null, params: {}, share: 50 }, "up2:m"],
          breaker: { failures: 10_000, ratio: 1, windowMs: 1000, openMs: 1000 },
        }),
      ],
      { up0: [status(404)], up1: [OK], up2: [OK] },
    );
    expect(await percentAt(gateway, "up1:m", 200, () => ({}))).toBeWithin(35, 65);
  });
});
