// `npm run docs`: writes every generated page, the generated parts of others, and dragoman.schema.json. The tests compare them with what is checked in.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sizing } from "../bench/sizing/figures.ts";
import { sizingPage } from "../bench/sizing/page.ts";
import { PROVIDER_FAMILIES } from "../src/process/parts/provider-families.ts";
import { adminReference } from "./generators/admin.ts";
import { configurationJsonSchema, configurationPage } from "./generators/configuration.ts";
import { errorsPage } from "./generators/errors.ts";
import { hostedTools, priceFactors, searchUnitPrices } from "./generators/hosted-tools.ts";
import { integrationsList, integrationsTable } from "./generators/integrations.ts";
import { metricsPage } from "./generators/metrics.ts";
import { commonFieldsTable, gatewayFieldsTable } from "./generators/fields.ts";
import { providersPage } from "./generators/providers.ts";
import { clientDeviations } from "./generators/clients.ts";
import { embeddingProviders, rawPromptProviders, rerankProviders } from "./generators/tasks.ts";
import { whereDecidedPage } from "./generators/where-decided.ts";
import { withGeneratedPart } from "./generators/markdown.ts";

/** The texts as they should be, by path from the project's folder. */
export function generatedFiles(projectFolder: string): ReadonlyMap<string, string> {
  const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");
  const api = withGeneratedPart(
    withGeneratedPart(read("docs/api.md"), "fields of the gateway", gatewayFieldsTable()),
    "common parameters",
    commonFieldsTable(),
  );
  return new Map([
    ["docs/api.md", api],
    ["docs/admin-api.md", withGeneratedPart(read("docs/admin-api.md"), "operations", adminReference())],
    ["docs/clients/README.md", withGeneratedPart(read("docs/clients/README.md"), "deviations", clientDeviations())],
    ["docs/completions.md", withGeneratedPart(read("docs/completions.md"), "providers", rawPromptProviders())],
    ["docs/configuration.md", configurationPage(PROVIDER_FAMILIES, read("examples/dragoman.yaml"))],
    ["docs/embeddings.md", withGeneratedPart(read("docs/embeddings.md"), "providers", embeddingProviders())],
    ["docs/errors.md", errorsPage()],
    [
      "docs/integrations/README.md",
      withGeneratedPart(read("docs/integrations/README.md"), "integrations", integrationsTable(projectFolder)),
    ],
    [
      "docs/operations.md",
      withGeneratedPart(read("docs/operations.md"), "integrations", integrationsList(projectFolder, "integrations")),
    ],
    [
      "README.md",
      withGeneratedPart(read("README.md"), "integrations", integrationsList(projectFolder, "docs/integrations")),
    ],
    ["docs/metrics.md", metricsPage()],
    ["docs/native-operations.md", withGeneratedPart(read("docs/native-operations.md"), "hosted tools", hostedTools())],
    [
      "docs/prices.md",
      withGeneratedPart(
        withGeneratedPart(read("docs/prices.md"), "search units", searchUnitPrices()),
        "price factors",
        priceFactors(),
      ),
    ],
    ["docs/providers.md", providersPage(PROVIDER_FAMILIES)],
    ["docs/rerank.md", withGeneratedPart(read("docs/rerank.md"), "providers", rerankProviders())],
    ["docs/sizing.md", sizingPage(JSON.parse(read("bench/sizing/sizing.json")) as Sizing)],
    ["docs/where-decided.md", whereDecidedPage(projectFolder)],
    ["dragoman.schema.json", configurationJsonSchema(PROVIDER_FAMILIES)],
  ]);
}

if (import.meta.main) {
  const projectFolder = join(import.meta.dir, "..");
  for (const [path, text] of generatedFiles(projectFolder)) writeFileSync(join(projectFolder, path), text);
}
