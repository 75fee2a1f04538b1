// Sums in SQL and out of it. Every sum is exact, however large: it is computed in two halves, because databases round or
// fail above 2^63.
import { type RawBuilder, sql } from "kysely";
import { SUM_COLUMNS } from "./call-schema.ts";
import type { UsageSums } from "./calls.ts";

const HALF = 1_000_000_000n;

export const halves = (column: string): RawBuilder<unknown> =>
  sql`coalesce(sum(${sql.ref(column)} / ${sql.lit(HALF)}), 0) as ${sql.ref(`${column}_high`)}, coalesce(sum(${sql.ref(column)} % ${sql.lit(HALF)}), 0) as ${sql.ref(`${column}_low`)}`;

export type Sums = Readonly<Record<string, bigint | number | string>>;

/** PostgreSQL returns sums of wide integers as text. */
export const wholeOf = (row: Sums, column: string): bigint =>
  BigInt(row[`${column}_high`]!) * HALF + BigInt(row[`${column}_low`]!);

export function sumsOf(row: Sums): UsageSums {
  const [
    calls,
    errors,
    unpriced,
    promptTokens,
    completionTokens,
    cachedTokens,
    reasoningTokens,
    costNanoUsd,
    totalMs,
    ...rest
  ] = SUM_COLUMNS.map((column) => wholeOf(row, column));
  return {
    calls: calls!,
    errors: errors!,
    unpriced: unpriced!,
    promptTokens: promptTokens!,
    completionTokens: completionTokens!,
    cachedTokens: cachedTokens!,
    reasoningTokens: reasoningTokens!,
    costNanoUsd: costNanoUsd!,
    totalMs: totalMs!,
    latency: rest.slice(0, -1),
    estimated: rest.at(-1)!,
  };
}

/** Of no calls. */
export const NO_SUMS: UsageSums = sumsOf(
  Object.fromEntries(
    SUM_COLUMNS.flatMap((column) => [[`${column}_high`, 0n] as const, [`${column}_low`, 0n] as const]),
  ),
);

export const ALL_SUMS = sql.join(SUM_COLUMNS.map(halves));

export function addedSums(one: UsageSums, other: UsageSums): UsageSums {
  return {
    calls: one.calls + other.calls,
    errors: one.errors + other.errors,
    unpriced: one.unpriced + other.unpriced,
    estimated: one.estimated + other.estimated,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    costNanoUsd: one.costNanoUsd + other.costNanoUsd,
    totalMs: one.totalMs + other.totalMs,
    latency: one.latency.map((count, index) => count + other.latency[index]!),
  };
}
