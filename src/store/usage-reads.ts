// Sums of calls from the hourly sums, or from the daily sums of end users: reports by group, totals, and what accounts
// have used since a moment. Every sum is exact, however large: it is computed in two halves, because databases round or
// fail above 2^63.
import { type Kysely, sql, type RawBuilder } from "kysely";
import { orNull, shownOperation } from "./call-columns.ts";
import { type CallSchema, DIMENSION_COLUMNS, SUM_COLUMNS } from "./call-schema.ts";
import { keyBoundAt } from "./call-keys.ts";
import { namesOf } from "./call-names.ts";
import { earlierScopeConditions, scopeConditions } from "./call-reads.ts";
import type {
  CallScope,
  Spent,
  SpentQuery,
  UsageDimension,
  UsageOrder,
  UsageQuery,
  UsageRow,
  UsageSums,
} from "./calls.ts";
import { afterCursor, type ListKey, pageOf, rowLimit } from "./pages.ts";
import type { Page, PageRequest } from "./reader.ts";
import { toInteger } from "./schema.ts";
import { EARLIEST_OPERATION } from "../core/operation.ts";
import { StoreError } from "./store.ts";

type Db = Kysely<CallSchema>;

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const HALF = 1_000_000_000n;

/** The table that answers a query, and the period that each of its rows covers. */
interface Source {
  readonly table: "call_hour" | "call_user_day";
  readonly time: "hour_ms" | "day_ms";
  readonly spanMs: number;
}
const HOURS: Source = { table: "call_hour", time: "hour_ms", spanMs: HOUR_MS };
const USER_DAYS: Source = { table: "call_user_day", time: "day_ms", spanMs: DAY_MS };

function sourceOf(scope: CallScope, by: readonly UsageDimension[]): Source {
  return scope.endUser !== undefined || by.includes("end_user") ? USER_DAYS : HOURS;
}

/**
 * The rows of sums that a query reads. Only calls of other operations than chat completions are summed by operation as
 * well; what chat completions have used is what all calls have used, less those.
 */
function sumsFor({ table, time }: Source, scope: CallScope, by: readonly UsageDimension[]): RawBuilder<unknown> {
  if (scope.operation === undefined && !by.includes("operation")) return sql.table(table);
  const operations = table === "call_hour" ? "call_operation_hour" : "call_operation_user_day";
  if (scope.operation !== undefined && scope.operation !== EARLIEST_OPERATION) return sql.table(operations);
  const key = [time, ...DIMENSION_COLUMNS, ...(table === "call_user_day" ? ["end_user"] : [])].join(", ");
  const sums = SUM_COLUMNS.map((column) => `"${column}"`).join(", ");
  const less = SUM_COLUMNS.map((column) => `-"${column}" as "${column}"`).join(", ");
  return sql.raw(
    `(select ${key}, 0 as operation, ${sums} from ${table} union all select ${key}, 0 as operation, ${less} from ${operations} union all select ${key}, operation, ${sums} from ${operations}) as sums`,
  );
}

const COLUMN_OF: Readonly<Record<Exclude<UsageDimension, "day">, string>> = {
  tenant: "tenant_id",
  project: "project_id",
  token: "token_id",
  user: "user_id",
  end_user: "end_user",
  route: "route",
  provider: "provider",
  model: "model",
  operation: "operation",
};

/** The expression of a dimension; a day is its first millisecond. */
function expressionOf(dimension: UsageDimension, { time, spanMs }: Source): string {
  return dimension !== "day" ? COLUMN_OF[dimension] : spanMs === DAY_MS ? time : `(${time} - ${time} % ${DAY_MS})`;
}

const halves = (column: string): RawBuilder<unknown> =>
  sql`coalesce(sum(${sql.ref(column)} / ${sql.lit(HALF)}), 0) as ${sql.ref(`${column}_high`)}, coalesce(sum(${sql.ref(column)} % ${sql.lit(HALF)}), 0) as ${sql.ref(`${column}_low`)}`;

type Sums = Readonly<Record<string, bigint | number | string>>;

/** PostgreSQL returns sums of wide integers as text. */
const wholeOf = (row: Sums, column: string): bigint =>
  BigInt(row[`${column}_high`]!) * HALF + BigInt(row[`${column}_low`]!);

function sumsOf(row: Sums): UsageSums {
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
    ...latency
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
    latency,
  };
}

const ALL_SUMS = sql.join(SUM_COLUMNS.map(halves));

/** The expressions for sorting the largest first. They may be rounded; the reported figures are not. */
const LARGEST: Readonly<Record<Exclude<UsageOrder, "group">, string>> = {
  cost: "sum(cast(cost_nano_usd as double precision))",
  tokens: "sum(cast(prompt_tokens + completion_tokens as double precision))",
  calls: "sum(calls)",
};

