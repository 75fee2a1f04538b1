// Reports from ClickHouse: sums by group and totals of any period, and what accounts have used since a moment.
import { orNull, shownOperation } from "./call-columns.ts";
import type { Spent, SpentQuery, UsageDimension, UsageOrder, UsageQuery, UsageReport, UsageSums } from "./calls.ts";
import type { ClickHouse, ClickHouseRow } from "./clickhouse-client.ts";
import { ALL_SUMS, sumOfFigure, sumsIn } from "./clickhouse-figures.ts";
import type { KeptState } from "./clickhouse-retention.ts";
import { coveredTime, DAY_MS, inOneState, sourceSql, spanOf } from "./clickhouse-source.ts";
import { chSql, rawSql, type Sql } from "./clickhouse-sql.ts";
import { keyBefore, type KeyPart, type ListKey, pageOf, rowLimit } from "./pages.ts";
import type { PageRequest } from "./reader.ts";
import { StoreError } from "./store.ts";
import { COLUMN_OF } from "./usage-source.ts";
import { cutHours } from "./usage-periods.ts";
import { midnightsBetween, offsetsBetween, UTC, type ZoneOffset } from "../core/time-zone.ts";

const expressionOf = (dimension: UsageDimension, offsets: readonly ZoneOffset[]): string =>
  dimension === "day" ? dayOf(offsets) : COLUMN_OF[dimension];

/** The first millisecond of a local day as if it were in UTC. */
function dayOf(offsets: readonly ZoneOffset[]): string {
  const later = offsets.slice(1).toReversed();
  const first = String(offsets[0]!.offsetMs);
  const offset =
    later.length === 0
      ? first
      : `multiIf(${later.map(({ fromMs, offsetMs }) => `at_ms >= ${fromMs}, ${offsetMs}`).join(", ")}, ${first})`;
  return `toInt64(at_ms + (${offset}) - positiveModulo(at_ms + (${offset}), ${DAY_MS}))`;
}

const LARGEST: Readonly<Record<Exclude<UsageOrder, "group">, string>> = {
  cost: sumOfFigure("cost_nano_usd"),
  tokens: `${sumOfFigure("prompt_tokens")} + ${sumOfFigure("completion_tokens")}`,
  calls: sumOfFigure("calls"),
};

interface Divided {
  readonly offsets: readonly ZoneOffset[];
  readonly wholeUntilMs: number | null;
}

async function divided(database: ClickHouse, query: UsageQuery, { callsMs }: KeptState): Promise<Divided> {
  const { by, fromMs, toMs, zone = UTC } = query;
  const spanMs = spanOf(query, by);
  const isByDay = by.includes("day");
  const bounds = callsMs > 0 || (isByDay && zone !== UTC) ? await coveredTime(database, spanMs) : ([0, 0] as const);
  const first = Math.max(fromMs ?? bounds[0], bounds[0]);
  const last = Math.min(toMs ?? bounds[1], bounds[1]);
  const offsets = offsetsBetween(isByDay ? zone : UTC, first, Math.max(first, last));
  const midnights = isByDay && zone !== UTC ? midnightsBetween(offsets, first, last) : [];
  const ends = [fromMs, toMs].filter((at) => at !== undefined);
  const whole = cutHours([...ends, ...midnights], spanMs).filter((at) => at < callsMs && at + spanMs > bounds[0]);
  return { offsets, wholeUntilMs: whole.length === 0 ? null : Math.max(...whole) + spanMs };
}

export async function usageIn(database: ClickHouse, page: PageRequest, query: UsageQuery): Promise<UsageReport> {
  const { by, order } = query;
  const key: ListKey = {
    list: `usage by ${by.join()}`,
    columns: by.map((dimension, index) => [`group_${index}`, dimension === "day" ? "integer" : "text"] as const),
    newestFirst: false,
  };
  if (page.cursor != null && (by.length === 0 || order !== "group"))
    throw new StoreError("invalid", "The cursor is not from this list.");
  const limit = rowLimit(page);
  const after = keyBefore(page, key);
  return await inOneState(database, async (state) => {
    const { offsets, wholeUntilMs } = await divided(database, query, state);
    const source = sourceSql({ ...periodOf(query), spanMs: spanOf(query, by) }, state);
    const rows = await database.read(groupsSql(query, source, { offsets, after, limit }));
    const found = pageOf(
      rows,
      page,
      key,
      (row) => valuesOf(row, by).map((value, index) => (by[index] === "day" ? BigInt(value) : value)),
      (row) => ({ group: valuesOf(row, by).map((value, index) => shownValue(by[index]!, value)), sums: sumsIn(row) }),
    );
    return {
      ...found,
      nextCursor: order === "group" ? found.nextCursor : null,
      totals: page.cursor == null ? await totalsOf(database, query, by, state) : null,
      wholeUntilMs,
    };
  });
}

