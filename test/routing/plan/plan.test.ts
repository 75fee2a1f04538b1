// Which target is attempted next, and after which wait: retries, fallbacks, the lists for context length and content
// policy, health, deadlines, reasons.
import { describe, expect, test } from "bun:test";
import { DEFAULT_BREAKER } from "../../../src/core/configured/route.ts";
import { openHealth, type Health } from "../../../src/routing/health/health.ts";
import type { Candidate, Step } from "../../../src/routing/plan/plan-steps.ts";
import { candidate, failed, HOUR_MS, stage, planOf, shown, stepsOf, T0 } from "./candidates.ts";
import { backoffMs } from "../../../src/routing/plan/plan-waits.ts";

function tripped(...keys: readonly string[]): Health {
  const health = openHealth();
  for (const [at, key] of keys.entries())
    for (let times = 0; times < DEFAULT_BREAKER.failures; times++)
      health.end(key, DEFAULT_BREAKER, "upstream_fault", T0 - at, {});
  return health;
}

function spent(...upstreams: readonly string[]): Health {
  const health = openHealth();
  for (const upstream of upstreams) while (health.takeRetry(upstream, T0));
  return health;
}

const words = (step: Step<Candidate>): string => step.why;

describe("retries", () => {
  test("wait between attempts at the only target, with full jitter, and stop", () => {
    expect(stepsOf(planOf([stage(["a"], { retries: 3 })]))).toEqual([
      "a",
      "a after 125",
      "a after 250",
      "a after 500",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a"], { retries: 0 })]))).toEqual(["a", "exhausted"]);
  });
  test("back off from 250 ms, doubling up to 8 s, by chance from nothing to all of it", () => {
    expect([0, 1, 2, 3, 4, 5, 6, 40].map((repeat) => backoffMs(repeat, 1))).toEqual([
      250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000,
    ]);
    expect(backoffMs(3, 0)).toBe(0);
  });
  test("repeat without a wait while another target is left", () => {
    expect(stepsOf(planOf([stage(["a", "b"], { retries: 2 })]))).toEqual([
      "a",
      "a",
      "a",
      "b",
      "b after 125",
      "b after 250",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a"]), stage(["b"])]))).toEqual(["a", "a", "b", "b after 125", "exhausted"]);
  });
  test("move on at once when the upstream asked to wait, and come back when its time has come", () => {
    expect(stepsOf(planOf([stage(["a", "b"])]), [failed("retryable", 2_000), failed()])).toEqual([
      "a",
      "b",
      "b after 125",
      "a after 2000",
      "exhausted",
    ]);
  });
  test("respect the upstream's wait up to 10 s, and no longer", () => {
    expect(stepsOf(planOf([stage(["a"])]), [failed("retryable", 10_000)])).toEqual(["a", "a after 10000", "exhausted"]);
    expect(stepsOf(planOf([stage(["a"])]), [failed("retryable", 10_001)])).toEqual(["a", "exhausted"]);
    expect(stepsOf(planOf([stage(["a"])]), [failed("retryable", 1)])).toEqual(["a", "a after 125", "exhausted"]);
  });
  test("wait for a rate limit that another call has met", () => {
    const health = openHealth();
    const plan = planOf([stage(["a"])], { health });
    plan.next(null, T0, HOUR_MS);
    health.end("a", DEFAULT_BREAKER, "client_fault", T0, { retryAfterMs: 7_000 });
    expect(shown(plan.next(failed("retryable", 2_000), T0, HOUR_MS))).toBe("a after 7000");
  });
  test("wait only for what fits into the deadline", () => {
    expect(stepsOf(planOf([stage(["a"])]), [failed("retryable", 2_000)], 2_001)).toEqual([
      "a",
      "a after 2000",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a"])]), [failed("retryable", 2_000)], 2_000)).toEqual(["a", "deadline"]);
    expect(stepsOf(planOf([stage(["a", "b"])]), [failed("retryable", 2_000), failed()], 1_000)).toEqual([
      "a",
      "b",
      "b after 125",
      "deadline",
    ]);
  });
  test("give up when the deadline is over", () => {
    expect(shown(planOf([stage(["a"])]).next(null, T0, 0))).toBe("deadline");
    const plan = planOf([stage(["a", "b"])]);
    plan.next(null, T0, 5);
    expect(shown(plan.next(failed(), T0, 0))).toBe("deadline");
    expect(shown(plan.next(failed(), T0, 5))).toBe("deadline");
  });
  test("move on when the retry budget of the upstream is empty, which never bounds moving on", () => {
    expect(
      stepsOf(planOf([stage(["a", "b", "c"], { retries: 3 })], { health: spent("up-a", "up-b", "up-c") })),
    ).toEqual(["a", "b", "c", "exhausted"]);
    expect(stepsOf(planOf([stage(["a", "b"])], { health: spent("up-b") }))).toEqual(["a", "a", "b", "exhausted"]);
    // What a was not given at once it may still have in the end, when its upstream has room again.
    const health = spent("up-a");
    const plan = planOf([stage(["a", "b"], { retries: 1 })], { health });
    expect(["a", "b"]).toEqual([shown(plan.next(null, T0, HOUR_MS)), shown(plan.next(failed(), T0, HOUR_MS))]);
    expect(shown(plan.next(failed(), T0 + 20_000, HOUR_MS))).toBe("a");
  });
  test("move on when the breaker has opened", () => {
    const health = openHealth();
    const plan = planOf([stage(["a", "b"])], { health });
    expect(shown(plan.next(null, T0, HOUR_MS))).toBe("a");
    for (let times = 0; times < 5; times++) health.end("a", DEFAULT_BREAKER, "upstream_fault", T0, {});
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("b");
  });
  test("[d7.10] do not repeat what ended by a time limit while another able target is left", () => {
    const late = failed("timed_out");
    expect(stepsOf(planOf([stage(["a", "b"]), stage(["c"])]), [late])).toEqual([
      "a",
      "b",
      "c",
      "a after 125",
      "b after 125",
      "c after 125",
      "exhausted",
    ]);
    // b may still be repeated, and a was slow
    expect(stepsOf(planOf([stage(["a", "b"])]), [late, failed()])).toEqual([
      "a",
      "b",
      "b after 125",
      "a after 125",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a"])]), [late])).toEqual(["a", "a after 125", "exhausted"]);
    expect(stepsOf(planOf([stage(["a", "b"], { retryTimeouts: true })]), [late])).toEqual([
      "a",
      "a",
      "b",
      "b after 125",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a"]), stage(["b"])], { health: tripped("b") }), [late])).toEqual([
      "a",
      "a after 125",
      "b",
      "b after 125",
      "exhausted",
    ]);
  });
  test("never follow a final failure", () => {
    expect(stepsOf(planOf([stage(["a", "b"]), stage(["c"])]), [failed("final")])).toEqual(["a", "final"]);
  });
});

describe("stages", () => {
  test("are entered in order, and a key that stands in several is one target", () => {
    expect(
      stepsOf(
        planOf([stage(["a", "b"], { retries: 0 }), stage(["b", "a"], { retries: 0 }), stage(["c"], { retries: 0 })]),
      ),
    ).toEqual(["a", "b", "c", "exhausted"]);
  });
  test("leave out unhealthy targets", () => {
    expect(stepsOf(planOf([stage(["a", "b"], { retries: 0 })], { health: tripped("a") }))).toEqual(["b", "exhausted"]);
  });
  test("without a healthy target take the one that is free first, or are skipped", () => {
    const health = tripped("a", "b");
    expect(shown(planOf([stage(["a", "b"])], { health }).next(null, T0, HOUR_MS))).toBe("b");
    expect(stepsOf(planOf([stage(["a", "b"], { onExhausted: "error" })], { health }))).toEqual(["no_target"]);
    expect(
      shown(planOf([stage(["a", "b"], { onExhausted: "error" }), stage(["c"])], { health }).next(null, T0, HOUR_MS)),
    ).toBe("c");
    expect(stepsOf(planOf([stage([])]))).toEqual(["no_target"]);
    expect(stepsOf(planOf([]))).toEqual(["no_target"]);
  });
  test("[d7.5] are passed over while their targets are unable and any later one is able, and are the last resort", () => {
    const all = [stage(["a", "b"], { retries: 0 }), stage(["c"], { retries: 0 }), stage(["d"], { retries: 0 })];
    expect(stepsOf(planOf(all, { health: tripped("a", "b", "c") }))).toEqual(["d", "c", "b", "exhausted"]);
    expect(stepsOf(planOf(all, { health: tripped("a", "b") }))).toEqual(["c", "d", "b", "exhausted"]);
    // of all that are unable, the one that is free first
    expect(stepsOf(planOf(all, { health: tripped("d", "a", "b", "c") }))).toEqual(["c", "b", "d", "exhausted"]);
  });
  test("[d7.5] wait for nothing, and ask no unable target, where a later one is able but may not be repeated at once", () => {
    const health = openHealth();
    health.end("a", DEFAULT_BREAKER, "client_fault", T0, { retryAfterMs: 60_000 });
    expect(stepsOf(planOf([stage(["a"]), stage(["b"])], { health }))).toEqual(["b", "b after 125", "a", "exhausted"]);
  });
  test("[d7.5] let one call probe a target whose breaker is half-open, and take the others to the next target", () => {
    const health = tripped("a");
    const nowMs = T0 + DEFAULT_BREAKER.openMs;
    const plans = [1, 2, 3].map(() => planOf([stage(["a"]), stage(["b"])], { health }));
    const steps = plans.map((plan) => plan.next(null, nowMs, HOUR_MS));
    // all of them choose it before the first attempt begins
    expect(steps.map(shown)).toEqual(["a", "a", "a"]);
    expect(health.begin("a", DEFAULT_BREAKER, nowMs)).toBe(1);
    expect(plans.slice(1).map((plan) => shown(plan.next(failed("blocked"), nowMs, HOUR_MS)))).toEqual(["b", "b"]);
    // nothing was attempted at a, so that it is still the last resort
    expect([1, 2].map(() => shown(plans[1]!.next(failed(), nowMs, HOUR_MS)))).toEqual(["b after 125", "a"]);
  });
  test("[d7.5] whose able target is drained or refused use their least bad one", () => {
    const health = tripped("b", "c");
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"])], { health }), [failed("refused"), failed("elsewhere")]),
    ).toEqual(["a", "c", "b", "exhausted"]);
    // of three stages of one target, only the second may be called
    const three = [stage(["b"]), stage(["a"]), stage(["d"])];
    expect(stepsOf(planOf(three, { health }), [failed("elsewhere"), failed("refused"), failed("elsewhere")])).toEqual([
      "a",
      "d",
      "b",
      "exhausted",
    ]);
  });
  test("[d7.5] are entered again when a budget redirects the call to one of them", () => {
    let isRedirected = false;
    const cheap = Object.defineProperty(candidate("cheap"), "isOffered", { get: () => isRedirected });
    const plan = planOf([stage(["a"]), stage([cheap])], { health: tripped("a") });
    expect(shown(plan.next(null, T0, HOUR_MS))).toBe("a");
    isRedirected = true;
    expect(shown(plan.next(failed("refused"), T0, HOUR_MS))).toBe("cheap");
  });
  test("whose only permitted target fails repeat it after a wait", () => {
    const denied = candidate("b", { isCallable: () => false });
    expect(stepsOf(planOf([stage(["a", denied])]), [failed(), failed("refused"), failed()])).toEqual([
      "a",
      "b",
      "a after 125",
      "exhausted",
    ]);
  });
  test("come back to a target that was skipped, when it is free by then", () => {
    const health = openHealth();
    health.end("a", DEFAULT_BREAKER, "client_fault", T0, { retryAfterMs: 3_000 });
    expect(stepsOf(planOf([stage(["a", "b"], { onExhausted: "error", retries: 0 })], { health }))).toEqual([
      "b",
      "a after 3000",
      "exhausted",
    ]);
  });
  test("come back at once to a target whose breaker has become half-open meanwhile, and do not wait for that", () => {
    for (const [nowMs, last] of [
      [T0 + 10_000, "a"],
      [T0 + 9_999, "exhausted"],
    ] as const) {
      const plan = planOf([stage(["a", "b"], { retries: 0 })], { health: tripped("a") });
      expect(shown(plan.next(null, T0, HOUR_MS))).toBe("b");
      expect(shown(plan.next(failed(), nowMs, HOUR_MS))).toBe(last);
    }
  });
  test("repeat a target whose breaker opened only where the least bad is allowed", () => {
    for (const [onExhausted, steps] of [
      ["least_bad", ["a", "a after 125", "exhausted"]],
      ["error", ["a", "exhausted"]],
    ] as const) {
      const health = openHealth();
      const plan = planOf([stage(["a"], { onExhausted })], { health });
      const seen = [shown(plan.next(null, T0, HOUR_MS))];
      for (let times = 0; times < 5; times++) health.end("a", DEFAULT_BREAKER, "upstream_fault", T0, {});
      while (seen.at(-1) !== "exhausted") seen.push(shown(plan.next(failed(), T0, HOUR_MS)));
      expect(seen).toEqual([...steps]);
    }
  });
  test("skip a target that was refused, without counting an attempt", () => {
    expect(stepsOf(planOf([stage(["a", "b"], { retries: 0 })]), [failed("refused"), failed()])).toEqual([
      "a",
      "b",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage(["a", "b"])]), [failed("refused")])).toEqual(["a", "b", "final"]);
    expect(stepsOf(planOf([stage(["a", "b"], { retries: 0 })]), [failed(), failed("refused")])).toEqual([
      "a",
      "b",
      "exhausted",
    ]);
  });
});

describe("a target that stands in two routes", () => {
  const [here, there] = ["one", "other"].map((rules) => candidate("a", { rules }));

  test("[d3.4] is attempted under the rules of the second where only those of the first refuse it", () => {
    expect(stepsOf(planOf([stage([here!, "b"]), stage([there!])]), [failed("refused"), failed("elsewhere")])).toEqual([
      "a",
      "b",
      "a",
      "exhausted",
    ]);
    expect(stepsOf(planOf([stage([here!, here!])]), [failed("refused")])).toEqual(["a", "final"]);
  });
  test("[d7.3] is not attempted again once it was called", () => {
    expect(stepsOf(planOf([stage([here!]), stage([there!])]), [failed("elsewhere")])).toEqual(["a", "exhausted"]);
  });
});

describe("fallbacks for one kind of failure", () => {
  const big = stage(["big"], { label: "big:model" });
  const policyLegs = [
    stage(["mild"], { label: "mild:model", retries: 0 }),
    stage(["milder"], { label: "milder:model", retries: 0 }),
  ];
  const lists = {
    contextWindowStage: ({ key }: Candidate) => ({ a: big, big: stage(["a"]) })[key] ?? null,
    contentPolicyStages: () => policyLegs,
  };

  test("[d7.3] for a context length: what the map names, then the further targets, then the fallbacks", () => {
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"])], lists), [failed("context_length"), failed("final")]),
    ).toEqual(["a", "big", "final"]);
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"])], lists), [failed("context_length"), failed("elsewhere")]),
    ).toEqual(["a", "big", "b", "c", "exhausted"]);
    expect(
      stepsOf(planOf([stage(["b", "a"]), stage(["c"])], lists), [failed("context_length"), failed("elsewhere")]),
    ).toEqual(["b", "a", "c", "exhausted"]);
  });
  test("a circular map ends", () => {
    expect(stepsOf(planOf([stage(["a"])], lists), [failed("context_length")])).toEqual(["a", "big", "exhausted"]);
  });
  test("a retryable failure there is retried there, and then the ordinary plan goes on", () => {
    expect(
      stepsOf(planOf([stage(["a", "b"], { retries: 0 }), stage(["c"], { retries: 0 })], lists), [
        failed("context_length"),
        failed(),
      ]),
    ).toEqual(["a", "big", "big", "b", "c", "exhausted"]);
  });
  test("use their least bad target where none is healthy, and are skipped where the stage says error", () => {
    const health = tripped("big");
    expect(stepsOf(planOf([stage(["a"])], { ...lists, health }), [failed("context_length"), failed("final")])).toEqual([
      "a",
      "big",
      "final",
    ]);
    expect(
      stepsOf(
        planOf([stage(["a"]), stage(["c"])], {
          ...lists,
          contextWindowStage: () => ({ ...big, onExhausted: "error" }),
          health,
        }),
        [failed("context_length"), failed("final")],
      ),
    ).toEqual(["a", "c", "final"]);
  });
  test("[d7.3] for a content policy: one after the other, then the fallbacks, and never the further targets", () => {
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"])], lists), [
        failed("content_policy"),
        failed("content_policy"),
        failed("elsewhere"),
      ]),
    ).toEqual(["a", "mild", "milder", "c", "exhausted"]);
    expect(stepsOf(planOf([stage(["a", "b"]), stage(["c"])]), [failed("content_policy"), failed("elsewhere")])).toEqual(
      ["a", "c", "exhausted"],
    );
  });
  test("a retryable failure on the list continues along it, then to the ordinary fallbacks", () => {
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"], { retries: 0 })], lists), [failed("content_policy"), failed()]),
    ).toEqual(["a", "mild", "milder", "c", "exhausted"]);
  });
});

