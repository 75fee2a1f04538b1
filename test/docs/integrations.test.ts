// Each integration has a page of its own, whose configurations load, and to which the index, README and operations
// link.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configurationJsonSchema } from "../../docs/generators/configuration.ts";
import { NOUNS } from "../../src/cli/admin/nouns.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { runCli } from "../harness/processes/gateway-process.ts";
import { allPages, fencesOf, linksOf, projectFolder, readPage } from "./pages.ts";

type Node = { readonly [key: string]: unknown } | readonly unknown[];
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

/** The words that `type` takes in the mapping `integrations` of a file, by its JSON Schema. */
function integrationTypes(document: unknown): readonly string[] {
  const root = document as {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly $defs?: Readonly<Record<string, unknown>>;
  };
  const words = new Set<string>();
  const collect = (node: unknown): void => {
    if (!isNode(node)) return;
    const { $ref, properties, ...rest } = node as Readonly<Record<string, unknown>>;
    if (typeof $ref === "string") collect(root.$defs?.[$ref.replace("#/$defs/", "")]);
    const type = isNode(properties) ? (properties as Readonly<Record<string, unknown>>)["type"] : undefined;
    // one level of settings: what stands deeper has types of its own
    if (type !== undefined) typeWords(type).forEach((word) => words.add(word));
    else Object.values(rest).forEach(collect);
  };
  collect(root.properties?.["integrations"]);
  return [...words].toSorted();
}

function typeWords(type: unknown): readonly string[] {
  if (!isNode(type)) return [];
  const {
    const: one,
    enum: several = [],
    ...rest
  } = type as { readonly const?: unknown; readonly enum?: readonly unknown[] };
  return [one, ...several].filter((word) => typeof word === "string").concat(Object.values(rest).flatMap(typeWords));
}

const types = integrationTypes(JSON.parse(configurationJsonSchema(PROVIDER_FAMILIES)));
const pageOf = (name: string): string => `docs/integrations/${name.replaceAll("_", "-")}.md`;
const indexed = ["docs/integrations/README.md", "README.md", "docs/operations.md"] as const;
const written = allPages().filter(({ path }) => path.startsWith("docs/integrations/") && path !== indexed[0]);

/** Made-up values of the variables that a text names: addresses, secrets of webhooks, else any word. */
function variablesOf(text: string): Readonly<Record<string, string>> {
  const names = [...text.matchAll(/(?<!\$)\$\{(?!file:)([A-Z_a-z]\w*)/g)].map(([, name]) => name!);
  const valueOf = (name: string): string =>
    /URL|ENDPOINT|ADDRESS/.test(name)
      ? "https://receiver.example.com/in"
      : /WEBHOOK.*SECRET|SIGNING/.test(name)
        ? `whsec_${btoa("a secret of thirty-two characters")}`
        : "made-up-0123456789";
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

/** Throws ConfigurationError. */
function load(text: string, path: string): void {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-page-"));
  try {
    writeFileSync(join(folder, "secret"), "made-up-0123456789", { mode: 0o600 });
    const known = text.replaceAll(/\$\{file:[^}]*\}/g, `\${file:${join(folder, "secret")}}`);
    parseConfiguration({
      file: path,
      text: known,
      families: PROVIDER_FAMILIES,
      environment: readEnvironment(variablesOf(known)),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Pages beside those of the mapping `integrations`, each with what shows that its part is there. */
async function furtherPages(): Promise<readonly string[]> {
  const { stdout } = await runCli(["--help"]);
  const isCommand = (name: string): boolean => new RegExp(`^ {2}${name}\\b`, "m").test(stdout);
  const isNoun = (name: string): boolean => NOUNS.some(({ word }) => word === name);
  return [
    "prometheus",
    ...(isNoun("webhook") ? ["webhooks"] : []),
    ...(isCommand("logs") ? ["content-log"] : []),
    ...(isCommand("tools") ? ["tools"] : []),
  ];
}

test("each integration has its page", async () => {
  const names = [...types, ...(await furtherPages())];
  expect(names.map(pageOf).filter((path) => !existsSync(join(projectFolder, path)))).toEqual([]);
});

test.each(types)("the page of type %s shows its configuration", (type) => {
  const shown = fencesOf(readPage(pageOf(type)))
    .filter(({ info }) => info === "yaml")
    .map(
      ({ text }) =>
        Bun.YAML.parse(text) as { readonly integrations?: Readonly<Record<string, { readonly type?: string }>> } | null,
    );
  expect(shown.some((file) => Object.values(file?.integrations ?? {}).some((settings) => settings.type === type))).toBe(
    true,
  );
});

describe.each(written.map(({ path }) => path))("%s", (path) => {
  const fences = fencesOf(readPage(path)).filter(({ info }) => /^ya?ml\b/.test(info));
  test("shows a configuration, and all that it shows can be read", () => {
    const ours = fences.filter(({ info }) => info === "yaml");
    expect(ours.length).toBeGreaterThan(0);
    for (const { text } of ours) load(text, path);
    for (const { text } of fences) expect(Bun.YAML.parse(text)).toBeObject();
  });
  test("index, README and operations link to it", () => {
    const ends = path.split("/").slice(1);
    const links = indexed.map((index) =>
      linksOf(readPage(index)).some((link) => link.endsWith(index === indexed[0] ? ends[1]! : ends.join("/"))),
    );
    expect(links).toEqual([true, true, true]);
  });
});

describe("this test", () => {
  test("finds the types of a mapping in each form that a schema has", () => {
    const settings = (type: unknown) => ({
      type: "object",
      properties: { type, auth: { properties: { type: { const: "not_this" } } } },
    });
    const document = (each: unknown) => ({
      properties: { integrations: { type: "object", additionalProperties: each } },
      $defs: { one: settings({ const: "otlp" }) },
    });
    expect(
      integrationTypes(
        document({
          oneOf: [
            { $ref: "#/$defs/one" },
            settings({ anyOf: [{ enum: ["json_lines"] }, { type: "string", pattern: "x" }] }),
          ],
        }),
      ),
    ).toEqual(["json_lines", "otlp"]);
    expect(integrationTypes(document({ anyOf: [settings({ type: "string", const: "a" })] }))).toEqual(["a"]);
    expect(integrationTypes({ properties: {} })).toEqual([]);
  });
  test("detects a mistake in a configuration, and gives variables their values", () => {
    expect(() => load("ops: {opened: true}", "a.md")).toThrow("opened");
    expect(variablesOf("a: ${KEY} ${ITS_URL} $${NONE} ${MY_WEBHOOK_SECRET:-x} ${file:/a}")).toEqual({
      KEY: "made-up-0123456789",
      ITS_URL: "https://receiver.example.com/in",
      MY_WEBHOOK_SECRET: expect.stringMatching(/^whsec_/),
    });
  });
});
