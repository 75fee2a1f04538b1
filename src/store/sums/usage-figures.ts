// Sums in SQL and out of it. Every sum is exact, however large (sum-halves.ts).
import { type RawBuilder, sql } from "kysely";
import { SUM_COLUMNS } from "../calls/call-schema.ts";
import type { UsageSums } from "../calls/calls.ts";
import { FIGURE_COLUMNS, HALF, partsOf } from "./sum-halves.ts";

/** The sum of a figure, for wholeOf(). */
export const sumOf = (column: string): RawBuilder<unknown> =>
  sql.join(partsOf(column).map((part) => sql`coalesce(sum(${sql.ref(part)}), 0) as ${sql.ref(part)}`));

export type Sums = Readonly<Record<string, bigint | number | string>>;

/** PostgreSQL returns sums of wide integers as text. */
export function wholeOf(row: Sums, column: string): bigint {
  const [first, low] = partsOf(column).map((part) => BigInt(row[part]!));
  return low === undefined ? first! : first! * HALF + low;
}

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
export const NO_SUMS: UsageSums = sumsOf(Object.fromEntries(FIGURE_COLUMNS.map((part) => [part, 0n])));

export const ALL_SUMS = sql.join(SUM_COLUMNS.map(sumOf));

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
