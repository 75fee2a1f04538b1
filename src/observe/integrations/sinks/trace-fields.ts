// The fields that all integrations with traces share in the file, in addition to those of every integration: which
// traces are sampled, under which service name they are exported, and whether trace context is sent to providers.
import { z } from "zod";
import { type IntegrationBase, integrationBase, integrationFields } from "../integration-fields.ts";
import type { Attributes } from "../otlp/attributes.ts";
import type { Temporality } from "../otlp/metric.ts";

/** What an OTLP export needs, whatever the receiver is. */
export interface OtlpTarget {
  /** `null` when the integration gets no traces. */
  readonly traces: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly metrics: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly intervalMs: number;
    readonly temporality: Temporality;
  } | null;
  readonly resource: Attributes;
  readonly gzip: boolean;
}

export interface TraceBase extends IntegrationBase {
  readonly otlp: OtlpTarget;
  readonly trace: {
    /** The fraction of traces that begin in this gateway, 0 to 1. */
    readonly sampleRatio: number;
    readonly propagate: boolean;
    /** Where people look at a trace, with `{trace_id}` for its id; `null` when that is not configured. */
    readonly pageUrl: string | null;
  };
}

const { sample: _sample, ...shared } = integrationFields;
const NAME = /^[\x20-\x7e]{1,255}$/;

export const TRACE_ID = "{trace_id}";

function isTracePage(text: string): boolean {
  const example = text.replaceAll(TRACE_ID, "0");
  return text.includes(TRACE_ID) && URL.canParse(example) && /^https?:$/.test(new URL(example).protocol);
}

export const traceFields = {
  ...shared,
  sample: z.number().min(0).max(1).default(1).meta({
    title: "Sample",
    description:
      "The share of traces to send, from 0 to 1, the same ones on all replicas. For traces that a caller started, the flag of its `traceparent` decides.",
  }),
  propagate: z.boolean().default(true).meta({
    title: "Propagate",
    description:
      "Whether trace and span ids are sent to providers and tool servers (`traceparent` and the caller's `tracestate`), so that their spans become children of the gateway's.",
  }),
  trace_url: z
    .string()
    .max(2048)
    .refine(
      isTracePage,
      'expected an address with {trace_id} in it, such as "https://jaeger.example.com/trace/{trace_id}"',
    )
    .optional()
    .meta({
      title: "Page of a trace",
      description:
        "Where people look at a trace: an address with `{trace_id}` in the place of its id. The console links to it from the page of a call.",
    }),
  service_name: z
    .string()
    .regex(NAME, "expected 1 to 255 characters of ASCII")
    .default("dragoman")
    .meta({ title: "Service", description: "The service name of the gateway's spans: `service.name`." }),
} as const;

export const metricsInterval = z
  .number()
  .min(1)
  .max(3600)
  .default(60)
  .meta({ title: "Seconds", description: "How often metrics are sent." });

const fields = z.object(traceFields);

export function traceBase(file: z.output<typeof fields>): Omit<TraceBase, "otlp"> {
  // Only traces are sampled; metrics count all calls.
  return {
    ...integrationBase({ ...file, sample: 1 }),
    trace: { sampleRatio: file.sample, propagate: file.propagate, pageUrl: file.trace_url ?? null },
  };
}
