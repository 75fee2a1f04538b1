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
  const publishes = logger.isLevelEnabled("info");
  let told = 0;
  const timer = setInterval(() => {
    const dropped = sink.dropped();
    if (dropped > told) logger.warn({ lines: dropped - told }, "log lines were dropped: their reader is too slow");
    told = dropped;
    sink.flush();
  }, FLUSH_MS);
  timer.unref();
  return {
    publish: publishes ? (record) => sink.write(`${callLine(record)}\n`) : () => {},
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    close() {
      clearInterval(timer);
      sink.close();
    },
  };
}

/**
 * The line of a call, in the form in which pino writes the others: snake case, milliseconds with one decimal, what is absent left out. Put together by
 * hand, because it is on the way of every call: a sixth of what pino's serializer costs. What can only be one of our own words or a hex id needs no escaping.
 */
export function callLine(record: CallRecord): string {
  const { usage, messages } = record;
  let line = `{"level":"info","time":"${isoTime(record.startedAtMs)}","trace_id":"${record.traceId}","status":${record.status}`;
  if (record.code !== null) line += `,"code":"${record.code}"`;
  if (record.errorDetail !== null) line += text("error_detail", record.errorDetail);
  line += text("tenant", record.tenantId) + text("project", record.projectId) + text("user", record.userId) + text("token", record.tokenId);
  line += text("model_asked", record.modelAsked) + text("route", record.route) + text("provider", record.provider) + text("model", record.model);
  line += `,"stream":${record.stream}`;
  if (usage !== null) {
    line += `,"prompt_tokens":${usage.prompt_tokens},"completion_tokens":${usage.completion_tokens},"total_tokens":${usage.total_tokens}`;
    line += number("cached_tokens", usage.prompt_tokens_details?.cached_tokens) + number("reasoning_tokens", usage.completion_tokens_details?.reasoning_tokens);
    line += `,"usage_source":"${record.usageSource}"`;
  }
  if (record.finishReasons.length > 0) line += `,"finish":${JSON.stringify(record.finishReasons)}`;
  if (record.nativeFinishReasons.length > 0) line += `,"native_finish":${JSON.stringify(record.nativeFinishReasons)}`;
  line += `,"params":${JSON.stringify(record.fates)}`;
  if (messages !== null) line += `,"messages":{"count":${messages.count},"roles":${JSON.stringify(messages.roles)},"blocks":${JSON.stringify(messages.blocks)},"body_characters":${messages.bodyCharacters}}`;
  line += `,"attempts":[${record.attempts.map(attemptJson).join(",")}]`;
  if (record.warnings.length > 0) line += `,"warnings":${JSON.stringify(record.warnings)}`;
  if (record.cancelled) line += ',"cancelled":true';
  if (record.metadata !== null) line += `,"metadata":${JSON.stringify(record.metadata)}`;
  line += text("client_request_id", record.clientRequestId) + text("otel_trace_id", record.otelTraceId);
  line += `,"snapshot":${record.snapshotVersion}${milliseconds("first_content_ms", record.firstContentMs)}${milliseconds("total_ms", record.totalMs)},"own_ms":${Math.round(record.ownMs * 1000) / 1000},"msg":"call"}`;
  return line;
}

function attemptJson(attempt: Attempt): string {
  const code = attempt.code === null ? "" : `,"code":"${attempt.code}"`;
  return `{"provider":${JSON.stringify(attempt.provider)}${text("model", attempt.model)}${number("status", attempt.status)}${code}${text("native_code", attempt.nativeCode)}${milliseconds("head_ms", attempt.headMs)}${milliseconds("first_content_ms", attempt.firstContentMs)}${milliseconds("total_ms", attempt.totalMs)}}`;
}

function text(name: string, value: string | null): string {
  return value === null ? "" : `,"${name}":${JSON.stringify(value)}`;
}
function number(name: string, value: number | null | undefined): string {
  return value === null || value === undefined ? "" : `,"${name}":${value}`;
}
function milliseconds(name: string, ms: number | null): string {
  return ms === null ? "" : `,"${name}":${Math.round(ms * 10) / 10}`;
}

/** The second of the last call's time as text: many calls share it. */
let lastSecond = -1;
let lastText = "";
function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = new Date(second * 1000).toISOString().slice(0, 20);
  }
  return `${lastText}${String(ms - second * 1000).padStart(3, "0")}Z`;
}
