// Calls over time, and the most frequent values of each dimension, from ClickHouse.
import { orNull, shownOperation } from "./call-columns.ts";
import { COLUMNS } from "./call-facets.ts";
import { inBuckets, isOfHours, requireEdges, scopeAlone, unitOf } from "./call-histogram.ts";
import type { CallFacets, CallHistogram, CallScope, Facet, FacetName, FacetsQuery, HistogramQuery } from "./calls.ts";
import { FACETS } from "./calls.ts";
import type { ClickHouse } from "./clickhouse-client.ts";
import { filterSql } from "./clickhouse-conditions.ts";
import { ALL_SUMS, FIGURES_OF_CALL, sumOfFigure, sumsIn } from "./clickhouse-figures.ts";
import { FROM_CALLS } from "./clickhouse-ingest.ts";
import { type KeptState, keptState } from "./clickhouse-retention.ts";
import { HOUR_MS, inOneState, sourceSql } from "./clickhouse-source.ts";
import { allSql, chSql, rawSql, type Sql } from "./clickhouse-sql.ts";
import { cutHours } from "./usage-periods.ts";

export async function histogramIn(database: ClickHouse, { edges, filter }: HistogramQuery): Promise<CallHistogram> {
  requireEdges(edges);
  const scope = scopeAlone(filter);
  return scope !== null && isOfHours(edges)
    ? await inOneState(database, (state) => summed(database, edges, scope, state))
    : await counted(database, edges, filter);
}

/** The sums of each bucket of a table with `at_ms`. */
async function bucketsOf(database: ClickHouse, edges: readonly number[], source: Sql) {
  const unit = unitOf(edges);
  const rows = await database.read(
    chSql`select at_ms - at_ms % ${unit} as bucket_ms, ${ALL_SUMS} from ${source} group by bucket_ms`,
  );
  return inBuckets(
    edges,
    rows.map((row) => ({ atMs: Math.max(Number(row["bucket_ms"]), edges[0]!), sums: sumsIn(row) })),
  );
}

async function summed(
  database: ClickHouse,
  edges: readonly number[],
  scope: CallScope,
  state: KeptState,
): Promise<CallHistogram> {
  const source = sourceSql({ scope, fromMs: edges[0]!, toMs: edges.at(-1)!, spanMs: HOUR_MS }, state);
  const whole = cutHours(edges, HOUR_MS).filter((at) => at < state.callsMs);
  return {
    buckets: await bucketsOf(database, edges, source),
    searchedToMs: null,
    wholeUntilMs: whole.length === 0 ? null : Math.max(...whole) + HOUR_MS,
  };
}

async function counted(
  database: ClickHouse,
  edges: readonly number[],
  filter: HistogramQuery["filter"],
): Promise<CallHistogram> {
  const fromMs = edges[0]!;
  const toMs = edges.at(-1)!;
  const { callsMs } = await keptState(database);
  const kept = chSql`time_ms >= ${callsMs}`;
  const where = allSql([kept, ...filterSql({ explained: false, ...filter, fromMs, toMs })]);
  const source = chSql`(select toInt64(time_ms) as at_ms, ${FIGURES_OF_CALL} ${FROM_CALLS} where ${where})`;
  const buckets = await bucketsOf(database, edges, source);
  if (fromMs - (fromMs % HOUR_MS) >= callsMs) return { buckets, searchedToMs: null, wholeUntilMs: null };
  const [row] = await database.read(chSql`select count() as rows, min(time_ms) as at ${FROM_CALLS} where ${kept}`);
  const oldestMs = Number(row!["rows"]) === 0 ? toMs : Math.min(Number(row!["at"]), toMs);
  return { buckets, searchedToMs: oldestMs > fromMs ? oldestMs : null, wholeUntilMs: null };
}

export async function facetsIn(database: ClickHouse, query: FacetsQuery): Promise<CallFacets> {
  const { dimensions = FACETS } = query;
  const found = await inOneState(
    database,
    async (state) =>
      new Map(
        await Promise.all(dimensions.map(async (name) => [name, await facetOf(database, query, name, state)] as const)),
      ),
  );
  return {
    facets: Object.fromEntries(
      FACETS.map((name) => [name, found.get(name) ?? { values: [], others: 0n }]),
    ) as CallFacets["facets"],
    failures: { values: await failures(database, query), searchedToMs: null },
  };
}

/** A filter on a dimension does not narrow its own values, unless it says what the caller may see. */
async function facetOf(
  database: ClickHouse,
  { scope, fixed, fromMs, toMs, limit }: FacetsQuery,
  name: FacetName,
  state: KeptState,
): Promise<Facet> {
  const [column, member] = COLUMNS[name];
  const scoped = Object.fromEntries(
    Object.entries(scope).filter(([one]) => one !== member || fixed.includes(member)),
  ) as CallScope;
  const source = sourceSql({ scope: scoped, fromMs, toMs, spanMs: HOUR_MS }, state);
  const calls = rawSql(sumOfFigure("calls"));
  const rows = await database.read(
    chSql`select ${rawSql(column)} as value, ${ALL_SUMS}, count() over () as number from ${source} group by value having ${calls} > 0 order by ${calls} desc, value limit ${limit}`,
  );
  return {
    values: rows.map((row) => {
      const value = String(row["value"]);
      const { calls: count, errors, costNanoUsd } = sumsIn(row);
      return {
        value: name === "operation" ? shownOperation(value) : orNull(value),
        calls: count,
        errors,
        costNanoUsd,
      };
    }),
    others: BigInt(Math.max(0, Number(rows[0]?.["number"] ?? 0) - limit)),
  };
}

async function failures(database: ClickHouse, { scope, fromMs, toMs }: FacetsQuery) {
  const { callsMs } = await keptState(database);
  const where = allSql([chSql`time_ms >= ${callsMs}`, ...filterSql({ ...scope, outcome: "failed", fromMs, toMs })]);
  const rows = await database.read(
    chSql`select status, code, count() as calls ${FROM_CALLS} where ${where} group by status, code order by calls desc, status`,
  );
  return rows.map((row) => ({
    status: Number(row["status"]),
    code: orNull(String(row["code"])),
    calls: Number(row["calls"]),
  }));
}
