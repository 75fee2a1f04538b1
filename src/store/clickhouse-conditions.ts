// What a filter of calls asks for, as conditions of ClickHouse's SQL.
import { requestHash, storedOperation, storedOutcome } from "./call-columns.ts";
import { heldTime } from "./call-keys.ts";
import { tagOf } from "./call-tags.ts";
import type { CallScope, LogBounds, LogFilter } from "./calls.ts";
import { chSql, rawSql, type Sql } from "./clickhouse-sql.ts";

const TEXTS = [
  ["tenantId", "tenant_id"],
  ["projectId", "project_id"],
  ["tokenId", "token_id"],
  ["userId", "user_id"],
  ["endUser", "end_user"],
  ["route", "route"],
  ["provider", "provider"],
  ["model", "model"],
] as const satisfies readonly (readonly [keyof CallScope, string])[];

const OF_LOG = [
  ["code", "code"],
  ["modelAsked", "model_asked"],
  ["finishReason", "finish_reason"],
  ["traceId", "trace_id"],
] as const satisfies readonly (readonly [keyof LogFilter, string])[];

const BOUNDED: Readonly<Record<keyof LogBounds, string>> = {
  totalMs: "total_ms",
  firstContentMs: "first_content_ms",
  attempts: "attempts",
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  tokens: "prompt_tokens + completion_tokens",
  costNanoUsd: "cost_nano_usd",
};

const equal = (column: string, value: string): Sql => chSql`${rawSql(column)} = ${value}`;

export function scopeSql(scope: CallScope): readonly Sql[] {
  return [
    ...TEXTS.flatMap(([name, column]) => (scope[name] === undefined ? [] : [equal(column, scope[name])])),
    ...(scope.operation === undefined ? [] : [equal("operation", storedOperation(scope.operation))]),
  ];
}

export function filterSql(filter: Omit<LogFilter, "order">): readonly Sql[] {
  const { fromMs, toMs, endedFromMs, outcome, status, statusClass, cache, providerRequestId: request } = filter;
  return [
    ...scopeSql(filter),
    ...OF_LOG.flatMap(([name, column]) => (filter[name] === undefined ? [] : [equal(column, filter[name])])),
    ...(fromMs === undefined ? [] : [chSql`time_ms >= ${Math.ceil(fromMs)}`]),
    ...(toMs === undefined ? [] : [chSql`time_ms < ${heldTime(Math.ceil(toMs))}`]),
    ...(endedFromMs === undefined ? [] : [chSql`end_ms >= ${Math.ceil(endedFromMs)}`]),
    ...(outcome === undefined ? [] : [rawSql(outcome === "ok" ? "status < 400" : "status >= 400")]),
    ...(status === undefined ? [] : [chSql`status = ${status}`]),
    ...(statusClass === undefined ? [] : [chSql`intDiv(status, 100) = ${statusClass}`]),
    ...(["stream", "cancelled", "explained", "settled", "estimated"] as const).flatMap((flag) =>
      filter[flag] === undefined ? [] : [chSql`${rawSql(flag)} = ${filter[flag] ? 1 : 0}`],
    ),
    ...(cache === undefined ? [] : [chSql`cache = ${storedOutcome(cache)}`]),
    ...(request === undefined
      ? []
      : [chSql`(request_hash = ${requestHash(request)} or has(tags, ${tagOf("attempt", request)}))`]),
    ...(filter.tags ?? []).map((tag) => chSql`has(tags, ${tag})`),
    ...among(filter.atLeast ?? {}, ">="),
    ...among(filter.atMost ?? {}, "<="),
  ];
}

function among(bounds: LogBounds, sign: string): readonly Sql[] {
  return (Object.keys(BOUNDED) as (keyof LogBounds)[]).flatMap((name) =>
    bounds[name] === undefined ? [] : [chSql`${rawSql(BOUNDED[name])} ${rawSql(sign)} ${bounds[name]}`],
  );
}
