// Turns records into what the call tables hold of them, with names in place of their numbers, and back into summaries.
import {
  type CallColumn,
  columnsOf,
  isTold,
  NAME_COLUMNS,
  type NameColumn,
  type ToldType,
} from "./call-column-types.ts";
import type { CallRow, FoundRow } from "./call-schema.ts";
import { timeOfKey, timeOfTrace } from "./call-keys.ts";
import { NO_NAME } from "./call-names.ts";
import { tagsOf } from "./call-tags.ts";
import type { CacheOutcome } from "../../core/configured/cache.ts";
import { EARLIEST_OPERATION } from "../../core/operation.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { camelCase } from "../../core/text/camel-case.ts";
import type { CallSummary, ToldColumns } from "./calls.ts";
import { fromInteger, storable } from "../database/columns.ts";

/** Model names and similar texts are limited when they arrive, but rows written by an older version may exceed this. */
const MAX_WORD = 512;

/** What is stored of a call besides its record, with names in place of their numbers. */
export interface CallFigures {
  readonly names: Readonly<Record<NameColumn, string>>;
  readonly plain: Omit<CallRow, NameColumn | "id" | "end_ms" | "block_id">;
  readonly timeMs: number;
  readonly totalMs: number;
}

/** The record may be of an earlier version, without some of the members. */
export function figuresOf(record: Partial<CallRecord>, settled: boolean): CallFigures {
  const { usage, cost, firstContentMs } = record;
  const traceId = word(record.traceId);
  return {
    names: {
      tenant_id: word(record.tenantId),
      project_id: word(record.projectId),
      token_id: word(record.tokenId),
      user_id: word(record.userId),
      route: word(record.route),
      provider: word(record.provider),
      model: word(record.model),
      code: word(record.code),
      finish_reason: word(record.finishReasons?.[0]),
      operation: word(record.operation ?? EARLIEST_OPERATION),
    },
    plain: {
      trace_id: traceId,
      end_user: word(record.endUser),
      status: Math.min(count(record.status), MAX_STATUS),
      stream: flag(record.stream === true),
      cancelled: flag(record.cancelled === true),
      explained: flag(record.explained === true),
      mirror_of: word(record.mirrorOf),
      attempts: record.attempts?.length ?? 0,
      prompt_tokens: count(usage?.prompt_tokens),
      completion_tokens: count(usage?.completion_tokens),
      cached_tokens: count(usage?.prompt_tokens_details?.cached_tokens),
      cache_write_tokens: count(usage?.prompt_tokens_details?.cache_write_tokens),
      reasoning_tokens: count(usage?.completion_tokens_details?.reasoning_tokens),
      cost_nano_usd: cost == null ? null : count(cost.nanoUsd),
      cache_saved_nano_usd: signed(cost?.promptCacheSavedNanoUsd),
      first_content_ms: firstContentMs == null ? null : count(firstContentMs),
      settled: flag(settled),
      model_asked: word(record.modelAsked),
      cache: record.cache == null ? 0 : storedOutcome(record.cache.outcome),
      estimated: flag(usage != null && record.usageSource === "estimated"),
      request_hash: requestHash(record.providerRequestId),
      tags: tagsText(record),
    },
    timeMs: timeOfTrace(traceId),
    totalMs: count(record.totalMs),
  };
}

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
  return text == null || text === "" ? "" : storable(text.length > MAX_WORD ? text.slice(0, MAX_WORD) : text);
}
const flag = (value: boolean): number => (value ? 1 : 0);
/** A figure reported by a provider may be anything. */
function count(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : 0;
}

function signed(value: number | undefined): number {
  return value === undefined ? 0 : value < 0 ? -count(-value) : count(value);
}

/** The row of a call at its place, which may still change. */
export type PlacedRow = { -readonly [Name in CallColumn]: CallRow[Name] };

const NO_NUMBERS = Object.fromEntries(NAME_COLUMNS.map((column) => [column, NO_NAME])) as Record<NameColumn, number>;

/** `numberOf` knows every name of the figures. */
export function rowOf(
  { names, plain, timeMs, totalMs }: CallFigures,
  id: bigint,
  numberOf: (name: string) => number,
  blockId: bigint,
): PlacedRow {
  const row: PlacedRow = {
    ...plain,
    ...NO_NUMBERS,
    id,
    end_ms: Math.min(timeMs + totalMs, Number.MAX_SAFE_INTEGER),
    block_id: blockId,
  };
  for (const column of NAME_COLUMNS) row[column] = numberOf(names[column]);
  return row;
}

/** The numbers of names in a row. */
export const numbersIn = (row: Pick<FoundRow, NameColumn>): readonly (bigint | number)[] =>
  NAME_COLUMNS.map((column) => row[column]);

export function namesIn(calls: readonly { readonly figures: CallFigures }[]): ReadonlySet<string> {
  const found = new Set<string>();
  let last = calls[0]?.figures.names;
  for (const { figures } of calls) {
    const { names } = figures;
    // Most calls have the names of the one before.
    for (const column of NAME_COLUMNS) if (names === last || names[column] !== last![column]) found.add(names[column]);
    last = names;
  }
  return found;
}

const exact = (value: bigint | number): number => (typeof value === "number" ? value : fromInteger(value));
const exactOrNull = (value: bigint | number | null): number | null => (value === null ? null : exact(value));

/** The columns of a type of which a summary tells, and the member that each of them has there. */
const toldOf = <Type extends ToldType>(type: Type) =>
  columnsOf(type)
    .filter(isTold)
    .map((column) => [camelCase(column), column] as const);
const TEXTS = toldOf("text");
const NAMES = toldOf("name");
const INTEGERS = toldOf("integer");
const FLAGS = toldOf("flag");
const INTEGERS_OR_NULL = toldOf("integer or null");

/** What was stored of a call. `nameOf` knows the numbers of the row. */
export function summaryIn(row: FoundRow, nameOf: (number: bigint | number) => string): CallSummary {
  const told: { -readonly [Member in keyof ToldColumns]?: ToldColumns[Member] } = {};
  for (const [member, column] of TEXTS) told[member] = orNull(row[column]);
  for (const [member, column] of NAMES) told[member] = orNull(nameOf(row[column]));
  for (const [member, column] of INTEGERS) told[member] = exact(row[column]);
  for (const [member, column] of FLAGS) told[member] = exact(row[column]) === 1;
  for (const [member, column] of INTEGERS_OR_NULL) told[member] = exactOrNull(row[column]);
  const timeMs = timeOfKey(row.id);
  return {
    ...(told as ToldColumns),
    traceId: row.trace_id,
    operation: nameOf(row.operation),
    cache: CACHE_OUTCOMES[exact(row.cache) - 1] ?? null,
    timeMs,
    totalMs: exact(row.end_ms) - timeMs,
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
