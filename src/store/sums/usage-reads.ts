// Sums of calls from the hourly sums, or from the daily sums of end users: reports by group, totals, and what accounts
// have used since a moment. A period may begin and end at any moment (usage-source.ts).
import { type Kysely, sql } from "kysely";
import { orNull } from "../calls/call-columns.ts";
import type { CallSchema } from "../calls/call-schema.ts";
import { namesOf } from "../calls/call-names.ts";
import {
  type CallScope,
  DIMENSIONS,
  type Spent,
  type SpentQuery,
  type UsageDimension,
  type UsageOrder,
  type UsageQuery,
  type UsageReport,
  type UsageRow,
  type UsageSums,
} from "../calls/calls.ts";
import { afterCursor, type ListKey, pageOf, rowLimit } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { inOneView } from "../database/transactions.ts";
import { ALL_SUMS, NO_SUMS, sumOf, type Sums, sumsInRow, wholeOf } from "./usage-figures.ts";
import { HOURS, type SumsTable, USER_DAYS } from "./roll-up-triggers.ts";
import { type SummedCalls, usageSource } from "./usage-source.ts";
import { midnightsBetween, offsetsBetween, UTC, type ZoneOffset } from "../../core/configured/time-zone.ts";
import { StoreError } from "../store-error.ts";
import { roundly } from "./sum-halves.ts";

type Db = Kysely<CallSchema>;

const DAY_MS = 86_400_000;

function tableOf(scope: CallScope, by: readonly string[]): SumsTable {
  return scope.endUser !== undefined || by.includes("end_user") ? USER_DAYS : HOURS;
}

/** The expression of a dimension; a day is its first millisecond as if it were in UTC. */
const expressionOf = (dimension: UsageDimension, offsets: readonly ZoneOffset[]): string =>
  dimension === "day" ? dayOf(offsets) : DIMENSIONS[dimension].column;

function dayOf(offsets: readonly ZoneOffset[]): string {
  const later = offsets.slice(1).toReversed();
  const offset =
    later.length === 0
      ? String(offsets[0]!.offsetMs)
      : `case ${later.map(({ fromMs, offsetMs }) => `when at_ms >= ${fromMs} then ${offsetMs}`).join(" ")} else ${offsets[0]!.offsetMs} end`;
  return `(at_ms + (${offset}) - (at_ms + (${offset})) % ${DAY_MS})`;
}

/** The time that sums cover, from the beginning of a day in UTC, because they may be those of days; for a report that has no bounds of its own. */
async function covered(db: Db, { table, time, spanMs }: SumsTable): Promise<readonly [fromMs: number, toMs: number]> {
  // One query for both would read the whole index.
  const { rows } = await sql<{
    readonly first: bigint | null;
    readonly last: bigint;
  }>`select (select min(${sql.ref(time)}) from ${sql.table(table)}) as first, (select max(${sql.ref(time)}) from ${sql.table(table)}) as last`.execute(
    db,
  );
  const { first, last } = rows[0]!;
  return first === null ? [0, 0] : [Number(first) - (Number(first) % DAY_MS), Number(last) + spanMs];
}

interface Prepared {
  readonly source: SummedCalls | null;
  readonly offsets: readonly ZoneOffset[];
}

type Asked = Omit<UsageQuery, "order">;

async function prepared(
  db: Db,
  { by, fromMs, toMs, zone = UTC, ...scope }: Asked,
  { sums = tableOf(scope, by), figures }: { readonly sums?: SumsTable; readonly figures?: readonly string[] } = {},
): Promise<Prepared> {
  const isByDay = by.includes("day");
  const bounds = isByDay && zone !== UTC ? await covered(db, sums) : ([0, 0] as const);
  const first = Math.max(fromMs ?? bounds[0], bounds[0]);
  const last = Math.min(toMs ?? bounds[1], bounds[1]);
  const offsets = offsetsBetween(isByDay ? zone : UTC, first, Math.max(first, last));
  const source = await usageSource(db, {
    scope,
    sums,
    fromMs: fromMs ?? null,
    toMs: toMs ?? null,
    cuts: isByDay ? midnightsBetween(offsets, first, last) : [],
    by,
    ...(figures !== undefined && { figures }),
  });
  return { source, offsets };
}

