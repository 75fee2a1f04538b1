// The cost of usage: every token is counted once, at its own price, exactly; and the bound with which a call is
// reserved.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { costBound, costOf, promptCacheSaving } from "../../src/accounting/cost.ts";
import type { Usage } from "../../src/core/chat.ts";
import { NO_RATES, type Rate, type Rates } from "../../src/core/configured/price.ts";

const flat = (base: number): Rate => ({ base, tiers: [] });
const MILLION = 1_000_000;
/** Nano-dollars for one token are the digits of what each is. */
const DISTINCT: Rates = {
  prompt: flat(1 * MILLION),
  cacheRead: flat(10 * MILLION),
  cacheWrite: flat(100 * MILLION),
  cacheWriteHour: flat(1_000 * MILLION),
  audioPrompt: flat(10_000 * MILLION),
  imagePrompt: flat(100_000 * MILLION),
  completion: flat(1_000_000 * MILLION),
  reasoning: flat(10_000_000 * MILLION),
  audioCompletion: flat(100_000_000 * MILLION),
  imageCompletion: flat(1_000_000_000 * MILLION),
  audioCacheRead: null,
  request: null,
  searchUnit: null,
};
const usage = (
  prompt: number,
  completion: number,
  prompted: object = {},
  completed: object = {},
  total = prompt + completion,
): Usage =>
  ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    prompt_tokens_details: prompted,
    completion_tokens_details: completed,
  }) as Usage;

describe("[d4.7] each token is counted once, at the price of its kind", () => {
  const CASES: readonly (readonly [what: string, used: Usage, nanoUsd: number])[] = [
    ["without details", { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }, 2_000_003],
    ["cached tokens are a part of the prompt", usage(9, 0, { cached_tokens: 4 }), 45],
    ["written tokens are another", usage(9, 0, { cached_tokens: 3, cache_write_tokens: 2 }), 234],
    ["of which some live for an hour", usage(9, 0, { cache_write_tokens: 5, cache_write_1h_tokens: 2 }), 2304],
    ["sound and pictures in the prompt", usage(9, 0, { audio_tokens: 2, image_tokens: 3 }), 320_004],
    ["reasoning is a part of the answer", usage(0, 9, {}, { reasoning_tokens: 4 }), 45_000_000],
    ["and stands beside it where only the total holds it", usage(1, 5, {}, { reasoning_tokens: 4 }, 10), 45_000_001],
    ["what a total has beside them, and no detail names, was generated", usage(1, 5, {}, {}, 9), 8_000_001],
    ["also where there are no details", { prompt_tokens: 1, completion_tokens: 5, total_tokens: 9 }, 8_000_001],
    [
      "sound stands beside the prompt where only the total holds it",
      usage(11, 5, { audio_tokens: 37 }, {}, 53),
      5_370_011,
    ],
    ["sound and pictures in the answer", usage(0, 9, {}, { audio_tokens: 2, image_tokens: 3 }), 3_204_000_000],
    [
      "details that are more than their figure",
      usage(3, 0, { cached_tokens: 9, cache_write_tokens: 9, audio_tokens: 9 }),
      30,
    ],
    [
      "details that are not counts",
      usage(3, 2, { cached_tokens: -1, cache_write_tokens: 1.5, audio_tokens: "2" }, { reasoning_tokens: Number.NaN }),
      2_000_003,
    ],
  ];
  for (const [what, used, nanoUsd] of CASES) test(what, () => expect(costOf(used, DISTINCT)).toBe(nanoUsd));

  test("whatever a provider reports, the parts add up to the total, or to prompt and answer where those are more", () => {
    const count = fc.integer({ min: 0, max: 50 });
    const one = { ...NO_RATES, prompt: flat(MILLION), completion: flat(MILLION) };
    const details = fc.record({
      cached_tokens: count,
      cache_write_tokens: count,
      cache_write_1h_tokens: count,
      audio_tokens: count,
      image_tokens: count,
    });
    fc.assert(
      fc.property(count, count, details, details, count, (prompt, completion, prompted, completed, more) => {
        const total = prompt + completion + more;
        expect(costOf(usage(prompt, completion, prompted, completed, total), one)).toBe(total);
      }),
    );
  });
  test("cached audio: as reported, else text is assumed to be cached first", () => {
    const rates: Rates = { ...DISTINCT, audioCacheRead: flat(7 * MILLION) };
    expect(costOf(usage(10, 0, { cached_tokens: 6, audio_tokens: 4 }), rates)).toBe(60 + 40_000);
    expect(
      costOf(usage(10, 0, { cached_tokens: 6, audio_tokens: 4, cached_tokens_details: { audio_tokens: 3 } }), rates),
    ).toBe(3 * 10 + 3 * 7 + 10_000 + 3);
    expect(costOf(usage(10, 0, { cached_tokens: 8, audio_tokens: 9 }), rates)).toBe(10 + 7 * 7 + 2 * 10_000);
  });
});