describe("a request that an upstream refuses", () => {
  test("[d7.3] goes to the fallbacks, never to a further target of the same route, in whichever stage it stands, nor back to one that had failed before", () => {
    expect(stepsOf(planOf([stage(["a", "b"]), stage(["c"])]), [failed("request_fault"), failed("elsewhere")])).toEqual([
      "a",
      "c",
      "exhausted",
    ]);
    const group = {};
    expect(
      stepsOf(planOf([stage(["a"], { group }), stage(["b"], { group }), stage(["c"])]), [
        failed("request_fault"),
        failed("elsewhere"),
      ]),
    ).toEqual(["a", "c", "exhausted"]);
    expect(
      stepsOf(planOf([stage(["a", "b"]), stage(["c"])]), [
        failed("retryable", 2_000),
        failed("request_fault"),
        failed("elsewhere"),
      ]),
    ).toEqual(["a", "b", "c", "exhausted"]);
  });
  test("[d7.3] leaves the route that a fallback names in the same way", () => {
    expect(
      stepsOf(planOf([stage(["a"]), stage(["b", "c"]), stage(["d"])]), [
        failed("elsewhere"),
        failed("request_fault"),
        failed("elsewhere"),
      ]),
    ).toEqual(["a", "b", "d", "exhausted"]);
  });
  test.each(["request_fault", "content_policy", "context_length"] as const)(
    "[d7.3] reaches three targets at most: %s",
    (kind) => {
      const all = ["a", "b", "c", "d", "e"].map((key) => stage([key]));
      expect(stepsOf(planOf(all), [failed(kind)])).toEqual(["a", "b", "c", "final"]);
      // other failures between them do not count
      expect(
        stepsOf(planOf(all), [failed(kind), failed("elsewhere"), failed(kind), failed("elsewhere"), failed(kind)]),
      ).toEqual(["a", "b", "c", "d", "e", "final"]);
    },
  );
  test("for a failure that another target may not have is attempted at all other targets, and not repeated", () => {
    expect(stepsOf(planOf([stage(["a", "b"], { retries: 3 }), stage(["c"])]), [failed("elsewhere")])).toEqual([
      "a",
      "b",
      "c",
      "exhausted",
    ]);
  });
});

