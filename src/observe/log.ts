// Writes one JSON line for each call, and the gateway's own events through pino. Lines contain no text of prompts or
// answers and no secrets, because the record holds none.
import pino from "pino";
import type { JsonObject } from "../core/json.ts";
import type { CachedCall } from "../core/cache.ts";
import {
  type Attempt,
  type CallCost,
  type CallRecord,
  isUnauthenticated,
  type LimitOutcome,
  type PolicyOutcome,
} from "../core/record.ts";
import type { ToolRun } from "../core/tool.ts";
import { memoizeBounded } from "../core/memoization.ts";
import { parseRecord } from "../wire/record-json.ts";
import { fileOutput, type LineOutput, openLineSink } from "./line-sink.ts";
import type { Observer } from "./observer.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface Log extends Observer {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Writes whole lines that another process of this gateway has made. */
  lines(text: string): void;
  /**
   * Resolves when the lines so far have been written, which never happens when the reader of the log has stopped
   * reading.
   */
  written(): Promise<void>;
  /** Writes the collected lines; a process does this last. */
  close(): void;
}

/**
 * Bounds of the texts that callers and providers choose, so that they cannot fill a line: characters, or numbers of
 * entries.
 */
const MAX_TEXT_CHARACTERS = 1024;
const MAX_DETAIL = 16_384;
const MAX_PARAMS = 128;
const MAX_TOOL_RUNS = 128;
const MAX_TOOL_WORDS = 256;
/** Lines of calls without a known token. */
const UNAUTHENTICATED_PER_SECOND = 10;

/** Lines are handed to the system in blocks of this size, and at the latest after this time. */
const BLOCK_BYTES = 32 * 1024;
const FLUSH_MS = 200;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The output is a file descriptor, or what takes whole lines. */
export function openLog(options: { readonly level: LogLevel; readonly output: number | LineOutput }): Log {
  const sink = openLineSink({
    output: typeof options.output === "number" ? fileOutput(options.output, BLOCK_BYTES * 2) : options.output,
    blockBytes: BLOCK_BYTES,
    maxWaitingBytes: MAX_WAITING_BYTES,
  });
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  const publishes = logger.isLevelEnabled("info");
  let reportedDrops = 0;
  const unauthenticated = new UnauthenticatedLines();
  const timer = setInterval(() => {
    const held = unauthenticated.held();
    if (held > 0)
      logger.warn(
        { calls: held },
        "further calls without a known token are not logged; they are only counted in metrics",
      );
    const dropped = sink.dropped();
    if (dropped > reportedDrops)
      logger.warn({ lines: dropped - reportedDrops }, "log lines were dropped: their reader is too slow");
    reportedDrops = dropped;
    void sink.flush();
  }, FLUSH_MS);
  timer.unref();
  return {
    publish: publishes ? (record) => unauthenticated.mayLog(record) && sink.write(`${callLine(record)}\n`) : () => {},
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    lines: (whole) => sink.write(whole),
    written: () => sink.flush(),
    close() {
      clearInterval(timer);
      sink.close();
    },
  };
}

/**
 * Unauthenticated callers can make any number of calls. Beyond the first calls of a second, theirs get no line and are
 * only counted.
 */
class UnauthenticatedLines {
  #second = 0;
  #lines = 0;
  #held = 0;

