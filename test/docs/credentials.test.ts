// The examples of docs/credentials.md are valid configurations, and give the credentials that the page describes.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { providers } from "../../src/providers/registry.ts";
import type { ProviderFamily } from "../../src/providers/settings.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { compileProviders } from "../../src/snapshot/provider-table.ts";
import { CLOUDS } from "../config/families.ts";
import { fencesOf, readPage } from "./pages.ts";

/** Stands in for a provider that this version does not have. */
const standIn = (id: string, like: string): ProviderFamily => ({ ...CLOUDS.find((one) => one.id === like)!, id });
const named = [
  standIn("bedrock", "hills"),
  standIn("vertex", "valley"),
  standIn("azure", "coast"),
  { ...standIn("watsonx", "river"), settings: CLOUDS[0]!.settings },
];
const families: readonly ProviderFamily[] = [...providers.values(), ...named.filter(({ id }) => !providers.has(id))];
const examples = fencesOf(readPage("docs/credentials.md")).filter(({ info }) => info === "yaml");

/** By the heading, in the order of the page. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "A key": ["key"],
  "Several keys": ["key", "key"],
  AWS: ["aws_keys"],
  "Google Cloud": ["google_file"],
  "Microsoft Entra ID": ["entra_client"],
  "IBM Cloud": ["ibm_iam"],
};

test("every example can be used", () => {
  const folder = mkdtempSync(join(tmpdir(), "examples-"));
  writeFileSync(join(folder, "secret"), "secret");
  const environment = readEnvironment({
    OPENAI_KEY_A: "a",
    OPENAI_KEY_B: "b",
    BEDROCK_KEY_ID: "AKIA",
    WATSONX_APIKEY: "w",
  });
  const kinds = examples.map(({ text }) => {
    const { providers: section } = parseConfiguration({
      file: "docs/credentials.md",
      text: text.replaceAll(/\$\{file:[^}]*\}/g, `\${file:${join(folder, "secret")}}`),
      families,
      environment,
    });
    const table = compileProviders(section, families, environment);
    expect(table.notices).toEqual([]);
    return [...section.entries.keys()].flatMap((id) => table.providers.get(id)!.credentials.map(({ kind }) => kind));
  });
  rmSync(folder, { recursive: true });
  expect(kinds.map((list) => list.join())).toEqual(Object.values(EXPECTED).map((list) => list.join()));
});