describe("a hedge", () => {
  test("goes to another target of the stage, which counts as attempted", () => {
    const plan = planOf([stage(["a", "b", "c"], { retries: 0 })]);
    expect(plan.second(T0)).toBeNull();
    plan.next(null, T0, HOUR_MS);
    expect(shown(plan.second(T0)!)).toBe("b");
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("c");
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("exhausted");
  });
  test("does not count the failure of the first as its own", () => {
    const plan = planOf([stage(["a", "b"])]);
    plan.next(null, T0, HOUR_MS);
    plan.second(T0);
    expect(shown(plan.next(failed("retryable", 5_000), T0, HOUR_MS))).toBe("b after 125");
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("a after 5000");
  });
  test.each([
    ["elsewhere", ["a", "c", "exhausted"]],
    ["refused", ["a", "c", "exhausted"]],
    ["request_fault", ["c", "exhausted"]],
    ["retryable", ["a", "c", "b after 125", "exhausted"]],
  ] as const)("[d7.1] [d7.3] that ends as %s is followed as any attempt that does", (kind, steps) => {
    const plan = planOf([stage(["a", "b"]), stage(["c"], { retries: 0 })]);
    plan.next(null, T0, HOUR_MS);
    expect(shown(plan.second(T0)!)).toBe("b");
    plan.secondFailed(failed(kind), T0);
    const seen: string[] = [];
    while (seen.at(-1) !== "exhausted") seen.push(shown(plan.next(failed(), T0, HOUR_MS)));
    expect(seen).toEqual([...steps]);
  });
  test("goes to the same target where there is no other, once more than its retries", () => {
    const plan = planOf([stage(["a"])]);
    plan.next(null, T0, HOUR_MS);
    expect(plan.second(T0)).toMatchObject({
      candidate: { key: "a" },
      waitMs: 0,
      why: "hedge at the same target",
    });
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("a after 125");
    expect(shown(plan.next(failed(), T0, HOUR_MS))).toBe("exhausted");
    expect(plan.second(T0)).toBeNull();
  });
  test("is not started where no target is healthy", () => {
    const plan = planOf([stage(["a"])], { health: tripped("a") });
    plan.next(null, T0, HOUR_MS);
    expect(plan.second(T0)).toBeNull();
  });
});

