// Sums of calls as reports show them, in JSON and CSV. Sums are written exactly, however large they are; dollars are
// decimal numbers in text.
import { z } from "zod";
import { latencyAt } from "../../../accounting/latency.ts";
import type { JsonObject, RawNumber } from "../../../core/json.ts";
import { cellText, csvLine } from "../../../core/text/csv.ts";
import { LATENCY_BOUNDS_MS, type UsageDimension, type UsageRow, type UsageSums } from "../../../store/calls/calls.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const count = z.int();
/** What is shown of sums, in the order of the answers. */
export const COUNTED = {
  calls: count,
  errors: count.meta({ description: "Calls with a status of 400 or more, as `outcome=failed` finds them." }),
  unpriced: count.meta({ description: "The number of calls with usage whose price is not known." }),
  estimated: count.meta({
    description:
      "The number of calls whose usage, or a part of it, the gateway estimated, because the provider did not report it.",
  }),
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count.meta({ description: "Prompt tokens that were read from prompt caches of providers." }),
  cache_write_tokens: count.meta({ description: "Prompt tokens that were written to them." }),
  cache_hit_rate: z.number().nullable().meta({
    description: "The share of the prompt tokens that was read from them, from 0 to 1; null where there were none.",
  }),
  cache_saved_usd: z.string().meta({
    description:
      "How much less the calls cost than without those caches, in dollars; below 0 where writing cost more than reading saved.",
  }),
  reasoning_tokens: count,
  cost_usd: z.string(),
  mean_ms: count.nullable(),
  p50_ms: count.nullable().meta({ description: "Approximate: estimated from counts of calls by duration." }),
  p95_ms: count.nullable().meta({ description: "Approximate, as `p50_ms`." }),
};
export const SUMS = {
  ...COUNTED,
  total_ms: count,
  latency_ms: z
    .record(z.string(), count)
    .meta({ description: "Number of calls by duration: the upper bound of each bucket, and `more`." }),
};
const summed = z.strictObject(SUMS);

const native = JSON as unknown as { rawJSON(text: string): RawNumber };
/** What no number represents becomes a RawNumber, which answers show like one. */
const exact = (value: bigint): number =>
  value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : (native.rawJSON(value.toString()) as unknown as number);

/** The share of prompt tokens that was read from caches of providers, in ten-thousandths; `null` where there were none. */
function hitRate({ cachedTokens, promptTokens }: Pick<UsageSums, "cachedTokens" | "promptTokens">): number | null {
  return promptTokens === 0n ? null : Number((cachedTokens * 10_000n) / promptTokens) / 10_000;
}

/** What answers show of sums. Nano-dollars stay what they are, because an answer shows them in dollars. */
export function sumsOf({ latency, ...sums }: UsageSums): ThingOf<typeof SUMS> {
  const { costNanoUsd, cacheSavedNanoUsd, calls, totalMs } = sums;
  const whole = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, exact(sum)]));
  return {
    ...(whole as Readonly<Record<keyof typeof sums, number>>),
    costNanoUsd,
    cacheSavedNanoUsd,
    cacheHitRate: hitRate(sums),
    meanMs: calls === 0n ? null : Number(totalMs / calls),
    p50Ms: latencyAt(0.5, latency),
    p95Ms: latencyAt(0.95, latency),
    latencyMs: Object.fromEntries(
      [...LATENCY_BOUNDS_MS, "more"].map((bound, index) => [String(bound), exact(latency[index] ?? 0n)]),
    ),
  };
}

export const shownSums = (sums: UsageSums): JsonObject => shownAs(summed, sumsOf(sums));

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
] as const satisfies readonly (keyof typeof SUMS)[];

/** CSV, with a header line. */
export function csvOf(by: readonly UsageDimension[], rows: readonly UsageRow[]): string {
  const lines = rows.map(({ group, sums }) => {
    const shown = shownSums(sums);
    return csvLine(
      [...group.map((value) => value ?? ""), ...CSV_SUMS.map((name) => cellText(shown[name]))],
      (at) => at >= group.length,
    );
  });
  return [csvLine([...by, ...CSV_SUMS]), ...lines].join("");
}
