// The tables of calls in ClickHouse, made step by step: a table of versions says which steps were made. Each step may
// run again, because several gateways may start at once.
import type { ClickHouse } from "./clickhouse-client.ts";
import { chSql, rawSql } from "./clickhouse-sql.ts";
import { AMOUNT_COLUMNS, SUM_COLUMNS } from "./call-schema.ts";
import { StoreError } from "./store.ts";

const NAMES = ["tenant_id", "project_id", "token_id", "user_id", "route", "provider", "model", "operation"] as const;
const columns = (names: readonly string[], type: string): string => names.map((name) => `${name} ${type}`).join(", ");

/** What identifies a group of sums. */
export const SUM_KEY: readonly string[] = ["hour_ms", ...NAMES, "end_user"];

const CALL = `create table if not exists call (
  trace_id String codec(ZSTD(1)), time_ms UInt64 codec(Delta, ZSTD(1)),
  ${columns([...NAMES, "code", "finish_reason"], "LowCardinality(String)")},
  end_user String codec(ZSTD(1)), model_asked String codec(ZSTD(1)), tags Array(String) codec(ZSTD(1)),
  ${columns(["stream", "cancelled", "explained", "settled", "cache", "estimated"], "UInt8")},
  status UInt16, ${columns(["attempts", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "total_ms", "end_ms", "request_hash"], "UInt64 codec(T64, ZSTD(1))")},
  cost_nano_usd Nullable(UInt64), first_content_ms Nullable(UInt64), version UInt8, is_deleted UInt8,
  index by_trace trace_id type bloom_filter(0.001) granularity 4,
  index by_tag tags type bloom_filter(0.01) granularity 4
) engine = ReplacingMergeTree(version, is_deleted) partition by intDiv(time_ms, 86400000) order by (time_ms, trace_id)`;

const STEPS: readonly (readonly string[])[] = [
  [
    CALL,
    "create table if not exists call_detail (trace_id String codec(ZSTD(1)), time_ms UInt64 codec(Delta, ZSTD(1)), detail String codec(ZSTD(3)), version UInt8) engine = ReplacingMergeTree(version) partition by intDiv(time_ms, 86400000) order by (time_ms, trace_id)",
    `create table if not exists call_sum (hour_ms UInt64, ${columns(NAMES, "LowCardinality(String)")}, end_user String, ${columns(
      SUM_COLUMNS.filter((name) => !AMOUNT_COLUMNS.includes(name)),
      "UInt64",
    )}, ${columns(AMOUNT_COLUMNS, "UInt128")}) engine = ReplacingMergeTree(calls) order by (${SUM_KEY.join(", ")})`,
    "create table if not exists kept_since (kind String, at_ms UInt64) engine = ReplacingMergeTree(at_ms) order by kind",
  ],
  [
    "alter table call add column if not exists asked Array(Tuple(provider String, model String, code String, took_ms UInt64)) codec(ZSTD(1))",
  ],
];

const VERSIONS =
  "create table if not exists schema_version (number UInt32) engine = ReplacingMergeTree order by number";

/** Makes what is missing. Throws StoreError, also where a later version made the tables. */
export async function migrateClickHouse(database: ClickHouse): Promise<void> {
  await database.run(rawSql(VERSIONS));
  const [row] = await database.read(rawSql("select max(number) as made from schema_version"));
  const made = Number(row?.["made"] ?? 0);
  if (made > STEPS.length)
    throw new StoreError(
      "unusable",
      `The tables of calls in ClickHouse are of version ${made}, and this program knows version ${STEPS.length}. Start the version of the gateway that made them, or a later one.`,
    );
  for (const [index, statements] of STEPS.entries()) {
    if (index < made) continue;
    for (const statement of statements) await database.run(rawSql(statement));
    await database.run(chSql`insert into schema_version values (${index + 1})`);
  }
}
