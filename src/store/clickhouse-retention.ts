// What is kept of calls in ClickHouse. A call that is too old is hidden at once; its rows go with their whole day, which
// is one partition. Before a day goes, its sums are stored by hour: repeated, or done by several gateways at once, this
// stores the same rows, of which one is read.
import type { KeptSince } from "./calls.ts";
import type { ClickHouse } from "./clickhouse-client.ts";
import { SUM_KEY } from "./clickhouse-schema.ts";
import { chSql, rawSql } from "./clickhouse-sql.ts";
import { FIGURES_OF_CALL, SUMMED } from "./clickhouse-figures.ts";

const DAY_MS = 86_400_000;

export interface KeptState {
  /** Earlier calls are hidden. */
  readonly callsMs: number;
  /** Earlier records are hidden. */
  readonly detailsMs: number;
  /** Earlier days have sums in place of calls. */
  readonly daysMs: number;
}

export async function keptState(database: ClickHouse): Promise<KeptState> {
  const rows = await database.read(rawSql("select kind, max(at_ms) as at from kept_since group by kind"));
  const at = (kind: string): number => Number(rows.find((row) => row["kind"] === kind)?.["at"] ?? 0);
  return { callsMs: at("calls"), detailsMs: at("details"), daysMs: at("days") };
}

/** Hides what is older, of at most one day, and returns how much that was. */
export async function pruneIn(
  database: ClickHouse,
  { callsMs, detailsMs }: Omit<KeptSince, "placesMs">,
): Promise<number> {
  const state = await keptState(database);
  const details =
    detailsMs === null
      ? 0
      : await hide(database, "call_detail", "details", Math.max(state.detailsMs, state.callsMs), detailsMs);
  const calls = callsMs === null ? 0 : await hide(database, "call", "calls", state.callsMs, callsMs);
  const now = await keptState(database);
  await dropDays(database, "call_detail", Math.max(now.detailsMs, now.callsMs));
  await sumDays(database, now);
  return details + calls;
}

async function hide(
  database: ClickHouse,
  table: string,
  kind: string,
  fromMs: number,
  beforeMs: number,
): Promise<number> {
  if (beforeMs <= fromMs) return 0;
  const oldest = await database.read(
    chSql`select min(time_ms) as at, count() as rows from ${rawSql(table)} final where time_ms >= ${fromMs} and time_ms < ${Math.ceil(beforeMs)}`,
  );
  if (Number(oldest[0]!["rows"]) === 0) return 0;
  const first = Number(oldest[0]!["at"]);
  const toMs = Math.min(Math.ceil(beforeMs), first - (first % DAY_MS) + DAY_MS);
  const [hidden] = await database.read(
    chSql`select count() as rows from ${rawSql(table)} final where time_ms >= ${fromMs} and time_ms < ${toMs}`,
  );
  await database.run(chSql`insert into kept_since values (${kind}, ${toMs})`);
  return Number(hidden!["rows"]);
}

/** Stores the sums of days whose calls are all hidden, and removes the calls. */
async function sumDays(database: ClickHouse, { callsMs, daysMs }: KeptState): Promise<void> {
  const endMs = callsMs - (callsMs % DAY_MS);
  if (endMs > daysMs) {
    await database.run(
      chSql`insert into call_sum (${rawSql([...SUM_KEY, ...SUMMED.map(({ name }) => name)].join(", "))}) select ${rawSql(
        [...SUM_KEY, ...SUMMED.map(({ sum }) => sum)].join(", "),
      )} from (select time_ms - time_ms % 3600000 as hour_ms, ${rawSql(SUM_KEY.slice(1).join(", "))}, ${FIGURES_OF_CALL} from call final where explained = 0 and time_ms >= ${daysMs} and time_ms < ${endMs}) group by ${rawSql(SUM_KEY.join(", "))} settings do_not_merge_across_partitions_select_final = 1`,
    );
    await database.run(chSql`insert into kept_since values ('days', ${endMs})`);
  }
  await dropDays(database, "call", Math.max(endMs, daysMs));
}

async function dropDays(database: ClickHouse, table: string, beforeMs: number): Promise<void> {
  const days = await database.read(
    chSql`select distinct partition from system.parts where database = currentDatabase() and table = ${table} and active and toUInt64OrZero(partition) < ${Math.floor(beforeMs / DAY_MS)}`,
  );
  for (const row of days)
    await database.run(chSql`alter table ${rawSql(table)} drop partition ${rawSql(String(Number(row["partition"])))}`);
}
