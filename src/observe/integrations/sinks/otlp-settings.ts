// Settings of an integration of type `otlp`: any OTLP receiver over HTTP.
// https://opentelemetry.io/docs/specs/otlp/#otlphttp
import { z } from "zod";
import { receiverAddress, receiverHeaders } from "../integration-fields.ts";
import { metricsInterval, type TraceBase, traceBase, traceFields } from "./trace-fields.ts";

export interface OtlpSettings extends TraceBase {
  readonly type: "otlp";
  /** Whether spans also have the attributes of OpenInference. */
  readonly openInference: boolean;
}

const attributeName = z.string().min(1).max(255);

export const otlpSettings = z
  .strictObject({
    type: z.literal("otlp"),
    endpoint: receiverAddress("Base address of the receiver, to which `/v1/traces` and `/v1/metrics` are added."),
    traces_endpoint: receiverAddress("The complete address for traces, if it is different.").optional(),
    metrics_endpoint: receiverAddress("The complete address for metrics, if it is different.").optional(),
    headers: receiverHeaders("Further headers of each request, such as an API key."),
    traces: z.boolean().default(true).meta({ title: "Traces", description: "Whether traces are sent." }),
    metrics: z.boolean().default(true).meta({ title: "Metrics", description: "Whether metrics are sent." }),
    metrics_interval_s: metricsInterval,
    temporality: z.enum(["cumulative", "delta"]).default("cumulative").meta({
      title: "Temporality",
      description:
        "`cumulative` metrics count since the start, as Prometheus and similar systems expect. `delta` metrics count since the last export.",
    }),
    compression: z
      .enum(["gzip", "none"])
      .default("gzip")
      .meta({ title: "Compression", description: "Compression of requests." }),
    resource: z
      .record(attributeName, z.union([z.string().max(1024), z.number(), z.boolean()]))
      .default({})
      .meta({
        title: "Resource",
        description: "Further attributes of the gateway, such as `deployment.environment.name`.",
      }),
    open_inference: z.boolean().default(false).meta({
      title: "OpenInference",
      description: "Whether spans also get the attributes of OpenInference, for Phoenix and similar tools.",
    }),
    ...traceFields,
  })
  .refine((file) => file.traces || file.metrics, { message: "expected traces, metrics or both", path: ["traces"] })
  .transform((file): OtlpSettings => {
    const { headers } = file;
    const base = file.endpoint.replace(/\/+$/, "");
    return {
      ...traceBase(file),
      type: "otlp",
      openInference: file.open_inference,
      otlp: {
        traces: file.traces ? { url: file.traces_endpoint ?? `${base}/v1/traces`, headers } : null,
        metrics: file.metrics
          ? {
              url: file.metrics_endpoint ?? `${base}/v1/metrics`,
              headers,
              intervalMs: file.metrics_interval_s * 1000,
              temporality: file.temporality,
            }
          : null,
        resource: { "service.name": file.service_name, ...file.resource },
        gzip: file.compression === "gzip",
      },
    };
  });
