// Each strategy's choice, and in a simulation its distribution and how it recovers from a slow target.
import { describe, expect, test } from "bun:test";
import { DEFAULT_BREAKER, type StrategyType } from "../../../src/core/configured/route.ts";
import { openHealth, type Health } from "../../../src/routing/health/health.ts";
import type { Candidate } from "../../../src/routing/plan/plan-steps.ts";
import { choose, type Choice } from "../../../src/routing/plan/strategies.ts";
import { candidate } from "./candidates.ts";
import { chanceOf } from "../../../src/simulation/chance.ts";

const ALL: readonly StrategyType[] = ["priority", "weighted", "least_latency", "least_cost", "least_busy"];

interface Asked {
  readonly health?: Health;
  readonly random?: () => number;
  readonly closed?: readonly string[];
  readonly stickyKey?: string;
  readonly nowMs?: number;
}

function ask(
  strategy: StrategyType,
  candidates: readonly Candidate[],
  { health = openHealth(), random = () => 0.5, closed = [], stickyKey, nowMs = 0 }: Asked = {},
): Choice<Candidate> | null {
  return choose({
    strategy,
    stickyKey: stickyKey ?? null,
    candidates,
    isFree: ({ key }) => !closed.includes(key),
    health,
    nowMs,
    random,
  });
}

function shares(picks: number, pick: (at: number) => string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let at = 0; at < picks; at++) {
    const key = pick(at);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count / picks]));
}

function measured(health: Health, key: string, firstContentMs: number, nowMs = 0): void {
  health.begin(key, DEFAULT_BREAKER, nowMs);
  health.answering(key, DEFAULT_BREAKER, nowMs, firstContentMs, 0);
  health.end(key, DEFAULT_BREAKER, "success", nowMs, {});
}

describe("every strategy", () => {
  const tiers = [
    candidate("late", { order: 2 }),
    candidate("b", { order: 1, weight: 2 }),
    candidate("c", { order: 1 }),
    candidate("early", { order: 0, weight: 0.1, costNanoUsd: 99 }),
  ];
  test("treats orders as tiers: a higher one only where no lower one has a free target", () => {
    for (const strategy of ALL)
      for (const stickyKey of [undefined, "k"]) {
        const sticky = stickyKey === undefined ? {} : { stickyKey };
        expect(ask(strategy, tiers, sticky)?.candidate.key).toBe("early");
        expect(["b", "c"]).toContain(ask(strategy, tiers, { closed: ["early"], ...sticky })!.candidate.key);
        expect(ask(strategy, tiers, { closed: ["early", "b"], ...sticky })?.candidate.key).toBe("c");
        expect(ask(strategy, tiers, { closed: ["early", "b", "c"], ...sticky })?.candidate.key).toBe("late");
        expect(ask(strategy, tiers, { closed: ["early", "b", "c", "late"], ...sticky })).toBeNull();
        expect(ask(strategy, [], sticky)).toBeNull();
      }
  });
  test("gives its reason", () => {
    const two = [candidate("a", { weight: 2, costNanoUsd: 5 }), candidate("b", { weight: 3 })];
    const health = openHealth();
    measured(health, "a", 100);
    measured(health, "b", 250);
    health.begin("a", DEFAULT_BREAKER, 0);
    health.begin("a", DEFAULT_BREAKER, 0);
    expect(ALL.map((strategy) => ask(strategy, two, { health, random: () => 0.9 })?.why)).toEqual([
      "first by order",
      "weight 2 of 5",
      "100 ms against 250 ms",
      "cheapest",
      "least busy: 0 in flight",
    ]);
    expect(ask("priority", two, { stickyKey: "k" })?.why).toBe("sticky");
  });
});

describe("priority", () => {
  test("goes by order, then by weight, then by position", () => {
    expect(
      ask("priority", [
        candidate("a", { order: 1 }),
        candidate("b"),
        candidate("c", { weight: 5 }),
        candidate("d", { weight: 5 }),
      ])?.candidate.key,
    ).toBe("c");
  });
});

