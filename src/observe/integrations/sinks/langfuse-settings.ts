// Settings of an integration of type `langfuse`: its OTLP intake.
// https://langfuse.com/integrations/native/opentelemetry
import { z } from "zod";
import { receiverAddress } from "../integration-fields.ts";
import { type TraceBase, traceBase, traceFields } from "./trace-fields.ts";

export interface LangfuseSettings extends TraceBase {
  readonly type: "langfuse";
  /** Names of the fields of the client's metadata that Langfuse stores in fields of its own. */
  readonly fields: { readonly session: string; readonly tags: string; readonly traceName: string };
}

const CLOUD = "https://cloud.langfuse.com";
/** With this version, spans appear at once and not minutes later. */
const INGESTION_VERSION = "4";
const key = (what: string) =>
  z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, "expected a key, without spaces and colons")
    .meta({ title: "Key", description: `The ${what} key of the project.` });
const field = (fallback: string, place: string) =>
  z
    .string()
    .min(1)
    .max(255)
    .default(fallback)
    .meta({ title: "Field", description: `The field of the client's \`metadata\` to use as ${place}.` });

export const langfuseSettings = z
  .strictObject({
    type: z.literal("langfuse"),
    url: receiverAddress("The Langfuse region, or the address of your own Langfuse.").default(CLOUD),
    public_key: key("public"),
    secret_key: key("secret"),
    environment: z
      .string()
      .regex(
        /^(?!langfuse)[a-z0-9_-]{1,40}$/,
        'expected lower-case letters, digits, - and _, at most 40, and no "langfuse" at the begin',
      )
      .optional()
      .meta({ title: "Environment", description: "The environment of the traces." }),
    session_field: field("session_id", "the session"),
    tags_field: field("tags", "its tags: a list of texts"),
    name_field: field("trace_name", "the name of the trace"),
    ...traceFields,
  })
  .transform((file): LangfuseSettings => ({
    ...traceBase(file),
    type: "langfuse",
    fields: { session: file.session_field, tags: file.tags_field, traceName: file.name_field },
    otlp: {
      traces: {
        url: `${file.url.replace(/\/+$/, "")}/api/public/otel/v1/traces`,
        headers: {
          authorization: `Basic ${btoa(`${file.public_key}:${file.secret_key}`)}`,
          "x-langfuse-ingestion-version": INGESTION_VERSION,
        },
      },
      metrics: null,
      resource: { "service.name": file.service_name, "langfuse.environment": file.environment },
      gzip: true,
    },
  }));
