// What is summed of calls: each figure with what a call adds to it, here and in SQL. The counts of calls by how long they
// took, which are summed as well, are LATENCY_COLUMNS (call-schema.ts).

/** The columns of a call that figures are made of. */
export const SUMMED_COLUMNS = [
  "status",
  "cost_nano_usd",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "cache_saved_nano_usd",
  "reasoning_tokens",
  "estimated",
] as const;
type SummedColumn = (typeof SUMMED_COLUMNS)[number];
type SummedValues = Readonly<Record<SummedColumn, bigint | number | null>>;

interface SumFigure {
  /** Clients and providers can make an amount as large as they like; a count is one of calls. */
  readonly kind: "count" | "amount";
  readonly of: (call: SummedValues, totalMs: number) => bigint | number;
  /** The same as an expression over the columns of a call; `totalMs` is the expression of how long it took. */
  readonly sql: (totalMs: string) => string;
}

const amount = (column: SummedColumn, sql: string = column): SumFigure => ({
  kind: "amount",
  of: (call) => call[column] ?? 0,
  sql: () => sql,
});
const callsThat = (are: (call: SummedValues) => boolean, sql: string): SumFigure => ({
  kind: "count",
  of: (call) => (are(call) ? 1 : 0),
  sql: () => sql,
});
const one = (condition: string): string => `case when ${condition} then 1 else 0 end`;

/** By the names of their columns, in the order of the tables of sums. */
export const SUM_FIGURES = {
  calls: callsThat(() => true, "1"),
  errors: callsThat(({ status }) => Number(status) >= 400, one("status >= 400")),
  /** With usage whose price was not known. */
  unpriced: callsThat(
    ({ cost_nano_usd: cost, prompt_tokens: prompt, completion_tokens: completion }) =>
      cost === null && Number(prompt) + Number(completion) > 0,
    one("cost_nano_usd is null and prompt_tokens + completion_tokens > 0"),
  ),
  prompt_tokens: amount("prompt_tokens"),
  completion_tokens: amount("completion_tokens"),
  cached_tokens: amount("cached_tokens"),
  cache_write_tokens: amount("cache_write_tokens"),
  cache_saved_nano_usd: amount("cache_saved_nano_usd"),
  reasoning_tokens: amount("reasoning_tokens"),
  cost_nano_usd: amount("cost_nano_usd", "coalesce(cost_nano_usd, 0)"),
  total_ms: { kind: "amount", of: (_call, totalMs) => totalMs, sql: (totalMs) => totalMs },
  /** Whose usage the gateway estimated. */
  estimated: callsThat(({ estimated }) => Number(estimated) !== 0, "estimated"),
} satisfies Readonly<Record<string, SumFigure>>;

export type SumFigureName = keyof typeof SUM_FIGURES;
export const SUM_FIGURE_NAMES = Object.keys(SUM_FIGURES) as readonly SumFigureName[];