describe("weighted", () => {
  test("keeps to the weights within 2 % over 100,000 picks", () => {
    const random = chanceOf(1);
    const three = [candidate("a", { weight: 1 }), candidate("b", { weight: 2 }), candidate("c", { weight: 7 })];
    const seen = shares(100_000, () => ask("weighted", three, { random })!.candidate.key);
    for (const { key, weight } of three) expect(Math.abs(seen[key]! / (weight / 10) - 1)).toBeLessThan(0.02);
  });
  test("divides the share of an unhealthy target by weight", () => {
    const random = chanceOf(2);
    const three = [candidate("a", { weight: 1 }), candidate("b", { weight: 6 }), candidate("c", { weight: 3 })];
    const seen = shares(100_000, () => ask("weighted", three, { random, closed: ["b"] })!.candidate.key);
    expect(Math.abs(seen["a"]! - 0.25)).toBeLessThan(0.01);
    expect(seen["b"]).toBeUndefined();
  });
});

describe("least_cost", () => {
  test("takes the cheapest, an unknown price last, among equals the first", () => {
    const four = [
      candidate("unknown"),
      candidate("dear", { costNanoUsd: 9 }),
      candidate("cheap", { costNanoUsd: 0 }),
      candidate("as cheap", { costNanoUsd: 0 }),
    ];
    expect(ask("least_cost", four)?.candidate.key).toBe("cheap");
    expect(ask("least_cost", four, { closed: ["cheap", "as cheap"] })?.candidate.key).toBe("dear");
    expect(ask("least_cost", four, { closed: ["cheap", "as cheap", "dear"] })).toEqual({
      candidate: four[0]!,
      why: "first of those without a price",
    });
  });
});

describe("least_busy", () => {
  test("goes by calls in flight for each unit of weight, and draws among equals", () => {
    const health = openHealth();
    const two = [candidate("small"), candidate("large", { weight: 3 })];
    const random = chanceOf(3);
    const inFlight = shares(4_000, () => {
      const { key } = ask("least_busy", two, { health, random })!.candidate;
      health.begin(key, DEFAULT_BREAKER, 0);
      return key;
    });
    expect(inFlight["large"]).toBeCloseTo(0.75, 3);
    const equals = shares(
      30_000,
      () => ask("least_busy", [candidate("a"), candidate("b"), candidate("c")], { random })!.candidate.key,
    );
    for (const key of ["a", "b", "c"]) expect(Math.abs(equals[key]! - 1 / 3)).toBeLessThan(0.01);
  });
});

/** Calls every so many milliseconds at targets whose times to the first content change; gives the shares of a stretch of time. */
function simulate(
  everyMs: number,
  targets: Readonly<Record<string, (nowMs: number) => number>>,
  stretches: readonly (readonly [number, number])[],
): readonly Readonly<Record<string, number>>[] {
  const health = openHealth();
  const random = chanceOf(4);
  const candidates = Object.keys(targets).map((key) => candidate(key));
  const picks: { readonly key: string; readonly nowMs: number }[] = [];
  let inFlight: { readonly key: string; readonly tookMs: number; readonly endsMs: number }[] = [];
  for (let nowMs = 0; nowMs < stretches.at(-1)![1]; nowMs += everyMs) {
    const due = inFlight.filter(({ endsMs }) => endsMs <= nowMs).toSorted((a, b) => a.endsMs - b.endsMs);
    if (due.length > 0) inFlight = inFlight.filter(({ endsMs }) => endsMs > nowMs);
    for (const { key, tookMs, endsMs } of due) {
      health.answering(key, DEFAULT_BREAKER, endsMs, tookMs, 0);
      health.end(key, DEFAULT_BREAKER, "success", endsMs, {});
    }
    const { key } = ask("least_latency", candidates, { health, random, nowMs })!.candidate;
    health.begin(key, DEFAULT_BREAKER, nowMs);
    const tookMs = targets[key]!(nowMs) * (0.8 + 0.4 * random());
    inFlight.push({ key, tookMs, endsMs: nowMs + tookMs });
    picks.push({ key, nowMs });
  }
  return stretches.map(([fromMs, toMs]) => {
    const within = picks.filter(({ nowMs }) => nowMs >= fromMs && nowMs < toMs);
    return shares(within.length, (at) => within[at]!.key);
  });
}

