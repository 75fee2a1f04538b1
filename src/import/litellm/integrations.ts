// Callbacks of LiteLLM that have a counterpart among the integrations. LiteLLM takes their addresses and keys from the
// environment. https://docs.litellm.ai/docs/proxy/logging
import type { EnvironmentTexts } from "../environment-texts.ts";
import { itemsOf, textOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping } from "../reference.ts";
import { always } from "../report.ts";

const LISTS = ["callbacks", "success_callback", "failure_callback"] as const;

/** A name without dots; with them, it is a function in Python. */
const NAME = /^[a-z_0-9-]+$/;

export function importIntegrations({ foreign, claims, draft, texts }: ImportContext): void {
  const litellm = foreign.root.members.get("litellm_settings")?.members;
  const named = LISTS.flatMap((list) => {
    const node = litellm?.get(list);
    return itemsOf(node).map((item) => ({ list, item, name: textOf(item) ?? "" }));
  });
  const onlyFailures = (name: string): boolean =>
    named.every((each) => each.name !== name || each.list === "failure_callback");
  for (const { name, item } of named) {
    if (name === "prometheus") {
      claims.taken(item, always("/metrics, which is always there"));
      continue;
    }
    const made = sinkOf(name, texts);
    if (made === null) {
      claims.without(item, whyWithout(name));
      continue;
    }
    draft.set("integrations", [made.id], { ...made.entry, ...(onlyFailures(name) && { only: "errors" }) });
    claims.changed(
      item,
      `integrations.${made.id}`,
      "no text of prompts and answers is sent unless the integration has content: true",
    );
  }
}

function whyWithout(name: string): string {
  if (name === "dynamic_rate_limiter" || name === "dynamic_rate_limiter_v3" || name.startsWith("parallel_request"))
    return "limits are configured under limits";
  if (NAME.test(name)) return "there is no such integration; docs/integrations has those that there are";
  return "it is a program in Python; a module in JavaScript can be an integration of the type callback";
}

interface Sink {
  readonly id: string;
  readonly entry: Mapping;
}

function sinkOf(name: string, texts: EnvironmentTexts): Sink | null {
  switch (name) {
    case "langfuse":
    case "langfuse_otel":
      return {
        id: "langfuse",
        entry: {
          type: "langfuse",
          url: texts.referenceTo("LANGFUSE_HOST", "https://cloud.langfuse.com"),
          public_key: texts.referenceTo("LANGFUSE_PUBLIC_KEY", "unset"),
          secret_key: texts.referenceTo("LANGFUSE_SECRET_KEY", "unset"),
        },
      };
    case "datadog":
    case "datadog_llm_observability":
      return {
        id: "datadog",
        entry: {
          type: "datadog",
          api_key: texts.referenceTo("DD_API_KEY", "unset"),
          site: texts.referenceTo("DD_SITE", "datadoghq.com"),
          source: name === "datadog" ? "datadog" : "llmobs",
        },
      };
    case "otel":
      return {
        id: "otel",
        entry: { type: "otlp", endpoint: texts.referenceTo("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318") },
      };
    case "arize_phoenix":
      return {
        id: "phoenix",
        entry: {
          type: "otlp",
          endpoint: texts.referenceTo("PHOENIX_COLLECTOR_HTTP_ENDPOINT", "http://localhost:6006"),
          open_inference: true,
          metrics: false,
        },
      };
    default:
      return null;
  }
}