  mayLog(record: CallRecord): boolean {
    if (!isUnauthenticated(record)) return true;
    const second = Math.floor(record.startedAtMs / 1000);
    // Calls are logged in the order of their ends: one that began earlier does not start a new second.
    if (second > this.#second) {
      this.#second = second;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= UNAUTHENTICATED_PER_SECOND) return true;
    this.#held += 1;
    return false;
  }

  /** Returns the count since it was last read. */
  held(): number {
    const held = this.#held;
    this.#held = 0;
    return held;
  }
}

/**
 * The line of a call, in the form of pino's lines: snake case, milliseconds with one decimal, absent values left out.
 * It is assembled by hand, because every call passes through here. Fixed words of the gateway and hex ids need no
 * escaping.
 */
export function callLine(record: CallRecord): string {
  const { usage, messages } = record;
  // The parts are joined once: a string built piece by piece is a tree of its pieces, which has to be walked when it is
  // written.
  return [
    `{"level":"info","time":"${isoTime(Math.round(record.startedAtMs + record.totalMs))}","trace_id":"${record.traceId}","status":${record.status}`,
    record.code === null ? "" : `,"code":"${record.code}"`,
    text("error_detail", record.errorDetail, MAX_DETAIL),
    text("tenant", record.tenantId),
    text("project", record.projectId),
    text("user", record.userId),
    text("end_user", record.endUser),
    text("token", record.tokenId),
    text("model_asked", record.modelAsked),
    text("route", record.route),
    text("provider", record.provider),
    text("model", record.model),
    `,"stream":${record.stream}`,
    record.explained ? ',"explained":true' : "",
    usage === null
      ? ""
      : `,"prompt_tokens":${usage.prompt_tokens},"completion_tokens":${usage.completion_tokens},"total_tokens":${usage.total_tokens},"usage_source":"${record.usageSource}"`,
    number("cached_tokens", usage?.prompt_tokens_details?.cached_tokens),
    number("reasoning_tokens", usage?.completion_tokens_details?.reasoning_tokens),
    record.unnamedUsage === null ? "" : `,"usage_unnamed":${JSON.stringify(record.unnamedUsage)}`,
    record.cost === null ? "" : costJson(record.cost),
    number("caller_cost_nano_usd", record.callerCost?.nanoUsd),
    record.cache === null ? "" : `,"cache":${cacheJson(record.cache)}`,
    record.finishReasons.length === 0 ? "" : `,"finish":${JSON.stringify(record.finishReasons)}`,
    record.nativeFinishReasons.length === 0
      ? ""
      : `,"native_finish":${JSON.stringify(record.nativeFinishReasons.map((word) => cut(word, MAX_TEXT_CHARACTERS)))}`,
    record.finishInferred ? ',"finish_inferred":true' : "",
    text("provider_model", record.providerModel),
    text("provider_request_id", record.providerRequestId),
    `,"params":${JSON.stringify(boundedDispositions(record.dispositions))}`,
    messages === null
      ? ""
      : `,"messages":{"count":${messages.count},"roles":${JSON.stringify(messages.roles)},"blocks":${JSON.stringify(messages.blocks)},"body_characters":${messages.bodyCharacters}}`,
    `,"attempts":[${record.attempts.map(attemptJson).join(",")}]`,
    record.tools.length === 0 && record.rounds === 1 ? "" : toolsJson(record),
    record.limits.length === 0 ? "" : `,"limits":[${record.limits.map(limitJson).join(",")}]`,
    record.policies.length === 0 ? "" : `,"policies":[${record.policies.map(policyJson).join(",")}]`,
    record.warnings.length === 0 ? "" : `,"warnings":${JSON.stringify(record.warnings)}`,
    record.cancelled ? ',"cancelled":true' : "",
    record.metadata === null ? "" : `,"metadata":${JSON.stringify(record.metadata)}`,
    text("client_request_id", record.clientRequestId),
    text("otel_trace_id", record.otelTraceId),
    `,"snapshot":${record.snapshotVersion}`,
    milliseconds("first_content_ms", record.firstContentMs),
    `,"total_ms":${Math.round(record.totalMs * 10) / 10},"own_ms":${Math.round(record.ownMs * 1000) / 1000},"msg":"call"}`,
  ].join("");
}

/** The line of a call as fields, to show a stored call. */
export function callFields(record: CallRecord): Readonly<Record<string, unknown>> {
  const {
    level: _level,
    msg: _msg,
    ...fields
  } = parseRecord<JsonObject & Partial<Pick<CallRecord, "metadata">>>(callLine(record));
  return fields;
}

function attemptJson(attempt: Attempt): string {
  const code = attempt.code === null ? "" : `,"code":"${attempt.code}"`;
  const { usage } = attempt;
  const used =
    usage === null
      ? ""
      : `,"prompt_tokens":${usage.prompt_tokens},"completion_tokens":${usage.completion_tokens}${attempt.usageSource === "estimated" ? ',"usage_source":"estimated"' : ""}`;
  return `{"provider":${JSON.stringify(attempt.provider)}${text("model", attempt.model)}${attempt.round > 1 ? `,"round":${attempt.round}` : ""}${number("status", attempt.status)}${code}${text("native_code", attempt.nativeCode)}${number("retry_after_ms", attempt.retryAfterMs)}${attempt.fromCache ? ',"from_cache":true' : ""}${used}${milliseconds("start_ms", attempt.startMs)}${milliseconds("head_ms", attempt.headMs)}${milliseconds("first_content_ms", attempt.firstContentMs)}${milliseconds("total_ms", attempt.totalMs)}}`;
}

function toolsJson({ rounds, tools }: CallRecord): string {
  const shown = tools.slice(0, MAX_TOOL_RUNS).map(toolJson).join(",");
  return `,"rounds":${rounds},"tools":[${shown}]${tools.length > MAX_TOOL_RUNS ? `,"tools_left_out":${tools.length - MAX_TOOL_RUNS}` : ""}`;
}

function toolJson({ server, tool, round, code, isError, resultBytes, startMs, totalMs }: ToolRun): string {
  return `{"server":${JSON.stringify(cut(server, MAX_TOOL_WORDS))}${text("tool", tool, MAX_TOOL_WORDS)},"round":${round}${code === null ? "" : `,"code":"${code}"`}${isError ? ',"is_error":true' : ""}${number("result_bytes", resultBytes)}${milliseconds("start_ms", startMs)}${milliseconds("total_ms", totalMs)}}`;
}

function costJson({ nanoUsd, priceId }: CallCost): string {
  return `,"cost_nano_usd":${nanoUsd}${text("price_id", priceId)}`;
}

function cacheJson({ outcome, bypass, key, scope, ageMs, savedNanoUsd }: CachedCall): string {
  return `{"outcome":"${outcome}"${text("bypass", bypass)}${text("key", key)}${text("scope", scope)}${milliseconds("age_ms", ageMs)}${number("saved_nano_usd", savedNanoUsd)}}`;
}

function limitJson({ id, value, unit, before, reserved, settled, after, wouldRefuse, refused }: LimitOutcome): string {
  return `{"id":${JSON.stringify(id)}${value === "" ? "" : text("value", value)},"unit":"${unit}","before":${before},"reserved":${reserved}${number("settled", settled)},"after":${after}${wouldRefuse ? ',"would_refuse":true' : ""}${refused === undefined ? "" : `,"refused":"${refused}"`}}`;
}

function policyJson({ name, effect, why }: PolicyOutcome): string {
  return `{"name":${JSON.stringify(name)},"effect":"${effect}"${text("why", why ?? null)}}`;
}

function text(name: string, value: string | null, max = MAX_TEXT_CHARACTERS): string {
  return value === null ? "" : `,"${name}":${JSON.stringify(cut(value, max))}`;
}
function cut(value: string, max: number): string {
  return value.length <= max ? value : `${value.slice(0, max)}… (${value.length} characters)`;
}
/** A provider's figure may be of any type; a value that is not a number is left out. */
function number(name: string, value: unknown): string {
  return typeof value === "number" && Number.isFinite(value) ? `,"${name}":${value}` : "";
}
/** Callers choose the names and how many there are. */
function boundedDispositions(
  dispositions: CallRecord["dispositions"],
): CallRecord["dispositions"] | Readonly<Record<string, string>> {
  let names = 0;
  let longest = 0;
  for (const name in dispositions) {
    names += 1;
    if (name.length > longest) longest = name.length;
  }
  if (names <= MAX_PARAMS && longest <= MAX_TEXT_CHARACTERS) return dispositions;
  const shown = Object.entries(dispositions).slice(0, MAX_PARAMS);
  return {
    ...Object.fromEntries(shown.map(([name, disposition]) => [cut(name, MAX_TEXT_CHARACTERS), disposition])),
    ...(names > MAX_PARAMS && { "…": `${names - MAX_PARAMS} more` }),
  };
}
function milliseconds(name: string, ms: number | null): string {
  return ms === null ? "" : `,"${name}":${Math.round(ms * 10) / 10}`;
}

/** Many calls end in the same second. */
const MAX_SECONDS = 16;
const secondText = memoizeBounded(MAX_SECONDS, (second: number) => new Date(second * 1000).toISOString().slice(0, 20));

function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  return `${secondText(second)}${String(ms - second * 1000).padStart(3, "0")}Z`;
}
