// The position of a call in a distributed trace, and the two headers that carry it between services.
// https://www.w3.org/TR/trace-context/
export interface TraceContext {
  /** 32 hex digits: the caller's trace id, or the call's own id where the trace begins here. */
  readonly traceId: string;
  /** The span of the whole call, 16 hex digits. */
  readonly spanId: string;
  /** The caller's span; `null` when the trace begins here. */
  readonly parentSpanId: string | null;
  readonly sampled: boolean;
  /** The caller's `tracestate`; `null` when there is none. */
  readonly state: string | null;
}

/** What a configured integration requests about the traces of calls. */
export interface Tracing {
  /** The share of the traces that begin here that are kept, 0 to 1. For other traces, the caller decides. */
  readonly sampleRatio: number;
  /** Whether the trace headers are sent to providers and tool servers. */
  readonly propagate: boolean;
}

/** The trace headers that are sent to a provider or a tool server; they contain only ids. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Later versions may have more fields behind the flags; this version may not. */
const TRACEPARENT = /^(?!ff)(?:00|([0-9a-f]{2}))-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const SAMPLED = 1;

/** Returns the content of `traceparent`; `null` when the header is absent or malformed, where a trace begins here. */
export function parseTraceparent(header: string | null) {
  const match = header === null ? null : TRACEPARENT.exec(header);
  if (match === null) return null;
  const [, laterVersion, traceId, spanId, flags, more] = match;
  if (laterVersion === undefined && more !== "") return null;
  return { traceId: traceId!, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & SAMPLED) === SAMPLED };
}

const MAX_STATE = 512;
const MAX_MEMBERS = 32;
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/**
 * Returns the list to pass on, without its last members where it is too long; `null` when the header is absent or one
 * of its members is malformed.
 */
export function parseTracestate(header: string | null): string | null {
  if (header === null) return null;
  const members = header
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length > MAX_MEMBERS || !members.every((member) => MEMBER.test(member))) return null;
  while (members.length > 0 && members.join(",").length > MAX_STATE) members.pop();
  return members.length === 0 ? null : members.join(",");
}

/**
 * 56 bits of the trace id are random, so that every service with the same ratio keeps the same traces.
 * https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
const RANDOM_DIGITS = 14;
const RANDOM_RANGE = 2 ** 56;

export function isKept(traceId: string, ratio: number): boolean {
  return ratio >= 1 || Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= (1 - ratio) * RANDOM_RANGE;
}

/** Continues the caller's trace, or begins one with the call's own id. */
export function beginTrace(
  headers: { readonly traceparent: string | null; readonly tracestate: string | null },
  own: { readonly traceId: string; readonly spanId: string },
  { sampleRatio }: Tracing,
): TraceContext {
  const caller = parseTraceparent(headers.traceparent);
  if (caller === null) return { ...own, parentSpanId: null, sampled: isKept(own.traceId, sampleRatio), state: null };
  return {
    traceId: caller.traceId,
    spanId: own.spanId,
    parentSpanId: caller.spanId,
    sampled: caller.sampled,
    state: parseTracestate(headers.tracestate),
  };
}

/** The headers of a request that is made within the span. */
export function traceHeaders({ traceId, sampled, state }: TraceContext, spanId: string): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}
