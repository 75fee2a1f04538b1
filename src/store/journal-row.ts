// The contents of journal entries: a call as it was admitted, and as it ended. An opening entry without a closing one
// is turned into a record here.
import type { JsonObject } from "../core/json.ts";
import type { Attempt, CallRecord, LimitOutcome } from "../core/record.ts";
import { recordText } from "../core/record-text.ts";
import { parseRecord } from "../wire/record-json.ts";
import { MAX_TEXT_BYTES } from "./journal-entry.ts";
import type { LedgerRow } from "./ledger.ts";

/** In UTF-16 units; texts that clients choose freely are cut when an entry is longer. */
const MAX_TEXT = Math.floor(MAX_TEXT_BYTES / 3);
const MAX_DETAIL = 16_384;

/** The contents of an opening entry. */
type Opening = Pick<
  CallRecord,
  | "traceId"
  | "startedAtMs"
  | "clientRequestId"
  | "otelTraceId"
  | "snapshotVersion"
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
  | "metadata"
  | "limits"
>;

export function openingText(record: CallRecord): string {
  const {
    traceId,
    startedAtMs,
    clientRequestId,
    otelTraceId,
    snapshotVersion,
    tokenId,
    tenantId,
    projectId,
    userId,
    endUser,
    modelAsked,
    route,
    provider,
    model,
    stream,
    metadata,
    limits,
  } = record;
  const opening: Opening = {
    traceId,
    startedAtMs,
    clientRequestId,
    otelTraceId,
    snapshotVersion,
    tokenId,
    tenantId,
    projectId,
    userId,
    endUser,
    modelAsked,
    route,
    provider,
    model,
    stream,
    metadata,
    limits,
  };
  const text = JSON.stringify(opening);
  return text.length <= MAX_TEXT
    ? text
    : JSON.stringify({ ...opening, modelAsked: opening.modelAsked?.slice(0, MAX_DETAIL) ?? null, metadata: null });
}

export function closingText(record: CallRecord): string {
  const text = recordText(record);
  if (text.length <= MAX_TEXT) return text;
  const bounded: CallRecord = {
    ...record,
    modelAsked: record.modelAsked?.slice(0, MAX_DETAIL) ?? null,
    errorDetail: record.errorDetail?.slice(0, MAX_DETAIL) ?? null,
    dispositions: {},
    metadata: null,
    nativeFinishReasons: [],
    warnings: [...record.warnings, "record_cut"],
  };
  return JSON.stringify(bounded);
}

/** Parses a record of any version; members that its version did not have are empty. Throws SyntaxError. */
export function parseClosing(text: string): CallRecord {
  const record = { ...EMPTY, ...parseRecord<CallRecord>(text) };
  return {
    ...record,
    attempts: record.attempts.map((attempt) =>
      "requestId" in attempt ? attempt : { ...LATER_OF_ATTEMPTS, ...(attempt as Attempt) },
    ),
  };
}

/** A row for the database. Its text is decoded and its record parsed only when they are read. */
export function rowOf(bytes: Buffer, settled: boolean): LedgerRow {
  return {
    bytes,
    settled,
    get text() {
      return bytes.toString("utf8");
    },
    get record() {
      return parseClosing(bytes.toString("utf8"));
    },
  };
}

/** The trace id with which every entry begins. */
export function traceIdOf(text: string): string {
  return TRACE_ID.exec(text)?.[1] ?? (JSON.parse(text) as CallRecord).traceId;
}
const TRACE_ID = /^\{"traceId":"([0-9a-f]{32})"/;

/** When the call of an entry began, in milliseconds since 1970; 0 when that is not in its usual place. */
export function startOf(text: string): number {
  return Number(START.exec(text.slice(0, START_WITHIN))?.[1] ?? 0);
}
const START = /"startedAtMs":(\d+)/;
const START_WITHIN = 96;

/**
 * The record of a call that was in flight when the process ended: it is charged with its reservation (promise 11.2).
 * Throws SyntaxError.
 */
export function unsettledRecord(openingJson: string): CallRecord {
  const opening = parseRecord<Opening>(openingJson);
  const limits = (opening.limits ?? []).map((outcome): LimitOutcome => ({ ...outcome, settled: outcome.reserved }));
  const reserved = (unit: LimitOutcome["unit"]): number =>
    Math.max(0, ...limits.filter((outcome) => outcome.unit === unit).map((outcome) => outcome.reserved));
  const tokens = reserved("tokens");
  const nanoUsd = reserved("nano_usd");
  return {
    ...EMPTY,
    ...opening,
    limits,
    status: 500,
    code: "internal_error",
    errorDetail: "the process ended before the call did",
    // How the tokens would have been divided between prompt and completion is unknown.
    usage: tokens === 0 ? null : { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens },
    usageSource: tokens === 0 ? null : "estimated",
    cost: nanoUsd === 0 ? null : { nanoUsd, priceId: "reservation" },
  };
}

const LATER_OF_ATTEMPTS = {
  toldModel: null,
  requestId: null,
  vendor: null,
  round: 1,
  startMs: 0,
  spanId: null,
  usage: null,
  usageSource: null,
} satisfies Partial<Attempt>;

const EMPTY: CallRecord = {
  traceId: "",
  startedAtMs: 0,
  clientRequestId: null,
  otelTraceId: null,
  trace: null,
  snapshotVersion: 0,
  tokenId: null,
  tenantId: null,
  projectId: null,
  userId: null,
  endUser: null,
  modelAsked: null,
  route: null,
  provider: null,
  model: null,
  stream: false,
  explained: false,
  status: 0,
  code: null,
  errorDetail: null,
  dispositions: {},
  messages: null,
  attempts: [],
  rounds: 1,
  tools: [],
  finishReasons: [],
  nativeFinishReasons: [],
  finishInferred: false,
  providerModel: null,
  providerRequestId: null,
  usage: null,
  usageSource: null,
  unnamedUsage: null,
  cost: null,
  callerCost: null,
  limits: [],
  policies: [],
  warnings: [],
  cancelled: false,
  metadata: null as JsonObject | null,
  firstContentMs: null,
  totalMs: 0,
  ownMs: 0,
};
