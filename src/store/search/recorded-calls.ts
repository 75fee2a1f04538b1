// The newest calls of a route or another scope with what is recorded of their requests, for simulations. It reads a
// bounded number of rows and blocks.
import type { Kysely } from "kysely";
import { someRecordsIn, textOfBlock } from "../calls/call-blocks.ts";
import type { CallSchema, FoundRow } from "../calls/call-schema.ts";
import type { RecordedCall, RecordedCalls, RecordedQuery } from "../calls/calls.ts";
import { searchRows } from "./log-search.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";
import { inParts } from "../database/in-parts.ts";
import { plainTokenOf } from "../database/row-values.ts";
import type { Schema } from "../schema.ts";

type Db = Kysely<CallSchema>;

const MOST_SEARCHES = 5;
/** Blocks of one query. Between queries other readers of the same connection have their turn. */
const BLOCKS_AT_ONCE = 20;

export async function recordedCalls(db: Db, { limit, ...scope }: RecordedQuery): Promise<RecordedCalls> {
  const rows: FoundRow[] = [];
  let cursor: string | null = null;
  let searchedToMs: number | null = null;
  for (let search = 0; search < MOST_SEARCHES && rows.length < limit; search++) {
    const page: Awaited<ReturnType<typeof searchRows>> = await searchRows(
      db,
      { limit: limit - rows.length, cursor },
      { ...scope, order: "newest", explained: false, mirrored: false },
    );
    rows.push(...page.data);
    ({ nextCursor: cursor, searchedToMs } = page);
    if (cursor === null) break;
  }
  const records = await recordsOf(db, rows);
  const known = rows.flatMap(({ trace_id: traceId }) => {
    const text = records.get(traceId);
    return text === undefined ? [] : [parseCallRecord(text)];
  });
  const sent = known.filter(({ cache }) => cache?.outcome !== "hit");
  return {
    calls: sent.map(recordedCall),
    fromCache: known.length - sent.length,
    withoutRecord: rows.filter(({ trace_id: traceId }) => !records.has(traceId)).length,
    searchedToMs: cursor === null || rows.length >= limit ? null : searchedToMs,
  };
}

async function recordsOf(db: Db, rows: readonly FoundRow[]): Promise<ReadonlyMap<string, string>> {
  const traceIds = new Map<bigint, Set<string>>();
  for (const { block_id: id, trace_id: traceId } of rows)
    if (id !== null) traceIds.set(id, (traceIds.get(id) ?? new Set()).add(traceId));
  const records = new Map<string, string>();
  for (const some of inParts([...traceIds.keys()], BLOCKS_AT_ONCE)) {
    const blocks = await db.selectFrom("call_block").select(["id", "body"]).where("id", "in", some).execute();
    for (const { id, body } of blocks)
      for (const [traceId, text] of someRecordsIn(textOfBlock(body), traceIds.get(id)!)) records.set(traceId, text);
  }
  return records;
}

export function recordedCall(record: CallRecord): RecordedCall {
  const { traceId, operation, projectId, tokenId, userId, endUser, stream, route, provider, model, status, code } =
    record;
  const { messages, usage, metadata, policies, totalMs, firstContentMs, modelAsked } = record;
  return {
    traceId,
    timeMs: record.startedAtMs,
    operation,
    projectId,
    tokenId,
    userId,
    endUser,
    stream,
    route,
    provider,
    model,
    status,
    code,
    messages,
    usage,
    // numbers that a double cannot represent do not pass between threads
    metadata: metadata === null ? null : (JSON.parse(JSON.stringify(metadata)) as JsonObject),
    policies,
    totalMs,
    firstContentMs,
    modelAsked,
    parameters: Object.keys(record.dispositions),
    costNanoUsd: record.cost?.nanoUsd ?? null,
    attempts: record.attempts.map((attempt) => ({
      provider: attempt.provider,
      model: attempt.model,
      code: attempt.code,
      status: attempt.status,
      startMs: attempt.startMs,
      firstContentMs: attempt.firstContentMs,
      totalMs: attempt.totalMs,
    })),
  };
}

/** What a policy may know of the token of a call. */
export type RecordedToken = Pick<AccessToken, "kind" | "role" | "permissions">;

const TOKENS_AT_ONCE = 500;

export async function recordedTokens(
  db: Kysely<Schema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecordedToken>> {
  const found = new Map<string, RecordedToken>();
  for (const some of inParts(ids, TOKENS_AT_ONCE)) {
    const rows = await db.selectFrom("access_tokens").selectAll().where("id", "in", some).execute();
    for (const row of rows) found.set(row.id, plainTokenOf(row, []));
  }
  return found;
}
