// docs/prompt-cache.md: its configuration loads and says what it seems to say, and its headers are those that are looked up.
import { expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { AGENT_SESSIONS } from "../../src/providers/agent-sessions.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { fencesOf, readPage, tableBelow } from "./pages.ts";

const page = readPage("docs/prompt-cache.md");

test("[d16.2] the piece of configuration loads", () => {
  const { text } = fencesOf(page).find(({ info }) => info === "yaml")!;
  const { routes, projects } = parseConfiguration({
    file: "docs/prompt-cache.md",
    text,
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
  });
  expect(routes["coding"]).toMatchObject({ prompt_cache: "auto" });
  expect(projects.get("agents")?.settings).toMatchObject({ promptCaching: "auto" });
});

test("[d16.2] the headers of the page are those of the gateway", () => {
  const headers = tableBelow(page, "## Conversations stay where they are cached").flatMap(([names]) =>
    [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  );
  expect(headers).toEqual(AGENT_SESSIONS.map(({ header }) => header));
});

test.each([
  [
    "routes: { r: { targets: ['openai:m'], prompt_cache: always } }",
    /routes.r.prompt_cache: expected one of auto, false/,
  ],
  ["tenants: { acme: { settings: { prompt_cache: auto } } }", /only the settings of a project, or a route/],
])("[d16.2] what is wrong is named: %s", (text, problem) => {
  expect(() =>
    parseConfiguration({ file: "f", text, families: PROVIDER_FAMILIES, environment: readEnvironment({}) }),
  ).toThrow(problem);
});
