// Traces of calls for Datadog, over its intake of OpenTelemetry's protocol. What it shows of language models it takes from the names of OpenTelemetry's conventions.
// https://docs.datadoghq.com/llm_observability/instrumentation/otel_instrumentation/
import type { Clock } from "../../core/clock.ts";
import type { DatadogSettings } from "./datadog-settings.ts";
import { openTraceSink } from "./otlp-sink.ts";
import type { Dialect } from "./otlp/call-spans.ts";
import { saidContent } from "./otlp/said-content.ts";
import type { Sink } from "./sink.ts";

export function openDatadogSink(settings: DatadogSettings, clock?: Pick<Clock, "now">): Sink {
  return openTraceSink(settings, [saidContent, datadog], clock);
}

/** By its operation a span is taken for a call of a model, a tool or a workflow: the call of the gateway is not one more call of a model. */
export const datadog: Dialect = ({ record }, part) =>
  part.of === "call"
    ? { "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": record.route ?? undefined }
    : {};
