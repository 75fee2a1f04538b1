// The spans of a record: one for the whole call, and below it one for each attempt and for each tool. Names are those
// of OpenTelemetry's conventions for generative AI and MCP (https://opentelemetry.io/docs/specs/semconv/gen-ai/), the
// gateway's own begin with `dragoman.`, and the client's metadata has a prefix of its own.
import type { Usage } from "../../../core/chat.ts";
import { type Attempt, type CallRecord, figureOf, usedBy, type UsageSource } from "../../../core/record/record.ts";
import type { ToolRun } from "../../../core/configured/tool.ts";
import type { TraceContext } from "../../../core/record/trace.ts";
import { type Attributes, cut, type Double, prefixed } from "./attributes.ts";
import { conventionalOperation } from "./operation-names.ts";
import type { Span } from "./span.ts";

export type SpanPart =
  | { readonly of: "call" }
  | { readonly of: "attempt"; readonly attempt: Attempt; readonly isAnswer: boolean }
  | { readonly of: "tool"; readonly run: ToolRun };

/** A span and the part of the call that it describes. */
export interface RecordSpan {
  readonly part: SpanPart;
  readonly span: Span;
}

/** Codes of attempts and tools that the gateway or the client ended: they are not failures of the provider or tool. */
const ENDED_HERE: ReadonlySet<string | null> = new Set(["superseded", "client_closed"]);
const CALL: SpanPart = { of: "call" };

/** The spans of a traced call, without the attributes for which receivers have names of their own. */
export function recordSpans(record: CallRecord, trace: TraceContext): readonly RecordSpan[] {
  const answer = answeringAttempt(record);
  const spans: RecordSpan[] = [{ part: CALL, span: callSpan(record, trace) }];
  for (const [index, attempt] of record.attempts.entries()) {
    if (attempt.spanId === null) continue;
    const isAnswer = attempt === answer;
    spans.push({
      part: { of: "attempt", attempt, isAnswer },
      span: {
        ...childSpan(record, trace, attempt, attempt.spanId),
        name: `${conventionalOperation(record.operation).name} ${cut(attempt.model)}`,
        attributes: attemptAttributes(record, attempt, index, isAnswer),
        error: attemptFailure(attempt),
      },
    });
  }
  for (const run of record.tools) {
    if (run.spanId === null) continue;
    spans.push({
      part: { of: "tool", run },
      span: {
        ...childSpan(record, trace, run, run.spanId),
        name: `execute_tool ${cut(run.tool)}`,
        attributes: toolAttributes(run),
        error: toolFailure(run),
      },
    });
  }
  return spans;
}

/** The attempt whose answer the client got; null when there is none. */
function answeringAttempt({ attempts, code }: CallRecord): Attempt | null {
  return code === null ? (attempts.findLast((attempt) => attempt.code === null) ?? null) : null;
}

function callSpan(record: CallRecord, trace: TraceContext): Span {
  const { startedAtMs, totalMs, status, code } = record;
  const operation = conventionalOperation(record.operation);
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentSpanId: trace.parentSpanId,
    hasRemoteParent: trace.parentSpanId !== null,
    traceState: trace.state,
    // The name contains no model name that a caller made up.
    name: record.model === null || code !== null ? operation.name : `${operation.name} ${cut(record.model)}`,
    kind: "server",
    startMs: startedAtMs,
    endMs: startedAtMs + totalMs,
    attributes: callAttributes(record),
    // A fault of the caller is not an error of this service.
    error: status >= 500 ? (code ?? String(status)) : null,
  };
}

function callAttributes(record: CallRecord): Attributes {
  const { code, usage, cost } = record;
  return {
    "gen_ai.provider.name": vendorOf(record),
    "gen_ai.request.model": cut(record.modelAsked),
    "gen_ai.request.stream": record.stream || undefined,
    "gen_ai.response.model": code === null ? cut(record.model) : undefined,
    "gen_ai.response.finish_reasons": finishReasons(record),
    "gen_ai.response.time_to_first_chunk": record.stream ? seconds(record.firstContentMs) : undefined,
    "error.type": code ?? undefined,
    "http.request.method": "POST",
    "http.route": conventionalOperation(record.operation).route,
    "http.response.status_code": sentStatus(record),
    "dragoman.trace_id": record.traceId,
    "dragoman.operation": record.operation,
    "dragoman.tenant": record.tenantId ?? undefined,
    "dragoman.project": record.projectId ?? undefined,
    "dragoman.user": record.userId ?? undefined,
    "dragoman.end_user": record.endUser ?? undefined,
    "dragoman.token": record.tokenId ?? undefined,
    "dragoman.provider": record.provider ?? undefined,
    "dragoman.route": record.route ?? undefined,
    "dragoman.client_request_id": record.clientRequestId ?? undefined,
    "dragoman.snapshot": record.snapshotVersion,
    "dragoman.attempts": record.attempts.length,
    "dragoman.cache": record.cache?.outcome,
    "dragoman.rounds": record.rounds > 1 ? record.rounds : undefined,
    // The tokens of the answer that the client got. Under OpenTelemetry's own names it would be counted in addition to the attempts.
    "dragoman.usage.prompt_tokens": usage?.prompt_tokens,
    "dragoman.usage.completion_tokens": usage?.completion_tokens,
    "dragoman.usage.total_tokens": usage?.total_tokens,
    "dragoman.usage.source": record.usageSource ?? undefined,
    "dragoman.cost.nano_usd": cost?.nanoUsd,
    "dragoman.cost.price_id": cost?.priceId,
    "dragoman.own_ms": double(record.ownMs),
    "dragoman.cancelled": record.cancelled || undefined,
    "dragoman.warnings": record.warnings.length === 0 ? undefined : record.warnings,
    "dragoman.policies":
      record.policies.length === 0 ? undefined : record.policies.map(({ name, effect }) => `${name} ${effect}`),
    "dragoman.limits.refused": refusedLimits(record),
    ...prefixed("dragoman.metadata.", record.metadata),
  };
}

