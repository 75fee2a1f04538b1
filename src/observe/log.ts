// Writes one JSON line for each call, and the gateway's own events through pino. Lines contain no text of prompts or
// answers and no secrets, because the record holds none.

// Decides (records and configuration): What is in a log line, in a row, in an answer of the admin API? By:
// `callLine`. Also: `store/calls/call-columns.ts` (`figuresOf`), `http/admin/calls/call-shapes.ts` (`shownCall`). Rule: To
// add to it: CONTRIBUTING.md#adding-a-figure-to-the-record-of-a-call.
import pino from "pino";
import type { LogLevel } from "../config/sections.ts";
import type { JsonObject } from "../core/json.ts";
import type { CachedCall } from "../core/configured/cache.ts";
import {
  type Attempt,
  type CallRecord,
  type CopiedCall,
  figureOf,
  isUnauthenticated,
  type LimitOutcome,
  type PlanStep,
  type PromptCacheMiss,
  type PolicyOutcome,
} from "../core/record/record.ts";
import { toldPlan, unlessEmpty } from "../core/record/record-text.ts";
import type { GuardServiceUse } from "../core/configured/outside-guard.ts";
import type { ToolRun } from "../core/configured/tool.ts";
import { memoizeBounded } from "../core/memoization.ts";
import { parseRecord } from "../wire/json/record-json.ts";
import { fileOutput, type LineOutput, openLineSink } from "./line-sink.ts";
import type { Observer } from "./observer.ts";

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
  /** Writes the collected lines; a process does this last. Resolves as `written` does. */
  close(): Promise<void>;
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
/** A call that ended more seconds before an earlier one says that the clock was set back. */
const MOST_BEHIND_S = 60;

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
  }, FLUSH_MS).unref();
  return {
    publish: publishes ? (record) => unauthenticated.mayLog(record) && sink.write(`${callLine(record)}\n`) : () => {},
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    lines: (whole) => sink.write(whole),
    written: () => sink.flush(),
    close() {
      clearInterval(timer);
      return sink.flush();
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
    // Calls come nearly in the order of their ends, unless the clock was set back.
    const second = Math.floor((record.startedAtMs + record.totalMs) / 1000);
    if (second > this.#second || second < this.#second - MOST_BEHIND_S) {
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
 * Every call passes through here: one object that is written natively takes a quarter of the time of a text that is put
 * together from the texts of its parts.
 */
export function callLine(record: CallRecord): string {
  return JSON.stringify(lineOf(record));
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

/** Members that are undefined are not written. */
function lineOf(record: CallRecord) {
  const { usage, messages, cost } = record;
  return {
    level: "info",
    time: isoTime(Math.round(record.startedAtMs + record.totalMs)),
    trace_id: record.traceId,
    status: record.status,
    code: record.code ?? undefined,
    error_detail: text(record.errorDetail, MAX_DETAIL),
    tenant: text(record.tenantId),
    project: text(record.projectId),
    user: text(record.userId),
    end_user: text(record.endUser),
    token: text(record.tokenId),
    operation: record.operation,
    model_asked: text(record.modelAsked),
    route: text(record.route),
    route_version: figureOf(record.routeVersion),
    provider: text(record.provider),
    model: text(record.model),
    stream: record.stream,
    explained: record.explained || undefined,
    mirror_of: record.mirrorOf ?? undefined,
    mirror: record.mirror === null ? undefined : mirrorFields(record.mirror),
    prompt_tokens: usage?.prompt_tokens,
    completion_tokens: usage?.completion_tokens,
    total_tokens: usage?.total_tokens,
    usage_source: usage === null ? undefined : (record.usageSource ?? undefined),
    cached_tokens: figureOf(usage?.prompt_tokens_details?.cached_tokens),
    reasoning_tokens: figureOf(usage?.completion_tokens_details?.reasoning_tokens),
    usage_unnamed: record.unnamedUsage ?? undefined,
    cost_nano_usd: cost?.nanoUsd,
    price_id: text(cost?.priceId ?? null),
    caller_cost_nano_usd: figureOf(record.callerCost?.nanoUsd),
    cache: record.cache === null ? undefined : cacheFields(record.cache),
    finish: unlessEmpty(record.finishReasons),
    native_finish: unlessEmpty(record.nativeFinishReasons.map((word) => cut(word, MAX_TEXT_CHARACTERS))),
    finish_inferred: record.finishInferred || undefined,
    provider_model: text(record.providerModel),
    provider_request_id: text(record.providerRequestId),
    params: boundedDispositions(record.dispositions),
    messages:
      messages === null
        ? undefined
        : {
            count: messages.count,
            roles: messages.roles,
            blocks: messages.blocks,
            body_characters: messages.bodyCharacters,
          },
    attempts: record.attempts.map(attemptFields),
    candidates: unlessEmpty(record.candidates.map((name) => cut(name, MAX_TEXT_CHARACTERS))),
    plan: unlessEmpty(toldPlan(record).map(planFields)),
    ...(record.tools.length > 0 || record.rounds > 1 ? toolsFields(record) : undefined),
    limits: unlessEmpty(record.limits.map(limitFields)),
    policies: unlessEmpty(record.policies.map(policyFields)),
    guard_services: unlessEmpty(record.guardServices.map(serviceFields)),
    warnings: unlessEmpty(record.warnings),
    cancelled: record.cancelled || undefined,
    metadata: record.metadata ?? undefined,
    client_request_id: text(record.clientRequestId),
    otel_trace_id: text(record.otelTraceId),
    snapshot: record.snapshotVersion,
    head_ms: milliseconds(record.headMs),
    keep_alives: record.keepAlives || undefined,
    first_content_ms: milliseconds(record.firstContentMs),
    total_ms: milliseconds(record.totalMs),
    own_ms: Math.round(record.ownMs * 1000) / 1000,
    msg: "call",
  };
}

function attemptFields(attempt: Attempt) {
  const { usage } = attempt;
  return {
    provider: attempt.provider,
    model: text(attempt.model),
    round: attempt.round > 1 ? attempt.round : undefined,
    status: figureOf(attempt.status),
    code: attempt.code ?? undefined,
    native_code: text(attempt.nativeCode),
    retry_after_ms: figureOf(attempt.retryAfterMs),
    from_cache: attempt.fromCache || undefined,
    prompt_cache_miss: attempt.promptCacheMiss === null ? undefined : missFields(attempt.promptCacheMiss),
    prompt_tokens: usage?.prompt_tokens,
    completion_tokens: usage?.completion_tokens,
    usage_source: usage !== null && attempt.usageSource === "estimated" ? "estimated" : undefined,
    start_ms: milliseconds(attempt.startMs),
    head_ms: milliseconds(attempt.headMs),
    first_content_ms: milliseconds(attempt.firstContentMs),
    total_ms: milliseconds(attempt.totalMs),
  };
}

function missFields(miss: PromptCacheMiss) {
  return {
    why: miss.why,
    at: miss.why === "prompt_changed" ? miss.at : undefined,
    earlier: miss.why === "other_target" ? cut(miss.earlier, MAX_TEXT_CHARACTERS) : undefined,
    ago_ms: miss.why === "too_old" ? Math.round(miss.agoMs) : undefined,
  };
}

function planFields({ target, why, atMs, waitMs, round, refused }: PlanStep) {
  return {
    target: cut(target, MAX_TEXT_CHARACTERS),
    why: cut(why, MAX_TEXT_CHARACTERS),
    at_ms: milliseconds(atMs),
    wait_ms: waitMs > 0 ? milliseconds(waitMs) : undefined,
    round: round > 1 ? round : undefined,
    refused: refused ?? undefined,
  };
}

function mirrorFields({ route, target, traceId, dropped }: CopiedCall) {
  return { route: text(route), target: text(target), trace_id: traceId ?? undefined, dropped: text(dropped) };
}

function toolsFields({ rounds, tools }: CallRecord) {
  return {
    rounds,
    tools: tools.slice(0, MAX_TOOL_RUNS).map(toolFields),
    tools_left_out: tools.length > MAX_TOOL_RUNS ? tools.length - MAX_TOOL_RUNS : undefined,
  };
}

function toolFields({ server, tool, round, code, isError, resultBytes, startMs, totalMs }: ToolRun) {
  return {
    server: cut(server, MAX_TOOL_WORDS),
    tool: text(tool, MAX_TOOL_WORDS),
    round,
    code: code ?? undefined,
    is_error: isError || undefined,
    result_bytes: figureOf(resultBytes),
    start_ms: milliseconds(startMs),
    total_ms: milliseconds(totalMs),
  };
}

function cacheFields({ outcome, bypass, key, scope, ageMs, savedNanoUsd }: CachedCall) {
  return {
    outcome,
    bypass: text(bypass),
    key: text(key),
    scope: text(scope),
    age_ms: milliseconds(ageMs),
    saved_nano_usd: figureOf(savedNanoUsd),
  };
}

function limitFields({ id, value, unit, before, reserved, settled, after, wouldRefuse, refused }: LimitOutcome) {
  return {
    id,
    value: value === "" ? undefined : text(value),
    unit,
    before,
    reserved,
    settled: figureOf(settled),
    after,
    would_refuse: wouldRefuse || undefined,
    refused,
  };
}

function serviceFields(use: GuardServiceUse) {
  return {
    policy: use.policy,
    type: use.type,
    place: use.place,
    requests: use.requests,
    characters: use.characters,
    waited_ms: milliseconds(use.waitedMs),
    slowest_ms: milliseconds(use.slowestMs),
    found: unlessEmpty(use.found),
    failures: use.failures || undefined,
    cost_nano_usd: use.costNanoUsd ?? undefined,
  };
}

function policyFields({ name, effect, why }: PolicyOutcome) {
  return { name, effect, why: text(why ?? null) };
}

function text(value: string | null, max = MAX_TEXT_CHARACTERS): string | undefined {
  return value === null ? undefined : cut(value, max);
}
function cut(value: string, max: number): string {
  return value.length <= max ? value : `${value.slice(0, max)}… (${value.length} characters)`;
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
function milliseconds(ms: number | null): number | undefined {
  return ms === null ? undefined : Math.round(ms * 10) / 10;
}

/** Many calls end in the same second. */
const MAX_SECONDS = 16;
const secondText = memoizeBounded(MAX_SECONDS, (second: number) => new Date(second * 1000).toISOString().slice(0, 20));

function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  return `${secondText(second)}${String(ms - second * 1000).padStart(3, "0")}Z`;
}
