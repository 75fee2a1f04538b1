// The calls of any period in ClickHouse as one table: single calls, and the sums of days whose calls are removed. Each
// row has the moment at which it counts, `at_ms`: that of the call, or where its hour (of end users: its day) begins, if
// calls of that hour are not kept any more, so that it cannot be divided.
import type { CallScope } from "./calls.ts";
import type { ClickHouse } from "./clickhouse-client.ts";
import { scopeSql } from "./clickhouse-conditions.ts";
import { FIGURES_OF_CALL, FIGURES_OF_SUM } from "./clickhouse-figures.ts";
import { type KeptState, keptState } from "./clickhouse-retention.ts";
import { SUM_KEY } from "./clickhouse-schema.ts";
import { allSql, chSql, rawSql, type Sql } from "./clickhouse-sql.ts";

export interface ClickHousePeriod {
  readonly scope: CallScope;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  /** Below this no report divides what is not kept: an hour, or for end users a day. */
  readonly spanMs: number;
}

const DIMENSIONS = rawSql(SUM_KEY.slice(1).join(", "));

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export const spanOf = (scope: CallScope, by: readonly string[]): number =>
  scope.endUser !== undefined || by.includes("end_user") ? DAY_MS : HOUR_MS;

export function sourceSql({ scope, fromMs, toMs, spanMs }: ClickHousePeriod, { callsMs, daysMs }: KeptState): Sql {
  const users = spanMs === DAY_MS ? [rawSql("end_user != ''")] : [];
  const asked = [...scopeSql(scope), ...users];
  const wide = [
    ...(fromMs === undefined ? [] : [chSql`time_ms >= ${Math.max(0, Math.floor(fromMs / spanMs) * spanMs)}`]),
    ...(toMs === undefined ? [] : [chSql`time_ms < ${Math.ceil(toMs / spanMs) * spanMs}`]),
  ];
  const calls = chSql`select toInt64(if(time_ms - time_ms % ${spanMs} >= ${callsMs}, time_ms, time_ms - time_ms % ${spanMs})) as at_ms, ${DIMENSIONS}, ${FIGURES_OF_CALL} from call final where ${allSql([rawSql("explained = 0"), chSql`time_ms >= ${daysMs}`, ...wide, ...asked])}`;
  const sums = chSql`select toInt64(hour_ms - hour_ms % ${spanMs}) as at_ms, ${DIMENSIONS}, ${FIGURES_OF_SUM} from call_sum final where ${allSql([chSql`hour_ms < ${daysMs}`, ...asked])}`;
  const both = daysMs === 0 ? calls : chSql`${calls} union all ${sums}`;
  const within = allSql([
    ...(fromMs === undefined ? [] : [chSql`at_ms >= ${Math.ceil(fromMs)}`]),
    ...(toMs === undefined ? [] : [chSql`at_ms < ${Math.ceil(toMs)}`]),
  ]);
  return chSql`(select * from (${both}) where ${within})`;
}

/** Reads again if days were removed meanwhile, so that no call is in both or in neither. */
export async function inOneState<T>(database: ClickHouse, work: (state: KeptState) => Promise<T>): Promise<T> {
  let state = await keptState(database);
  for (;;) {
    const result = await work(state);
    const later = await keptState(database);
    if (later.daysMs === state.daysMs) return result;
    state = later;
  }
}

/** The time of which anything is known, from the beginning of a day. */
export async function coveredTime(
  database: ClickHouse,
  spanMs: number,
): Promise<readonly [fromMs: number, toMs: number]> {
  const [row] = await database.read(
    rawSql(
      "select count() as rows, min(at) as first, max(at) as last from (select time_ms as at from call final where explained = 0 union all select hour_ms as at from call_sum)",
    ),
  );
  if (Number(row!["rows"]) === 0) return [0, 0];
  const first = Number(row!["first"]);
  const last = Number(row!["last"]);
  return [first - (first % DAY_MS), last - (last % spanMs) + spanMs];
}
