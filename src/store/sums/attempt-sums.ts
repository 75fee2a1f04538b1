// What was asked of providers, and how it ended: sums of attempts by the hour in which their call began, by provider,
// model and code (promise 9.9). Calls do not tell it: one that a fallback answered had failed at another provider, and
// one that a limit refused asked nobody.
import { type Kysely, sql, type Transaction } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { runStatements } from "../database/run-statements.ts";
import { inParts } from "../database/in-parts.ts";
import { orNull } from "../calls/call-columns.ts";
import { type CallSchema, LATENCY_COLUMNS } from "../calls/call-schema.ts";
import { POSTGRES_TYPES } from "../calls/call-tables.ts";
import { namesOf, numbersOf } from "../calls/call-names.ts";
import { type AttemptSums, type AttemptsQuery, LATENCY_BOUNDS_MS } from "../calls/calls.ts";
import { storable } from "../database/columns.ts";
import type { CallRecord } from "../../core/record/record.ts";

const HOUR_MS = 3_600_000;
/** Longer names are cut, as those of calls are. */
const MAX_NAME = 512;
/** The most rows of one statement. */
const AT_ONCE = 100;

const KEY = ["tenant_id", "hour_ms", "project_id", "provider", "model", "code"] as const;
const COUNTS = ["attempts", ...LATENCY_COLUMNS];

/** An attempt that reached its provider. Its code is empty where it was answered. */
export interface AskedAttempt {
  readonly provider: string;
  readonly model: string;
  readonly code: string;
  readonly tookMs: number;
}

/** The record may be of an earlier version, without some of the members. */
export function askedIn(record: Partial<CallRecord>): readonly AskedAttempt[] {
  // the copies of a mirror say nothing of how calls of clients fare
  if (record.mirrorOf != null) return [];
  return (record.attempts ?? [])
    .filter(({ fromCache }) => !fromCache)
    .map(({ provider, model, code, startMs, totalMs }) => ({
      provider: named(provider),
      model: named(model),
      code: named(code ?? ""),
      tookMs: Math.max(0, (totalMs ?? startMs) - startMs),
    }));
}

const named = (text: string): string => storable(text.slice(0, MAX_NAME));

export const namesOfAsked = (asked: readonly AskedAttempt[]): readonly string[] =>
  asked.flatMap(({ provider, model, code }) => [provider, model, code]);

/** A call with its attempts. Its tenant and project are numbers of names. */
export interface AskingCall {
  readonly tenantId: number;
  readonly projectId: number;
  readonly timeMs: number;
  readonly traceId: string;
  readonly asked: readonly AskedAttempt[];
}

interface Group {
  readonly key: readonly number[];
  readonly counts: number[];
  traceId: string;
}

/** Adds the attempts of calls to the sums. Nobody else changes sums meanwhile. */
export async function addAttempts(
  tx: Transaction<CallSchema>,
  calls: readonly AskingCall[],
  numberOf: (name: string) => number,
): Promise<void> {
  const groups = new Map<string, Group>();
  for (const { tenantId, projectId, timeMs, traceId, asked } of calls)
    for (const { provider, model, code, tookMs } of asked) {
      const hourMs = timeMs - (timeMs % HOUR_MS);
      const key = [tenantId, hourMs, projectId, numberOf(provider), numberOf(model), numberOf(code)];
      const group = groups.getOrInsertComputed(key.join(), () => ({ key, counts: COUNTS.map(() => 0), traceId }));
      const above = LATENCY_BOUNDS_MS.findIndex((bound) => tookMs <= bound);
      group.counts[0]!++;
      group.counts[1 + (above < 0 ? LATENCY_BOUNDS_MS.length : above)]!++;
      if (traceId > group.traceId) group.traceId = traceId;
    }
  const columns = sql.raw([...KEY, ...COUNTS, "last_trace_id"].join(", "));
  const later = usesPostgres(tx) ? "greatest" : "max";
  const raised = [
    ...COUNTS.map((column) => `${column} = call_attempt_hour.${column} + excluded.${column}`),
    `last_trace_id = ${later}(call_attempt_hour.last_trace_id, excluded.last_trace_id)`,
  ];
  for (const some of inParts([...groups.values()], AT_ONCE)) {
    const rows = some.map(
      ({ key, counts, traceId }) =>
        sql`(${sql.join([...[...key, ...counts].map((value) => sql.lit(value)), sql`${traceId}`])})`,
    );
    await sql`insert into call_attempt_hour (${columns}) values ${sql.join(rows)} on conflict (${sql.raw(KEY.join(", "))}) do update set ${sql.raw(raised.join(", "))}`.execute(
      tx,
    );
  }
}

interface FoundSums {
  readonly provider: bigint | number;
  readonly model: bigint | number;
  readonly code: bigint | number;
  readonly last_trace_id: string;
  readonly [count: string]: bigint | number | string;
}

export async function attempts(
  db: Kysely<CallSchema>,
  { tenantId, projectId, fromHourMs }: AttemptsQuery,
): Promise<{ readonly data: readonly AttemptSums[] }> {
  const numbers = await numbersOf(db, [tenantId, ...(projectId === undefined ? [] : [projectId])]);
  const [tenant, project] = [numbers.get(tenantId), projectId === undefined ? null : numbers.get(projectId)];
  if (tenant === undefined || project === undefined) return { data: [] };
  const ofProject = project === null ? sql`` : sql` and project_id = ${sql.lit(project)}`;
  const counts = sql.raw(COUNTS.map((column) => `sum(${column}) as ${column}`).join(", "));
  const { rows } =
    await sql<FoundSums>`select provider, model, code, max(last_trace_id) as last_trace_id, ${counts} from call_attempt_hour where tenant_id = ${sql.lit(tenant)} and hour_ms >= ${sql.lit(fromHourMs)}${ofProject} group by provider, model, code`.execute(
      db,
    );
  const nameOf = await namesOf(
    db,
    rows.flatMap(({ provider, model, code }) => [provider, model, code]),
  );
  return {
    data: rows.map((row): AttemptSums => ({
      provider: nameOf(row.provider),
      model: nameOf(row.model),
      code: orNull(nameOf(row.code)),
      attempts: Number(row["attempts"]),
      latency: LATENCY_COLUMNS.map((column) => BigInt(row[column]!)),
      lastTraceId: row.last_trace_id,
    })),
  };
}

export async function createAttemptSums(db: Kysely<unknown>): Promise<void> {
  const isPostgres = usesPostgres(db);
  const [wide, name] = isPostgres ? [POSTGRES_TYPES.integer, POSTGRES_TYPES.name] : ["integer", "integer"];
  const columns = [
    ...KEY.map((column) => `${column} ${column === "hour_ms" ? wide : name} not null`),
    ...COUNTS.map((column) => `${column} ${wide} not null`),
    "last_trace_id text not null",
  ];
  await runStatements(
    db,
    `create table call_attempt_hour (${columns.join(", ")}, primary key (${KEY.join(", ")}))${isPostgres ? "" : " without rowid"}`,
  );
}