/**
 * The status that the client got. A stream that failed, or was cancelled by the client, after its head or its first
 * content had already sent 200.
 */
export function sentStatus({
  stream,
  status,
  headMs,
  firstContentMs,
}: Pick<CallRecord, "stream" | "status" | "headMs" | "firstContentMs">): number {
  return stream && (headMs ?? firstContentMs) !== null ? 200 : status;
}

/** The vendor that answered, or that was attempted last; undefined for a call without an attempt. */
export function vendorOf({ provider, attempts }: Pick<CallRecord, "provider" | "attempts">): string | undefined {
  const attempt = attempts.findLast((each) => each.provider === provider);
  return attempt === undefined ? undefined : (attempt.vendor ?? attempt.provider);
}

function refusedLimits({ limits }: CallRecord): readonly string[] | undefined {
  const refused = limits.filter((outcome) => outcome.refused !== undefined).map(({ id }) => id);
  return refused.length === 0 ? undefined : refused;
}

/** The code of an attempt that failed; `null` for one that succeeded or was ended here. */
export function attemptFailure({ code }: Attempt): string | null {
  return ENDED_HERE.has(code) ? null : code;
}

/** The span of an attempt or tool run. It ends with the call if it was still in flight then. */
function childSpan(
  { startedAtMs, totalMs }: CallRecord,
  { traceId, spanId, state }: TraceContext,
  part: Pick<Attempt, "startMs" | "totalMs">,
  id: string,
): Omit<Span, "name" | "attributes" | "error"> {
  return {
    traceId,
    spanId: id,
    parentSpanId: spanId,
    hasRemoteParent: false,
    traceState: state,
    kind: "client",
    startMs: startedAtMs + part.startMs,
    endMs: startedAtMs + (part.totalMs ?? totalMs),
  };
}

function attemptAttributes(record: CallRecord, attempt: Attempt, index: number, isAnswer: boolean): Attributes {
  const { code, firstContentMs } = attempt;
  return {
    "gen_ai.operation.name": conventionalOperation(record.operation).name,
    "gen_ai.provider.name": attempt.vendor ?? attempt.provider,
    "gen_ai.request.model": cut(attempt.model),
    "gen_ai.request.stream": record.stream || undefined,
    "gen_ai.response.model": code === null ? cut(attempt.model) : undefined,
    "gen_ai.response.finish_reasons": isAnswer ? finishReasons(record) : undefined,
    "gen_ai.response.time_to_first_chunk":
      record.stream && firstContentMs !== null ? seconds(firstContentMs - attempt.startMs) : undefined,
    // Receivers count and price these tokens, so an answer that the call does not pay for has none.
    ...usageAttributes(usedBy(attempt, record), attempt.usageSource),
    "http.response.status_code": attempt.status ?? undefined,
    "error.type": code ?? undefined,
    "dragoman.provider": attempt.provider,
    "dragoman.attempt.index": index,
    "dragoman.attempt.round": attempt.round,
    "dragoman.attempt.from_cache": attempt.fromCache || undefined,
    "dragoman.attempt.native_code": cut(attempt.nativeCode),
    "dragoman.attempt.retry_after_ms": attempt.retryAfterMs ?? undefined,
    "dragoman.attempt.head_ms": attempt.headMs === null ? undefined : double(attempt.headMs - attempt.startMs),
  };
}

function usageAttributes(usage: Usage | null, source: UsageSource | null): Attributes {
  if (usage === null) return {};
  const prompt = usage.prompt_tokens_details;
  return {
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens,
    "gen_ai.usage.cache_read.input_tokens": figureOf(prompt?.cached_tokens),
    "gen_ai.usage.cache_creation.input_tokens": figureOf(prompt?.cache_write_tokens),
    "gen_ai.usage.reasoning.output_tokens": figureOf(usage.completion_tokens_details?.reasoning_tokens),
    "dragoman.usage.source": source ?? undefined,
  };
}

/** Says how a tool run failed; `null` for one that succeeded or was ended here. */
export function toolFailure(run: ToolRun): string | null {
  return run.isError && !ENDED_HERE.has(run.code) ? toolErrorType(run)! : null;
}

/** A tool that reports its own failure has the convention's value for that. */
export function toolErrorType({ code, isError }: ToolRun): string | undefined {
  return code ?? (isError ? "tool_error" : undefined);
}

function toolAttributes(run: ToolRun): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": cut(run.tool),
    "gen_ai.tool.call.id": cut(run.callId),
    "gen_ai.tool.type": "extension",
    "mcp.method.name": "tools/call",
    "error.type": toolErrorType(run),
    "dragoman.tool.server": run.server,
    "dragoman.tool.round": run.round,
    "dragoman.tool.result_bytes": run.resultBytes ?? undefined,
  };
}

function finishReasons({ finishReasons: reasons }: CallRecord): readonly string[] | undefined {
  const given = reasons.filter((reason) => reason !== null);
  return given.length === 0 ? undefined : given;
}

function seconds(ms: number | null): Double | undefined {
  return ms === null ? undefined : double(ms / 1000);
}

/** Rounds to a millionth, because further digits are noise. */
function double(value: number): Double {
  return { double: Math.round(value * 1e6) / 1e6 };
}