const periodOf = ({ fromMs, toMs, ...scope }: Omit<UsageQuery, "by" | "order">) => ({ scope, fromMs, toMs });

interface GroupPage {
  readonly offsets: readonly ZoneOffset[];
  readonly after: readonly KeyPart[] | null;
  readonly limit: number;
}

function groupsSql({ by, order }: UsageQuery, source: Sql, { offsets, after, limit }: GroupPage): Sql {
  const groups = by.map((_, index) => `group_${index}`);
  const named = by.map((dimension, index) => `${expressionOf(dimension, offsets)} as group_${index}, `);
  const largest = order === "group" ? [] : [`${LARGEST[order]} desc`];
  const sorted = [...largest, ...groups].join(", ");
  const isBehind = after === null ? rawSql("1") : chSql`(${rawSql(groups.join(", "))}) > ${rawSql(tupleOf(after))}`;
  return chSql`select ${rawSql(named.join(""))}${ALL_SUMS} from ${source} ${rawSql(groups.length === 0 ? "" : `group by ${groups.join(", ")}`)} having ${rawSql(sumOfFigure("calls"))} > 0 and ${isBehind} ${rawSql(sorted === "" ? "" : `order by ${sorted}`)} limit ${limit}`;
}

const tupleOf = (parts: readonly KeyPart[]): string =>
  `(${parts.map((part) => (typeof part === "bigint" ? chSql`toInt64(${part})` : chSql`${part}`).text).join(", ")})`;

const valuesOf = (row: ClickHouseRow, by: readonly unknown[]): readonly string[] =>
  by.map((_, index) => String(row[`group_${index}`]));

function shownValue(dimension: string, value: string): string | null {
  if (dimension === "day") return new Date(Number(value)).toISOString().slice(0, 10);
  return dimension === "operation" ? shownOperation(value) : orNull(value);
}

async function totalsOf(
  database: ClickHouse,
  query: Omit<UsageQuery, "by" | "order">,
  by: readonly string[],
  state: KeptState,
): Promise<UsageSums> {
  const source = sourceSql({ ...periodOf(query), spanMs: spanOf(query, by) }, state);
  const [row] = await database.read(chSql`select ${ALL_SUMS} from ${source}`);
  return sumsIn(row!);
}

export async function usageTotalsIn(database: ClickHouse, query: Omit<UsageQuery, "by" | "order">): Promise<UsageSums> {
  return await inOneState(database, (state) => totalsOf(database, query, [], state));
}

export async function spentIn(database: ClickHouse, { by, sinceMs, ...scope }: SpentQuery): Promise<readonly Spent[]> {
  return await inOneState(database, async (state) => {
    const source = sourceSql({ scope, fromMs: sinceMs, toMs: undefined, spanMs: spanOf(scope, by) }, state);
    const groups = by.map((dimension) => COLUMN_OF[dimension]);
    const named = groups.map((column, index) => `${column} as group_${index}, `).join("");
    const rows = await database.read(
      chSql`select ${rawSql(named)}${ALL_SUMS} from ${source} ${rawSql(groups.length === 0 ? "" : `group by ${groups.join(", ")}`)} having ${rawSql(sumOfFigure("calls"))} > 0`,
    );
    return rows.map((row) => {
      const sums = sumsIn(row);
      return {
        values: valuesOf(row, by).map((value, index) => shownValue(by[index]!, value)),
        calls: sums.calls,
        tokens: sums.promptTokens + sums.completionTokens,
        costNanoUsd: sums.costNanoUsd,
      };
    });
  });
}
