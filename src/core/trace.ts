// Where a call stands in a distributed trace. https://www.w3.org/TR/trace-context/
export interface TraceContext {
  /** 32 hex digits: the caller's, or made here. */
  readonly traceId: string;
  /** The span of the whole call, 16 hex digits. */
  readonly spanId: string;
  /** The caller's span; null: the trace begins here. */
  readonly parentSpanId: string | null;
  readonly sampled: boolean;
  /** `tracestate` of the caller, as it came; null: none. */
  readonly state: string | null;
}
