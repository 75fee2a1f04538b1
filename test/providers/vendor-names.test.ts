// OpenTelemetry's names of providers: each name of its list stands for one vendor, and the gateway's own names beside it belong to no other.
// https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/
import { expect, test } from "bun:test";
import { providers } from "../../src/providers/registry.ts";

const LISTED: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["anthropic"],
  "aws.bedrock": ["bedrock", "bedrock-mantle"],
  "azure.ai.inference": ["azure_ai"],
  "azure.ai.openai": ["azure"],
  cohere: ["cohere"],
  deepseek: ["deepseek", "deepseek-generate"],
  "gcp.gemini": ["gemini"],
  "gcp.vertex_ai": ["vertex"],
  groq: ["groq"],
  "ibm.watsonx.ai": ["watsonx"],
  mistral_ai: ["mistral"],
  moonshot_ai: ["moonshot"],
  openai: ["openai", "openai-generate"],
  perplexity: ["perplexity"],
  x_ai: ["xai"],
};

test("[d11.4] every vendor of OpenTelemetry's list has its name there, whatever its family is called", () => {
  const named = [...providers.values()].map(({ id, vendor }) => [vendor ?? id, id] as const);
  for (const [name, families] of Object.entries(LISTED))
    expect([
      name,
      named
        .filter(([vendor]) => vendor === name)
        .map(([, id]) => id)
        .toSorted(),
    ]).toEqual([name, [...families].toSorted()]);
});

test("a provider has no vendor name except from that list", () => {
  for (const { id, vendor } of providers.values())
    if (vendor !== undefined) expect([id, Object.hasOwn(LISTED, vendor)]).toEqual([id, true]);
});
