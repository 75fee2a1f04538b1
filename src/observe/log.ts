// One JSON line for each call, and the gateway's own events, by pino. No text of prompts or answers and no secret: the record holds none.
import pino from "pino";
import type { Attempt, CallRecord } from "../core/record.ts";
import { openLineSink } from "./line-sink.ts";
import type { Observer } from "./observer.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface Log extends Observer {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Writes what is collected; the last thing a process does with its log. */
  close(): void;
}

/** Lines are handed to the system in blocks of this size, and at the latest after this long. */
const BLOCK_BYTES = 32 * 1024;
const FLUSH_MS = 200;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

export function openLog(options: { readonly level: LogLevel; readonly fileDescriptor: number }): Log {
  const sink = openLineSink({ fileDescriptor: options.fileDescriptor, blockBytes: BLOCK_BYTES, maxWaitingBytes: MAX_WAITING_BYTES });
  const logger = pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } }, sink);
  let told = 0;
  const timer = setInterval(() => {
    const dropped = sink.dropped();
    if (dropped > told) logger.warn({ lines: dropped - told }, "log lines were dropped: their reader is too slow");
    told = dropped;
    sink.flush();
  }, FLUSH_MS);
  timer.unref();
  return {
    publish: (record) => logger.info(callLine(record), "call"),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    close() {
      clearInterval(timer);
      sink.close();
    },
  };
}

/** The line's fields: snake case, milliseconds with one decimal, what is absent left out. */
export function callLine(record: CallRecord): Readonly<Record<string, unknown>> {
  const usage = record.usage;
  return {
    trace_id: record.traceId,
    status: record.status,
    code: record.code ?? undefined,
    error_detail: record.errorDetail ?? undefined,
    tenant: record.tenantId ?? undefined,
    project: record.projectId ?? undefined,
    user: record.userId ?? undefined,
    token: record.tokenId ?? undefined,
    model_asked: record.modelAsked ?? undefined,
    route: record.route ?? undefined,
    provider: record.provider ?? undefined,
    model: record.model ?? undefined,
    stream: record.stream,
    prompt_tokens: usage?.prompt_tokens,
    completion_tokens: usage?.completion_tokens,
    total_tokens: usage?.total_tokens,
    cached_tokens: usage?.prompt_tokens_details?.cached_tokens,
    reasoning_tokens: usage?.completion_tokens_details?.reasoning_tokens,
    usage_source: record.usageSource ?? undefined,
    finish: record.finishReasons.length > 0 ? record.finishReasons : undefined,
    native_finish: record.nativeFinishReasons.length > 0 ? record.nativeFinishReasons : undefined,
    params: Object.keys(record.fates).length > 0 ? record.fates : undefined,
    messages: record.messages === null ? undefined : { count: record.messages.count, roles: record.messages.roles, blocks: record.messages.blocks, body_characters: record.messages.bodyCharacters },
    attempts: record.attempts.map(attemptFields),
    warnings: record.warnings.length > 0 ? record.warnings : undefined,
    cancelled: record.cancelled || undefined,
    metadata: record.metadata ?? undefined,
    client_request_id: record.clientRequestId ?? undefined,
    otel_trace_id: record.otelTraceId ?? undefined,
    snapshot: record.snapshotVersion,
    first_content_ms: rounded(record.firstContentMs),
    total_ms: rounded(record.totalMs),
    own_ms: Math.round(record.ownMs * 1000) / 1000,
  };
}

function attemptFields(attempt: Attempt): Readonly<Record<string, unknown>> {
  return {
    provider: attempt.provider,
    model: attempt.model,
    status: attempt.status ?? undefined,
    code: attempt.code ?? undefined,
    native_code: attempt.nativeCode ?? undefined,
    head_ms: rounded(attempt.headMs),
    first_content_ms: rounded(attempt.firstContentMs),
    total_ms: rounded(attempt.totalMs),
  };
}

function rounded(ms: number | null): number | undefined {
  return ms === null ? undefined : Math.round(ms * 10) / 10;
}
