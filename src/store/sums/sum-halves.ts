// The figures of sums as SQL computes with them. Counts stay within what a column can hold; amounts, which clients and
// providers can make as large as they like, are computed in two halves, so that every sum is exact: databases round or
// fail above 2^63.
import { SUM_COLUMNS } from "../calls/call-schema.ts";
import { SUM_FIGURE_NAMES, SUM_FIGURES } from "./sum-figures.ts";

export const HALF = 1_000_000_000n;

const AMOUNTS: ReadonlySet<string> = new Set(SUM_FIGURE_NAMES.filter((name) => SUM_FIGURES[name].kind === "amount"));
const isAmount = (column: string): boolean => AMOUNTS.has(column);

/** The columns in which a figure is computed. */
export const partsOf = (column: string): readonly string[] =>
  isAmount(column) ? [`${column}_high`, `${column}_low`] : [column];

export const FIGURE_COLUMNS: readonly string[] = SUM_COLUMNS.flatMap(partsOf);

/** The columns of whole figures as they are computed, by default of all. `expressionOf` says what a figure is. */
export function figuresFrom(
  expressionOf: (column: string) => string,
  { sign = "", figures = SUM_COLUMNS }: { readonly sign?: "" | "-"; readonly figures?: readonly string[] } = {},
): string {
  return figures
    .flatMap((column) => {
      const names = partsOf(column);
      return partsFrom(column, expressionOf(column)).map((part, index) => `${sign}(${part}) as ${names[index]!}`);
    })
    .join(", ");
}

/** The expressions of partsOf() for a whole figure. */
export const partsFrom = (column: string, expression: string): readonly string[] =>
  isAmount(column) ? [`(${expression}) / ${HALF}`, `(${expression}) % ${HALF}`] : [expression];

/** An amount as one number that may be rounded, for sorting. */
export function roundly(column: string): string {
  const [high, low] = partsOf(column);
  return `cast(${high} as double precision) * ${HALF} + ${low}`;
}
