// What calls add to the sums of their hour, and of the day of the end user that they name.
import {
  DIMENSION_COLUMNS,
  type DimensionColumn,
  type FoundRow,
  LATENCY_COLUMNS,
  SUM_COLUMNS,
} from "../calls/call-schema.ts";
import { type SumFigureName, SUM_FIGURE_NAMES, SUM_FIGURES, type SUMMED_COLUMNS } from "./sum-figures.ts";
import { timeOfKey } from "../calls/call-keys.ts";
import { LATENCY_BOUNDS_MS } from "../calls/calls.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export type SumTable = "call_hour" | "call_user_day";

/** One row of sums: its key, and the amount to add for each of SUM_COLUMNS. */
export interface SumRow {
  readonly key: Readonly<Record<string, string | number>>;
  readonly sums: readonly bigint[];
}

/** What is summed of a call. */
export type Summed = Pick<
  FoundRow,
  DimensionColumn | (typeof SUMMED_COLUMNS)[number] | "id" | "end_user" | "explained" | "mirror_of" | "end_ms"
>;

/** The limit of a sum: a row that could not be updated would block every row after it. */
export const MOST_OF_A_SUM = 9_000_000_000_000_000_000n;

/** SQL that adds the sums of a row to those of the existing one. */
export const addingSums = (table: SumTable): string =>
  `on conflict (${KEYS[table].join(", ")}) do update set ${SUM_COLUMNS.map((column) => raisedSum(table, column)).join(", ")}`;

/** SQL that adds a row's sum to the existing one without exceeding what the column can hold. */
function raisedSum(table: string, column: string): string {
  const [own, more] = [`"${table}"."${column}"`, `excluded."${column}"`];
  const isSigned = column === SIGNED_SUM;
  const least = isSigned ? ` when ${more} < 0 and ${own} < -${MOST_OF_A_SUM} - ${more} then -${MOST_OF_A_SUM}` : "";
  const most = isSigned ? `${more} > 0 and ${own}` : own;
  return `"${column}" = case when ${most} > ${MOST_OF_A_SUM} - ${more} then ${MOST_OF_A_SUM}${least} else ${own} + ${more} end`;
}
/** SQL that takes an amount from the existing sum, within the same limits. */
export function loweredSum(column: string, less: bigint): string {
  const least = column === SIGNED_SUM ? -MOST_OF_A_SUM : 0n;
  const limited =
    less < 0n
      ? `"${column}" > ${MOST_OF_A_SUM + less} then ${MOST_OF_A_SUM}`
      : `"${column}" < ${least + less} then ${least}`;
  return `case when ${limited} else "${column}" - (${less}) end`;
}
/** The only figure that may be below 0. */
const SIGNED_SUM: SumFigureName = "cache_saved_nano_usd";

export const KEYS: Readonly<Record<SumTable, readonly string[]>> = {
  call_hour: ["hour_ms", ...DIMENSION_COLUMNS],
  call_user_day: ["day_ms", ...DIMENSION_COLUMNS, "end_user"],
};

/**
 * What calls add to each table of sums, ordered by key, so that two writers never deadlock: by the hour, and by the day
 * of the end users that they name.
 */
export function sumsOfCalls(calls: readonly Summed[]): readonly (readonly [SumTable, readonly SumRow[]])[] {
  const named = calls.filter((call) => call.end_user !== "");
  return [
    ["call_hour", hourSums(calls)],
    ["call_user_day", userDaySums(named)],
  ];
}

const hourSums = (calls: readonly Summed[]): readonly SumRow[] =>
  gathered(calls, HOUR_MS, (hour_ms, call) => ({ hour_ms, ...dimensionsOf(call) }), false);

const userDaySums = (calls: readonly Summed[]): readonly SumRow[] =>
  gathered(calls, DAY_MS, (day_ms, call) => ({ day_ms, ...dimensionsOf(call), end_user: call.end_user }), true);

