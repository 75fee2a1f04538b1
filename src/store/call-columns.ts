// Turns records into rows of the call tables, and computes what a row adds to the sums.
import { type CallColumns, type CallSchema, type DimensionColumns, SUM_COLUMNS } from "./call-schema.ts";
import { plain, tagsOf } from "./call-tags.ts";
import { type CallSummary, LATENCY_BOUNDS_MS } from "./calls.ts";
import type { LedgerRow } from "./ledger.ts";
import { fromInteger } from "./schema.ts";

const HOUR_MS = 3_600_000n;
const DAY_MS = 86_400_000n;
/** Model names and similar texts are limited when they arrive, but rows written by an older version may exceed this. */
const MAX_WORD = 512;

export function columnsOf({ record, settled }: Pick<LedgerRow, "record" | "settled">): CallColumns {
  const { usage, cost } = record;
  return {
    trace_id: word(record.traceId),
    time_ms: count(record.startedAtMs),
    tenant_id: word(record.tenantId),
    project_id: word(record.projectId),
    token_id: word(record.tokenId),
    user_id: word(record.userId),
    end_user: word(record.endUser),
    route: word(record.route),
    provider: word(record.provider),
    model: word(record.model),
    status: count(record.status),
    code: word(record.code),
    stream: flag(record.stream),
    cancelled: flag(record.cancelled),
    explained: flag(record.explained),
    attempts: count(record.attempts.length),
    prompt_tokens: count(usage?.prompt_tokens),
    completion_tokens: count(usage?.completion_tokens),
    cached_tokens: count(usage?.prompt_tokens_details?.cached_tokens),
    reasoning_tokens: count(usage?.completion_tokens_details?.reasoning_tokens),
    cost_nano_usd: cost === null ? null : count(cost.nanoUsd),
    total_ms: count(record.totalMs),
    first_content_ms: record.firstContentMs === null ? null : count(record.firstContentMs),
    settled: flag(settled),
    model_asked: word(record.modelAsked),
    finish_reason: word(record.finishReasons[0]),
    tags: tagsText(record),
  };
}

function tagsText(record: LedgerRow["record"]): string {
  const tags = tagsOf(record);
  return tags.length === 0 ? "" : JSON.stringify(tags);
}

export type Tagged = Pick<CallColumns, "tags" | "time_ms" | "trace_id" | "tenant_id" | "project_id">;

export function tagRowsOf({
  tags,
  time_ms,
  trace_id,
  tenant_id,
  project_id,
}: Tagged): readonly CallSchema["call_tag"][] {
  return tags === ""
    ? []
    : (JSON.parse(tags) as readonly string[]).map((tag) => ({ tag, time_ms, trace_id, tenant_id, project_id }));
}

function word(text: string | null | undefined): string {
  return plain((text ?? "").slice(0, MAX_WORD));
}
const flag = (value: boolean): bigint => (value ? 1n : 0n);
/** A figure reported by a provider may be anything. */
function count(value: unknown): bigint {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? BigInt(Math.round(value)) : 0n;
}

export function summaryOf(row: CallColumns): CallSummary {
  return {
    traceId: row.trace_id,
    timeMs: fromInteger(row.time_ms),
    tenantId: orNull(row.tenant_id),
    projectId: orNull(row.project_id),
    tokenId: orNull(row.token_id),
    userId: orNull(row.user_id),
    endUser: orNull(row.end_user),
    route: orNull(row.route),
    provider: orNull(row.provider),
    model: orNull(row.model),
    status: fromInteger(row.status),
    code: orNull(row.code),
    stream: row.stream === 1n,
    cancelled: row.cancelled === 1n,
    attempts: fromInteger(row.attempts),
    promptTokens: fromInteger(row.prompt_tokens),
    completionTokens: fromInteger(row.completion_tokens),
    cachedTokens: fromInteger(row.cached_tokens),
    reasoningTokens: fromInteger(row.reasoning_tokens),
    costNanoUsd: row.cost_nano_usd === null ? null : fromInteger(row.cost_nano_usd),
    totalMs: fromInteger(row.total_ms),
    firstContentMs: row.first_content_ms === null ? null : fromInteger(row.first_content_ms),
    settled: row.settled === 1n,
    modelAsked: orNull(row.model_asked),
    finishReason: orNull(row.finish_reason),
  };
}

