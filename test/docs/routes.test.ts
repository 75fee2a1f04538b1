// docs/routes.md: every piece of configuration on it loads, it has every key of a route and of a target, and its
// request is accepted.
import { expect, test } from "bun:test";
import { z } from "zod";
import { withCheckedEntries } from "../../src/engine/fit/entry-request.ts";
import { parseChatRequest } from "../../src/engine/request/parse.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { configurationSchema, parseConfiguration } from "../../src/snapshot/configuration.ts";
import { fencesOf, readPage, tableBelow } from "./pages.ts";

const page = readPage("docs/routes.md");
const pieces = fencesOf(page).filter(({ info }) => info === "yaml");
const keysBelow = (heading: string): readonly string[] =>
  tableBelow(page, heading)
    .map(([key]) => key!.replaceAll("`", ""))
    .toSorted();

test("the page has pieces of configuration", () => expect(pieces.length).toBe(8));
test.each(pieces.map(({ line, text }) => [line, text] as const))(
  "the piece at line %d loads and has routes",
  (_, text) => {
    const { routes } = parseConfiguration({
      file: "docs/routes.md",
      text,
      families: PROVIDER_FAMILIES,
      environment: readEnvironment({}),
    });
    expect(Object.keys(routes).length).toBeGreaterThan(0);
  },
);

test("every key of a route and of a target", () => {
  const schema = z.toJSONSchema(configurationSchema(PROVIDER_FAMILIES), { io: "input" }) as any;
  const route = schema.properties.routes.additionalProperties;
  expect(keysBelow("## Keys of a route")).toEqual(Object.keys(route.properties).toSorted());
  const target = route.properties.targets.items.anyOf.find((form: any) => form.type === "object");
  expect(keysBelow("## Targets")).toEqual(Object.keys(target.properties).toSorted());
  // the keys inside of a key stand in its own row
  for (const [key, member] of Object.entries<any>(route.properties)) {
    const row = tableBelow(page, "## Keys of a route").find(([name]) => name === `\`${key}\``)!;
    if (key !== "targets")
      for (const inner of Object.keys(member.properties ?? {}))
        expect([key, row[1]]).toEqual([key, expect.stringContaining(`\`${inner}\``)]);
  }
  for (const word of route.properties.strategy.anyOf[0].enum) expect(page.text).toContain(`\`${word}\``);
});

test("the request of the page is accepted", () => {
  const body = fencesOf(page).find(({ info }) => info === "json");
  expect(withCheckedEntries(parseChatRequest(body!.text)).options.modelList).toHaveLength(2);
});
