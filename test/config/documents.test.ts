// Generated documents of the configuration: the committed schema and page are up to date, and the examples load.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { parse as parseYaml } from "yaml";
import { configurationJsonSchema, configurationPage } from "../../docs/generators/configuration.ts";
import { readEnvironment, VARIABLES } from "../../src/config/environment.ts";
import { providers } from "../../src/providers/registry.ts";
import { compileSnapshot } from "../../src/snapshot/compile.ts";
import { parseConfiguration, type Configuration } from "../../src/snapshot/configuration.ts";
import { storedKey } from "../harness/targets.ts";

const root = join(import.meta.dir, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const families = [...providers.values()];
const environment = readEnvironment({ OPENAI_API_KEY: "one", OPENAI_EU_API_KEY: "two", MODEL: "m" });
const load = (file: string, text: string): Configuration => parseConfiguration({ file, text, families, environment });
/** The traffic of a simulation is no configuration; the page that shows what it comes to is run by test/e2e/commands/documented-commands.test.ts. */
const examples = readdirSync(join(root, "examples")).filter(
  (name) => name.endsWith(".yaml") && name !== "simulation.yaml",
);

describe("generated texts", () => {
  test("dragoman.schema.json is up to date (npm run docs)", () => {
    expect(textOf("dragoman.schema.json")).toBe(configurationJsonSchema(families));
  });

  test("docs/configuration.md is up to date (npm run docs)", () => {
    expect(textOf("docs/configuration.md")).toBe(configurationPage(families, textOf("examples/dragoman.yaml")));
  });

  test("the page has a row with a meaning for every key, and every variable", () => {
    const page = textOf("docs/configuration.md");
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows)
      expect(
        row
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .at(-1)!
          .trim(),
      ).not.toBe("");
    for (const variable of [...Object.keys(VARIABLES), ...families.flatMap(({ keyVariables }) => keyVariables)])
      expect(page).toContain(`\`${variable}\``);
    expect(page).not.toContain("undefined");
  });

  test("every piece of configuration on the page loads", () => {
    const pieces = [...textOf("docs/configuration.md").matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, text]) => text!);
    expect(pieces.length).toBeGreaterThanOrEqual(2);
    for (const piece of pieces) expect(load("piece", piece).server.port).toBe(4100);
  });
});

describe("examples", () => {
  test("there are some", () => {
    expect(examples).toContain("dragoman.yaml");
  });

  test.each(examples)("%s loads, with and without its variables, and tells editors its schema", (name) => {
    const text = textOf(`examples/${name}`);
    expect(text).toStartWith("# yaml-language-server: $schema=../dragoman.schema.json\n");
    load(name, text);
    parseConfiguration({ file: name, text, families, environment: readEnvironment({}) });
  });

  test("dragoman.yaml means what its comments say", () => {
    const configuration = load("dragoman.yaml", textOf("examples/dragoman.yaml"));
    const identities = { tenants: [], projects: [], users: [], memberships: [], tokens: [] };
    const snapshot = compileSnapshot({ configuration, identities, families, environment, version: 1 });
    expect(snapshot.providers.get("openai")).toMatchObject({ enabled: true, credentials: [storedKey("one")] });
    expect(snapshot.providers.get("openai-eu")).toMatchObject({
      family: "openai",
      baseUrl: "https://eu.api.openai.com/v1",
      credentials: [storedKey("two")],
    });
    expect(snapshot.providers.get("local")).toMatchObject({
      family: "custom",
      credentials: [],
      models: [{ id: "qwen3-8b" }],
    });
    expect(snapshot.projectSettings.get("default")).toEqual({ dropParams: true, disableStopSequenceLimit: null });
  });
});

describe("the JSON Schema", () => {
  const validate = addFormats(
    new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false }),
  ).compile(JSON.parse(configurationJsonSchema(families)) as object);
  const accepts = (text: string): boolean => validate(parseYaml(text));

  test.each(examples)("accepts %s", (name) => {
    expect({ accepted: accepts(textOf(`examples/${name}`)), errors: validate.errors ?? [] }).toEqual({
      accepted: true,
      errors: [],
    });
  });

  test.each([
    "server:\nproviders:\n  sandbox:\n",
    'server: {port: "${PORT}"}\nops: {open: "${O:-true}"}\nlog: {level: "${L}"}',
    "providers: {mine: {type: custom, base_url: 'http://a/v1'}, other: {type: \"${T}\", base_url: x}}",
  ])("accepts %p", (text) => {
    expect(accepts(text)).toBe(true);
  });

  test.each([
    "sever: {}",
    "server: {port: 70000}",
    'server: {port: "80"}',
    "log: {level: loud}",
    "providers: {mine: {base_url: 'http://a/v1'}}",
    "providers: {mine: {type: nobody}}",
    "providers: {openai: {apikey: x}}",
    "providers: {Mine: {type: custom}}",
    "tenants: {a: {drop_params: true}}",
  ])("refuses %p, as the loader does", (text) => {
    expect(accepts(text)).toBe(false);
    expect(() => load("f", text)).toThrow();
  });
});
