// Single calls in ClickHouse: the log by any field, one call with its record, and what simulations read.
import { type CallFigures, summaryOf } from "./call-columns.ts";
import type { LogFilter, LogOrder, LogPage, RecordedCall, RecordedCalls, RecordedQuery, StoredCall } from "./calls.ts";
import type { ClickHouse, ClickHouseRow } from "./clickhouse-client.ts";
import { filterSql } from "./clickhouse-conditions.ts";
import { FROM_CALLS, placesOfTrace } from "./clickhouse-ingest.ts";
import { keptState } from "./clickhouse-retention.ts";
import { allSql, chSql, rawSql, type Sql } from "./clickhouse-sql.ts";
import { keyBefore, type KeyPart, type ListKey, pageOf, rowLimit } from "./pages.ts";
import type { PageRequest } from "./reader.ts";
import { recordedCall } from "./recorded-calls.ts";
import { parseCallRecord } from "../wire/record-json.ts";

/** Cursors hold times as the other stores' do: above 20 bits. */
const TIME_SHIFT = 20n;

const keyOf = (order: LogOrder, columns: ListKey["columns"]): ListKey => ({
  list: `logs ${order}`,
  columns,
  newestFirst: order === "newest",
});

/** A cursor without a trace id stands before every call of its time. */
function positionOf(page: PageRequest, order: LogOrder): readonly KeyPart[] | null {
  try {
    return keyBefore(page, keyOf(order, WITH_TRACE));
  } catch {
    return keyBefore(page, keyOf(order, TIME_ALONE));
  }
}
const TIME_ALONE: ListKey["columns"] = [["time", "integer"]];
const WITH_TRACE: ListKey["columns"] = [...TIME_ALONE, ["trace_id", "text"]];

function behind(page: PageRequest, order: LogOrder, column: Sql): readonly Sql[] {
  const position = positionOf(page, order);
  if (position === null) return [];
  const sign = rawSql(order === "newest" ? "<" : ">");
  return [
    chSql`(toInt64(${column}), trace_id) ${sign} (toInt64(${(position[0] as bigint) >> TIME_SHIFT}), ${String(position[1] ?? "")})`,
  ];
}

export async function searchIn(database: ClickHouse, page: PageRequest, filter: LogFilter): Promise<LogPage> {
  const { rows, key } = await rowsOf(database, page, filter);
  const timeOf = (row: ClickHouseRow): bigint => BigInt(String(row[filter.order === "ended" ? "end_ms" : "time_ms"]));
  const found = pageOf(
    rows,
    page,
    key,
    (row) => [timeOf(row) << TIME_SHIFT, String(row["trace_id"])],
    (row) => summaryOf(figuresIn(row)),
  );
  return { ...found, searchedToMs: null };
}

async function rowsOf(database: ClickHouse, page: PageRequest, filter: LogFilter) {
  const limit = rowLimit(page);
  const column = rawSql(filter.order === "ended" ? "end_ms" : "time_ms");
  const after = behind(page, filter.order, column);
  const { callsMs } = await keptState(database);
  const direction = rawSql(filter.order === "newest" ? "desc" : "asc");
  const where = allSql([chSql`time_ms >= ${callsMs}`, ...filterSql(filter), ...after]);
  const rows = await database.read(
    chSql`select * ${FROM_CALLS} where ${where} order by ${column} ${direction}, trace_id ${direction} limit ${limit}`,
  );
  return { rows, key: keyOf(filter.order, WITH_TRACE) };
}

const NUMBERS = ["time_ms", "total_ms", "attempts", "prompt_tokens", "completion_tokens", "cached_tokens"] as const;
const FURTHER_NUMBERS = ["reasoning_tokens", "request_hash"] as const;

function figuresIn(row: ClickHouseRow): CallFigures {
  const numbers = Object.fromEntries([...NUMBERS, ...FURTHER_NUMBERS].map((name) => [name, Number(row[name])]));
  const orNull = (name: string): number | null => (row[name] === null ? null : Number(row[name]));
  return {
    ...row,
    ...numbers,
    cost_nano_usd: orNull("cost_nano_usd"),
    first_content_ms: orNull("first_content_ms"),
    tags: "",
  } as unknown as CallFigures;
}

export async function findIn(database: ClickHouse, traceId: string, tenantId?: string): Promise<StoredCall | null> {
  const { callsMs, detailsMs } = await keptState(database);
  for (const place of placesOfTrace(traceId)) {
    const [row] = await database.read(chSql`select * ${FROM_CALLS} where ${place} and time_ms >= ${callsMs} limit 1`);
    if (row === undefined) continue;
    const figures = figuresIn(row);
    if (tenantId !== undefined && figures.tenant_id !== tenantId) return null;
    const details =
      figures.time_ms < detailsMs ? new Map<string, string>() : await detailsOf(database, [figures], detailsMs);
    const text = details.get(traceId);
    return { summary: summaryOf(figures), record: text === undefined ? null : parseCallRecord(text) };
  }
  return null;
}

type Place = Pick<CallFigures, "trace_id" | "time_ms">;
const DETAILS_AT_ONCE = 500;

async function detailsOf(
  database: ClickHouse,
  places: readonly Place[],
  detailsMs: number,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (let at = 0; at < places.length; at += DETAILS_AT_ONCE) {
    const some = places.slice(at, at + DETAILS_AT_ONCE);
    const rows = await database.read(
      chSql`select trace_id, detail from call_detail final where time_ms in ${some.map((one) => one.time_ms)} and trace_id in ${some.map((one) => one.trace_id)} and time_ms >= ${detailsMs}`,
    );
    for (const row of rows) found.set(String(row["trace_id"]), String(row["detail"]));
  }
  return found;
}

const ROWS_AT_ONCE = 1000;

/** What simulations read. */
export async function recordedIn(database: ClickHouse, { limit, ...scope }: RecordedQuery): Promise<RecordedCalls> {
  const { detailsMs } = await keptState(database);
  const filter: LogFilter = { ...scope, order: "newest", explained: false };
  const found: Place[] = [];
  for (let cursor: string | null = null; found.length < limit;) {
    const page: LogPage = await searchIn(
      database,
      { limit: Math.min(ROWS_AT_ONCE, limit - found.length), cursor },
      filter,
    );
    found.push(...page.data.map(({ traceId, timeMs }) => ({ trace_id: traceId, time_ms: timeMs })));
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  const details = await detailsOf(database, found, detailsMs);
  const calls = found.flatMap(({ trace_id: traceId }): readonly RecordedCall[] => {
    const text = details.get(traceId);
    const record = text === undefined ? null : parseCallRecord(text);
    return record === null || record.cache?.outcome === "hit" ? [] : [recordedCall(record)];
  });
  return { calls, withoutRecord: found.filter((one) => !details.has(one.trace_id)).length, searchedToMs: null };
}