export const orNull = (text: string): string | null => (text === "" ? null : text);

/** One row of sums: its key, and the amount to add for each of SUM_COLUMNS. */
export interface SumRow {
  readonly key: Readonly<Record<string, string | bigint>>;
  readonly sums: bigint[];
}

/** The limit of a sum: a row that could not be updated would block every row after it. */
export const MOST_OF_A_SUM = 9_000_000_000_000_000_000n;

/** SQL that adds a row's sum to the existing one without exceeding what the column can hold. */
export function raisedSum(table: string, column: string): string {
  return `"${column}" = case when "${table}"."${column}" > ${MOST_OF_A_SUM} - excluded."${column}" then ${MOST_OF_A_SUM} else "${table}"."${column}" + excluded."${column}" end`;
}

/** What calls add to the hourly sums, ordered by key, so that two writers never deadlock. */
export function hourSums(calls: readonly CallColumns[]): readonly SumRow[] {
  return gathered(
    calls,
    HOUR_MS,
    (hour_ms, call) => ({ hour_ms, ...dimensionsOf(call) }),
    () => "",
  );
}

/** What calls add to the daily sums of the end users that they name. */
export function userDaySums(calls: readonly CallColumns[]): readonly SumRow[] {
  return gathered(
    calls.filter((call) => call.end_user !== ""),
    DAY_MS,
    (day_ms, call) => ({ day_ms, ...dimensionsOf(call), end_user: call.end_user }),
    (call) => call.end_user,
  );
}

function dimensionsOf({
  tenant_id,
  project_id,
  token_id,
  user_id,
  route,
  provider,
  model,
}: CallColumns): DimensionColumns {
  return { tenant_id, project_id, token_id, user_id, route, provider, model };
}

/** Groups by time and dimensions, and by what `further` returns. Explained calls are not part of any sum. */
function gathered(
  calls: readonly CallColumns[],
  spanMs: bigint,
  keyOf: (atMs: bigint, call: CallColumns) => SumRow["key"],
  further: (call: CallColumns) => string,
): readonly SumRow[] {
  const rows = new Map<string, SumRow>();
  for (const call of calls) {
    if (call.explained !== 0n) continue;
    const atMs = call.time_ms - (call.time_ms % spanMs);
    const name = `${atMs}\0${call.tenant_id}\0${call.project_id}\0${call.token_id}\0${call.user_id}\0${call.route}\0${call.provider}\0${call.model}\0${further(call)}`;
    let row = rows.get(name);
    if (row === undefined) rows.set(name, (row = { key: keyOf(atMs, call), sums: SUM_COLUMNS.map(() => 0n) }));
    add(call, row.sums);
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Adds a call to each of SUM_COLUMNS. */
function add(call: CallColumns, sums: bigint[]): void {
  const isUnpriced = call.cost_nano_usd === null && call.prompt_tokens + call.completion_tokens > 0n;
  const totalMs = Number(call.total_ms);
  const above = LATENCY_BOUNDS_MS.findIndex((bound) => totalMs <= bound);
  const raise = (index: number, more: bigint): void => {
    if (more === 0n) return;
    const sum = sums[index]! + more;
    sums[index] = sum > MOST_OF_A_SUM ? MOST_OF_A_SUM : sum;
  };
  raise(0, 1n);
  raise(1, call.status >= 400n ? 1n : 0n);
  raise(2, isUnpriced ? 1n : 0n);
  raise(3, call.prompt_tokens);
  raise(4, call.completion_tokens);
  raise(5, call.cached_tokens);
  raise(6, call.reasoning_tokens);
  raise(7, call.cost_nano_usd ?? 0n);
  raise(8, call.total_ms);
  raise(9 + (above < 0 ? LATENCY_BOUNDS_MS.length : above), 1n);
}