/** The expressions for sorting the largest first. They may be rounded; the reported figures are not. */
const LARGEST: Readonly<Record<Exclude<UsageOrder, "group">, string>> = {
  cost: `sum(${roundly("cost_nano_usd")})`,
  tokens: `sum(${roundly("prompt_tokens")} + ${roundly("completion_tokens")})`,
  calls: "sum(calls)",
};
/** What has to be summed to know the order; groups without calls are left out. */
const ORDERING: Readonly<Record<UsageOrder, readonly string[]>> = {
  group: ["calls"],
  cost: ["calls", "cost_nano_usd"],
  tokens: ["calls", "prompt_tokens", "completion_tokens"],
  calls: ["calls"],
};

export async function usage(db: Db, page: PageRequest, query: UsageQuery): Promise<UsageReport> {
  const key: ListKey = {
    list: `usage by ${query.by.join()}`,
    columns: query.by.map(
      (dimension, index) => [shownSql(dimension, index), dimension === "day" ? "integer" : "text"] as const,
    ),
    newestFirst: false,
  };
  if (page.cursor != null && (query.by.length === 0 || query.order !== "group"))
    throw new StoreError("invalid", "The cursor is not from this list.");
  rowLimit(page);
  afterCursor(page, key);
  return await inOneView(db, async (view) => {
    const figures = ORDERING[query.order];
    const { source, offsets } = await prepared(view, query, query.by.length === 0 ? {} : { figures });
    if (source === null)
      return { data: [], nextCursor: null, totals: page.cursor == null ? NO_SUMS : null, wholeUntilMs: null };
    const { data, nextCursor } = await ranked(view, page, query, key, source, offsets);
    return {
      data: await summed(view, query, data),
      nextCursor,
      totals: page.cursor == null ? await totalsOf(view, query) : null,
      wholeUntilMs:
        source.undivided.length === 0 ? null : Math.max(...source.undivided) + tableOf(query, query.by).spanMs,
    };
  });
}

interface RankedGroup {
  /** As it is stored. */
  readonly values: readonly (bigint | number | string)[];
  readonly shown: UsageRow["group"];
}

/** The groups of one page in their order. */
async function ranked(
  db: Db,
  page: PageRequest,
  query: UsageQuery,
  key: ListKey,
  source: SummedCalls,
  offsets: readonly ZoneOffset[],
): Promise<Page<RankedGroup>> {
  const values = key.columns.map(([expression]) => expression);
  const groups = query.by.map((dimension) => expressionOf(dimension, offsets));
  const largest = query.order === "group" ? [] : [sql`${sql.raw(LARGEST[query.order])} as largest`];
  const named = groups.map((expression, index) => sql`${sql.raw(expression)} as ${sql.ref(`group_${index}`)}`);
  const found = sql`select ${sql.join([...named, ...largest, sql`sum(calls) as calls`])} from ${source.table} ${groups.length === 0 ? sql`` : sql`group by ${sql.raw(groups.join(", "))}`} having sum(calls) > 0`;
  // Groups are made of numbers, and only they get names.
  const joins = query.by.flatMap((dimension, index) =>
    isNumbered(dimension)
      ? [sql.raw(` left join call_name as name_${index} on name_${index}.number = summed.group_${index}`)]
      : [],
  );
  const shown = values.map((value, index) => sql`${sql.raw(value)} as ${sql.ref(`value_${index}`)}`);
  const order = sql.raw([...(query.order === "group" ? [] : ["largest desc"]), ...values].join(", "));
  const { rows } =
    await sql<Sums>`select ${sql.join([...shown, sql`summed.*`])} from (${found}) as summed${sql.join(joins, sql``)} where ${afterCursor(page, key)} ${values.length === 0 ? sql`` : sql`order by ${order}`} limit ${sql.lit(rowLimit(page))}`.execute(
      db,
    );
  const valuesOf = (row: Sums, name: string) => query.by.map((_, index) => row[`${name}_${index}`]!);
  const given = pageOf(
    rows,
    page,
    key,
    (row): RankedGroup => ({
      values: valuesOf(row, "group"),
      shown: valuesOf(row, "value").map((value, index) => shownValue(query.by[index]!, value)),
    }),
    (row) => valuesOf(row, "value").map((value) => (typeof value === "number" ? BigInt(value) : value)),
  );
  return query.order === "group" ? given : { ...given, nextCursor: null };
}