/** Throws StoreError `invalid`. */
function timeConditions(
  { fromMs, toMs }: Pick<UsageQuery, "fromMs" | "toMs">,
  { time, spanMs }: Source,
): readonly RawBuilder<boolean>[] {
  for (const moment of [fromMs, toMs])
    if (moment !== undefined && moment % spanMs !== 0)
      throw new StoreError(
        "invalid",
        `A report ${spanMs === DAY_MS ? "about end users must begin and end with a full day" : "must begin and end with a full hour"} in UTC.`,
      );
  return [
    ...(fromMs === undefined ? [] : [sql<boolean>`${sql.ref(time)} >= ${toInteger(fromMs)}`]),
    ...(toMs === undefined ? [] : [sql<boolean>`${sql.ref(time)} < ${toInteger(toMs)}`]),
  ];
}

const TRUE = sql<boolean>`1 = 1`;

export async function usage(db: Db, page: PageRequest, query: UsageQuery): Promise<Page<UsageRow>> {
  const source = sourceOf(query, query.by);
  const values = query.by.map((dimension, index) => shownSql(dimension, index));
  const key: ListKey = {
    list: `usage by ${query.by.join()}`,
    columns: query.by.map((dimension, index) => [values[index]!, dimension === "day" ? "integer" : "text"] as const),
    newestFirst: false,
  };
  if (page.cursor != null && (query.by.length === 0 || query.order !== "group"))
    throw new StoreError("invalid", "The cursor is not from this list.");
  const after = afterCursor(page, key);
  const limit = rowLimit(page);
  const scope = await scopeConditions(db, query, "sums");
  const time = timeConditions(query, source);
  if (scope === null) return { data: [], nextCursor: null };
  const groups = query.by.map((dimension) => expressionOf(dimension, source));
  const largest = query.order === "group" ? [] : [sql`${sql.raw(LARGEST[query.order])} as largest`];
  const summed = sql`select ${sql.join([...groups.map((expression, index) => sql`${sql.raw(expression)} as ${sql.ref(`group_${index}`)}`), ...largest, ALL_SUMS])} from ${sumsFor(source, query, query.by)} where ${sql.join([TRUE, ...scope, ...time], sql` and `)} ${groups.length === 0 ? sql`` : sql`group by ${sql.raw(groups.join(", "))} having sum(cast(calls as double precision)) > 0`}`;
  // Groups are made of numbers, and only they get names.
  const joins = query.by.flatMap((dimension, index) =>
    isNumbered(dimension)
      ? [sql.raw(` left join call_name as name_${index} on name_${index}.number = summed.group_${index}`)]
      : [],
  );
  const shown = values.map((value, index) => sql`${sql.raw(value)} as ${sql.ref(`value_${index}`)}`);
  const order = sql.raw([...(query.order === "group" ? [] : ["largest desc"]), ...values].join(", "));
  const { rows } =
    await sql<Sums>`select ${sql.join([...shown, sql`summed.*`])} from (${summed}) as summed${sql.join(joins, sql``)} where ${after} ${values.length === 0 ? sql`` : sql`order by ${order}`} limit ${sql.lit(limit)}`.execute(
      db,
    );
  const filled = rows
    .map((row) => ({ row, values: values.map((_, index) => row[`value_${index}`]!) }))
    .filter(({ row }) => wholeOf(row, "calls") > 0n);
  const given = pageOf(
    filled,
    page,
    key,
    (one) => one.values.map((value) => (typeof value === "number" ? BigInt(value) : value)),
    (one): UsageRow => ({
      group: query.by.map((dimension, index) => shownValue(dimension, one.values[index]!)),
      sums: sumsOf(one.row),
    }),
  );
  return query.order === "group" ? given : { ...given, nextCursor: null };
}

const isNumbered = (dimension: UsageDimension): boolean => dimension !== "day" && dimension !== "end_user";

/** A group as it is shown and sorted. */
const shownSql = (dimension: UsageDimension, index: number): string =>
  isNumbered(dimension) ? `coalesce(name_${index}.name, '')` : `summed.group_${index}`;

function shownValue(dimension: UsageDimension, value: bigint | number | string): string | null {
  if (dimension === "day") return new Date(Number(value)).toISOString().slice(0, 10);
  return dimension === "operation" ? shownOperation(String(value)) : orNull(String(value));
}

