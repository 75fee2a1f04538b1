// docs/limits.md and docs/api.md on refusals: the configuration loads, every scope and value of the page is accepted,
// and the tables agree with the code.
import { expect, test } from "bun:test";
import { budgetSchema, limitSchema } from "../../src/admission/settings.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { CATALOGUE } from "../../src/core/errors.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { codeWords, fencesOf, readPage, tableBelow } from "./pages.ts";

const page = readPage("docs/limits.md");
const api = readPage("docs/api.md");

test("the pieces of configuration load, and have limits and budgets", () => {
  const pieces = fencesOf(page).filter(({ info }) => info === "yaml");
  expect(pieces.map(({ text }) => text.split(":", 1)[0])).toEqual(["limits", "limit_store"]);
  const { limits, projects } = parseConfiguration({
    file: "docs/limits.md",
    text: pieces[0]!.text,
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
  });
  expect([
    Object.keys(limits),
    [...projects.values()].map((project) => [Object.keys(project.limits), Object.keys(project.budgets)]),
  ]).toEqual([["calls"], [[["per_user", "at_once"], ["monthly"]]]]);
});

test("every scope of the table is accepted, and no key of a scope is missing", () => {
  const scopes = tableBelow(page, "## What is counted, and for whom").flatMap(([scope]) => codeWords(scope!));
  const read = scopes.map(
    (text) => limitSchema.parse({ metric: "requests", window: "minute", limit: 1, scope: Bun.YAML.parse(text) }).scope,
  );
  expect([...new Set(read.flatMap((scope) => Object.keys(scope)))].toSorted()).toEqual([
    "model",
    "operation",
    "provider",
    "route",
    "token",
    "user",
  ]);
});

test("terms of the page are terms of the schema", () => {
  const assumed = limitSchema.parse({ metric: "requests", window: "minute", limit: 1 });
  expect(Object.keys(assumed)).toEqual(expect.arrayContaining(["mode", "assume_output_tokens", "scope"]));
  for (const word of ["assume_output_tokens", "unpriced: allow", "mode: audit", "degrade_to", "thresholds: [80, 100]"])
    expect(page.text).toContain(word);
  expect(
    budgetSchema.safeParse({
      usd: "1",
      window: "month",
      unpriced: "allow",
      mode: "audit",
      thresholds: [80, { percent: 100, degrade_to: "mine:small" }, { percent: 95, degrade_to: "route:cheap" }],
    }).success,
  ).toBe(true);
});

test("the codes and types of refusals are those of the catalogue", () => {
  const told = tableBelow(api, "### 429: too many requests")
    .map(([, words]) => codeWords(words!))
    .filter((words) => words.length === 2);
  expect(told.length).toBe(3);
  for (const [code, type] of told)
    expect([
      code!,
      CATALOGUE[code as keyof typeof CATALOGUE].type,
      CATALOGUE[code as keyof typeof CATALOGUE].status,
    ]).toEqual([code!, type!, 429]);
});
