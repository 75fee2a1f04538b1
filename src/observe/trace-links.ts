// Where people look at the trace of a call: the pages of the integrations that have received it.
import type { CallRecord } from "../core/record/record.ts";
import { compileScope } from "./integrations/handover.ts";
import type { Integration } from "./integrations/integration-settings.ts";
import { TRACE_ID } from "./integrations/sinks/trace-fields.ts";
import { isSent } from "./tracing.ts";

export interface TraceLink {
  /** The name of the integration. */
  readonly name: string;
  readonly url: string;
}

export function traceLinks(record: CallRecord, integrations: readonly Integration[]): readonly TraceLink[] {
  const { trace } = record;
  // explanations are in no trace
  if (trace === null || record.explained) return [];
  return integrations.flatMap(({ name, settings }) => {
    if (!("otlp" in settings) || !settings.enabled || settings.otlp.traces === null) return [];
    const { sampleRatio, pageUrl } = settings.trace;
    const isReceived = (compileScope(settings.scope)?.(record) ?? true) && isSent(trace, sampleRatio);
    return pageUrl === null || !isReceived ? [] : [{ name, url: pageUrl.replaceAll(TRACE_ID, trace.traceId) }];
  });
}
