// Sums of calls as reports show them, in JSON and CSV. Sums are written exactly, however large they are; dollars are
// decimal numbers in text.
import type { Json, JsonObject, RawNumber } from "../core/json.ts";
import { cellText, csvLine } from "../core/text/csv.ts";
import { LATENCY_BOUNDS_MS, type UsageDimension, type UsageRow, type UsageSums } from "../store/calls/calls.ts";
import { usd } from "./price.ts";

/** Estimates a latency quantile in milliseconds from the counts of the buckets; `null` when there are no calls. */
export function latencyAt(share: number, latency: readonly bigint[]): number | null {
  const counts = latency.map(Number);
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = all * share;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      const upper = LATENCY_BOUNDS_MS[index];
      // the last bucket has no upper bound
      return upper === undefined ? lower : Math.round(lower + (upper - lower) * (left / count));
    }
    left -= count;
  }
  return LATENCY_BOUNDS_MS.at(-1)!;
}

const native = JSON as unknown as { rawJSON(text: string): RawNumber };
const exact = (value: bigint): Json =>
  value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : native.rawJSON(value.toString());

/** The share of prompt tokens that was read from caches of providers, in ten-thousandths; `null` where there were none. */
function hitRate({ cachedTokens, promptTokens }: UsageSums): number | null {
  return promptTokens === 0n ? null : Number((cachedTokens * 10_000n) / promptTokens) / 10_000;
}

/** What a bucket of time shows of its sums. */
export function shownCounts(sums: UsageSums): JsonObject {
  return {
    calls: exact(sums.calls),
    errors: exact(sums.errors),
    unpriced: exact(sums.unpriced),
    estimated: exact(sums.estimated),
    prompt_tokens: exact(sums.promptTokens),
    completion_tokens: exact(sums.completionTokens),
    cached_tokens: exact(sums.cachedTokens),
    cache_write_tokens: exact(sums.cacheWriteTokens),
    cache_hit_rate: hitRate(sums),
    cache_saved_usd: usd(sums.cacheSavedNanoUsd),
    reasoning_tokens: exact(sums.reasoningTokens),
    cost_usd: usd(sums.costNanoUsd),
    mean_ms: sums.calls === 0n ? null : Number(sums.totalMs / sums.calls),
    p50_ms: latencyAt(0.5, sums.latency),
    p95_ms: latencyAt(0.95, sums.latency),
  };
}

export function shownSums(sums: UsageSums): JsonObject {
  return {
    ...shownCounts(sums),
    total_ms: exact(sums.totalMs),
    latency_ms: Object.fromEntries(
      [...LATENCY_BOUNDS_MS, "more"].map((bound, index) => [String(bound), exact(sums.latency[index] ?? 0n)]),
    ),
  };
}

export function shownRow(by: readonly UsageDimension[], { group, sums }: UsageRow): JsonObject {
  return {
    group: Object.fromEntries(by.map((dimension, index) => [dimension, group[index] ?? null])),
    ...shownSums(sums),
  };
}

const CSV_SUMS = [
  "calls",
  "errors",
  "unpriced",
  "estimated",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_usd",
  "total_ms",
  "mean_ms",
  "p50_ms",
  "p95_ms",
  "cache_write_tokens",
  "cache_hit_rate",
  "cache_saved_usd",
] as const;

/** CSV, with a header line. */
export function csvOf(by: readonly UsageDimension[], rows: readonly UsageRow[]): string {
  const lines = rows.map(({ group, sums }) => {
    const shown = shownSums(sums);
    return csvLine([...group.map((value) => value ?? ""), ...CSV_SUMS.map((name) => cellText(shown[name]))]);
  });
  return [csvLine([...by, ...CSV_SUMS]), ...lines].join("");
}
