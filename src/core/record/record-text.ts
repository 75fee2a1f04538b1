// The record of a call as JSON text. Its journal entry and what integrations receive are the same text, which is
// written once. A record never changes after it is published.
import { memoizePerObject } from "../memoization.ts";
import { EMPTY_RECORD } from "./empty-record.ts";
import { EARLIEST_OPERATION } from "../operation.ts";
import type { Attempt, CallRecord } from "./record.ts";

/** A value of which JSON.stringify leaves out the members that are undefined. */
type Sparse<T> = { readonly [Name in keyof T]: T[Name] | undefined };

/**
 * The record must have ended. Members that say nothing are left out, which is half of the text of most calls;
 * `parseCallRecord` (wire/json/record-json.ts) reads them as `emptyRecord` has them.
 */
export const recordText = memoizePerObject((record: CallRecord): string => JSON.stringify(sparseRecord(record)));

/**
 * The members of a record that are known when the first attempt is admitted: who called, and for what. The trace id and
 * the start come first, because journals are searched for them there.
 */
export function admittedMembers(record: CallRecord) {
  return {
    traceId: record.traceId,
    startedAtMs: record.startedAtMs,
    clientRequestId: record.clientRequestId ?? undefined,
    otelTraceId: record.otelTraceId ?? undefined,
    snapshotVersion: record.snapshotVersion,
    operation: record.operation === EARLIEST_OPERATION ? undefined : record.operation,
    tokenId: record.tokenId ?? undefined,
    tenantId: record.tenantId ?? undefined,
    projectId: record.projectId ?? undefined,
    userId: record.userId ?? undefined,
    endUser: record.endUser ?? undefined,
    modelAsked: record.modelAsked ?? undefined,
    route: record.route ?? undefined,
    provider: record.provider ?? undefined,
    model: record.model ?? undefined,
    stream: record.stream || undefined,
    limits: unlessEmpty(record.limits),
    metadata: record.metadata ?? undefined,
    mirrorOf: record.mirrorOf ?? undefined,
  } satisfies Sparse<Partial<CallRecord>>;
}

function sparseRecord(record: CallRecord): object {
  const text: Partial<Record<keyof CallRecord, unknown>> = mostMembers(record);
  for (const name of FURTHER_MEMBERS) {
    const value = record[name];
    if (value !== EMPTY_RECORD[name] && !(Array.isArray(value) && value.length === 0)) text[name] = value;
  }
  return text;
}

/** The members that many calls have. They are written out, because a loop over all takes as long as the whole text. */
function mostMembers(record: CallRecord) {
  return {
    ...admittedMembers(record),
    trace: record.trace ?? undefined,
    routeVersion: record.routeVersion ?? undefined,
    status: record.status,
    code: record.code ?? undefined,
    dispositions: record.dispositions,
    messages: record.messages ?? undefined,
    attempts: record.attempts.map(sparseAttempt),
    candidates: unlessEmpty(record.candidates),
    plan: unlessEmpty(toldPlan(record)),
    rounds: record.rounds === 1 ? undefined : record.rounds,
    tools: unlessEmpty(record.tools),
    finishReasons: unlessEmpty(record.finishReasons),
    providerModel: record.providerModel ?? undefined,
    providerRequestId: record.providerRequestId ?? undefined,
    usage: record.usage ?? undefined,
    usageSource: record.usageSource ?? undefined,
    cost: record.cost ?? undefined,
    cache: record.cache ?? undefined,
    policies: unlessEmpty(record.policies),
    warnings: unlessEmpty(record.warnings),
    cancelled: record.cancelled || undefined,
    headMs: record.headMs ?? undefined,
    keepAlives: record.keepAlives || undefined,
    firstContentMs: record.firstContentMs ?? undefined,
    totalMs: record.totalMs,
    ownMs: record.ownMs,
  };
}

/** All others, which few calls have. */
const FURTHER_MEMBERS = furtherMembers();
function furtherMembers(): readonly (keyof CallRecord)[] {
  const most = mostMembers(EMPTY_RECORD);
  return (Object.keys(EMPTY_RECORD) as (keyof CallRecord)[]).filter((name) => !(name in most));
}

/** The steps of the plan, if they say more than the attempts do. */
export function toldPlan({ candidates, plan }: Pick<CallRecord, "candidates" | "plan">): CallRecord["plan"] {
  return plan.length === 1 && candidates.length === 0 && plan[0]!.refused === null ? [] : plan;
}

function sparseAttempt(attempt: Attempt): Sparse<Attempt> {
  return {
    provider: attempt.provider,
    vendor: attempt.vendor ?? undefined,
    model: attempt.model,
    round: attempt.round === 1 ? undefined : attempt.round,
    startMs: attempt.startMs,
    spanId: attempt.spanId ?? undefined,
    usage: attempt.usage ?? undefined,
    usageSource: attempt.usageSource ?? undefined,
    status: attempt.status ?? undefined,
    code: attempt.code ?? undefined,
    toldModel: attempt.toldModel ?? undefined,
    requestId: attempt.requestId ?? undefined,
    nativeCode: attempt.nativeCode ?? undefined,
    retryAfterMs: attempt.retryAfterMs ?? undefined,
    fromCache: attempt.fromCache || undefined,
    promptCacheMiss: attempt.promptCacheMiss ?? undefined,
    headMs: attempt.headMs ?? undefined,
    firstContentMs: attempt.firstContentMs ?? undefined,
    totalMs: attempt.totalMs ?? undefined,
  };
}

export function unlessEmpty<T>(values: readonly T[]): readonly T[] | undefined {
  return values.length === 0 ? undefined : values;
}
