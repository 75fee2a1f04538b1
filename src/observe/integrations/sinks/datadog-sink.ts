// Traces of calls for Datadog, over its OTLP intake. Datadog recognizes calls of language models by the names of
// OpenTelemetry's conventions. https://docs.datadoghq.com/llm_observability/instrumentation/otel_instrumentation/
import type { DatadogSettings } from "./datadog-settings.ts";
import { openTraceSink } from "./otlp-sink.ts";
import type { Dialect } from "../otlp/call-spans.ts";
import { spanContent } from "../otlp/span-content.ts";
import type { Sink } from "../sink.ts";

export function openDatadogSink(settings: DatadogSettings): Sink {
  return openTraceSink(settings, [spanContent, datadog]);
}

/**
 * Datadog decides by the operation name whether a span is a model call, a tool or a workflow. The span of the whole
 * call is a workflow, because it is not one more model call.
 */
export const datadog: Dialect = ({ record }, part) =>
  part.of === "call"
    ? { "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": record.route ?? undefined }
    : {};
