// Opens the sink of an integration. Its code is loaded only when it is configured, in the thread of the sinks.
import type { SinkSettings } from "./integration-settings.ts";
import type { Sink } from "./sink.ts";

type Openers = {
  readonly [Type in SinkSettings["type"]]: (settings: Extract<SinkSettings, { readonly type: Type }>) => Promise<Sink>;
};

const OPENERS: Openers = {
  json_lines: async (settings) => (await import("./sinks/json-lines-sink.ts")).openJsonLinesSink(settings),
  webhook: async (settings) => (await import("./sinks/records-webhook-sink.ts")).openRecordsWebhookSink(settings),
  otlp: async (settings) => (await import("./sinks/otlp-sink.ts")).openOtlpSink(settings),
  langfuse: async (settings) => (await import("./sinks/langfuse-sink.ts")).openLangfuseSink(settings),
  datadog: async (settings) => (await import("./sinks/datadog-sink.ts")).openDatadogSink(settings),
};

export function openSink(settings: SinkSettings): Promise<Sink> {
  return (OPENERS[settings.type] as (settings: SinkSettings) => Promise<Sink>)(settings);
}
