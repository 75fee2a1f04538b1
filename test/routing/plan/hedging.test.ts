// A hedge: when it is due, for how many calls, and within whose budget.
import { describe, expect, test } from "bun:test";
import { DEFAULT_BREAKER, type Hedge } from "../../../src/core/configured/route.ts";
import { openHealth } from "../../../src/routing/health/health.ts";
import { openHedging } from "../../../src/routing/plan/hedging.ts";

const HEDGE: Hedge = { after: "p95", maxExtra: 0.05 };

describe("a hedge", () => {
  test("is due after a time of its own, or after the target's own 95th percentile once that is known", () => {
    const health = openHealth();
    const hedging = openHedging(health);
    expect(hedging.delayMs({ after: 700, maxExtra: 1 }, "k")).toBe(700);
    expect(hedging.delayMs(HEDGE, "k")).toBeNull();
    for (let at = 1; at <= 100; at++) health.answering("k", DEFAULT_BREAKER, at, at, 0);
    expect(hedging.delayMs(HEDGE, "k")).toBe(95);
  });
  test("is never more than its share of the route's calls of the last five minutes", () => {
    const hedging = openHedging({ p95Ms: () => null, takeRetry: () => true });
    let extra = 0;
    for (let calls = 1; calls <= 2_000; calls++) {
      hedging.called("r", calls * 10);
      if (hedging.take("r", HEDGE, "u", calls * 10)) extra += 1;
      expect(extra).toBeLessThanOrEqual(0.05 * calls);
    }
    expect(extra).toBe(100);
    expect(hedging.take("another", HEDGE, "u", 20_000)).toBe(false);
    // The calls that the share was of are over.
    expect(hedging.take("r", { ...HEDGE, maxExtra: 1 }, "u", 400_000)).toBe(false);
  });
  test("takes from the retry budget of its upstream, and only when it is sent", () => {
    const health = openHealth();
    const hedging = openHedging(health);
    const all: Hedge = { after: 1, maxExtra: 1 };
    expect(hedging.take("r", all, "u", 0)).toBe(false);
    for (let at = 0; at < 100; at++) hedging.called("r", 0);
    expect(Array.from({ length: 100 }, () => hedging.take("r", all, "u", 0)).filter(Boolean)).toHaveLength(30);
    expect(health.takeRetry("u", 0)).toBe(false);
    expect(hedging.take("r", all, "another", 0)).toBe(true);
  });
});