export async function usageTotals(db: Db, query: Omit<UsageQuery, "by" | "order">): Promise<UsageSums> {
  const source = sourceOf(query, []);
  const time = timeConditions(query, source);
  const scope = (await scopeConditions(db, query, "sums")) ?? [NEVER];
  const condition = sql.join([TRUE, ...scope, ...time], sql` and `);
  const { rows } = await sql<Sums>`select ${ALL_SUMS} from ${sumsFor(source, query, [])} where ${condition}`.execute(
    db,
  );
  return sumsOf(rows[0]!);
}

/** Combines the sums of full hours or days with single calls before the first of these. */
export async function spent(db: Db, query: SpentQuery): Promise<readonly Spent[]> {
  const source = sourceOf(query, query.by);
  const fullMs = Math.ceil(query.sinceMs / source.spanMs) * source.spanMs;
  const inSums = (await scopeConditions(db, query, "sums")) ?? [NEVER];
  const all: SpentRow[] = [
    ...(await spentFrom(db, query, sumsFor(source, query, query.by), false, [
      ...inSums,
      sql`${sql.ref(source.time)} >= ${toInteger(fullMs)}`,
    ])),
  ];
  if (query.sinceMs !== fullMs) {
    // The daily sums of end users cover only calls that name one.
    const isNamed = query.endUser !== undefined || query.by.includes("end_user") ? [sql<boolean>`end_user <> ''`] : [];
    const scope = (await scopeConditions(db, query, "calls")) ?? [NEVER];
    const single = [sql`explained = 0`, ...isNamed];
    all.push(
      ...(await spentFrom(db, query, sql.table("call"), true, [
        ...scope,
        ...single,
        sql`id >= ${keyBoundAt(query.sinceMs)} and id < ${keyBoundAt(fullMs)}`,
      ])),
      ...(await spentFrom(db, query, EARLIER_CALLS, true, [
        ...earlierScopeConditions(query),
        ...single,
        sql`time_ms >= ${toInteger(query.sinceMs)} and time_ms < ${toInteger(fullMs)}`,
      ])),
    );
  }
  return together(await withNames(db, all, query));
}

const NEVER = sql<boolean>`1 = 0`;
/** They were chat completions. */
const EARLIER_CALLS = sql`(select earlier_call.*, '' as operation from earlier_call) as earlier_call`;

interface SpentRow extends Omit<Spent, "values"> {
  /** Numbers of names, or texts. */
  readonly values: readonly (bigint | number | string)[];
}

/** The names of numbers; texts stay. */
async function withNames(db: Db, rows: readonly SpentRow[], { by }: SpentQuery): Promise<readonly Spent[]> {
  const nameOf = await namesOf(
    db,
    rows.flatMap(({ values }) => values.filter((value) => typeof value !== "string")),
  );
  return rows.map((row) => ({
    ...row,
    values: row.values.map((value, index) => {
      const name = typeof value === "string" ? value : nameOf(value);
      return by[index] === "operation" ? shownOperation(name) : orNull(name);
    }),
  }));
}

function together(rows: readonly Spent[]): readonly Spent[] {
  const sums = new Map<string, Spent>();
  for (const one of rows) {
    const name = JSON.stringify(one.values);
    const known = sums.get(name);
    sums.set(
      name,
      known === undefined
        ? one
        : {
            values: one.values,
            calls: known.calls + one.calls,
            tokens: known.tokens + one.tokens,
            costNanoUsd: known.costNanoUsd + one.costNanoUsd,
          },
    );
  }
  return [...sums.values()].filter(({ calls }) => calls > 0n);
}

async function spentFrom(
  db: Db,
  query: SpentQuery,
  table: RawBuilder<unknown>,
  isOfCalls: boolean,
  conditions: readonly RawBuilder<unknown>[],
): Promise<readonly SpentRow[]> {
  const by = query.by.map((dimension) => COLUMN_OF[dimension]);
  const values = by.map((column, index) => sql`${sql.ref(column)} as ${sql.ref(`value_${index}`)}`);
  const calls = isOfCalls ? sql`count(*) as calls_low, 0 as calls_high` : halves("calls");
  const grouping = by.length === 0 ? sql`` : sql`group by ${sql.raw(by.join(", "))}`;
  const { rows } =
    await sql<Sums>`select ${sql.join([...values, calls, halves("prompt_tokens"), halves("completion_tokens"), halves("cost_nano_usd")])} from ${table} where ${sql.join(conditions, sql` and `)} ${grouping}`.execute(
      db,
    );
  return rows.map((row) => ({
    values: by.map((_, index) => row[`value_${index}`]!),
    calls: wholeOf(row, "calls"),
    tokens: wholeOf(row, "prompt_tokens") + wholeOf(row, "completion_tokens"),
    costNanoUsd: wholeOf(row, "cost_nano_usd"),
  }));
}