describe("[d4.7] the price of a kind of token without its own price", () => {
  const plain: Rates = { ...NO_RATES, prompt: flat(1 * MILLION), completion: flat(10 * MILLION) };
  test("is the price of the prompt or the answer, and for an hour's cache that of the minutes'", () => {
    const all = usage(
      10,
      10,
      { cached_tokens: 2, cache_write_tokens: 4, cache_write_1h_tokens: 1, audio_tokens: 1, image_tokens: 1 },
      { reasoning_tokens: 3, audio_tokens: 2 },
    );
    expect(costOf(all, plain)).toBe(110);
    expect(
      costOf(usage(4, 0, { cache_write_tokens: 4, cache_write_1h_tokens: 4 }), {
        ...plain,
        cacheWrite: flat(5 * MILLION),
      }),
    ).toBe(20);
  });
  test("is unknown where neither has one, unless no such token was used", () => {
    const prompts: Rates = { ...NO_RATES, prompt: flat(MILLION) };
    expect([costOf(usage(3, 1), prompts), costOf(usage(3, 0), prompts), costOf(usage(1, 0), NO_RATES)]).toEqual([
      null,
      3,
      null,
    ]);
  });
  test("the price of a request is added once, and a tier is that of the whole prompt", () => {
    expect(costOf(usage(3, 0), { ...plain, request: flat(5 * MILLION) })).toBe(8);
    const tiered: Rates = {
      ...plain,
      prompt: { base: MILLION, tiers: [{ above: 5, rate: 3 * MILLION }] },
      completion: { base: MILLION, tiers: [{ above: 5, rate: 2 * MILLION }] },
    };
    expect([costOf(usage(5, 4, { cached_tokens: 5 }), tiered), costOf(usage(6, 4), tiered)]).toEqual([9, 26]);
  });
});

test("[d4.7] a cost is the exact result, rounded up once, and within the range of safe integers", () => {
  const rounded: Rates = { ...NO_RATES, prompt: flat(MILLION), completion: flat(1) };
  expect(costOf(usage(Number.MAX_SAFE_INTEGER, 1, {}, {}, 0), rounded)).toBe(Number.MAX_SAFE_INTEGER);
  const tokens = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  const rate = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 1_000_000_000_000_000 }));
  fc.assert(
    fc.property(tokens, tokens, tokens, rate, rate, rate, (prompt, completion, cached, a, b, c) => {
      const rates: Rates = { ...NO_RATES, prompt: flat(a), completion: flat(b), cacheRead: flat(c) };
      const read = BigInt(Math.min(cached, prompt));
      const exact =
        ((BigInt(prompt) - read) * BigInt(a) + read * BigInt(c) + BigInt(completion) * BigInt(b) + 999_999n) /
        1_000_000n;
      const most = BigInt(Number.MAX_SAFE_INTEGER);
      expect(BigInt(costOf(usage(prompt, completion, { cached_tokens: cached }, {}, 0), rates)!)).toBe(
        exact > most ? most : exact,
      );
    }),
    { numRuns: 2000 },
  );
  const highest: Rates = { ...NO_RATES, prompt: flat(MILLION), completion: flat(1) };
  expect(costOf(usage(Number.MAX_SAFE_INTEGER, 1, {}, {}, 0), highest)).toBe(Number.MAX_SAFE_INTEGER);
});

