// Turns records into what the call tables hold of them, with names in place of their numbers, and back into summaries.
import { type CallColumn, type CallRow, type FoundRow, NAME_COLUMNS, type NameColumn } from "./call-schema.ts";
import { heldTime, timeOfKey } from "./call-keys.ts";
import { plain, tagsOf } from "./call-tags.ts";
import type { CacheOutcome } from "../../core/cache.ts";
import { EARLIEST_OPERATION } from "../../core/operation.ts";
import type { CallRecord } from "../../core/record.ts";
import type { CallSummary } from "./calls.ts";
import { fromInteger } from "../schema.ts";

/** Model names and similar texts are limited when they arrive, but rows written by an older version may exceed this. */
const MAX_WORD = 512;

/** What is stored of a call besides its record, with names in place of their numbers. */
export type CallFigures = Omit<CallRow, "id" | "end_ms" | "block_id" | NameColumn> &
  Readonly<Record<NameColumn, string>> & { readonly time_ms: number; readonly total_ms: number };

/** The record may be of an earlier version, without some of the members. */
export function figuresOf(record: Partial<CallRecord>, settled: boolean): CallFigures {
  const { usage, cost, firstContentMs } = record;
  return {
    trace_id: word(record.traceId),
    time_ms: heldTime(count(record.startedAtMs)),
    tenant_id: word(record.tenantId),
    project_id: word(record.projectId),
    token_id: word(record.tokenId),
    user_id: word(record.userId),
    route: word(record.route),
    provider: word(record.provider),
    model: word(record.model),
    end_user: word(record.endUser),
    status: Math.min(count(record.status), MAX_STATUS),
    code: word(record.code),
    stream: flag(record.stream === true),
    cancelled: flag(record.cancelled === true),
    explained: flag(record.explained === true),
    attempts: record.attempts?.length ?? 0,
    prompt_tokens: count(usage?.prompt_tokens),
    completion_tokens: count(usage?.completion_tokens),
    cached_tokens: count(usage?.prompt_tokens_details?.cached_tokens),
    reasoning_tokens: count(usage?.completion_tokens_details?.reasoning_tokens),
    cost_nano_usd: cost == null ? null : count(cost.nanoUsd),
    total_ms: count(record.totalMs),
    first_content_ms: firstContentMs == null ? null : count(firstContentMs),
    settled: flag(settled),
    model_asked: word(record.modelAsked),
    finish_reason: word(record.finishReasons?.[0]),
    operation: storedOperation(record.operation ?? EARLIEST_OPERATION),
    cache: record.cache == null ? 0 : storedOutcome(record.cache.outcome),
    estimated: flag(usage != null && record.usageSource === "estimated"),
    request_hash: requestHash(record.providerRequestId),
    tags: tagsText(record),
  };
}

/** Chat completions have the absent name, which the calls of earlier versions have. */
export const storedOperation = (operation: string): string => (operation === EARLIEST_OPERATION ? "" : operation);
export const shownOperation = (stored: string): string => (stored === "" ? EARLIEST_OPERATION : stored);

const CACHE_OUTCOMES: readonly CacheOutcome[] = ["hit", "miss", "bypass"];
export const storedOutcome = (outcome: CacheOutcome): number => CACHE_OUTCOMES.indexOf(outcome) + 1;

/**
 * 48 bits of the provider's own id of a request, by which a call is found; 0 for an absent one. It is stored, so it
 * never changes. https://github.com/bryc/code/blob/master/jshash/experimental/cyrb53.js
 */