/** All sums of some groups, in the order of the groups: of the others, only what decides the order was summed. */
async function summed(db: Db, query: UsageQuery, groups: readonly RankedGroup[]): Promise<readonly UsageRow[]> {
  if (groups.length === 0) return [];
  const { source, offsets } = await prepared(db, query);
  const columns = query.by.map((dimension) => expressionOf(dimension, offsets));
  const these = sql.join(
    groups.map(
      ({ values }) =>
        sql`(${sql.join(values.map((value) => (typeof value === "string" ? sql`${value}` : sql.lit(Number(value)))))})`,
    ),
  );
  const within = sql`where (${sql.raw(columns.join(", "))}) in (values ${these}) group by ${sql.raw(columns.join(", "))}`;
  const named = columns.map((expression, index) => sql`${sql.raw(expression)} as ${sql.ref(`group_${index}`)}`);
  const { rows } =
    await sql<Sums>`select ${sql.join([...named, ALL_SUMS])} from ${source!.table} ${columns.length === 0 ? sql`` : within}`.execute(
      db,
    );
  const keyOf = (values: readonly unknown[]): string => JSON.stringify(values.map(String));
  const found = new Map(rows.map((row) => [keyOf(query.by.map((_, index) => row[`group_${index}`])), sumsInRow(row)]));
  return groups.map(({ values, shown }) => ({ group: shown, sums: found.get(keyOf(values))! }));
}

const isNumbered = (dimension: UsageDimension): boolean => dimension !== "day" && dimension !== "end_user";

/** A group as it is shown and sorted. */
const shownSql = (dimension: UsageDimension, index: number): string =>
  isNumbered(dimension) ? `coalesce(name_${index}.name, '')` : `summed.group_${index}`;

function shownValue(dimension: UsageDimension, value: bigint | number | string): string | null {
  if (dimension === "day") return new Date(Number(value)).toISOString().slice(0, 10);
  return orNull(String(value));
}

/** Of all groups: nothing is divided by days or models, so that fewer rows are read than for the groups. */
async function totalsOf(db: Db, query: Asked): Promise<UsageSums> {
  const { source } = await prepared(db, { ...query, by: [] }, { sums: tableOf(query, query.by) });
  if (source === null) return NO_SUMS;
  const { rows } = await sql<Sums>`select ${ALL_SUMS} from ${source.table}`.execute(db);
  return sumsInRow(rows[0]!);
}

const SPENT = ["calls", "prompt_tokens", "completion_tokens", "cost_nano_usd"];

export async function spent(db: Db, { by, sinceMs, ...scope }: SpentQuery): Promise<readonly Spent[]> {
  return await inOneView(db, async (view) => {
    const source = await usageSource(view, {
      scope,
      sums: tableOf(scope, by),
      fromMs: sinceMs,
      toMs: null,
      cuts: [],
      by,
      figures: SPENT,
    });
    if (source === null) return [];
    const columns = by.map((dimension) => DIMENSIONS[dimension].column);
    const values = columns.map((column, index) => sql`${sql.ref(column)} as ${sql.ref(`value_${index}`)}`);
    const grouping = columns.length === 0 ? sql`` : sql`group by ${sql.raw(columns.join(", "))}`;
    const { rows } =
      await sql<Sums>`select ${sql.join([...values, ...SPENT.map(sumOf)])} from ${source.table} ${grouping}`.execute(
        view,
      );
    return await withNames(
      view,
      rows.filter((row) => wholeOf(row, "calls") > 0n),
      by,
    );
  });
}

async function withNames(db: Db, rows: readonly Sums[], by: SpentQuery["by"]): Promise<readonly Spent[]> {
  const valuesOf = (row: Sums): readonly (bigint | number | string)[] => by.map((_, index) => row[`value_${index}`]!);
  const nameOf = await namesOf(
    db,
    rows.flatMap((row) => valuesOf(row).filter((value) => typeof value !== "string")),
  );
  return rows.map((row) => ({
    values: valuesOf(row).map((value) => orNull(typeof value === "string" ? value : nameOf(value))),
    calls: wholeOf(row, "calls"),
    tokens: wholeOf(row, "prompt_tokens") + wholeOf(row, "completion_tokens"),
    costNanoUsd: wholeOf(row, "cost_nano_usd"),
  }));
}