describe("[d4.2] the reserved cost of a call", () => {
  const rates: Rates = { ...NO_RATES, prompt: flat(1 * MILLION), completion: flat(10 * MILLION) };
  test("is that of the prompt and of the output bound of every answer", () => {
    const searches: Rates = { ...NO_RATES, searchUnit: flat(2 * MILLION) };
    expect([costBound(100, 0, searches, 3), costBound(100, 0, searches)]).toEqual([6, null]);
    expect([costBound(100, 50, rates), costBound(100, 150, rates), costBound(100, 150, NO_RATES)]).toEqual([
      600,
      1600,
      null,
    ]);
    expect(costBound(100, 50, { ...rates, reasoning: flat(20 * MILLION), request: flat(7 * MILLION) })).toBe(1107);
    expect(costBound(100, 50, { ...rates, reasoning: flat(2 * MILLION) })).toBe(600);
  });
  test("is never exceeded by what text and reasoning use within the bound", () => {
    const count = fc.integer({ min: 0, max: 1_000_000 });
    const rate = fc.integer({ min: 0, max: 100_000_000_000 });
    fc.assert(
      fc.property(count, count, count, rate, rate, rate, (prompt, completion, reasoning, a, b, c) => {
        const own: Rates = { ...NO_RATES, prompt: flat(a), completion: flat(b), reasoning: flat(c) };
        expect(costOf(usage(prompt, completion, {}, { reasoning_tokens: reasoning }), own)!).toBeLessThanOrEqual(
          costBound(prompt, completion, own)!,
        );
      }),
    );
  });
});

describe("[d16.2] what the provider's prompt cache saved", () => {
  const rates: Rates = {
    ...NO_RATES,
    prompt: flat(4_000 * MILLION),
    cacheRead: flat(400 * MILLION),
    cacheWrite: flat(5_000 * MILLION),
    cacheWriteHour: flat(8_000 * MILLION),
    completion: flat(20_000 * MILLION),
  };

  test("reading saves, writing costs, and both add up", () => {
    expect(promptCacheSaving(usage(100, 9, { cached_tokens: 90 }), rates)).toBe(90 * 3_600);
    expect(promptCacheSaving(usage(100, 9, { cache_write_tokens: 90 }), rates)).toBe(-90 * 1_000);
    expect(
      promptCacheSaving(usage(100, 9, { cached_tokens: 50, cache_write_tokens: 30, cache_write_1h_tokens: 10 }), rates),
    ).toBe(50 * 3_600 - 20 * 1_000 - 10 * 4_000);
  });

  test("nothing is said where nothing was read or written, or a price is not known", () => {
    expect(promptCacheSaving(usage(100, 9), rates)).toBeNull();
    expect(promptCacheSaving(usage(100, 9, { cached_tokens: 0 }), rates)).toBeNull();
    expect(promptCacheSaving(usage(100, 9, { cached_tokens: 9 }), { ...rates, prompt: null })).toBeNull();
    expect(promptCacheSaving(usage(100, 9, { cached_tokens: 9 }), { ...rates, completion: null })).toBeNull();
  });

  test("with the cost it is the cost of the same tokens without details, for any usage", () => {
    fc.assert(
      fc.property(fc.nat(5_000), fc.nat(5_000), fc.nat(5_000), fc.nat(50), (prompt, cached, written, completion) => {
        const with_ = usage(prompt, completion, { cached_tokens: cached, cache_write_tokens: written });
        const saved = promptCacheSaving(with_, rates) ?? 0;
        expect(costOf(with_, rates)! + saved).toBe(costOf(usage(prompt, completion), rates)!);
      }),
    );
  });
});
