// The record of a call as JSON text. Its journal entry and what integrations receive are the same text, which is
// written once. A record never changes after it is published.
import { memoizePerObject } from "./memoization.ts";
import { EARLIEST_OPERATION } from "./operation.ts";
import type { Attempt, CallRecord } from "./record.ts";

/** A value of which JSON.stringify leaves out the members that are undefined. */
type Sparse<T> = { readonly [Name in keyof T]: T[Name] | undefined };

/**
 * The record must have ended. Members that say nothing are left out, which is half of the text of most calls;
 * `parseCallRecord` (wire/record-json.ts) reads them as `emptyRecord` has them.
 */
export const recordText = memoizePerObject((record: CallRecord): string => JSON.stringify(sparseRecord(record)));

/**
 * The members of a record that are known when the first attempt is admitted: who called, and for what. The trace id and
 * the start come first, because journals are searched for them there.
 */
export function admittedMembers(record: CallRecord): Sparse<Pick<CallRecord, AdmittedMember>> {
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
  };
}

type AdmittedMember =
  | "traceId"
  | "startedAtMs"
  | "clientRequestId"
  | "otelTraceId"
  | "snapshotVersion"
  | "operation"
  | "tokenId"
  | "tenantId"
  | "projectId"
  | "userId"
  | "endUser"
  | "modelAsked"
  | "route"
  | "provider"
  | "model"
  | "stream"
  | "limits"
  | "metadata";

function sparseRecord(record: CallRecord): Omit<Sparse<CallRecord>, "attempts"> & {
  readonly attempts: readonly Sparse<Attempt>[];
} {
  return {
    ...admittedMembers(record),
    trace: record.trace ?? undefined,
    explained: record.explained || undefined,
    routeVersion: record.routeVersion ?? undefined,
    status: record.status,
    code: record.code ?? undefined,
    errorDetail: record.errorDetail ?? undefined,
    dispositions: record.dispositions,
    messages: record.messages ?? undefined,
    attempts: record.attempts.map(sparseAttempt),
    candidates: unlessEmpty(record.candidates),
    plan: unlessEmpty(toldPlan(record)),
    rounds: record.rounds === 1 ? undefined : record.rounds,
    tools: unlessEmpty(record.tools),
    finishReasons: unlessEmpty(record.finishReasons),
    nativeFinishReasons: unlessEmpty(record.nativeFinishReasons),
    finishInferred: record.finishInferred || undefined,
    providerModel: record.providerModel ?? undefined,
    providerRequestId: record.providerRequestId ?? undefined,
    usage: record.usage ?? undefined,
    usageSource: record.usageSource ?? undefined,
    unnamedUsage: record.unnamedUsage ?? undefined,
    cost: record.cost ?? undefined,
    callerCost: record.callerCost ?? undefined,
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
    headMs: attempt.headMs ?? undefined,
    firstContentMs: attempt.firstContentMs ?? undefined,
    totalMs: attempt.totalMs ?? undefined,
  };
}

function unlessEmpty<T>(values: readonly T[]): readonly T[] | undefined {
  return values.length === 0 ? undefined : values;
}
