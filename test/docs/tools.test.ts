// The configurations of docs/tools.md are read as the gateway reads its file.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { providers } from "../../src/providers/registry.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { fencesOf, readPage } from "./pages.ts";

const pieces = fencesOf(readPage("docs/tools.md")).filter(({ info }) => info === "yaml");

describe("docs/tools.md", () => {
  test("shows configurations", () => {
    expect(pieces.length).toBeGreaterThan(0);
  });
  test.each(pieces.map(({ text }, index) => [index + 1, text] as const))(
    "configuration %d is accepted by the gateway",
    (_, text) => {
      const { tool_servers: servers, projects } = parseConfiguration({
        file: "tools.md",
        text,
        families: [...providers.values()],
        environment: readEnvironment({}),
      });
      expect(Object.keys(servers).length + projects.size).toBeGreaterThan(0);
    },
  );
});