describe("the explanation", () => {
  test("says why this target was chosen", () => {
    const plan = planOf(
      [
        stage([candidate("a", { weight: 2 }), candidate("b", { weight: 3 })], { strategy: "weighted", retries: 2 }),
        stage(["c"], { label: "route cheap" }),
        stage(["d", "e"], { label: "route last" }),
      ],
      { random: () => 0.9 },
    );
    const seen = [words(plan.next(null, T0, HOUR_MS))];
    for (let at = 0; at < 8; at++)
      seen.push(words(plan.next(failed("retryable", at > 2 ? 60_000 : null), T0, HOUR_MS)));
    expect(seen).toEqual([
      "weight 2 of 5",
      "retry 1 of 2 after a retryable failure",
      "retry 2 of 2 after a retryable failure",
      "weight 3 of 3",
      "fallback 1: route cheap",
      "fallback 2: route last, first by order",
      "fallback 2: route last, first by order",
      "exhausted",
      "exhausted",
    ]);
    expect(words(planOf([stage(["a"])]).next(null, T0, HOUR_MS))).toBe("the only target");
    expect(words(planOf([stage(["a"])], { health: tripped("a") }).next(null, T0, HOUR_MS))).toBe(
      "the only target, although it is not healthy",
    );
    expect(words(planOf([stage(["a", "b"])], { health: tripped("a", "b") }).next(null, T0, HOUR_MS))).toBe(
      "no target is healthy; this one is available first",
    );
  });
  test("names the list from which a target came", () => {
    const lists = {
      contextWindowStage: () => stage(["big"], { label: "big:model" }),
      contentPolicyStages: () => [stage(["mild"], { label: "mild:model" })],
    };
    for (const [kind, why] of [
      ["context_length", "context window fallback: big:model"],
      ["content_policy", "content policy fallback: mild:model"],
    ] as const) {
      const plan = planOf([stage(["a"])], lists);
      plan.next(null, T0, HOUR_MS);
      expect(words(plan.next(failed(kind), T0, HOUR_MS))).toBe(why);
    }
  });
});