describe("least_latency", () => {
  test("takes the faster of two drawn ones, and tries an unmeasured one, one call at a time", () => {
    const health = openHealth();
    const two = [candidate("slow"), candidate("fast")];
    measured(health, "slow", 900);
    expect(ask("least_latency", two, { health })).toEqual({ candidate: two[1]!, why: "not measured yet" });
    health.begin("fast", DEFAULT_BREAKER, 0);
    expect(ask("least_latency", two, { health })?.candidate.key).toBe("slow");
    health.answering("fast", DEFAULT_BREAKER, 0, 90, 0);
    health.end("fast", DEFAULT_BREAKER, "success", 0, {});
    expect(ask("least_latency", two, { health })).toEqual({ candidate: two[1]!, why: "90 ms against 900 ms" });
  });
  test("measures the slower one again when its figure is old, and then seldom", () => {
    const health = openHealth();
    const two = [candidate("slow"), candidate("fast")];
    measured(health, "slow", 900);
    measured(health, "fast", 90);
    expect(ask("least_latency", two, { health, nowMs: 9_999, random: () => 0 })?.candidate.key).toBe("fast");
    expect(ask("least_latency", two, { health, nowMs: 10_000, random: () => 0 })).toEqual({
      candidate: two[0]!,
      why: "measured again",
    });
    expect(ask("least_latency", two, { health, nowMs: 10_000, random: () => 0.05 })?.candidate.key).toBe("fast");
  });
  for (const [name, everyMs] of [
    ["100 calls a second", 10],
    ["one call a second", 1_000],
    ["two calls a minute", 30_000],
  ] as const)
    test(`sends under 5 % to a target ten times slower, and returns to it when it has recovered, at ${name}`, () => {
      const stretch = Math.max(300_000, everyMs * 1_000);
      const steady = simulate(
        everyMs,
        { a: () => 100, b: () => 100, slow: (nowMs) => (nowMs < stretch ? 1_000 : 100) },
        [
          [everyMs * 20, stretch],
          [stretch + Math.max(120_000, everyMs * 300), 2 * stretch],
        ],
      );
      expect(steady[0]!["slow"] ?? 0).toBeLessThan(0.05);
      expect(steady[1]!["slow"]).toBeGreaterThan(0.2);
    });
  test("leaves a target that becomes slow at once", () => {
    const [before, after] = simulate(10, { a: () => 100, b: (nowMs) => (nowMs < 60_000 ? 100 : 1_000) }, [
      [10_000, 60_000],
      [62_000, 120_000],
    ]);
    expect(before!["b"]).toBeGreaterThan(0.3);
    expect(after!["b"] ?? 0).toBeLessThan(0.05);
  });
});

describe("a sticky key", () => {
  const keys = Array.from({ length: 20_000 }, (_, at) => `user-${at}`);
  const four = [
    candidate("a"),
    candidate("b", { weight: 2 }),
    candidate("c", { weight: 3 }),
    candidate("d", { weight: 4 }),
  ];
  const of = (stickyKey: string, candidates: readonly Candidate[], asked: Asked = {}): string =>
    ask("weighted", candidates, { stickyKey, ...asked })!.candidate.key;

  test("keeps its target, whatever the strategy, the order of the list and chance", () => {
    const random = chanceOf(5);
    const kept = keys.filter(
      (key) =>
        of(key, four) ===
        ask(ALL[Math.floor(random() * ALL.length)]!, four.toReversed(), { stickyKey: key, random })!.candidate.key,
    ).length;
    expect(kept / keys.length).toBeGreaterThan(0.99);
  });
  test("spreads by weight", () => {
    const seen = shares(keys.length, (at) => of(keys[at]!, four));
    for (const { key, weight } of four) expect(Math.abs(seen[key]! - weight / 10)).toBeLessThan(0.01);
  });
  test("moves only to an added target, and only that one's share", () => {
    const five = [...four, candidate("e", { weight: 10 })];
    const moved = keys.filter((key) => of(key, four) !== of(key, five));
    expect(new Set(moved.map((key) => of(key, five)))).toEqual(new Set(["e"]));
    expect(Math.abs(moved.length / keys.length - 0.5)).toBeLessThan(0.02);
  });
  test("goes to the same other target while its own is unhealthy, and comes back", () => {
    for (const key of keys.slice(0, 2_000)) {
      const own = of(key, four);
      const other = of(key, four, { closed: [own] });
      expect(other).not.toBe(own);
      expect(of(key, four, { closed: [own], random: () => 0.1 })).toBe(other);
      const third = four.find((each) => each.key !== own && each.key !== other)!.key;
      expect(of(key, four, { closed: [third] })).toBe(own);
    }
  });
});