export function requestHash(id: string | null | undefined): number {
  if (id == null || id === "") return 0;
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let index = 0; index < id.length; index++) {
    const unit = id.charCodeAt(index);
    low = Math.imul(low ^ unit, 2_654_435_761);
    high = Math.imul(high ^ unit, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return 2 ** 32 * (high & 0xffff) + (low >>> 0) || 1;
}

const MAX_STATUS = 999;

function tagsText(record: Partial<CallRecord>): string {
  const tags = tagsOf(record);
  return tags.length === 0 ? "" : JSON.stringify(tags);
}

function word(text: string | null | undefined): string {
  return text == null || text === "" ? "" : plain(text.length > MAX_WORD ? text.slice(0, MAX_WORD) : text);
}
const flag = (value: boolean): number => (value ? 1 : 0);
/** A figure reported by a provider may be anything. */
function count(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : 0;
}

/** The row of a call at its place, which may still change. */
export type PlacedRow = { -readonly [Name in CallColumn]: CallRow[Name] };

/** `numberOf` knows every name of the figures. */
export function rowOf(
  figures: CallFigures,
  id: bigint,
  numberOf: (name: string) => number,
  blockId: bigint | null,
): PlacedRow {
  return {
    id,
    trace_id: figures.trace_id,
    tenant_id: numberOf(figures.tenant_id),
    project_id: numberOf(figures.project_id),
    token_id: numberOf(figures.token_id),
    user_id: numberOf(figures.user_id),
    route: numberOf(figures.route),
    provider: numberOf(figures.provider),
    model: numberOf(figures.model),
    end_user: figures.end_user,
    status: figures.status,
    code: numberOf(figures.code),
    stream: figures.stream,
    cancelled: figures.cancelled,
    explained: figures.explained,
    attempts: figures.attempts,
    prompt_tokens: figures.prompt_tokens,
    completion_tokens: figures.completion_tokens,
    cached_tokens: figures.cached_tokens,
    reasoning_tokens: figures.reasoning_tokens,
    cost_nano_usd: figures.cost_nano_usd,
    end_ms: Math.min(figures.time_ms + figures.total_ms, Number.MAX_SAFE_INTEGER),
    first_content_ms: figures.first_content_ms,
    settled: figures.settled,
    model_asked: figures.model_asked,
    finish_reason: numberOf(figures.finish_reason),
    operation: numberOf(figures.operation),
    cache: figures.cache,
    estimated: figures.estimated,
    request_hash: figures.request_hash,
    tags: figures.tags,
    block_id: blockId,
  };
}

/** The numbers of names in a row. */
export const numbersIn = (row: Pick<FoundRow, NameColumn>): readonly (bigint | number)[] =>
  NAME_COLUMNS.map((column) => row[column]);

/** The names in the figures of calls. */
export function namesIn(calls: readonly { readonly figures: CallFigures }[]): ReadonlySet<string> {
  const names = new Set<string>();
  let last = calls[0]?.figures;
  for (const { figures } of calls) {
    // Most calls have the names of the one before.
    for (const column of NAME_COLUMNS)
      if (figures === last || figures[column] !== last![column]) names.add(figures[column]);
    last = figures;
  }
  return names;
}

/** What was stored of a call. `nameOf` knows the numbers of the row. */
export function figuresIn(row: FoundRow, nameOf: (number: bigint | number) => string): CallFigures {
  const timeMs = timeOfKey(row.id);
  return {
    trace_id: row.trace_id,
    time_ms: timeMs,
    tenant_id: nameOf(row.tenant_id),
    project_id: nameOf(row.project_id),
    token_id: nameOf(row.token_id),
    user_id: nameOf(row.user_id),
    route: nameOf(row.route),
    provider: nameOf(row.provider),
    model: nameOf(row.model),
    code: nameOf(row.code),
    finish_reason: nameOf(row.finish_reason),
    operation: nameOf(row.operation),
    end_user: row.end_user,
    status: exact(row.status),
    stream: exact(row.stream),
    cancelled: exact(row.cancelled),
    explained: exact(row.explained),
    attempts: exact(row.attempts),
    prompt_tokens: exact(row.prompt_tokens),
    completion_tokens: exact(row.completion_tokens),
    cached_tokens: exact(row.cached_tokens),
    reasoning_tokens: exact(row.reasoning_tokens),
    cost_nano_usd: exactOrNull(row.cost_nano_usd),
    total_ms: exact(row.end_ms) - timeMs,
    first_content_ms: exactOrNull(row.first_content_ms),
    settled: exact(row.settled),
    model_asked: row.model_asked,
    cache: exact(row.cache),
    estimated: exact(row.estimated),
    request_hash: exact(row.request_hash),
    tags: row.tags,
  };
}

const exact = (value: bigint | number): number => (typeof value === "number" ? value : fromInteger(value));
const exactOrNull = (value: bigint | number | null): number | null => (value === null ? null : exact(value));

export function summaryOf(figures: CallFigures): CallSummary {
  return {
    traceId: figures.trace_id,
    timeMs: figures.time_ms,
    tenantId: orNull(figures.tenant_id),
    projectId: orNull(figures.project_id),
    tokenId: orNull(figures.token_id),
    userId: orNull(figures.user_id),
    endUser: orNull(figures.end_user),
    route: orNull(figures.route),
    provider: orNull(figures.provider),
    model: orNull(figures.model),
    status: figures.status,
    code: orNull(figures.code),
    stream: figures.stream === 1,
    cancelled: figures.cancelled === 1,
    attempts: figures.attempts,
    promptTokens: figures.prompt_tokens,
    completionTokens: figures.completion_tokens,
    cachedTokens: figures.cached_tokens,
    reasoningTokens: figures.reasoning_tokens,
    costNanoUsd: figures.cost_nano_usd,
    totalMs: figures.total_ms,
    firstContentMs: figures.first_content_ms,
    settled: figures.settled === 1,
    modelAsked: orNull(figures.model_asked),
    finishReason: orNull(figures.finish_reason),
    operation: shownOperation(figures.operation),
    cache: CACHE_OUTCOMES[figures.cache - 1] ?? null,
    estimated: figures.estimated === 1,
  };
}

/**
 * The record is kept as text, because numbers of any length, as in a client's metadata, cannot be passed between
 * threads.
 */
export interface FoundCall {
  readonly summary: CallSummary;
  readonly detail: string | null;
}

export const orNull = (text: string): string | null => (text === "" ? null : text);
