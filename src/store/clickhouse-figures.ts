// The figures of calls as ClickHouse adds them up: of single calls and of stored sums alike, exact however large.
import { AMOUNT_COLUMNS, LATENCY_COLUMNS, SUM_COLUMNS } from "./call-schema.ts";
import { LATENCY_BOUNDS_MS, type UsageSums } from "./calls.ts";
import type { ClickHouseRow } from "./clickhouse-client.ts";
import { rawSql, type Sql } from "./clickhouse-sql.ts";

const within = (index: number): string => {
  const above = index === 0 ? [] : [`total_ms > ${LATENCY_BOUNDS_MS[index - 1]!}`];
  const bound = LATENCY_BOUNDS_MS[index];
  return [...above, ...(bound === undefined ? [] : [`total_ms <= ${bound}`])].join(" and ");
};

const OF_CALL: Readonly<Record<string, string>> = {
  calls: "1",
  errors: "status >= 400",
  unpriced: "cost_nano_usd is null and prompt_tokens + completion_tokens > 0",
  cost_nano_usd: "ifNull(cost_nano_usd, 0)",
  ...Object.fromEntries(LATENCY_COLUMNS.map((column, index) => [column, within(index)])),
};

/** The names of figures differ from those of the columns of calls: ClickHouse would read one for the other. */
const figure = (column: string): string => `sum_${column}`;
const typed = (column: string): string => (AMOUNT_COLUMNS.includes(column) ? "toUInt128" : "toUInt64");

/** What is selected of a call. */
export const FIGURES_OF_CALL: Sql = rawSql(
  SUM_COLUMNS.map((column) => `${typed(column)}(${OF_CALL[column] ?? column}) as ${figure(column)}`).join(", "),
);
/** What is selected of a stored sum. */
export const FIGURES_OF_SUM: Sql = rawSql(SUM_COLUMNS.map((column) => `${column} as ${figure(column)}`).join(", "));

/** Each figure, and its sum. */
export const SUMMED: readonly { readonly name: string; readonly sum: string }[] = SUM_COLUMNS.map((column) => ({
  name: column,
  sum: `sum(${figure(column)})`,
}));

export const sumOfFigure = (column: string): string => `sum(${figure(column)})`;
/** As texts, for sumsIn(). */
export const ALL_SUMS: Sql = rawSql(SUMMED.map(({ name, sum }) => `toString(${sum}) as all_${name}`).join(", "));

export function sumsIn(row: ClickHouseRow): UsageSums {
  const of = (column: string): bigint => BigInt(String(row[`all_${column}`]));
  return {
    calls: of("calls"),
    errors: of("errors"),
    unpriced: of("unpriced"),
    estimated: of("estimated"),
    promptTokens: of("prompt_tokens"),
    completionTokens: of("completion_tokens"),
    cachedTokens: of("cached_tokens"),
    reasoningTokens: of("reasoning_tokens"),
    costNanoUsd: of("cost_nano_usd"),
    totalMs: of("total_ms"),
    latency: LATENCY_COLUMNS.map(of),
  };
}
