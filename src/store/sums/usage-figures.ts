// Sums in SQL and out of it. Every sum is exact, however large (sum-halves.ts).
import { type RawBuilder, sql } from "kysely";
import { LATENCY_COLUMNS, SUM_COLUMNS } from "../calls/call-schema.ts";
import { camelCase } from "../../core/text/camel-case.ts";
import { SUM_FIGURE_NAMES, type SumFigureName } from "./sum-figures.ts";
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

/** The members of UsageSums that are no list, with their columns. */
const MEMBERS = SUM_FIGURE_NAMES.map((column) => [camelCase(column), column] as const);

export function sumsInRow(row: Sums): UsageSums {
  return usageSums(
    (_member, column) => wholeOf(row, column),
    LATENCY_COLUMNS.map((column) => wholeOf(row, column)),
  );
}

function usageSums(
  wholeSum: (member: (typeof MEMBERS)[number][0], column: SumFigureName) => bigint,
  latency: readonly bigint[],
): UsageSums {
  const sums = MEMBERS.map(([member, column]) => [member, wholeSum(member, column)] as const);
  return { ...Object.fromEntries(sums), latency } as unknown as UsageSums;
}

/** Of no calls. */
export const NO_SUMS: UsageSums = sumsInRow(Object.fromEntries(FIGURE_COLUMNS.map((part) => [part, 0n])));

export const ALL_SUMS = sql.join(SUM_COLUMNS.map(sumOf));

export function addedSums(one: UsageSums, other: UsageSums): UsageSums {
  return usageSums(
    (member) => one[member] + other[member],
    one.latency.map((count, index) => count + other.latency[index]!),
  );
}
