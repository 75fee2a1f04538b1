// Reports for people and programs: exact figures, and CSV without cells that a spreadsheet runs.
import { describe, expect, test } from "bun:test";
import { usd } from "../../../../src/accounting/price.ts";
import { latencyAt } from "../../../../src/accounting/latency.ts";
import { csvOf, shownSums } from "../../../../src/http/admin/calls/usage-sums.ts";
import { LATENCY_BOUNDS_MS, type UsageSums } from "../../../../src/store/calls/calls.ts";

const NONE = [...LATENCY_BOUNDS_MS, 0].map(() => 0n);
const sums = (parts: Partial<UsageSums> = {}): UsageSums => ({
  calls: 2n,
  errors: 0n,
  unpriced: 0n,
  promptTokens: 3n,
  completionTokens: 4n,
  cachedTokens: 0n,
  cacheWriteTokens: 0n,
  cacheSavedNanoUsd: 0n,
  reasoningTokens: 0n,
  costNanoUsd: 1_500_000n,
  totalMs: 301n,
  latency: [1n, 1n, ...NONE.slice(2)],
  estimated: 0n,
  ...parts,
});

test("[d4.7] dollars and counts are exact, also beyond safe integers", () => {
  expect([0n, 1n, 1_000_000_000n, 12_345_678_901_234_567_890n].map(usd)).toEqual([
    "0",
    "0.000000001",
    "1",
    "12345678901.23456789",
  ]);
  const text = JSON.stringify(
    shownSums(sums({ promptTokens: 2n ** 53n + 1n, calls: 2n ** 53n - 1n, costNanoUsd: 10n ** 30n })),
  );
  expect(text).toContain('"prompt_tokens":9007199254740993');
  expect(text).toContain('"calls":9007199254740991');
  expect(text).toContain('"cost_usd":"1000000000000000000000"');
});

test("times are computed from buckets: between the bounds of the one that contains the share", () => {
  const at = (latency: readonly (readonly [number, bigint])[], share: number): number | null =>
    latencyAt(
      share,
      NONE.map((_, index) => latency.find(([one]) => one === index)?.[1] ?? 0n),
    );
  expect([
    at([], 0.5),
    at([[0, 10n]], 0.5),
    at([[1, 4n]], 0.5),
    at(
      [
        [0, 50n],
        [3, 50n],
      ],
      0.95,
    ),
    at([[10, 3n]], 0.5),
  ]).toEqual([null, 50, 175, 950, 120_000]);
  expect(shownSums(sums())).toMatchObject({ mean_ms: 150, p50_ms: 100 });
  expect(shownSums(sums({ calls: 0n, latency: NONE }))).toMatchObject({ mean_ms: null, p50_ms: null, p95_ms: null });
});

describe("CSV", () => {
  test("has a line of names, one for each group, and ends each as RFC 4180 says", () => {
    expect(csvOf(["day", "model"], [{ group: ["2026-01-05", null], sums: sums() }])).toBe(
      "day,model,calls,errors,unpriced,estimated,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,cost_usd,total_ms,mean_ms,p50_ms,p95_ms,cache_write_tokens,cache_hit_rate,cache_saved_usd\r\n2026-01-05,,2,0,0,0,3,4,0,0,0.0015,301,150,100,235,0,0,0\r\n",
    );
  });
  test("[d14.3 d16.2] a figure below 0 is a number", () => {
    expect(csvOf(["model"], [{ group: ["-1"], sums: sums({ cacheSavedNanoUsd: -2_500_000_000n }) }])).toMatch(
      /\r\n"'-1",2,.*,-2\.5\r\n$/,
    );
  });
  test("a name that a spreadsheet would run is quoted as text, and a name cannot leave its cell", () => {
    const cells = (value: string): string =>
      csvOf(["model"], [{ group: [value], sums: sums() }])
        .split("\r\n")
        .slice(1)
        .join("\r\n")
        .replace(/,2,0,0,0,3.*/s, "");
    for (const formula of ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "\r=1", '=HYPERLINK("http://x")', "\u00a0=1"])
      expect([formula, cells(formula).startsWith(`"'`)]).toEqual([formula, true]);
    expect([cells("gpt-4o"), cells("a,b"), cells('a"b'), cells("a\r\nb"), cells("it's")]).toEqual([
      "gpt-4o",
      '"a,b"',
      '"a""b"',
      '"a\r\nb"',
      '"it\'s"',
    ]);
  });
});

test("[d16.2] the share of tokens that caches had, and what they saved or lost", () => {
  const shown = (parts: Partial<UsageSums>) => shownSums(sums(parts));
  expect(
    shown({ promptTokens: 3n, cachedTokens: 2n, cacheWriteTokens: 1n, cacheSavedNanoUsd: 1_500_000n }),
  ).toMatchObject({
    cached_tokens: 2,
    cache_write_tokens: 1,
    cache_hit_rate: 0.6666,
    cache_saved_usd: "0.0015",
  });
  expect(shown({ cacheSavedNanoUsd: -1n })["cache_saved_usd"]).toBe("-0.000000001");
  expect(shown({ cacheSavedNanoUsd: -2_500_000_000n })["cache_saved_usd"]).toBe("-2.5");
  expect(shown({ promptTokens: 0n })["cache_hit_rate"]).toBeNull();
});
