// The tracing that all integrations with traces need together.
import { isKept, type TraceContext, type Tracing } from "../core/record/trace.ts";
import type { Integration } from "./integrations/integration-settings.ts";

/**
 * Returns null when no integration wants traces. The highest sampling ratio applies, and each integration takes its own
 * part of those traces.
 */
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

/** Whether an integration with this ratio gets the trace. */
export function isSent({ traceId, parentSpanId, sampled }: TraceContext, sampleRatio: number): boolean {
  return sampled && (parentSpanId !== null || isKept(traceId, sampleRatio));
}
