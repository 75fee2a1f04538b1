// The record of a call, and the row of one of its upstream requests, before anything is known of them. Every field is
// listed here, so that records begin alike wherever they are made: by a call, and from a journal of an earlier version.
import { EARLIEST_OPERATION } from "../operation.ts";
import type { Attempt, CallRecord } from "./record.ts";

/** What is known of a call when its request head has arrived. */
export type ArrivedCall = Pick<
  CallRecord,
  "traceId" | "startedAtMs" | "clientRequestId" | "otelTraceId" | "trace" | "snapshotVersion" | "operation"
>;

/** What is known of an upstream request when it is about to be sent. */
export type SentAttempt = Pick<Attempt, "provider" | "vendor" | "model" | "round" | "startMs" | "spanId">;

/** Members that a recorder replaces as a whole, never in place, begin as these in every record. */
const NO_NAMES: CallRecord["dispositions"] = {};
const NOTHING: readonly never[] = [];

/** The trace id and the start come first, because journals are searched for them there. */
export function emptyRecord(arrived: ArrivedCall): CallRecord {
  const { traceId, startedAtMs, clientRequestId, otelTraceId, trace, snapshotVersion, operation } = arrived;
  return {
    traceId,
    startedAtMs,
    clientRequestId,
    otelTraceId,
    trace,
    snapshotVersion,
    operation,
    tokenId: null,
    tenantId: null,
    projectId: null,
    userId: null,
    endUser: null,
    modelAsked: null,
    route: null,
    routeVersion: null,
    provider: null,
    model: null,
    stream: false,
    explained: false,
    mirrorOf: null,
    mirror: null,
    status: 0,
    code: null,
    errorDetail: null,
    dispositions: NO_NAMES,
    messages: null,
    attempts: [],
    candidates: NOTHING,
    plan: NOTHING,
    rounds: 1,
    tools: [],
    finishReasons: NOTHING,
    nativeFinishReasons: NOTHING,
    finishInferred: false,
    providerModel: null,
    providerRequestId: null,
    usage: null,
    usageSource: null,
    unnamedUsage: null,
    cost: null,
    callerCost: null,
    cache: null,
    limits: NOTHING,
    policies: NOTHING,
    guardServices: NOTHING,
    warnings: NOTHING,
    cancelled: false,
    metadata: null,
    headMs: null,
    keepAlives: 0,
    firstContentMs: null,
    totalMs: 0,
    ownMs: 0,
  };
}

export function emptyAttempt({ provider, vendor, model, round, startMs, spanId }: SentAttempt): Attempt {
  return {
    provider,
    vendor,
    model,
    round,
    startMs,
    spanId,
    usage: null,
    usageSource: null,
    status: null,
    code: null,
    toldModel: null,
    requestId: null,
    nativeCode: null,
    retryAfterMs: null,
    fromCache: false,
    promptCacheMiss: null,
    headMs: null,
    firstContentMs: null,
    totalMs: null,
  };
}

/** What the members are that the text of a record leaves out (record-text.ts). */
export const EMPTY_RECORD = emptyRecord({
  traceId: "",
  startedAtMs: 0,
  clientRequestId: null,
  otelTraceId: null,
  trace: null,
  snapshotVersion: 0,
  operation: EARLIEST_OPERATION,
});
export const EMPTY_ATTEMPT = emptyAttempt({
  provider: "",
  vendor: null,
  model: "",
  round: 1,
  startMs: 0,
  spanId: null,
});
