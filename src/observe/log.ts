// One JSON line for each call, and the gateway's own events, by pino. No text of prompts or answers and no secret: the record holds none.
import pino from "pino";
import type { CallRecord } from "../core/record.ts";
import type { Observer } from "./observer.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface Log extends Observer {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Writes what is buffered. */
  flush(): void;
}

/** Lines are handed to the system in blocks, at the latest after this long. */
const FLUSH_MS = 200;
const BLOCK_BYTES = 4096;

export function openLog(options: { readonly level: LogLevel; readonly fileDescriptor: number }): Log {
  const destination = pino.destination({ dest: options.fileDescriptor, sync: false, minLength: BLOCK_BYTES });
  const logger = pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } }, destination);
  const timer = setInterval(() => destination.flush(), FLUSH_MS);
  timer.unref();
  return {
    publish: (record) => logger.info(callLine(record), "call"),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // pino throws when the destination was never ready: then there is nothing to write
      }
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
    messages: record.messages ?? undefined,
    attempts: record.attempts.map((attempt) => ({ ...attempt, headMs: rounded(attempt.headMs), firstContentMs: rounded(attempt.firstContentMs), totalMs: rounded(attempt.totalMs) })),
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

function rounded(ms: number | null): number | undefined {
  return ms === null ? undefined : Math.round(ms * 10) / 10;
}
