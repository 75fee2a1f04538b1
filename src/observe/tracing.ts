// What the traces of calls are to be, by all integrations that want them.
import { isKept, type TraceContext, type Tracing } from "../core/trace.ts";
import type { Integration } from "./integrations/integration-settings.ts";

/** Null: none wants traces. Each takes its part of those that the greediest wants. */
export function tracingOf(integrations: readonly Pick<Integration, "settings">[]): Tracing | null {
  const traced = integrations.flatMap(({ settings }) =>
    "otlp" in settings && settings.enabled && settings.otlp.traces !== null ? [settings] : [],
  );
  if (traced.length === 0) return null;
  return {
    sampleRatio: Math.max(...traced.map(({ trace }) => trace.sampleRatio)),
    propagate: traced.some(({ trace }) => trace.propagate),
  };
}

/** Whether one of them is sent the trace. */
export function isSent({ traceId, parentSpanId, sampled }: TraceContext, sampleRatio: number): boolean {
  return sampled && (parentSpanId !== null || isKept(traceId, sampleRatio));
}
