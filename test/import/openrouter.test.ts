// What becomes of presets of OpenRouter and of the routing of its requests.
import { expect, test } from "bun:test";
import { ConfigurationError } from "../../src/config/problem.ts";
import { imported, lineAt, section } from "./imported.ts";

const made = (value: unknown) => imported("openrouter", JSON.stringify(value));

test("a preset is a route through OpenRouter, with the same preferences", () => {
  const result = made({
    data: {
      slug: "support",
      status: "active",
      designated_version: {
        version: 1,
        system_prompt: "You help.",
        config: { model: "openai/gpt-4o", temperature: 0.7, provider: { sort: "price", ignore: ["x"] } },
      },
    },
  });
  expect(section(result, "routes")).toEqual({
    support: {
      aliases: ["@preset/support"],
      targets: [
        { model: "openrouter:openai/gpt-4o", params: { temperature: 0.7, provider: { sort: "price", ignore: ["x"] } } },
      ],
    },
  });
  expect(lineAt(result, "data.designated_version.system_prompt").outcome).toBe("without");
  expect(lineAt(result, "data.designated_version.config.temperature").outcome).toBe("taken");
  expect(lineAt(result, "data.designated_version.config.provider.sort").note).toBeNull();
  expect(result.needs).toEqual({ variables: ["OPENROUTER_API_KEY"], settings: [] });
  expect(lineAt(result, "data.slug")).toMatchObject({ outcome: "changed", to: "routes.support.aliases" });
});

test("[d15.2] a system prompt is without counterpart wherever it stands", () => {
  const config = { model: "openai/gpt-4o", system_prompt: "You help." };
  const [inside, beside] = [{ data: { slug: "support", designated_version: { config } } }, config].map(made);
  for (const [result, path] of [
    [inside!, "data.designated_version.config.system_prompt"],
    [beside!, "system_prompt"],
  ] as const) {
    expect(lineAt(result, path).outcome).toBe("without");
    expect(JSON.stringify(section(result, "routes"))).not.toContain("You help.");
  }
});

test("a list of models is tried in order", () => {
  const result = made({
    models: ["anthropic/claude-sonnet-4.5", "openai/gpt-5-mini"],
    messages: [{ role: "user", content: "x" }],
  });
  expect(section(result, "routes")["imported"]).toEqual({
    targets: ["openrouter:anthropic/claude-sonnet-4.5", "openrouter:openai/gpt-5-mini"],
  });
  expect(lineAt(result, "messages[0].content").outcome).toBe("without");
});

test("preferences without a model make no route, and the report says so", () => {
  const result = made({ provider: { zdr: true } });
  expect(section(result, "routes")).toEqual({});
});

test("anything else is refused", () => {
  for (const value of [[], 5, { data: [] }, { model_list: [] }]) expect(() => made(value)).toThrow(ConfigurationError);
});
