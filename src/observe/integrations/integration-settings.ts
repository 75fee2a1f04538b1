// The section `integrations` of the configuration: where the records of calls go besides the log and the database. The
// schema of each kind is defined beside its sink.
import { z } from "zod";
import { type CallbackSettings, callbackSettings } from "./sinks/callback-settings.ts";
import { type DatadogSettings, datadogSettings } from "./sinks/datadog-settings.ts";
import { type JsonLinesSettings, jsonLinesSettings } from "./sinks/json-lines-settings.ts";
import { MOST } from "../metrics/labels.ts";
import { type LangfuseSettings, langfuseSettings } from "./sinks/langfuse-settings.ts";
import { type OtlpSettings, otlpSettings } from "./sinks/otlp-settings.ts";
import { type RecordsWebhookSettings, recordsWebhookSettings } from "./sinks/records-webhook-settings.ts";

/** Settings of the integrations whose sinks share one thread. */
export type SinkSettings =
  | JsonLinesSettings
  | RecordsWebhookSettings
  | OtlpSettings
  | LangfuseSettings
  | DatadogSettings;
export type IntegrationSettings = SinkSettings | CallbackSettings;

export interface Integration<T extends IntegrationSettings = IntegrationSettings> {
  readonly name: string;
  readonly settings: T;
}

/** Each integration has a bit in the line that is handed over. */
const MAX_INTEGRATIONS = MOST.integration;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const entry = z.discriminatedUnion("type", [
  otlpSettings,
  jsonLinesSettings,
  recordsWebhookSettings,
  langfuseSettings,
  datadogSettings,
  callbackSettings,
]);

export const integrationsSection = z
  .record(z.string().regex(NAME, "expected a letter, then letters, digits, - and _"), entry)
  .refine((entries) => Object.keys(entries).length <= MAX_INTEGRATIONS, `at most ${MAX_INTEGRATIONS} integrations`)
  .transform((entries): readonly Integration[] =>
    Object.entries(entries).map(([name, settings]) => ({ name, settings })),
  )
  .prefault({})
  .meta({
    title: "Integrations",
    description:
      "Further destinations for the records of calls, by name: see [integrations](integrations/README.md). They never slow down or fail a call. A change needs a restart.",
  });
