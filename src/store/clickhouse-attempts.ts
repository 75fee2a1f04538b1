// What was asked of providers, and when tokens were last used, from the calls in ClickHouse.
import { type AttemptSums, type AttemptsQuery, type LastUse, LATENCY_BOUNDS_MS } from "./calls.ts";
import type { ClickHouse } from "./clickhouse-client.ts";
import { chSql, rawSql } from "./clickhouse-sql.ts";

const LATENCY = [...LATENCY_BOUNDS_MS, Infinity].map((bound, index) => {
  const above = `took.took_ms > ${index === 0 ? -1 : LATENCY_BOUNDS_MS[index - 1]!}`;
  return `countIf(${above}${bound === Infinity ? "" : ` and took.took_ms <= ${bound}`}) as latency_${index}`;
});

export async function attemptsIn(
  database: ClickHouse,
  { tenantId, projectId, fromHourMs }: AttemptsQuery,
): Promise<{ readonly data: readonly AttemptSums[] }> {
  const ofProject = projectId === undefined ? rawSql("1") : chSql`project_id = ${projectId}`;
  const rows = await database.read(
    chSql`select took.provider as by_provider, took.model as by_model, took.code as by_code, count() as attempts, max(trace_id) as last_trace_id, ${rawSql(LATENCY.join(", "))} from call final array join asked as took where tenant_id = ${tenantId} and ${ofProject} and time_ms >= ${fromHourMs} group by by_provider, by_model, by_code`,
  );
  return {
    data: rows.map((row): AttemptSums => ({
      provider: String(row["by_provider"]),
      model: String(row["by_model"]),
      code: row["by_code"] === "" ? null : String(row["by_code"]),
      attempts: Number(row["attempts"]),
      latency: LATENCY.map((_, index) => BigInt(String(row[`latency_${index}`]))),
      lastTraceId: String(row["last_trace_id"]),
    })),
  };
}

export async function lastUsesIn(database: ClickHouse, tokenIds: readonly string[]): Promise<readonly LastUse[]> {
  if (tokenIds.length === 0) return [];
  const rows = await database.read(
    chSql`select token_id, max(time_ms) as last from call final where token_id in ${tokenIds} group by token_id`,
  );
  return rows.map((row) => ({ tokenId: String(row["token_id"]), timeMs: Number(row["last"]) }));
}
