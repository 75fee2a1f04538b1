// Settings of an integration of type `datadog`: its OTLP intake, without an agent.
// https://docs.datadoghq.com/opentelemetry/setup/otlp_ingest/
import { z } from "zod";
import { receiverAddress } from "../integration-fields.ts";
import { metricsInterval, type TraceBase, traceBase, traceFields } from "./trace-fields.ts";

export interface DatadogSettings extends TraceBase {
  readonly type: "datadog";
}

export const datadogSettings = z
  .strictObject({
    type: z.literal("datadog"),
    site: z
      .string()
      .regex(/^[a-z0-9.-]{4,100}$/, 'expected a site such as "datadoghq.eu"')
      .default("datadoghq.com")
      .meta({ title: "Site", description: "The Datadog site of the account." }),
    endpoint: receiverAddress("Address to send to instead of `https://otlp.<site>`, such as a proxy.").optional(),
    api_key: z
      .string()
      .regex(/^[\x21-\x7e]{1,256}$/, "expected an API key")
      .meta({ title: "Key", description: "An API key of the account." }),
    source: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,100}$/, "expected letters, digits, -, _ and .")
      .default("llmobs")
      .meta({
        title: "Source",
        description: "Where traces are shown: `llmobs` in LLM Observability, `datadog` as ordinary traces only.",
      }),
    environment: z
      .string()
      .regex(/^[\x20-\x7e]{1,200}$/, "expected 1 to 200 characters of ASCII")
      .optional()
      .meta({ title: "Environment", description: "The environment of all data: `env`." }),
    metrics: z.boolean().default(true).meta({ title: "Metrics", description: "Whether metrics are sent." }),
    metrics_interval_s: metricsInterval,
    ...traceFields,
  })
  .transform((file): DatadogSettings => {
    const base = (file.endpoint ?? `https://otlp.${file.site}`).replace(/\/+$/, "");
    const headers = { "dd-api-key": file.api_key };
    return {
      ...traceBase(file),
      type: "datadog",
      otlp: {
        traces: { url: `${base}/v1/traces`, headers: { ...headers, "dd-otlp-source": file.source } },
        // Datadog accepts no other temporality.
        metrics: file.metrics
          ? { url: `${base}/v1/metrics`, headers, intervalMs: file.metrics_interval_s * 1000, temporality: "delta" }
          : null,
        resource: { "service.name": file.service_name, "deployment.environment.name": file.environment },
        gzip: true,
      },
    };
  });