const dimensionsOf = (call: Summed): Readonly<Record<DimensionColumn, number>> => ({
  tenant_id: Number(call.tenant_id),
  project_id: Number(call.project_id),
  token_id: Number(call.token_id),
  user_id: Number(call.user_id),
  route: Number(call.route),
  provider: Number(call.provider),
  model: Number(call.model),
  operation: Number(call.operation),
});

interface Group {
  readonly atMs: number;
  /** Any of its calls. */
  readonly call: Summed;
  readonly sums: readonly Accumulator[];
}

/** Groups by time and dimensions, and by end user. Explained calls and copies of calls are not part of any sum. */
function gathered(
  calls: readonly Summed[],
  spanMs: number,
  keyOf: (atMs: number, call: Summed) => SumRow["key"],
  isByEndUser: boolean,
): readonly SumRow[] {
  /** By the end user or the token, of which there are the most. */
  const byMost = new Map<number | string, Group[]>();
  for (const call of calls) {
    if (Number(call.explained) !== 0 || call.mirror_of !== "") continue;
    const timeMs = timeOfKey(call.id);
    const atMs = timeMs - (timeMs % spanMs);
    const most = isByEndUser ? call.end_user : Number(call.token_id);
    const groups = byMost.getOrInsertComputed(most, () => []);
    let group = groups.find((one) => one.atMs === atMs && isSame(one.call, call, isByEndUser));
    if (group === undefined) {
      group = { atMs, call, sums: SUM_COLUMNS.map(() => ({ exact: 0, carried: 0n })) };
      groups.push(group);
    }
    add(call, timeMs, group.sums);
  }
  return [...byMost.values()]
    .flat()
    .map(({ atMs, call, sums }): SumRow => ({ key: keyOf(atMs, call), sums: sums.map(totalOf) }))
    .toSorted(byKey);
}

function isSame(a: Summed, b: Summed, isByEndUser: boolean): boolean {
  return (
    a.model === b.model &&
    a.route === b.route &&
    a.provider === b.provider &&
    a.project_id === b.project_id &&
    a.tenant_id === b.tenant_id &&
    a.user_id === b.user_id &&
    a.token_id === b.token_id &&
    a.operation === b.operation &&
    (!isByEndUser || a.end_user === b.end_user)
  );
}

function byKey(a: SumRow, b: SumRow): number {
  for (const column of Object.keys(a.key)) {
    const [one, other] = [a.key[column]!, b.key[column]!];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** A sum of integers below 2^53: exact, and as quick as a number while it is one. */
interface Accumulator {
  exact: number;
  carried: bigint;
}

function raise(sum: Accumulator, more: bigint | number): void {
  const value = Number(more);
  if (Math.abs(sum.exact + value) <= Number.MAX_SAFE_INTEGER) {
    sum.exact += value;
    return;
  }
  sum.carried += BigInt(sum.exact);
  sum.exact = value;
}

function totalOf({ exact, carried }: Accumulator): bigint {
  const sum = carried + BigInt(exact);
  if (sum < -MOST_OF_A_SUM) return -MOST_OF_A_SUM;
  return sum > MOST_OF_A_SUM ? MOST_OF_A_SUM : sum;
}

const FIGURES = SUM_FIGURE_NAMES.map((name) => ({ at: SUM_COLUMNS.indexOf(name), of: SUM_FIGURES[name].of }));
const LATENCY_AT = SUM_COLUMNS.indexOf(LATENCY_COLUMNS[0]!);

/** Adds a call to each of SUM_COLUMNS. */
function add(call: Summed, timeMs: number, sums: readonly Accumulator[]): void {
  const totalMs = Number(call.end_ms) - timeMs;
  for (const { at, of } of FIGURES) raise(sums[at]!, of(call, totalMs));
  const within = LATENCY_BOUNDS_MS.findIndex((bound) => totalMs <= bound);
  raise(sums[LATENCY_AT + (within < 0 ? LATENCY_BOUNDS_MS.length : within)]!, 1);
}
