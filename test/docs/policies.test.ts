// docs/policies.md: every piece of configuration on it loads, its sample has the expected result, and its tables are
// complete.
import { expect, test } from "bun:test";
import { NATIONAL_ID_NAMES } from "../../src/guards/detector-national-ids.ts";
import { DETECTOR_CLASSES } from "../../src/guards/detector-classes.ts";
import { compilePolicies } from "../../src/policies/compile-policies.ts";
import { policyTest } from "../../src/cli/policy-test.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { RULE_VARIABLES } from "../../src/core/configured/policy.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { entriesOfFile } from "../../src/snapshot/file-entries.ts";
import { writtenFile } from "../cli/written-files.ts";
import { fencesOf, readPage, tableBelow } from "./pages.ts";

const page = readPage("docs/policies.md");
const pieces = fencesOf(page).filter(({ info }) => info === "yaml");

test("the page has pieces of configuration", () => expect(pieces.length).toBe(3));
test.each(pieces.map(({ line, text }) => [line, text] as const))(
  "the piece at line %d loads and has policies",
  (_, text) => {
    const configuration = parseConfiguration({
      file: "docs/policies.md",
      text,
      families: PROVIDER_FAMILIES,
      environment: readEnvironment({}),
    });
    expect(
      compilePolicies(
        entriesOfFile("policies", configuration.policies, configuration, (scope) => scope.policies, {
          projects: [{ id: "default", tenantId: "default", name: "default" }],
        }),
      ).of("default", "default")!.all.length,
    ).toBeGreaterThan(1);
  },
);

test("the sample is denied by the first piece, as it expects", () => {
  const sample = fencesOf(page).find(({ info }) => info === "json")!.text;
  const flags = { file: writtenFile(pieces[0]!.text), request: [writtenFile(sample)], json: true } as const;
  expect(policyTest(flags, readEnvironment({}))).toBe(0);
  expect(
    policyTest({ ...flags, request: [writtenFile(sample.replace('"deny"', '"allow"'))] }, readEnvironment({})),
  ).toBe(1);
});

test("every variable of a rule, every class and every national id", () => {
  const names = tableBelow(page, "## Rules")
    .map(([name]) => name!)
    .join(" ");
  for (const variable of RULE_VARIABLES) expect(names).toContain(`\`${variable}`);
  const classes = tableBelow(page, "## Guards");
  expect(classes.map(([name]) => name!.replaceAll("`", ""))).toEqual([...DETECTOR_CLASSES, "patterns"]);
  for (const name of NATIONAL_ID_NAMES)
    expect(classes.find(([one]) => one === "`national_id`")![1]).toContain(`\`${name}\``);
});
