// Prices in integers: no floating-point sums, tiers, periods of the day, dollars as exact text.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { amountOf } from "../../src/accounting/cost.ts";
import { exactRate, rateFor, rateOfMillion, ratesAt, usd, usdPerToken } from "../../src/accounting/price.ts";
import { type ModelPrice, NO_RATES, type Rates } from "../../src/core/configured/price.ts";

const rates = (prompt: number): Rates => ({ ...NO_RATES, prompt: { base: prompt, tiers: [] } });

describe("[d4.7] money is kept in integers", () => {
  test("a rate is written in dollars for one token, exactly", () => {
    expect([
      usdPerToken(rateOfMillion(3)),
      usdPerToken(rateOfMillion(0.0375)),
      usdPerToken(rateOfMillion(0)),
      usdPerToken(exactRate("1")),
    ]).toEqual(["0.000003", "0.0000000375", "0", "1"]);
    for (const text of ["0.00000025", "0.000000000000001", "0.1", "0", "1"])
      expect(usdPerToken(exactRate(text))).toBe(text);
    expect(exactRate("0.0000000000000001")).toBe(1);
  });
  test("a cost is rounded up to a nano-dollar, and equals exact arithmetic", () => {
    expect([usd(amountOf(6000, rateOfMillion(3))), usd(amountOf(1, 1)), usd(amountOf(0, 5))]).toEqual([
      "0.018",
      "0.000000001",
      "0",
    ]);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000_000_000 }),
        fc.integer({ min: 0, max: 1_000_000_000_000 }),
        (tokens, rate) => {
          const exact = (BigInt(tokens) * BigInt(rate) + 999_999n) / 1_000_000n;
          expect(BigInt(amountOf(tokens, rate))).toBe(exact);
        },
      ),
    );
  });
  test("the highest tier that the prompt exceeds is the rate of all of it", () => {
    const rate = {
      base: 1,
      tiers: [
        { above: 100, rate: 2 },
        { above: 200, rate: 3 },
      ],
    };
    expect([0, 100, 101, 200, 201].map((tokens) => rateFor(rate, tokens))).toEqual([1, 1, 2, 2, 3]);
  });
  test("prices from a date on, and at times of the day that cross midnight", () => {
    const hour = 3_600_000;
    const price: ModelPrice = {
      id: "p",
      periods: [
        { from: null, daily: null, rates: rates(1) },
        { from: Date.UTC(2026, 0, 2), daily: null, rates: rates(2) },
        { from: Date.UTC(2026, 0, 3), daily: { fromMs: 22 * hour, toMs: 2 * hour }, rates: rates(3) },
      ],
    };
    const at = (...date: readonly [number, number]): number => ratesAt(price, Date.UTC(2026, 0, ...date)).prompt!.base;
    expect([at(1, 23), at(2, 0), at(2, 23), at(3, 1), at(3, 2), at(3, 21), at(3, 22)]).toEqual([1, 2, 2, 3, 2, 2, 3]);
  });
});
